"""Effect of an order, calculated from the current book: cost, fills and the balance after it."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from decimal import Decimal, localcontext
from itertools import takewhile
from typing import Literal

from mcp_binance_server.domain.account import Account, Commission, Venue
from mcp_binance_server.domain.market import BookSnapshot, PriceLevel
from mcp_binance_server.domain.money import Price, Quantity, floor_to_step, written
from mcp_binance_server.domain.order_requests import Side
from mcp_binance_server.domain.reference_price import ANY_RANGE, NO_REFERENCE, ReferencePrice, TakerRange
from mcp_binance_server.domain.symbols import SymbolRules
from mcp_binance_server.trading.errors import InsufficientBalance
from mcp_binance_server.trading.judgement.filters import RoundedAmount, grid_of
from mcp_binance_server.trading.judgement.intent import DIGITS, MARKET, OrderIntent, Touch

NOTHING = Decimal(0)
BPS = Decimal(10_000)

Behaviour = Literal["takes", "takes_then_rests", "rests", "waits_for_trigger", "takes_then_expires", "expires"]

# Usual rate of a new account: https://www.binance.com/en/fee/trading
USUAL = Commission(maker=Decimal("0.001"), taker=Decimal("0.001"))


@dataclass(frozen=True, slots=True)
class FillWalk:
    """Amounts filled from a book. `unfilled` is in the requested unit, and its price is unknown."""

    base: Quantity
    quote: Quantity
    unfilled: Quantity
    levels: int
    touch: Price | None
    worst: Price | None

    @property
    def complete(self) -> bool:
        return not self.unfilled

    @property
    def average(self) -> Price | None:
        return Price(self.quote / self.base) if self.base else None

    def slippage_bps(self, side: Side, against: Price | None) -> Decimal | None:
        """Return the difference between the fill and a price, in basis points.

        A positive value is a cost, for buyers and sellers.
        """
        if self.average is None or not against:
            return None
        worse_by = self.average - against if side == "BUY" else against - self.average
        return worse_by / against * BPS


def walk(levels: Iterable[PriceLevel], amount: Quantity, unit: Literal["base", "quote"] = "base") -> FillWalk:
    """Take an amount of the base or the quote asset from one side of a book, best price first."""
    left, base, quote, used = Decimal(amount), NOTHING, NOTHING, 0
    touch = worst = None
    with localcontext(prec=DIGITS):
        for price, stands in levels:
            touch = touch or price
            room = stands if unit == "base" else price * stands
            if not left:
                break
            if not room:
                continue
            taken = min(left, room)
            whole = taken == room
            base += stands if whole else taken if unit == "base" else taken / price
            quote += price * stands if whole else taken * price if unit == "base" else taken
            left -= taken
            used += 1
            worst = price
    return FillWalk(Quantity(base), Quantity(quote), Quantity(left), used, touch, worst)


def largest_part(levels: Iterable[PriceLevel], side: Side, most_bps: Decimal) -> Quantity:
    """Return the largest quantity whose average price stays within a slippage of the best price."""
    base = quote = NOTHING
    edge: Decimal | None = None
    with localcontext(prec=DIGITS):
        for price, stands in levels:
            if edge is None:
                edge = price * (1 + most_bps / BPS if side == "BUY" else 1 - most_bps / BPS)
            is_beyond = price > edge if side == "BUY" else price < edge
            # Beyond the edge each unit worsens the average. This number of units moves the average to the edge.
            most = (quote - base * price) / (edge - price) if is_beyond else None
            if most is not None and most < base + stands:
                return Quantity(most)
            base, quote = base + stands, quote + price * stands
    return Quantity(base)


@dataclass(frozen=True, slots=True)
class Fee:
    """Fee that the exchange takes from the received asset. `assumed` means that the account's rate is unknown."""

    amount: Quantity
    asset: str
    rate: Decimal
    assumed: bool


@dataclass(frozen=True, slots=True)
class FundsAfter:
    """Free balance of one asset now, and after the expected fills."""

    asset: str
    free: Quantity
    after: Quantity


@dataclass(frozen=True, slots=True)
class Preview:
    """Full result of a preview. `value` and `fill` are None if the book does not contain enough to compute them."""

    rules: SymbolRules
    order: OrderIntent
    touch: Touch
    behaviour: Behaviour
    value: Quantity | None
    fee: Fee
    fill: FillWalk | None
    holdings: tuple[FundsAfter, ...]
    within: TakerRange = ANY_RANGE
    """Price range in which the exchange allows an immediate trade."""


@dataclass(frozen=True, slots=True)
class ReadAmount:
    """An amount that was not written as a plain number: the text, the number that is used, and how it was read.

    `basis` names what the number was computed from, and `base` is the value of that.
    """

    argument: str
    text: str
    used: Decimal
    asset: str
    basis: str
    base: Decimal | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class PreviewedOrder:
    """Preview with its rounded amounts, unchecked rules, venue and time."""

    preview: Preview
    changes: tuple[RoundedAmount, ...]
    unchecked: tuple[str, ...]
    balances_checked: bool
    may_trade: bool
    venue: Venue
    as_of_ms: int
    reference: ReferencePrice | None = None
    """Reference price of the exchange; None if it could not be read."""
    commission: Commission = USUAL
    amounts: tuple[ReadAmount, ...] = ()
    """Amounts of the request that were not plain numbers."""
    freed: frozenset[str] = frozenset()
    """Assets that orders cancelled or replaced by this one free for it."""


@dataclass(frozen=True, slots=True)
class _Trade:
    """Expected trades: taken from the book at once, and resting at the order's price.

    With `expires`, the exchange ends the rest of the order, because its next trade would be outside the price range.
    """

    taken: FillWalk | None
    resting: Decimal
    price: Decimal
    expires: bool = False

    @property
    def base(self) -> Decimal:
        return (self.taken.base if self.taken else NOTHING) + self.resting

    @property
    def quote(self) -> Decimal:
        return (self.taken.quote if self.taken else NOTHING) + self.resting * self.price


def preview(
    rules: SymbolRules,
    order: OrderIntent,
    book: BookSnapshot,
    account: Account | None = None,
    reference: ReferencePrice = NO_REFERENCE,
) -> Preview:
    """Return the effect of a valid order. Without an account, no balance is checked.

    Raises:
        InsufficientBalance: the free balance is below the amount that the exchange would take or lock.
    """
    with localcontext(prec=DIGITS):
        within = reference.taker_range(order.side)
        trade = _trade(rules, order, book, within)
        fee = _fee(rules, order, trade, account)
        holdings = _holdings(rules, order, trade, fee, account) if account else ()
        value = Quantity(trade.quote) if trade.base else None
        touch = Touch.of(book, reference.price)
        return Preview(rules, order, touch, _behaviour(order, trade), value, fee, trade.taken, holdings, within)


def _trade(rules: SymbolRules, order: OrderIntent, book: BookSnapshot, within: TakerRange) -> _Trade:
    shown = book.asks if order.side == "BUY" else book.bids
    levels = tuple(takewhile(lambda level: within.holds(level.price), shown))
    trade = _trade_in(rules, order, levels)
    if len(levels) == len(shown) or order.is_stop:
        return trade
    beyond = shown[len(levels)].price
    is_left = trade.resting if trade.taken is None else trade.taken.unfilled
    is_met = order.price is None or (beyond <= order.price if order.side == "BUY" else beyond >= order.price)
    return replace(trade, resting=NOTHING, expires=True) if is_left and is_met else trade


def _trade_in(rules: SymbolRules, order: OrderIntent, levels: tuple[PriceLevel, ...]) -> _Trade:
    price, quantity = order.price or Price(NOTHING), order.quantity or Quantity(NOTHING)
    if order.quote_quantity is not None:
        return _Trade(_taken_for(rules, order, levels, order.quote_quantity), NOTHING, price)
    if order.kind == MARKET:
        return _Trade(walk(levels, quantity), NOTHING, price)
    if order.is_stop:
        return _Trade(None, quantity, price)
    met = [each for each in levels if (each.price <= price if order.side == "BUY" else each.price >= price)]
    taken = walk(met, quantity)
    return _Trade(taken if taken.base else None, taken.unfilled, price)


def _taken_for(
    rules: SymbolRules, order: OrderIntent, levels: tuple[PriceLevel, ...], quote_quantity: Quantity
) -> FillWalk:
    meant = walk(levels, quote_quantity, "quote")
    step, _ = grid_of(rules, order, "quantity")
    taken = walk(levels, floor_to_step(meant.base, Quantity(step)))
    return replace(taken, unfilled=meant.unfilled)


def _behaviour(order: OrderIntent, trade: _Trade) -> Behaviour:
    if order.is_stop:
        return "waits_for_trigger"
    if trade.expires:
        return "takes_then_expires" if trade.taken is not None and trade.taken.base else "expires"
    if order.kind == MARKET or not trade.resting:
        return "takes"
    return "takes_then_rests" if trade.taken else "rests"


def _fee(rules: SymbolRules, order: OrderIntent, trade: _Trade, account: Account | None) -> Fee:
    rates = (account.commission if account else None) or USUAL
    # A triggered order can rest (maker) or trade at once (taker). The result is not known beforehand, so assume the
    # higher rate.
    resting_rate = max(rates.maker, rates.taker) if order.is_stop else rates.maker
    is_buy = order.side == "BUY"
    taken = NOTHING if trade.taken is None else trade.taken.base if is_buy else trade.taken.quote
    resting = trade.resting if is_buy else trade.resting * trade.price
    amount = taken * rates.taker + resting * resting_rate
    received = taken + resting
    rate = amount / received if received else rates.taker
    asset = rules.base if is_buy else rules.quote
    return Fee(Quantity(amount), asset, rate, assumed=rates is USUAL)


def _holdings(
    rules: SymbolRules, order: OrderIntent, trade: _Trade, fee: Fee, account: Account
) -> tuple[FundsAfter, ...]:
    free = {each.asset: each.free for each in account.balances}
    locked = {each.asset: each.locked for each in account.balances}
    base, quote = free.get(rules.base, NOTHING), free.get(rules.quote, NOTHING)
    if order.side == "BUY":
        _afford(rules.quote, _quote_needed(order, trade), quote, locked.get(rules.quote, NOTHING))
        after = base + trade.base - fee.amount, quote - trade.quote
    else:
        needed = trade.base if order.quantity is None else order.quantity
        _afford(rules.base, needed, base, locked.get(rules.base, NOTHING))
        after = base - trade.base, quote + trade.quote - fee.amount
    return (
        FundsAfter(rules.base, Quantity(base), Quantity(after[0])),
        FundsAfter(rules.quote, Quantity(quote), Quantity(after[1])),
    )


def _quote_needed(order: OrderIntent, trade: _Trade) -> Decimal:
    if order.quote_quantity is not None:
        return order.quote_quantity
    if order.kind == MARKET or order.quantity is None or order.price is None:
        return trade.quote
    # A limit order locks its value at its own price, even if it would fill at a better price.
    return order.price * order.quantity


def _afford(asset: str, required: Decimal, available: Decimal, reserved: Decimal) -> None:
    if required > available:
        raise InsufficientBalance(
            asset=asset,
            required_amount=written(required),
            available_amount=written(available),
            shortfall=written(required - available),
            reserved_amount=written(reserved) if reserved else None,
        )
