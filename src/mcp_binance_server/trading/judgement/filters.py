"""Filters of the exchange, checked before an order is sent.

https://developers.binance.com/docs/binance-spot-api-docs/filters
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal, localcontext
from typing import Literal

from mcp_binance_server.domain.money import decimals_of, percent_of
from mcp_binance_server.domain.symbols import SymbolRules
from mcp_binance_server.trading.judgement.intent import DIGITS, LIMIT_MAKER, MARKET, Argument, OrderIntent, Touch

ONE = Decimal(1)
# Rules of the exchange that are not filters and have no official name.
STATUS, ORDER_TYPE, QUOTE_QUANTITY = "SYMBOL_STATUS", "ORDER_TYPE", "QUOTE_ORDER_QTY"
STOP_PRICE, PRECISION = "STOP_PRICE", "PRECISION"
TRAILING_DELTA = "TRAILING_DELTA"


@dataclass(frozen=True, slots=True)
class Bound:
    """One rule for one amount: `amount x unit` must be between `least` and `most`. None means no limit."""

    rule: str
    argument: Argument
    least: Decimal | None
    most: Decimal | None
    unit: Decimal = ONE


@dataclass(frozen=True, slots=True)
class RoundedAmount:
    """An amount that was rounded to satisfy the exchange."""

    rule: str
    argument: Argument
    received: Decimal
    used: Decimal


@dataclass(frozen=True, slots=True)
class Broken:
    """A rule that the order breaks, with the requested amount and the limit."""

    rule: str
    argument: Argument
    received: Decimal
    side: Literal["at least", "at most"]
    limit: Decimal


@dataclass(frozen=True, slots=True)
class FilterVerdict:
    """Result of the check: the rounded order, its roundings, the broken rules, and the nearest valid order."""

    order: OrderIntent
    changes: tuple[RoundedAmount, ...]
    broken: tuple[Broken, ...]
    nearest: OrderIntent | None


@dataclass(frozen=True, slots=True)
class Closed:
    """Refusal that no other amount can fix: the symbol does not trade, or does not take this kind of order."""

    rule: str
    received: str
    limit: str


@dataclass(frozen=True, slots=True)
class _Market:
    touch: Touch
    held: Decimal | None

    def room(self, rules: SymbolRules, order: OrderIntent) -> Decimal | None:
        """Return how much more of the base asset the account may hold, or None if unlimited.

        Open orders are not counted.
        """
        if self.held is None or not rules.max_position or order.side == "SELL":
            return None
        return rules.max_position - self.held


def closed(rules: SymbolRules, intent: OrderIntent) -> Closed | None:
    """Return the reason why the symbol refuses this order, or None if it accepts it. No price is needed."""
    if not rules.is_trading:
        return Closed(STATUS, rules.status, "TRADING")
    if rules.order_types and intent.kind not in rules.order_types:
        return Closed(ORDER_TYPE, intent.kind, ", ".join(rules.order_types))
    if intent.quote_quantity is not None and not rules.takes_quote_quantity:
        return Closed(QUOTE_QUANTITY, "quote_quantity", "quantity only")
    return None


def check(rules: SymbolRules, intent: OrderIntent, touch: Touch, held: Decimal | None = None) -> FilterVerdict:
    """Check an order against the rules, always in the same sequence. The order must have all amounts of its type.

    Quantities are rounded down. Prices are rounded in favour of the user: down for a buyer, up for a seller. Each
    rounding is listed. Only the field `nearest` can have a larger quantity than requested. `held` is the account's
    balance of the base asset, if known.
    """
    with localcontext(prec=DIGITS):
        order, changes = _aligned(rules, intent)
        market = _Market(touch, held)
        broken = tuple(_broken(rules, intent, order, market))
        return FilterVerdict(order, changes, broken, _nearest(rules, order, market) if broken else None)


def unchecked(
    rules: SymbolRules, intent: OrderIntent, touch: Touch, *, has_account: bool, on_paper: bool = False
) -> tuple[str, ...]:
    """Return the rules that were not checked because the open orders, the account or a price is unknown.

    Paper has no limit on the number of open orders.
    """
    counted = {
        "MAX_NUM_ORDERS": rules.max_num_orders > 0 and not on_paper,
        "MAX_NUM_ALGO_ORDERS": rules.max_num_algo_orders > 0 and intent.is_stop and not on_paper,
        "MAX_POSITION": rules.max_position > 0 and intent.side == "BUY" and not has_account,
    }
    priced = {
        rules.percent_rule: any(_band(rules, intent)) and intent.kind != MARKET,
        rules.notional_rule: any(_notional(rules, intent)) and intent.kind == MARKET and intent.quantity is not None,
    }
    without_price = priced if touch.reference is None else {}
    if touch.market is None:
        without_price = without_price | {STOP_PRICE: intent.is_stop}
    return tuple(rule for rule, applies in (without_price | counted).items() if applies)


def _aligned(rules: SymbolRules, intent: OrderIntent) -> tuple[OrderIntent, tuple[RoundedAmount, ...]]:
    order, changes = intent, list[RoundedAmount]()
    for argument, received in intent.amounts.items():
        grid, rule = grid_of(rules, intent, argument)
        is_sale_price = intent.side == "SELL" and argument in {"price", "stop_price"}
        used = _up(received, grid) if is_sale_price else _down(received, grid)
        if used != received:
            changes.append(RoundedAmount(rule, argument, received, used))
            order = order.having(argument, used)
    return order, tuple(changes)


def _broken(rules: SymbolRules, asked: OrderIntent, order: OrderIntent, market: _Market) -> Iterator[Broken]:
    for bound in _bounds(rules, order, market):
        measured = order.amounts[bound.argument] * bound.unit
        # Report the requested amount, not the rounded amount. The product price x quantity exists only for rounded
        # amounts.
        received = asked.amounts[bound.argument] if bound.unit == ONE else measured
        if bound.least is not None and measured < bound.least:
            yield Broken(bound.rule, bound.argument, received, "at least", bound.least)
        elif bound.most is not None and measured > bound.most:
            yield Broken(bound.rule, bound.argument, received, "at most", bound.most)


def _nearest(rules: SymbolRules, order: OrderIntent, market: _Market) -> OrderIntent | None:
    # Prices come first: the quantity that reaches a minimum value depends on them.
    for argument in order.amounts:
        grid, _ = grid_of(rules, order, argument)
        own = [bound for bound in _bounds(rules, order, market) if bound.argument == argument]
        least = [_up(each.least / each.unit, grid) for each in own if each.least is not None]
        most = [_down(each.most / each.unit, grid) for each in own if each.most is not None]
        mended = min([max([order.amounts[argument], *least]), *most])
        if mended < max(least, default=mended):
            return None  # no amount satisfies both rules
        order = order.having(argument, mended)
    return order


def _bounds(rules: SymbolRules, order: OrderIntent, market: _Market) -> Iterator[Bound]:
    if order.price is not None:
        yield from _price_bounds(rules, order, market.touch)
    if order.stop_price is not None:
        yield from _stop_bounds(rules, order, market.touch)
    if order.trailing is not None:
        least, most = rules.trailing_above_bps if order.triggers_above else rules.trailing_below_bps
        yield Bound(TRAILING_DELTA, "trailing", percent_of(max(least, 1)), percent_of(most) or None)
    if order.quantity is not None:
        yield from _quantity_bounds(rules, order, market)
    if order.quote_quantity is not None:
        yield from _quote_quantity_bounds(rules, order, market)


def _price_bounds(rules: SymbolRules, order: OrderIntent, touch: Touch) -> Iterator[Bound]:
    grid, _ = grid_of(rules, order, "price")
    yield Bound("PRICE_FILTER", "price", _up(max(rules.min_price, grid), grid), _at_most(rules.max_price, grid))
    if touch.reference is not None:
        down, up = (each * touch.reference for each in _band(rules, order))
        yield Bound(rules.percent_rule, "price", _at_least(down, grid), _at_most(up, grid))
    met = touch.met_by(order.side)
    if order.kind == LIMIT_MAKER and met is not None:
        yield _beyond(LIMIT_MAKER, "price", met, grid, above=order.side == "SELL")


def _stop_bounds(rules: SymbolRules, order: OrderIntent, touch: Touch) -> Iterator[Bound]:
    grid, _ = grid_of(rules, order, "stop_price")
    yield Bound("PRICE_FILTER", "stop_price", _up(max(rules.min_price, grid), grid), _at_most(rules.max_price, grid))
    if touch.market is not None:
        yield _beyond(STOP_PRICE, "stop_price", touch.market, grid, above=order.triggers_above)


def _quantity_bounds(rules: SymbolRules, order: OrderIntent, market: _Market) -> Iterator[Bound]:
    grid, _ = grid_of(rules, order, "quantity")
    yield Bound("LOT_SIZE", "quantity", _up(max(rules.min_quantity, grid), grid), _at_most(rules.max_quantity, grid))
    if order.kind == MARKET:
        least, most = _at_least(rules.market_min_quantity, grid), _at_most(rules.market_max_quantity, grid)
        yield Bound("MARKET_LOT_SIZE", "quantity", least, most)
    at = market.touch.reference if order.kind == MARKET else order.price
    if at:
        least, most = _notional(rules, order)
        yield Bound(rules.notional_rule, "quantity", least or None, most or None, at)
    if (room := market.room(rules, order)) is not None:
        yield Bound("MAX_POSITION", "quantity", None, _down(room, grid))


def _quote_quantity_bounds(rules: SymbolRules, order: OrderIntent, market: _Market) -> Iterator[Bound]:
    grid, _ = grid_of(rules, order, "quote_quantity")
    at = market.touch.met_by(order.side)
    if at is not None:
        # The request is in the quote asset, and its quantity depends on the trade price. So convert the limits of the
        # quantity.
        step, _ = grid_of(rules, order, "quantity")
        least, most = _up(max(rules.min_quantity, step) * at, grid), _at_most(rules.max_quantity * at, grid)
        yield Bound("LOT_SIZE", "quote_quantity", least, most)
        least, most = _at_least(rules.market_min_quantity * at, grid), _at_most(rules.market_max_quantity * at, grid)
        yield Bound("MARKET_LOT_SIZE", "quote_quantity", least, most)
        if (room := market.room(rules, order)) is not None:
            yield Bound("MAX_POSITION", "quote_quantity", None, _down(room * at, grid))
    least, most = _notional(rules, order)
    yield Bound(rules.notional_rule, "quote_quantity", _up(max(least, grid), grid), _at_most(most, grid))


def _band(rules: SymbolRules, order: OrderIntent) -> tuple[Decimal, Decimal]:
    if order.side == "BUY":
        return rules.bid_multiplier_down, rules.bid_multiplier_up
    return rules.ask_multiplier_down, rules.ask_multiplier_up


def _notional(rules: SymbolRules, order: OrderIntent) -> tuple[Decimal, Decimal]:
    if order.kind == MARKET:
        return rules.min_notional * rules.apply_min_to_market, rules.max_notional * rules.apply_max_to_market
    return rules.min_notional, rules.max_notional


def grid_of(rules: SymbolRules, order: OrderIntent, argument: Argument) -> tuple[Decimal, str]:
    """Return the step of an amount and the rule that sets it. Without a rule, the asset's decimals set the step."""
    if argument == "quote_quantity":
        return ONE.scaleb(-rules.quote_places), PRECISION
    if argument == "trailing":
        return percent_of(1), TRAILING_DELTA
    if argument != "quantity":
        return (rules.tick, "PRICE_FILTER") if rules.tick else (ONE.scaleb(-rules.quote_places), PRECISION)
    steps = [step for step in (rules.step, rules.market_step * (order.kind == MARKET)) if step]
    if not steps:
        return ONE.scaleb(-rules.base_places), PRECISION
    places = max(map(decimals_of, steps))
    common = math.lcm(*(int(step.scaleb(places)) for step in steps))
    return Decimal(common).scaleb(-places), "LOT_SIZE" if rules.step else "MARKET_LOT_SIZE"


def _down(amount: Decimal, grid: Decimal) -> Decimal:
    return (amount / grid).to_integral_value(ROUND_FLOOR) * grid


def _up(amount: Decimal, grid: Decimal) -> Decimal:
    return (amount / grid).to_integral_value(ROUND_CEILING) * grid


def _at_least(limit: Decimal, grid: Decimal) -> Decimal | None:
    return _up(limit, grid) if limit else None


def _at_most(limit: Decimal, grid: Decimal) -> Decimal | None:
    return _down(limit, grid) if limit else None


def _beyond(rule: str, argument: Argument, price: Decimal, grid: Decimal, *, above: bool) -> Bound:
    """Return the rule that an amount must be strictly above, or strictly below, a price."""
    if above:
        return Bound(rule, argument, _down(price, grid) + grid, None)
    return Bound(rule, argument, None, _up(price, grid) - grid)
