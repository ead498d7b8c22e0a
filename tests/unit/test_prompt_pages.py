"""Corners of the prompt pages that a healthy market never shows."""

from dataclasses import replace
from decimal import Decimal
from math import exp

import pytest

from mcp_binance_server.analytics.portfolio.report import judge_portfolio
from mcp_binance_server.analytics.portfolio.valuation import value_portfolio
from mcp_binance_server.analytics.thresholds import Strategy
from mcp_binance_server.analytics.trend.outlook import TradingReport, judge
from mcp_binance_server.analytics.trend.size import NoOrder, SizeReport
from mcp_binance_server.domain.account import Balance
from mcp_binance_server.domain.market import MarketView, Ticker
from mcp_binance_server.domain.money import Price, Quantity
from mcp_binance_server.domain.periods import Candle
from mcp_binance_server.domain.symbols import Symbol, SymbolRules
from mcp_binance_server.surface.views.portfolio.risk import portfolio_page
from mcp_binance_server.surface.views.trend.page import trading_page

HOUR_MS = 3_600_000


def price(text: str) -> Price:
    return Price(Decimal(text))


def quantity(text: str) -> Quantity:
    return Quantity(Decimal(text))


def view(last: str = "100", *, opened: str = "99", high: str = "110", low: str = "90") -> MarketView:
    change = Decimal(last) - Decimal(opened)
    ticker = Ticker(
        symbol=Symbol("NEWUSDT"),
        last_price=price(last),
        change=Price(change),
        change_percent=change / Decimal(opened) * 100,
        open_price=price(opened),
        high=price(high),
        low=price(low),
        weighted_average=price("100"),
        volume=quantity("10"),
        quote_volume=quantity("1000"),
        bid=Price(Decimal(last) - Decimal("0.1")),
        ask=Price(Decimal(last) + Decimal("0.1")),
        trade_count=5,
        open_time_ms=0,
        close_time_ms=86_400_000,
    )
    rules = SymbolRules(Symbol("NEWUSDT"), "NEW", "USDT", "TRADING", price("0.01"), quantity("1"), quantity("5"))
    return MarketView(ticker, rules, "api.binance.com", "configured", 0)


def flat_candle(hour: int) -> Candle:
    at, level, none = hour * HOUR_MS, price("100"), quantity("0")
    return Candle(at, at + HOUR_MS - 1, level, level, level, level, quantity("1"), quantity("100"), 1, none)


def page(seen: MarketView, hourly: list[Candle] | None, *, strategy: Strategy = "balanced") -> str:
    outlook = judge(seen.ticker, seen.rules, hourly=hourly, day_bars=None, strategy=strategy, risk="medium")
    return trading_page(
        TradingReport(seen, outlook, SizeReport(NoOrder("unread"), None), ()), defaults=(True, True), detail=True
    )


@pytest.mark.parametrize("bars", [0, 9, 14])
def test_a_new_listing_says_how_many_bars_are_still_missing(bars: int) -> None:
    text = page(view(), [flat_candle(hour) for hour in range(bars)])

    assert f"## Trend and Volatility\n_Collecting: {bars} of 15 hourly bars_" in text
    assert "*- Stop Loss: $85 (below 24h low)*" in text
    assert "**Position Size**: no order: the order book could not be read" in text
    assert "**Data**: 24h statistics and book 00:00:00\n" in text


def falling(hours: int = 400, start: float = 160.0) -> list[Candle]:
    """Return bars that lead down in two hours of three, and end near 100."""
    made, last = list[Candle](), start
    for hour in range(hours):
        close = last * (1.0012 if hour % 3 == 0 else 0.9976)
        edges = (last, max(last, close), min(last, close), close)
        opened, high, low, closed = (price(f"{each:.2f}") for each in edges)
        at, none = hour * HOUR_MS, quantity("0")
        made.append(Candle(at, at + HOUR_MS - 1, opened, high, low, closed, quantity("1"), quantity("100"), 1, none))
        last = close
    return made


@pytest.mark.parametrize("bars", [20, 168])
def test_less_than_a_week_of_bars_judges_neither_day_nor_week(bars: int) -> None:
    text = page(view("140", opened="100", high="141"), falling(bars))

    assert "is showing a net change of +40.0%, not judged without a week of hourly bars, over 24 hours." in text
    assert "without a clear direction" in text
    assert f"**Bias**: not judged: {bars - 1} of 168 hourly returns" in text


@pytest.mark.parametrize(
    ("last", "words"),
    [
        ("92", "The price is trading near the daily low, suggesting bearish sentiment."),
        ("98", "The price is trading below the middle of the daily range, suggesting bearish sentiment."),
        ("101", "The price sits inside the daily range without a clear direction."),
    ],
)
def test_a_day_that_fell_says_where_in_its_range_it_stands(last: str, words: str) -> None:
    text = page(view(last, opened="110"), falling())

    assert "is showing negative momentum with a " in text
    assert words in text
    assert "**Bias**: Down (t -" in text


def test_a_conservative_strategy_waits_while_the_week_leads_down() -> None:
    text = page(view(opened="110"), falling(), strategy="conservative")

    assert "*- Entry Point: None by rule (downtrend)*" in text
    assert "| At the entry |" not in text


@pytest.mark.parametrize(
    ("last", "strategy", "entry", "target"),
    [
        ("109", "aggressive", "third quarter of the 24h range", "three quarters of a range above the 24h high"),
        ("109", "balanced", "second quarter of the 24h range", "half a range above the 24h high"),
        ("109", "conservative", "lowest quarter of the 24h range", "a quarter of a range above the 24h high"),
        ("91", "balanced", "from the 24h low to the price", "half a range above the 24h high"),
        ("89", "balanced", "at the price, below the 24h range", "half a range above the 24h high"),
    ],
)
def test_without_levels_the_brackets_speak_of_the_range_alone(
    last: str, strategy: Strategy, entry: str, target: str
) -> None:
    text = page(view(last), None, strategy=strategy)

    assert f" ({entry})*" in text
    assert f" ({target})*" in text
    assert "near" not in text


def test_a_day_of_one_tick_aims_at_the_least_distance() -> None:
    text = page(view("100", high="100.01", low="100"), None)

    assert "(the minimum distance: 3 ticks or 2 spreads above the entry)*" in text


def test_levels_outside_the_exchanges_price_filter_are_not_shown() -> None:
    seen = view()
    strict = replace(seen, rules=replace(seen.rules, ask_multiplier_up=Decimal("1.1")))

    assert "*- Entry Point: None by rule (outside price filter)*" in page(strict, None)


def test_averages_of_a_young_listing_say_how_much_of_their_start_is_left() -> None:
    young, old = (
        page(view(), [flat_candle(at) for at in range(60)]),
        page(view(), [flat_candle(at) for at in range(999)]),
    )

    left = {"EMA20": (1 - 2 / 21) ** 40, "EMA50": (1 - 2 / 51) ** 10, "RSI14": (1 - 1 / 14) ** 45}
    told = ", ".join(f"{name} {100 * weight:.1f}%" for name, weight in left.items())
    assert f"_Warming: the start value still has this weight in each average: {told}, ATR14 3.6%_" in young
    assert "_Warming" not in old


def test_a_market_that_never_moved_has_no_levels_by_atr() -> None:
    text = page(view(), [flat_candle(hour) for hour in range(60)])

    assert "## Support and Resistance\n_None by rule (flat range)_" in text
    assert "| ATR | none: flat range | n/a | n/a | n/a |" in text


def test_assets_without_a_route_are_listed_and_left_out_of_the_total() -> None:
    balances = [
        Balance("BTC", quantity("1"), quantity("0")),
        Balance("OBSCURE", quantity("5"), quantity("0")),
    ]
    portfolio = value_portfolio(balances, {Symbol("BTCUSDT"): price("100")})

    text = portfolio_page(judge_portfolio(portfolio, {}, as_of_ms=0, missing=()))

    assert "| OBSCURE | 5.0000       | 0.0000         | 5.0000 | n/a |" in text
    assert "_Not valued, and not in the total: OBSCURE (no route to USDT)_" in text
    assert "**Total Portfolio Value**: ~$100.00" in text
    assert "_Collecting: 0 of 60 daily closes_" in text


def test_a_portfolio_that_nothing_can_value_claims_nothing() -> None:
    portfolio = value_portfolio([Balance("OBSCURE", quantity("5"), quantity("0"))], {})

    text = portfolio_page(judge_portfolio(portfolio, {}, as_of_ms=0, missing=()))

    assert "**Risk Assessment**: Nothing in this portfolio could be valued." in text
    assert "_Not measured: nothing in this portfolio could be valued_" in text


def test_stablecoins_alone_carry_no_market_risk() -> None:
    portfolio = value_portfolio([Balance("USDT", quantity("500"), quantity("0"))], {})

    text = portfolio_page(judge_portfolio(portfolio, {}, as_of_ms=0, missing=()))

    assert "mostly in lower-volatility assets" in text
    assert "- Tether (USDT): 100.0% (Stable)" in text
    assert "## Measured Risk\n_None: stablecoins only, valued at par_" in text
    assert "Collecting" not in text


def test_a_volatility_within_a_tenth_of_an_edge_names_the_class_across_it() -> None:
    portfolio = value_portfolio([Balance("BTC", quantity("1"), quantity("0"))], {Symbol("BTCUSDT"): price("100")})
    swings = {day: price(f"{100 * exp(0.038 * (day % 2)):.8f}") for day in range(90)}

    text = portfolio_page(judge_portfolio(portfolio, {"BTC": swings}, as_of_ms=0, missing=()))

    assert "- Bitcoin (BTC): 100.0% (Medium-high volatility, close to High)" in text
