"""What the end of a minute costs, and what a symbol's own past holds in memory once it is full."""

from gc import collect
from random import Random
from time import process_time
from tracemalloc import get_traced_memory, start, stop

from mcp_binance_server.analytics.book.outcomes import MOST_OUTCOMES, LeftSize
from mcp_binance_server.analytics.market.symbol_scores import SymbolScores
from support.score_history import START_MS, calm_minute, live_through

# 1 ms on a machine that does nothing else.
MOST_MS = 6.0
MOST_BYTES = 40_000
FULL_MINUTES = 480


def test_judging_a_minute_by_a_full_past_takes_a_few_milliseconds() -> None:
    pasts, draw = SymbolScores(), Random(2)
    live_through(pasts, FULL_MINUTES)

    spent: list[float] = []
    for _ in range(20):
        facts = calm_minute(draw)
        began = process_time()
        pasts.learn(facts, pasts.judge(facts, START_MS))
        pasts.hour.health_scale()
        pasts.hour.stress_scale()
        spent.append(1000 * (process_time() - began))

    print(f"the end of a minute: {sorted(spent)[10]:.2f} ms")  # noqa: T201 - a figure
    assert sorted(spent)[10] < MOST_MS


def test_a_full_past_of_a_symbol_is_small() -> None:
    lived = SymbolScores()
    live_through(lived, FULL_MINUTES)
    for at in range(2 * MOST_OUTCOMES):
        lived.outcomes.add(LeftSize(is_near=at % 2 == 0, was_traded=at % 3 == 0))
    kept = lived.series()
    collect()
    start()
    try:
        pasts = SymbolScores.restored(kept)
        collect()
        held, _ = get_traced_memory()
    finally:
        stop()

    print(f"{len(pasts.scores['flood'])} minutes: {held:,} bytes")  # noqa: T201 - a figure
    assert held < MOST_BYTES
