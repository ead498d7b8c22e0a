"""Purpose of an order: an entry raises the largest possible loss of an account, an exit does not. Pure.

The largest loss is the value of all coins and of all open buys if every price falls to zero. An open stop limits the
loss of its coins to its limit price. Limits of count and money bound entries; an exit passes them.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal, localcontext
from typing import Literal

from mcp_binance_server.domain.money import STABLECOINS, Price, Quantity
from mcp_binance_server.domain.order_requests import Side
from mcp_binance_server.trading.judgement.intent import DIGITS
from mcp_binance_server.trading.judgement.terms import Terms

NOTHING = Quantity(Decimal(0))

# A smaller entry replaces an open entry. The limits of entries count it and do not refuse it. No limit counts a step of
# a plan, because the plan was counted as a whole.
Purpose = Literal["entry", "smaller_entry", "exit", "step"]


@dataclass(frozen=True, slots=True)
class Holding:
    """Balance of the base asset of an order, and the time it was read. `locked` is the part reserved by open sales."""

    asset: str
    total: Quantity
    locked: Quantity
    read_ms: int


@dataclass(frozen=True, slots=True)
class OpenOrder:
    """An order of this server that is open, or ended after the balance was read.

    `claimed` is the quantity that it may still sell. `locked` is the part of `claimed` that the exchange is known to
    reserve. `left` is the unfilled quantity, `floor` the limit price of the stop, `trailing_bps` the distance of a
    trailing stop. `slots` and `stops` count the open orders. `releases` names open sales that it is about to cancel:
    it claims their coins.
    """

    client_order_id: str
    symbol: str
    side: Side
    price: Price
    left: Quantity = NOTHING
    claimed: Quantity = NOTHING
    locked: Quantity = NOTHING
    floor: Price | None = None
    trailing_bps: int | None = None
    slots: int = 0
    stops: int = 0
    releases: tuple[str, ...] = ()


def purpose_of(
    terms: Terms, quote: str, counting_asset: str, holding: Holding | None, orders: Iterable[OpenOrder]
) -> Purpose:
    """Return whether an order raises the largest loss.

    An exit is a sale of coins that no other order sells, for dollars or the counting asset. A replacement of a stop is
    an exit if it protects the same quantity at the same limit price or a higher one. A trailing stop for a trailing
    stop must also be as near to the market or nearer. The same holds for a sale that releases a stop, unless it takes
    place at once: the rest of the coins gets the old exits again.
    """
    known = tuple(orders)
    old = next((each for each in known if each.client_order_id == terms.replaces), None)
    released = {each.client_order_id for each in terms.releases}
    ended = [each for each in known if each is old or each.client_order_id in released]
    with localcontext(prec=DIGITS):
        if terms.side == "BUY":
            is_smaller = old is not None and terms.exits is None and _is_smaller(terms, old)
            return "smaller_entry" if is_smaller else "entry"
        if holding is None or not is_money(quote, counting_asset) or terms.quantity > unclaimed(holding, known, ended):
            return "entry"
        keeps_floor = old is None or old.floor is None or _protects_as_well(terms, old, old.floor)
        return "exit" if keeps_floor and _keeps_floors(terms) else "entry"


def is_money(quote: str, counting_asset: str) -> bool:
    """Return True for the counting asset and dollar stablecoins. A sale for one of them buys no coin."""
    return quote == counting_asset or quote in STABLECOINS


def unclaimed(holding: Holding, orders: Iterable[OpenOrder], ended: Iterable[OpenOrder] = ()) -> Quantity:
    """Return the part of a balance that no open order sells, here or elsewhere. `ended` are orders that will end.

    An order that is about to cancel others claims their coins, so their own claims are not counted.
    """
    own = tuple(orders)
    known_locked = sum((each.locked for each in own), NOTHING)
    elsewhere = max(NOTHING, holding.locked - known_locked)
    superseded = {name for each in own for name in each.releases}
    over = superseded | {each.client_order_id for each in ended}
    claimed = sum((each.claimed for each in own if each.client_order_id not in over), NOTHING)
    return Quantity(max(NOTHING, holding.total - elsewhere - claimed))


def floor_of(terms: Terms) -> Price | None:
    """Return the limit price of a stop that sells; None without one.

    A limit above the trigger is no floor, because the triggered order rests above the market. The trigger of a trailing
    stop only rises, so its limit stays below.
    """
    if terms.side != "SELL" or terms.kind == "TAKE_PROFIT_LIMIT":
        return None
    exits = terms.exits
    if terms.stop_price is None and terms.trailing_bps is not None:
        return terms.price  # found at the exchange: its first trigger is not known
    trigger, limit = (terms.stop_price, terms.price) if exits is None else (exits.stop, exits.stop_limit)
    return limit if trigger is not None and limit is not None and limit <= trigger else None


def _is_smaller(terms: Terms, old: OpenOrder) -> bool:
    if terms.amends:  # an amendment keeps the price and can only reduce the quantity
        return True
    return old.side == "BUY" and terms.quantity * terms.price <= old.left * old.price


def _keeps_floors(terms: Terms) -> bool:
    """Return True if no released stop is lost for coins that stay: they are sold at once or have as good a stop."""
    if terms.is_market or terms.time_in_force != "GTC":
        return True
    own, trailing = floor_of(terms), terms.starts_trailing_bps
    return all(
        each.floor is None
        or (own is not None and own >= each.floor and (trailing or 0) <= (each.trailing_bps or trailing or 0))
        for each in terms.releases
    )


def _protects_as_well(terms: Terms, old: OpenOrder, floor: Price) -> bool:
    own, trailing = floor_of(terms), terms.starts_trailing_bps
    is_wider = old.trailing_bps is not None and trailing is not None and trailing > old.trailing_bps
    return own is not None and own >= floor and terms.quantity >= old.left and not is_wider
