"""Guards between an order and the exchange: one function per guard, in the order they run. Pure.

Every guard gets the same situation and passes or denies. A denial names the guard, the received value and the limit.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal, localcontext
from typing import Literal

from mcp_binance_server.domain.money import Price
from mcp_binance_server.domain.order_requests import Side
from mcp_binance_server.trading.judgement.charges import DAY_MS, MINUTE_MS, Charge, charges, first_broken
from mcp_binance_server.trading.judgement.exposure import Holding, OpenOrder, Purpose, purpose_of
from mcp_binance_server.trading.judgement.intent import DIGITS, OrderIntent, Touch
from mcp_binance_server.trading.judgement.policy import Policy, Way, cents_text
from mcp_binance_server.trading.judgement.preview import BPS, FillWalk, written
from mcp_binance_server.trading.judgement.terms import Terms, TradingMode, command

FRESH_MS = 2_000
DUPLICATE_MS = 10_000
PERCENT = Decimal(100)
# Account name in terms that cannot be placed, because the caller's key cannot trade here.
BROUGHT = "brought"

GuardName = Literal[
    "mode", "ready", "stop", "key", "symbol", "type", "per_order", "limits", "position", "daily_loss", "open_exits",
    "book", "collar", "slippage", "duplicate", "unresolved", "released", "confirmation",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Denied:
    """Denial of an order: the guard, the value it received, and the value it allows."""

    guard: str
    received: str
    limit: str
    left: str | None = None
    client_order_id: str | None = None
    retry_after_secs: int | None = None


@dataclass(frozen=True, slots=True)
class RecentOrder:
    """An order of the last moments, or an order with an unknown outcome."""

    client_order_id: str
    terms: Terms
    prepared_ms: int
    is_unresolved: bool


@dataclass(frozen=True, slots=True)
class Situation:
    """Input of all guards. `used` maps the name of a limit to its usage; money is in whole hundredths."""

    mode: TradingMode
    policy: Policy
    terms: Terms
    way: Way
    now_ms: int
    touch: Touch
    book_age_ms: int
    fill: FillWalk | None = None
    waits_for: str = ""
    stopped: str = ""
    stop_allows_exits: bool = False
    key: str = ""
    used: Mapping[str, int] = field(default_factory=dict[str, int])
    oldest_ms: Mapping[str, int] = field(default_factory=dict[str, int])
    asset: str = ""
    quote: str = ""
    held: int = 0
    open_buys: int = 0
    lost_today: int = 0
    recent: tuple[RecentOrder, ...] = ()
    holding: Holding | None = None
    orders: tuple[OpenOrder, ...] = ()
    most_exits: int | None = None
    most_stops: int | None = None
    usual_minute: Decimal | None = None
    """Usual price range of a minute. Set only for a stop that sells."""
    fits: str = ""
    """Largest quantity that the price guards accept now."""

    @property
    def purpose(self) -> Purpose:
        return purpose_of(self.terms, self.quote, self.policy.counting_asset, self.holding, self.orders)

    @property
    def charges(self) -> tuple[Charge, ...]:
        return charges(self.terms, self.policy, self.way, self.purpose)


Guard = Callable[[Situation], Denied | None]


def mode(at: Situation) -> Denied | None:
    if at.mode == "off" or at.terms.mode != at.mode:
        return Denied("mode", f"an order for {at.terms.mode}", f"orders for {at.mode}")
    return None


def ready(at: Situation) -> Denied | None:
    return Denied("ready", "not ready yet", f"no orders until {at.waits_for}") if at.waits_for else None


def stop(at: Situation) -> Denied | None:
    is_agreed_exit = at.stop_allows_exits and at.purpose != "entry" and at.way != "policy"
    return stop_denial(at.stopped, at.terms.network) if at.stopped and not is_agreed_exit else None


def stop_denial(why: str, network: str) -> Denied:
    """Return the denial for an order while trading is stopped."""
    return Denied("stop", f'trading is stopped ("{why}")', command("resume", network))


def key(at: Situation) -> Denied | None:
    if at.key == BROUGHT:
        return Denied("key", "a key without the right to trade", "this server's own key, and keys named in its rules")
    if at.mode == "live" and at.policy.mode_of(at.key) != "live":
        return Denied("key", f"the key {at.key}", "keys with mode live in the policy file")
    return None


def symbol(at: Situation) -> Denied | None:
    allowed = at.policy.limits.symbols
    if allowed is not None and at.terms.symbol not in allowed:
        return Denied("symbol", at.terms.symbol, ", ".join(sorted(allowed)) or "no symbol")
    return None


def kind(at: Situation) -> Denied | None:
    allowed = at.policy.limits.types
    others = [each for each in at.terms.kinds if each not in allowed]
    return Denied("type", ", ".join(others), ", ".join(sorted(allowed)) or "no type") if others else None


def per_order(at: Situation) -> Denied | None:
    most = at.policy.limits.per_order
    if most is not None and at.terms.counted > most and at.purpose == "entry":
        asset = at.policy.counting_asset
        return Denied("per_order", f"{cents_text(at.terms.counted)} {asset}", f"{cents_text(most)} {asset}")
    return None


def limits(at: Situation) -> Denied | None:
    used = dict(at.used)
    broken = first_broken(at.charges, used)
    if broken is None:
        return None
    return denied_by(broken, used.get(broken.name, 0), at.now_ms, at.oldest_ms.get(broken.name))


def denied_by(broken: Charge, used: int, now_ms: int, oldest_ms: int | None = None) -> Denied:
    """Return the denial for a reached limit.

    For a limit of a day or a minute, include the time until it has room again.
    """
    most = broken.most or 0
    left = broken.told(max(0, most - used))
    again_ms = {"day": (now_ms // DAY_MS + 1) * DAY_MS, "minute": (oldest_ms or now_ms) + MINUTE_MS}.get(broken.span)
    retry_after_secs = None if again_ms is None else max(1, -(-(again_ms - now_ms) // 1000))
    return Denied(broken.name, broken.told(broken.amount), broken.told(most), left, retry_after_secs=retry_after_secs)


def position(at: Situation) -> Denied | None:
    most = at.policy.limits.position.get(at.asset)
    if most is None or at.terms.side == "SELL" or at.purpose != "entry":
        return None
    after = at.held + at.open_buys + at.terms.taken
    if after <= most:
        return None
    left = max(0, most - at.held - at.open_buys)
    return Denied(f"position:{at.asset}", cents_text(after), cents_text(most), left=cents_text(left))


def daily_loss(at: Situation) -> Denied | None:
    most = at.policy.limits.daily_loss
    if most is None or at.lost_today < most or at.purpose != "entry":
        return None
    return Denied("daily_loss", f"{cents_text(at.lost_today)} lost today", cents_text(most))


def open_exits(at: Situation) -> Denied | None:
    """Limit exits to half of a symbol's order slots, and keep one stop slot free."""
    if at.purpose != "exit":
        return None
    terms = at.terms
    ended = {terms.replaces, *(each.client_order_id for each in terms.releases)}
    again = [each for each in terms.releases if each.rest]
    own = [each for each in at.orders if each.symbol == terms.symbol and each.client_order_id not in ended]
    slots = sum(each.slots for each in own if each.side == "SELL") + len(terms.order_ids(""))
    slots += sum(each.slots for each in again)
    if at.most_exits is not None and slots > at.most_exits:
        return Denied("open_exits", f"{slots} open sales of {terms.symbol}", f"{at.most_exits} on this symbol")
    stops = sum(each.stops for each in [*own, *again]) + terms.is_stop
    if at.most_stops is not None and terms.is_stop and stops > at.most_stops:
        return Denied("open_exits", f"{stops} open stops of {terms.symbol}", f"{at.most_stops} on this symbol")
    return None


def book(at: Situation) -> Denied | None:
    if at.touch.bid is None or at.touch.ask is None or at.touch.is_crossed:
        return Denied("book", "an order book with an empty side", "bids and asks")
    if at.book_age_ms > FRESH_MS:
        return Denied("book", f"an order book {at.book_age_ms} ms old", f"at most {FRESH_MS} ms")
    return None


def collar(at: Situation) -> Denied | None:
    terms, exits = at.terms, at.terms.exits
    reference = _reference(at, terms.stop_price)
    outside = _outside(at.policy, terms.side, terms.price, reference) or _passed(at)
    if outside is None and exits is not None and exits.stop_limit is not None:
        stop = exits.stop if exits.has_entry else _reference(at, exits.stop)
        return _outside(at.policy, "SELL", exits.stop_limit, stop)
    return outside


def _reference(at: Situation, stop: Price | None) -> Price | None:
    """Return the price that the collar is measured from.

    A stop within a usual minute's range is judged like a market sale.
    """
    if stop is None:
        return at.touch.mid
    trailing, bid = at.terms.starts_trailing_bps, at.touch.bid
    trigger = stop if trailing is None or bid is None else first_trigger(bid, trailing)
    return at.touch.mid if is_near(trigger, bid, at.usual_minute) else stop


def is_near(trigger: Price, bid: Price | None, usual_minute: Decimal | None) -> bool:
    """Return True if a usual minute can move the bid to a trigger price."""
    return usual_minute is not None and bid is not None and trigger > bid - usual_minute


def first_trigger(bid: Price, trailing_bps: int) -> Price:
    """Return the trigger price of a trailing stop that starts at this bid."""
    with localcontext(prec=DIGITS):
        return Price(bid * (BPS - trailing_bps) / BPS)


def _passed(at: Situation) -> Denied | None:
    """Deny a trailing stop that would start with its trigger below its limit, because the market has fallen."""
    trailing, limit, bid = at.terms.starts_trailing_bps, at.terms.worst, at.touch.bid
    if trailing is None or bid is None or limit <= (trigger := first_trigger(bid, trailing)):
        return None
    return Denied("collar", f"price {written(limit)}", f"at most the trigger, {written(trigger)}")


def _outside(policy: Policy, side: Side, price: Price, reference: Price | None) -> Denied | None:
    with localcontext(prec=DIGITS):
        edge = collar_edge(policy, side, reference)
        is_outside = edge is not None and (price > edge if side == "BUY" else price < edge)
        if edge is None or not is_outside:
            return None
        word = "at most" if side == "BUY" else "at least"
        return Denied("collar", f"price {written(price)}", f"{word} {written(edge)}")


def collar_edge(policy: Policy, side: Side, reference: Price | None) -> Price | None:
    """Return the worst allowed price.

    It is measured from `reference`: the mid price, or the trigger price of a stop.
    """
    if reference is None:
        return None
    away = policy.limits.collar_percent / PERCENT
    return Price(reference * (1 + away if side == "BUY" else 1 - away))


def slippage(at: Situation) -> Denied | None:
    if not at.terms.is_market or at.fill is None:
        return None
    most = at.policy.limits.slippage_bps
    with localcontext(prec=DIGITS):
        if not at.fill.complete:
            return Denied(
                "slippage",
                "more than the order book holds",
                f"at most {written(most)} bps from the best price",
                left=at.fits or None,
            )
        lost = at.fill.slippage_bps(at.terms.side, at.fill.touch)
        if lost is None or lost <= most:
            return None
        return Denied(
            "slippage", f"{lost:.1f} bps from the best price", f"at most {written(most)} bps", left=at.fits or None
        )


def duplicate(at: Situation) -> Denied | None:
    for each in at.recent:
        if at.now_ms - each.prepared_ms < DUPLICATE_MS and _is_same(each.terms, at.terms):
            return Denied(
                "duplicate",
                "the same order again",
                f"once in {DUPLICATE_MS // 1000} s",
                client_order_id=each.client_order_id,
            )
    return None


def unresolved(at: Situation) -> Denied | None:
    for each in at.recent:
        if each.is_unresolved and (each.terms.symbol, each.terms.side) == (at.terms.symbol, at.terms.side):
            return Denied(
                "unresolved",
                "a new order",
                "none while the outcome of another is unknown",
                client_order_id=each.client_order_id,
            )
    return None


def released(at: Situation) -> Denied | None:
    """Refuse a sale if an order that it would cancel is no longer open, or another sale is about to cancel it."""
    stands = {each.client_order_id for each in at.orders if each.locked > 0}
    stands -= {name for each in at.orders for name in each.releases}
    for each in at.terms.releases:
        if each.client_order_id not in stands:
            return Denied(
                "released",
                "an order that would be cancelled first has changed",
                "open orders as they were previewed",
                client_order_id=each.client_order_id,
            )
    return None


def confirmation(at: Situation) -> Denied | None:
    if at.way != "apart" or at.policy.confirm.approver is not None:
        return None
    asset, most = at.policy.counting_asset, at.policy.client_ceiling(at.mode, at.terms.counted)
    received = f"{cents_text(at.terms.counted)} {asset} without an approver"
    return Denied("confirmation", received, f"{cents_text(most)} {asset}, or more with an approver (approve --new)")


GUARDS: tuple[Guard, ...] = (
    mode, ready, stop, key, symbol, kind, per_order, limits, position, daily_loss, open_exits, book, collar,
    slippage, duplicate, unresolved, released, confirmation,
)  # fmt: skip


def first_denial(at: Situation) -> Denied | None:
    """Run all guards in order and return the first denial."""
    return next((denied for guard in GUARDS if (denied := guard(at)) is not None), None)


def denials(at: Situation) -> tuple[Denied, ...]:
    """Return every denial. A preview shows all of them."""
    return tuple(denied for guard in GUARDS if (denied := guard(at)) is not None)


def worst_price(policy: Policy, intent: OrderIntent, fill: FillWalk, mid: Price) -> Price:
    """Return the worst fill price of a market order, before it is rounded to the tick."""
    edge = collar_edge(policy, intent.side, mid) or mid
    away = policy.limits.slippage_bps / BPS
    worst = fill.worst or mid
    if intent.side == "BUY":
        return Price(min(worst * (1 + away), edge))
    return Price(max(worst * (1 - away), edge))


def _is_same(one: Terms, other: Terms) -> bool:
    def order(terms: Terms) -> tuple[object, ...]:
        # Prices that follow the book differ between repeated requests.
        price = None if terms.follows_market else terms.price
        stop = None if terms.starts_trailing_bps else terms.stop_price
        exits = terms.exits and terms.exits.likeness
        return terms.symbol, terms.side, terms.kind, terms.quantity, price, stop, terms.trailing_bps, exits

    return order(one) == order(other)
