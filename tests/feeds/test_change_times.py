"""When a book changed last, and how far its changes usually lie apart."""

import pytest

from mcp_binance_server.analytics.book.report import QUIET_GAPS, quiet_after_ms
from mcp_binance_server.feeds.change_times import HOUR_MS, ChangeTimes

START_MS = 1_784_592_120_000


def times_of(*gaps_ms: int, begun_ms: int = START_MS) -> ChangeTimes:
    times, at_ms = ChangeTimes(), begun_ms
    times.note(1, at_ms)
    for identity, gap_ms in enumerate(gaps_ms, 2):
        at_ms += gap_ms
        times.note(identity, at_ms)
    return times


def test_a_book_with_a_known_id_is_no_change() -> None:
    times = times_of(100, 100)

    times.note(3, START_MS + 90_000)
    times.note(3, START_MS + 95_000, requested=True)

    assert times.changed_ms == START_MS + 200


@pytest.mark.parametrize(("gap_ms", "limit_ms"), [(100, 5_000), (400, 5_000), (2_000, 20_000), (30_000, 300_000)])
def test_nothing_is_judged_after_ten_usual_gaps_or_five_seconds(gap_ms: int, limit_ms: int) -> None:
    times = times_of(*[gap_ms] * (HOUR_MS // gap_ms))

    assert quiet_after_ms(5_000, times.usual_gap_ms) == pytest.approx(limit_ms, rel=0.01)


def test_pauses_between_bursts_are_usual() -> None:
    times = times_of(*[*[100] * 50, 40_000] * 60)

    assert 30_000 < times.usual_gap_ms < 40_000


def test_one_outage_does_not_make_the_next_one_usual() -> None:
    times = times_of(*[100] * 36_000, 60_000, *[100] * 600)

    assert QUIET_GAPS * times.usual_gap_ms < 20_000


def test_gaps_in_which_changes_may_have_been_missed_are_left_out() -> None:
    times = times_of(*[100] * 600)
    usual_ms = times.usual_gap_ms

    times.break_off()
    times.note(10_000, START_MS + 600_000)
    times.note(20_000, START_MS + 900_000, requested=True)

    assert times.usual_gap_ms == usual_ms
    assert times.changed_ms == START_MS + 900_000
