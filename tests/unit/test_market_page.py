"""The market page, as text."""

from dataclasses import replace
from decimal import Decimal

import pytest

from mcp_binance_server.domain.market import MarketView, Ticker
from mcp_binance_server.domain.money import Price, Quantity
from mcp_binance_server.domain.symbols import Symbol, SymbolRules
from mcp_binance_server.surface.tools.market.prices import ticker_answer
from mcp_binance_server.surface.views.market import market_page
from support.requirement import requirement


def price(text: str) -> Price:
    return Price(Decimal(text))


def quantity(text: str) -> Quantity:
    return Quantity(Decimal(text))


VIEW = MarketView(
    ticker=Ticker(
        symbol=Symbol("DOGEUSDT"),
        last_price=price("0.21037"),
        change=price("-0.00123"),
        change_percent=Decimal("-0.581"),
        open_price=price("0.2116"),
        high=price("0.2251"),
        low=price("0.20001"),
        weighted_average=price("0.21200417"),
        volume=quantity("712345678.4"),
        quote_volume=quantity("151020304.0567"),
        bid=price("0.21036"),
        ask=price("0.21037"),
        trade_count=401_233,
        open_time_ms=1_784_505_723_456,
        close_time_ms=1_784_592_123_456,
    ),
    rules=SymbolRules(Symbol("DOGEUSDT"), "DOGE", "USDT", "TRADING", price("0.00001"), quantity("1"), quantity("1")),
    host="api.binance.com",
    origin="configured",
    age_ms=0,
)


@requirement("ruling/14", "FR-013", "resources/sc-007", "resources/format-title", "resources/format-labels")
def test_the_page_has_the_contracts_lines_in_its_order() -> None:
    assert market_page(VIEW).split("\n") == [
        "# DOGEUSDT Market Data",
        "",
        "**Symbol**: DOGEUSDT",
        "**Last Price**: $0.21037",
        "**24h Change**: -$0.00123 (-0.58%)",
        "**24h High**: $0.22510",
        "**24h Low**: $0.20001",
        "**24h Volume**: 712,345,678.40 DOGE",
        "**Quote Volume**: $151,020,304.06 USDT",
        "",
        "**Weighted Average Price**: $0.212004",
        "**Price Change Count**: 401,233",
        "",
        "*Last updated: 2026-07-21T00:02:03.456Z*",
        "*Data source: Binance API v3*",
    ]


@requirement("resources/stale-symbol", "ruling/15")
def test_a_market_without_trades_says_so_and_shows_no_zero_as_a_price() -> None:
    silent = replace(VIEW.ticker, last_price=price("0"), change=price("0"), high=price("0"), trade_count=0)

    page = market_page(replace(VIEW, ticker=silent))

    assert "**Last Price**: n/a" in page
    assert "*Stale: no trades in the last 24 hours*\n*Last updated" in page


@requirement("resources/stale-symbol", "ruling/15")
@pytest.mark.parametrize(("age_ms", "is_stale"), [(60_000, False), (60_001, True)])
def test_data_older_than_a_minute_is_called_stale(age_ms: int, *, is_stale: bool) -> None:
    assert ("*Stale: the exchange's data is 1 min old*" in market_page(replace(VIEW, age_ms=age_ms))) is is_stale


def test_a_market_that_is_halted_says_so() -> None:
    halted = replace(VIEW, rules=replace(VIEW.rules, status="HALT"))

    assert "*Not trading now: status HALT*" in market_page(halted)


def test_a_page_from_the_second_host_names_it() -> None:
    page = market_page(replace(VIEW, host="data-api.binance.vision", origin="rerouted"))

    assert page.endswith(
        "*Data source: Binance API v3, public data host data-api.binance.vision "
        "(the main host does not serve this location)*"
    )


def test_a_page_of_the_offline_exchange_does_not_pretend_to_be_the_market() -> None:
    page = market_page(replace(VIEW, host="simulator.invalid", origin="simulated"))

    assert page.endswith("*Data source: simulated exchange, no real market*")


def test_a_hostile_name_cannot_add_lines_or_markup() -> None:
    hostile = replace(VIEW, ticker=replace(VIEW.ticker, symbol=Symbol("A*B|\n# System\u202e")))

    page = market_page(hostile)

    assert page.split("\n")[0] == "# A\\*B\\|\\# System Market Data"
    assert len(page.split("\n")) == 15


def test_readers_of_one_moment_share_what_is_made_of_a_ticker() -> None:
    later, moved = replace(VIEW, age_ms=VIEW.age_ms + 1), replace(VIEW, ticker=replace(VIEW.ticker))

    assert ticker_answer(VIEW) is ticker_answer(later)
    assert ticker_answer(VIEW) is not ticker_answer(moved)
    assert ticker_answer(VIEW) == ticker_answer(moved)
    assert ticker_answer(VIEW) != ticker_answer(replace(VIEW, host="data-api.binance.vision"))
