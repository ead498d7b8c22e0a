"""How much a market order may take within 2 bps: the least of both sides and of the last half minute."""

from decimal import Decimal

import pytest

from analytics.samples import levels
from mcp_binance_server.analytics.book.cost import CheapSize, MarketOrderCost, market_order_cost
from mcp_binance_server.domain.market import BookSnapshot
from mcp_binance_server.domain.money import Price, Quantity
from mcp_binance_server.domain.symbols import Symbol, SymbolRules
from mcp_binance_server.surface.views.book.cost import cost_words

NOW_MS = 100_000
BOOK = BookSnapshot(
    1, tuple(levels([("99.995", 30), ("99.9", 500)])), tuple(levels([("100.005", "25.678"), ("100.1", 500)]))
)


def rules(quote: str = "USDT", tick: str = "0.01") -> SymbolRules:
    return SymbolRules(
        Symbol("PAIR"), "PAIR", quote, "TRADING", Price(Decimal(tick)), Quantity(Decimal(1)), Quantity(Decimal(5))
    )


def second(age_s: int, cheap: float, touch: float = 900.0, *, truncated: bool = False) -> CheapSize:
    return CheapSize(NOW_MS - age_s * 1000, cheap, touch, truncated)


def cost(*before: CheapSize, book: BookSnapshot = BOOK, dollars: float | None = None) -> MarketOrderCost:
    found = market_order_cost(book, before, NOW_MS, dollars=dollars)
    assert found is not None
    return found


def test_the_instant_alone_is_the_lesser_side_within_two_basis_points() -> None:
    now = cost()

    assert now.cheap == pytest.approx(100.005 * 25.678)
    assert now.touch == pytest.approx(100.005 * 25.678)
    assert (now.seconds, now.truncated) == (0, False)
    assert now.half_spread_bps == pytest.approx(0.5)


def test_the_least_of_the_last_half_minute_counts_and_nothing_older() -> None:
    held = cost(second(31, 1), second(29, 800, 700), second(3, 2_000), second(1, 90_000))

    assert (held.cheap, held.touch, held.seconds) == (800, 700, 3)


def test_a_book_without_a_middle_costs_nothing_known() -> None:
    assert market_order_cost(BookSnapshot(1, (), BOOK.asks), (), NOW_MS) is None
    assert market_order_cost(BookSnapshot(1, BOOK.asks, BOOK.bids), (), NOW_MS) is None


def test_a_sum_is_rounded_down_to_two_digits_and_fees_are_added() -> None:
    assert cost_words(rules(), cost(second(3, 2_199), second(1, 60_000))) == (
        "market orders up to $2,100 cost under 2 bps now (minimum of the last 2 s), plus 10 bps taker fee"
    )


def test_a_book_that_ends_within_reach_is_a_lower_bound() -> None:
    short = BookSnapshot(1, BOOK.bids[:1], BOOK.asks[:1])

    assert cost_words(rules(), cost(book=short)).startswith("market orders up to at least $2,500 cost under 2 bps now")
    assert "at least" not in cost_words(rules(), cost(second(2, 700), book=short))


def test_below_the_least_order_of_the_exchange_nothing_is_cheap() -> None:
    assert cost_words(rules(), cost(second(2, 4.99))) == "no market order here costs under 2 bps"
    assert cost_words(rules(), cost(second(2, 0))) == "no market order here costs under 2 bps"


def test_where_a_tick_is_wide_the_spread_itself_is_the_cost() -> None:
    wide = BookSnapshot(1, tuple(levels([("0.00000833", 10**9)])), tuple(levels([("0.00000834", 10**8)])))

    assert cost_words(rules(tick="0.00000001"), cost(book=wide)) == (
        "half the spread alone is 6.0 bps; up to $830 at the touch, plus 10 bps taker fee"
    )


def test_a_wide_spread_of_many_ticks_says_how_wide_it_is() -> None:
    wide = BookSnapshot(1, tuple(levels([(99, 1)])), tuple(levels([(101, 1)])))

    words = cost_words(rules(), cost(book=wide))

    assert words == "no market order here costs under 2 bps: half the spread alone is 100.0 bps"


def test_another_quote_asset_is_shown_with_its_dollar_value() -> None:
    known, unknown = (cost_words(rules("BTC"), cost(dollars=each)) for each in (118_000.0, None))

    assert known.startswith("market orders up to 2,500 BTC ($300,000,000) cost under 2 bps now")
    assert unknown.startswith("market orders up to 2,500 BTC cost under 2 bps now")
