"""Texts about the spread and about the cost of market orders."""

from decimal import Decimal

from mcp_binance_server.analytics.book.cost import CHEAP_BPS, TAKER_FEE_BPS, MarketOrderCost
from mcp_binance_server.analytics.book.metrics import BPS
from mcp_binance_server.domain.symbols import SymbolRules
from mcp_binance_server.surface.views.markdown import DOLLAR_LIKE, bps, money

# If a tick is at least this many basis points, texts state distances in ticks first.
COARSE_TICK_BPS = 1.0
FEE = f"plus {TAKER_FEE_BPS} bps taker fee"


def spread_words(tick: float, mid: float | None, spread: float | None) -> str:
    """Format the spread in ticks and basis points. The minimum is one tick."""
    if mid is None or spread is None:
        return "n/a"
    ticks, relative = round(spread / tick), bps(spread / mid * BPS)
    if ticks <= 1:
        return f"1 tick, at its minimum ({relative} bps)"
    counted = f"{ticks:,} ticks"
    is_coarse = tick / mid * BPS >= COARSE_TICK_BPS
    return f"{counted} ({relative} bps)" if is_coarse else f"{relative} bps ({counted})"


def cost_words(rules: SymbolRules, cost: MarketOrderCost) -> str:
    """Return the largest cheap market order. If no order is cheap, return the minimum cost.

    The sentence starts in lower case, so that it can follow another: `market orders up to $61,000 cost under 2 bps now
    …`.
    """
    if cost.half_spread_bps >= CHEAP_BPS:
        half = f"half the spread alone is {bps(cost.half_spread_bps, 1)} bps"
        if float(rules.tick) / cost.mid * BPS < CHEAP_BPS:
            return f"no market order here costs under {CHEAP_BPS} bps: {half}"
        return f"{half}; up to {_sum(rules, cost.touch, cost)} at the touch, {FEE}"
    if not cost.cheap or cost.cheap < float(rules.min_notional):
        return f"no market order here costs under {CHEAP_BPS} bps"
    bound = "at least " if cost.truncated else ""
    held = f"minimum of the last {cost.seconds} s" if cost.seconds else "this instant only"
    return f"market orders up to {bound}{_sum(rules, cost.cheap, cost)} cost under {CHEAP_BPS} bps now ({held}), {FEE}"


def _sum(rules: SymbolRules, value: float, cost: MarketOrderCost) -> str:
    """Format an amount with two significant digits, rounded down.

    For an asset that is not a dollar, add the amount in dollars.
    """
    shown = _money(rules, _two_digits(value), rules.quote)
    if rules.quote in DOLLAR_LIKE or cost.dollars is None:
        return shown
    return f"{shown} ({_money(rules, _two_digits(value * cost.dollars), 'USDT')})"


def _money(rules: SymbolRules, amount: Decimal, quote: str) -> str:
    return money(amount, quote, rules.tick).removesuffix(".00").replace(".00 ", " ")


def _two_digits(value: float) -> Decimal:
    exact = Decimal(repr(value))
    size = Decimal(10) ** (exact.adjusted() - 1)
    return exact // size * size
