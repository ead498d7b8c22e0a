"""Corners of the prompt pages that a healthy market never shows."""

from decimal import Decimal

import pytest

from mcp_binance_server.analytics.portfolio.report import judge_portfolio
from mcp_binance_server.analytics.portfolio.valuation import value_portfolio
from mcp_binance_server.analytics.trend.outlook import Equity, TradingReport, judge
from mcp_binance_server.domain.account import Balance
from mcp_binance_server.domain.market import MarketView, Ticker
from mcp_binance_server.domain.money import Price, Quantity
from mcp_binance_server.domain.periods import Candle
from mcp_binance_server.domain.symbols import Symbol, SymbolRules
from mcp_binance_server.surface.views.portfolio.risk import portfolio_page
from mcp_binance_server.surface.views.trend import trading_page

HOUR_MS = 3_600_000


def price(text: str) -> Price:
    return Price(Decimal(text))


def quantity(text: str) -> Quantity:
    return Quantity(Decimal(text))


def view(low: str = "90") -> MarketView:
    ticker = Ticker(
        symbol=Symbol("NEWUSDT"),
        last_price=price("100"),
        change=price("1"),
        change_percent=Decimal(1),
        open_price=price("99"),
        high=price("110"),
        low=price(low),
        weighted_average=price("100"),
        volume=quantity("10"),
        quote_volume=quantity("1000"),
        bid=price("99.9"),
        ask=price("100.1"),
        trade_count=5,
        open_time_ms=0,
        close_time_ms=86_400_000,
    )
    rules = SymbolRules(Symbol("NEWUSDT"), "NEW", "USDT", "TRADING", price("0.01"), quantity("1"), quantity("5"))
    return MarketView(ticker, rules, "api.binance.com", "configured", 0)


def flat_candle(hour: int) -> Candle:
    at, level, none = hour * HOUR_MS, price("100"), quantity("0")
    return Candle(at, at + HOUR_MS - 1, level, level, level, level, quantity("1"), quantity("100"), 1, none)


def page(seen: MarketView, hourly: list[Candle] | None, equity: str = "10000") -> str:
    outlook = judge(
        seen.ticker,
        seen.rules,
        hourly=hourly,
        day_bars=None,
        strategy="balanced",
        risk="medium",
        equity=Decimal(equity),
    )
    return trading_page(TradingReport(seen, outlook, Equity(Decimal(equity), is_own=False), ()), defaults=(True, True))


@pytest.mark.parametrize("bars", [0, 9, 14])
def test_a_new_listing_says_how_many_bars_are_still_missing(bars: int) -> None:
    text = page(view(), [flat_candle(hour) for hour in range(bars)])

    assert f"## Trend and Volatility\n_Collecting: {bars} of 15 hourly bars_" in text
    assert "*- Stop Loss: $85 (below 24h low)*" in text


def test_a_market_that_never_moved_has_no_levels_by_atr() -> None:
    text = page(view(), [flat_candle(hour) for hour in range(60)])

    assert "## Support and Resistance\n_None by rule (flat range)_" in text
    assert "| ATR | none: flat range | n/a | n/a | n/a |" in text


def test_an_equity_too_small_for_the_smallest_order_sizes_nothing() -> None:
    assert "**Position Size**: none by rule (below min notional)" in page(view(), None, equity="1")


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
    assert "## Measured Risk\n_None: stablecoins alone, held at par_" in text
    assert "Collecting" not in text
