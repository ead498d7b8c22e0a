"""Order size: the smallest quantity that the limits of risk, money, exposure, depth and the exchange allow."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import ROUND_DOWN, Decimal, localcontext
from typing import Literal

from mcp_binance_server.analytics.trend.levels import TradeLevels
from mcp_binance_server.domain.market import BookSnapshot, PriceLevel, Ticker
from mcp_binance_server.domain.money import EXACT_DIGITS, STABLECOINS, Price, Quantity, floor_to_step
from mcp_binance_server.domain.symbols import SymbolRules

LimitName = Literal[
    "risk", "free", "exposure", "depth", "volume", "lot_size", "market_lot_size", "max_position", "notional"
]
WhyNoOrder = Literal[
    "no_levels", "waits", "closed", "unread", "crossed", "no_rate", "no_room", "below_minimum", "rule", "orders_full"
]

NOTHING = Decimal(0)
NEAR = Decimal("0.001")
VOLUME_SHARE = Decimal("0.01")


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnFunds:
    """Funds of the account for one symbol.

    `ordered` is the unfilled quantity of its open buy orders.
    """

    free: Quantity
    held: Quantity
    ordered: Quantity
    ordered_value: Decimal
    taker: Decimal
    open_orders: int = 0

    def invested(self, price: Price) -> Decimal:
        """Return the value of the holding at a price, including its open buy orders."""
        return self.held * price + self.ordered_value


@dataclass(frozen=True, slots=True, kw_only=True)
class SizeBasis:
    """Inputs for an order size at one moment. Money is in the quote asset.

    Without funds the equity is a round amount for scaling. If the equity is None, the value of the quote asset is
    unknown.
    """

    book: BookSnapshot
    equity: Decimal | None
    funds: OwnFunds | None


@dataclass(frozen=True, slots=True)
class SizeLimit:
    """A limit on an order, and the base quantity that it allows. A negative quantity allows no order."""

    name: LimitName
    quantity: Decimal


@dataclass(frozen=True, slots=True)
class SizedOrder:
    """Size of a limit order at the upper end of the entry band, on the lot step, and its tightest limit."""

    quantity: Quantity
    price: Price
    equity: Decimal
    risk: Decimal
    """The loss from the middle of the band to the stop, which determined the size."""
    risk_at_price: Decimal
    bound: SizeLimit
    limits: tuple[SizeLimit, ...]

    @property
    def value(self) -> Decimal:
        return self.quantity * self.price


@dataclass(frozen=True, slots=True)
class NoOrder:
    """No order, with the reason: no levels, a limit, the minimum of the exchange, or another of its rules."""

    why: WhyNoOrder
    rule: str = ""
    """The rule or status behind the reason, if any. For `below_minimum` it is "value" or "quantity"."""
    bound: SizeLimit | None = None
    exposure: Decimal | None = None
    """The share of equity already in the asset, if its ceiling is reached."""


@dataclass(frozen=True, slots=True)
class SizeReport:
    """The order, or the reason why there is no order, and the account if it is known."""

    verdict: SizedOrder | NoOrder
    funds: OwnFunds | None


def size_order(
    levels: TradeLevels, ticker: Ticker, rules: SymbolRules, basis: SizeBasis, *, fraction: Decimal, ceiling: Decimal
) -> SizedOrder | NoOrder:
    """Compute the size of one long trade.

    `fraction` of the equity is at risk. At most `ceiling` of the equity is in the asset.
    """
    if basis.equity is None:
        return NoOrder("no_rate")
    distance = levels.entry - levels.stop
    # rounding a quotient up could make the order larger than allowed
    with localcontext(prec=EXACT_DIGITS, rounding=ROUND_DOWN):
        limits = (
            SizeLimit("risk", basis.equity * fraction / distance),
            *_money_limits(levels, ticker, rules, basis.equity * ceiling, basis.funds),
            SizeLimit("depth", near_touch(basis.book.asks, rules.tick)),
            SizeLimit("volume", ticker.volume * VOLUME_SHARE),
            *_exchange_limits(levels, rules, basis.funds),
        )
        bound = min(limits, key=lambda each: each.quantity)
        if bound.quantity <= 0:
            return NoOrder("no_room", bound=bound, exposure=_exposure(bound, basis, ticker.last_price))
        step = rules.step or Quantity(Decimal(1).scaleb(-rules.base_places))
        quantity = floor_to_step(Quantity(bound.quantity), step)
        # The order is worth least at the lower end of the band.
        if not quantity or quantity < rules.min_quantity or quantity * levels.entry_low < rules.min_notional:
            by_value = rules.min_quantity * levels.entry_low < rules.min_notional
            return NoOrder("below_minimum", "value" if by_value else "quantity", bound)
        at_price = quantity * (levels.entry_high - levels.stop)
        return SizedOrder(quantity, levels.entry_high, basis.equity, quantity * distance, at_price, bound, limits)


def near_touch(asks: Sequence[PriceLevel], tick: Price) -> Decimal:
    """Return the quantity offered within ten basis points of the best ask, or within a tick if that is wider."""
    if not asks:
        return NOTHING
    best = asks[0].price
    farthest = best + max(best * NEAR, tick)
    return sum((each.quantity for each in asks if each.price <= farthest), NOTHING)


def _money_limits(
    levels: TradeLevels, ticker: Ticker, rules: SymbolRules, most: Decimal, funds: OwnFunds | None
) -> Iterator[SizeLimit]:
    if funds is None:
        return
    # A negative fee is a rebate, which is paid only after the trade.
    yield SizeLimit("free", funds.free / (levels.entry_high * (1 + max(funds.taker, NOTHING))))
    if rules.base not in STABLECOINS:  # a stablecoin is cash, not a position
        yield SizeLimit("exposure", (most - funds.invested(ticker.last_price)) / levels.entry_high)


def _exposure(bound: SizeLimit, basis: SizeBasis, price: Price) -> Decimal | None:
    if bound.name != "exposure" or basis.funds is None or not basis.equity:
        return None
    return basis.funds.invested(price) / basis.equity


def _exchange_limits(levels: TradeLevels, rules: SymbolRules, funds: OwnFunds | None) -> Iterator[SizeLimit]:
    if rules.max_quantity:
        yield SizeLimit("lot_size", rules.max_quantity)
    if rules.market_max_quantity:
        yield SizeLimit("market_lot_size", rules.market_max_quantity)
    if rules.max_position and funds is not None:
        yield SizeLimit("max_position", rules.max_position - funds.held - funds.ordered)
    if rules.max_notional:
        yield SizeLimit("notional", rules.max_notional / levels.entry_high)
