"""Eleven recorded minutes of two symbols: ordinary markets, in which the patterns must be rare."""

from bisect import bisect_right
from collections import Counter

import pytest

from feeds.recorded import Pair, Recording, recording
from mcp_binance_server.analytics.book.level_history import level_window
from mcp_binance_server.analytics.market.anomalies import Ladder, Ladders, pattern_verdicts
from mcp_binance_server.feeds.book import LocalBook
from support.fixtures import RECORDED_MARKET, needs

pytestmark = needs(RECORDED_MARKET)

MINUTE_MS = 60_000


def found_by_minute(recorded: Recording) -> list[Counter[str]]:
    book = LocalBook()
    book.load(recorded.snapshot, asked=1_000)
    deltas, minutes, at = recorded.deltas, list[Counter[str]](), 0
    for end_ms in range(deltas[0].event_ms + MINUTE_MS, deltas[-1].event_ms, MINUTE_MS):
        while deltas[at].event_ms <= end_ms:
            book.apply(deltas[at])
            at += 1
        bids, asks = book.written_top(1_000)
        ladders = Ladders(Ladder.of(bids), Ladder.of(asks))
        from_ms = end_ms - MINUTE_MS
        changes = [(each.event_ms, each) for each in deltas[:at] if each.event_ms >= from_ms - 5_000]
        trades = [each for each in recorded.trades if from_ms <= each.time_ms <= end_ms]
        window = level_window(changes, trades, from_ms, ladders.large())
        minutes.append(Counter({each.type: each.total for each in pattern_verdicts(window, ladders, None)}))
    return minutes


@pytest.mark.parametrize("pair", ["btcusdt", "ethusdt"])
def test_patterns_are_rare_in_an_ordinary_market(pair: Pair) -> None:
    minutes = found_by_minute(recording(pair))

    assert len(minutes) == 10
    for kind in ("iceberg", "absorption", "spoof_like"):
        assert sum(minute[kind] for minute in minutes) <= 3
    assert sum(minutes, Counter[str]()), "and yet not so rare that nothing is ever found"


@pytest.mark.parametrize(("pair", "least"), [("btcusdt", 0.90), ("ethusdt", 0.98)])
def test_a_trade_shows_in_the_first_change_of_the_book_after_it(pair: Pair, least: float) -> None:
    recorded = recording(pair)
    times = [each.event_ms for each in recorded.deltas]
    shown = [
        {("b", float(price)) for price, _ in each.bids} | {("a", float(price)) for price, _ in each.asks}
        for each in recorded.deltas
    ]

    inside = [each for each in recorded.trades if times[0] <= each.time_ms < times[-1]]
    met = sum(
        ("b" if each.buyer_is_maker else "a", float(each.price)) in shown[bisect_right(times, each.time_ms)]
        for each in inside
    )

    assert met / len(inside) >= least
