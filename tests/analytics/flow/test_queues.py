"""Order flow imbalance in queues: windows without gaps, a rank among them, and an impact only where it stands out."""

import random

import pytest

from mcp_binance_server.analytics.flow.book_events import (
    QuoteState,
    TouchSecond,
    order_flow_imbalance,
    queue_flow,
    queue_windows,
)


def hour(seed: int, *, slope: float, seconds: int = 3_601) -> list[TouchSecond]:
    """Return seconds in which the mid moves by so much for each queue of imbalance, and by chance."""
    chance = random.Random(seed)
    rows, mid = list[TouchSecond](), 100.0
    for at in range(seconds):
        quotes = 1 + chance.randrange(9)
        ofi = chance.gauss(0, 4)
        mid += slope * ofi / 2 + chance.gauss(0, 0.02)
        rows.append(TouchSecond(at * 1000, mid, ofi, 2.0 * quotes, quotes))
    return rows


def test_a_window_is_ten_seconds_over_the_mean_touch_and_its_move_begins_where_the_one_before_ended() -> None:
    rows = [TouchSecond(at * 1000, 100 + at / 10, 3.0, 8.0, 4) for at in range(21)]

    first, second = queue_windows(rows)

    assert (first.queues, second.queues) == (15, 15)  # thirty units, two at the touch
    assert second.move == pytest.approx(1.0)


def test_a_window_across_a_gap_is_left_out_and_one_without_quotes_is_balanced() -> None:
    rows = [TouchSecond(at * 1000, 100.0, 0.0, 0.0, 0) for at in range(31) if at != 15]

    assert [each.queues for each in queue_windows(rows)] == [0.0]
    assert queue_windows(rows[:10]) == []


def test_an_impact_is_fitted_from_an_hour_and_only_where_there_is_one() -> None:
    states = [QuoteState(99, 2, 101, 2), QuoteState(99, 8, 101, 2)]
    now = order_flow_imbalance(states, minimum=1)

    moved, unmoved = queue_flow(now, states, hour(7, slope=0.01)), queue_flow(now, states, hour(7, slope=0))

    assert moved.queues == pytest.approx(6 / 5)
    assert moved.is_fitted
    assert moved.impact is not None
    assert moved.impact.value == pytest.approx(0.01, rel=0.2)
    assert moved.impact.n == 360
    assert not unmoved.is_fitted
    assert queue_flow(now, states, hour(7, slope=0.01)[1:]).impact is None


def test_the_rank_is_among_windows_that_ended_before() -> None:
    rows = [TouchSecond(at * 1000, 100.0, 0.1 if at < 501 else 50.0, 2.0, 1) for at in range(511)]
    states = [QuoteState(99, 2, 101, 2), QuoteState(99, 8, 101, 2)]

    got = queue_flow(order_flow_imbalance(states, minimum=1), states, rows)

    assert got.judgement is not None
    assert got.judgement.p == pytest.approx(1 / 51)  # the newest ten seconds are those of now
    waiting = queue_flow(order_flow_imbalance(states, minimum=1), states, rows[:400]).judgement
    assert waiting is not None
    assert waiting.not_judged is not None
    assert (waiting.not_judged.have, waiting.not_judged.need) == (38, 40)


def test_an_imbalance_that_is_not_known_has_no_queues() -> None:
    empty = [QuoteState(99, 0, 101, 0)] * 2

    assert queue_flow(order_flow_imbalance(empty, minimum=1), empty, []).queues is None
    assert queue_flow(order_flow_imbalance([]), [], []).judgement is None
