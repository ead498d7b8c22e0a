"""Coverage is known milliseconds over those asked for, also where the tape is full and where ids are missing."""

import random

import pytest

from analytics.samples import price, quantity
from feeds.recorded import book_of, trade_of
from mcp_binance_server.analytics.flow.report import sample_of_trades
from mcp_binance_server.analytics.metric import Window
from mcp_binance_server.domain.symbols import Symbol, SymbolRules
from mcp_binance_server.feeds.feed import FeedMemoryLimit, SymbolFeed
from mcp_binance_server.services.analysis.tape_window import covered_from_ms, taped
from mcp_binance_server.services.live.service import Watch

START_MS = 1_784_592_000_000
ROOM = FeedMemoryLimit.shared_by(600)
RULES = SymbolRules(Symbol("XRPUSDT"), "XRP", "USDT", "TRADING", price("0.01"), quantity("1"), quantity("5"))


def followed(times: list[int], *, lost: frozenset[int] = frozenset()) -> Watch:
    """Return a symbol whose stream told trades at these times, but for the lost ones."""
    feed = SymbolFeed(Symbol("XRPUSDT"), ROOM)
    feed.on_quiet()
    feed.on_snapshot(book_of(10, [("99.00", "1")], [("101.00", "1")]), asked=1_000, time_ms=START_MS)
    for place, at_ms in enumerate(times):
        if place not in lost:
            feed.on_trade(trade_of(place + 1, at_ms), at_ms)
    return Watch(RULES, feed, None, START_MS)


def walk_of(seed: int, trades: int, mean_ms: float) -> list[int]:
    chance, at_ms, times = random.Random(seed), float(START_MS), list[int]()
    for _ in range(trades):
        at_ms += chance.expovariate(1 / mean_ms)
        times.append(int(at_ms))
    return times


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("mean_ms", [400.0, 2_500.0])
def test_a_full_tape_covers_what_it_still_holds_and_no_more(seed: int, mean_ms: float) -> None:
    times = walk_of(seed, ROOM.trades + 700, mean_ms)
    watch = followed(times)
    to_ms = times[-1] // 1_000 * 1_000
    asked = Window(to_ms - 3_600_000, to_ms)

    covered_ms = covered_from_ms(watch)
    assert covered_ms is not None
    reached = Window(max(asked.from_ms, covered_ms), to_ms)
    trades = taped(watch, reached)

    assert trades is not None
    assert [each.time_ms for each in trades] == [each for each in times if reached.from_ms <= each < to_ms]
    truth = (to_ms - times[-1 - ROOM.trades] - 1) / 3_600_000
    assert sample_of_trades(trades, reached).known_ms / 3_600_000 == pytest.approx(truth, abs=0.001)


def test_a_window_with_missing_trades_is_not_taken_from_the_tape() -> None:
    times = walk_of(7, 300, 1_000.0)
    watch = followed(times, lost=frozenset({200, 201}))
    after_hole = -(-(times[202] + 1) // 1_000) * 1_000

    assert covered_from_ms(watch) == after_hole
    assert taped(watch, Window(times[150], times[-1])) is None
    assert taped(watch, Window(after_hole, times[-1])) is not None
