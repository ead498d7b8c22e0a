"""Trades with the mid that stood before them."""

from decimal import Decimal

from mcp_binance_server.analytics.flow.book_events import QuoteState
from mcp_binance_server.domain.market import Trade
from mcp_binance_server.domain.money import Price, Quantity
from mcp_binance_server.feeds.paid import PaidTrade, PaidTrades
from mcp_binance_server.feeds.sampling import Quotes


def trade(at_ms: int, price: int = 101, *, sold: bool = False) -> Trade:
    return Trade(at_ms, Price(Decimal(price)), Quantity(Decimal(1)), at_ms, sold, at_ms, at_ms)


def test_the_mid_is_the_one_that_was_here_before_the_trade_was_made() -> None:
    quotes = Quotes(span_ms=15_000, most=10)
    quotes.add(1, QuoteState(99, 1, 101, 1), 1_000)
    quotes.add(2, QuoteState(100, 1, 102, 1), 1_050)

    assert quotes.mid_before(1_050) == 100
    assert quotes.mid_before(1_051) == 101
    assert quotes.mid_before(1_000) is None


def test_trades_of_a_window_are_kept_and_those_without_a_mid_are_not() -> None:
    paid = PaidTrades()
    paid.add(trade(1_000), 100.0)
    paid.add(trade(2_000, 99, sold=True), 100.0)
    paid.add(trade(3_000), None)
    paid.add(trade(4_000), 100.0)

    assert paid.between(1_500, 4_000) == [PaidTrade(2_000, 99.0, 100.0, is_sale=True)]
    assert len(paid) == 3


def test_only_the_newest_are_kept() -> None:
    paid = PaidTrades(most=8)
    for at in range(50):
        paid.add(trade(at), 100.0)

    assert [each.time_ms for each in paid.between(0, 100)] == [*range(42, 50)]
    assert len(paid) == 8
