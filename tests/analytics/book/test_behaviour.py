"""Behaviour: each pattern has all its conditions, and none is named for less."""

import pytest

from mcp_binance_server.analytics.book.behaviour import (
    BookSide,
    LevelState,
    absorption,
    fleeting_level,
    iceberg,
    iceberg_at,
    refills,
)
from mcp_binance_server.analytics.flow.volume import Rate
from mcp_binance_server.analytics.market.stress import Baseline, CrashFlags, crash_flags, quote_stuffing

HOUR_MS = 3_600_000
CALM = [Rate(90.0 + at % 20, 9.0 + at % 3) for at in range(60)]
HISTORY = [float(at) for at in range(1, 101)]
UNKNOWN = Baseline(None, HISTORY)


def refilled(times: int, *, after_ms: int = 500, traded: float = 6) -> list[LevelState]:
    """Return a price that shows 10, loses to trades, and shows 10 again, several times."""
    states = [LevelState(0, 10, 0)]
    for at in range(times):
        states.append(LevelState(at * 10_000 + 5000, 10 - traded, traded))
        states.append(LevelState(at * 10_000 + 5000 + after_ms, 10, 0))
    return states


def flags(
    depth: Baseline = UNKNOWN,
    spread: Baseline = UNKNOWN,
    ofi: Baseline = UNKNOWN,
    minute: float | None = None,
    hour: float | None = None,
) -> CrashFlags:
    return crash_flags(depth, spread, ofi, minute_volatility=minute, hour_volatility=hour)


def test_a_refill_follows_trades_and_follows_soon() -> None:
    cancelled = [LevelState(0, 10, 0), LevelState(100, 4, 0), LevelState(200, 10, 0)]

    assert refills(refilled(4)) == 4
    assert refills(refilled(4, after_ms=1001)) == 0
    assert refills(cancelled) == 0
    assert refills([]) == 0


@pytest.mark.parametrize(
    ("displayed", "executed", "times", "severity"),
    [(3, 6, 2, "Medium"), (3, 15, 2, "High"), (3, 5.9, 2, None), (3, 6, 1, None)],
)
def test_an_iceberg_is_more_than_was_shown_and_refilled(
    displayed: float, executed: float, times: int, severity: str | None
) -> None:
    got = iceberg(displayed, executed, times)

    assert (got.severity, got.flag) == (severity, severity is not None)


def test_the_history_of_a_price_is_judged_by_the_same_rule() -> None:
    assert iceberg_at(refilled(4)).flag
    assert iceberg_at(refilled(4)).ratio == pytest.approx(2.4)
    assert not iceberg_at(refilled(3)).flag
    assert iceberg_at([]).why_null == "no_events"


@pytest.mark.parametrize(("side", "word"), [("bid", "accumulation-like"), ("ask", "distribution-like")])
def test_a_level_that_comes_back_three_times_absorbs(side: BookSide, word: str) -> None:
    got = absorption(refilled(3), side, price_held=True, traded_over_median=2.0)

    assert (got.flag, got.likeness, got.severity) == (True, word, "Medium")
    assert (got.times, got.traded) == (3, 18)


def test_absorption_needs_trades_times_and_a_price_that_held() -> None:
    withdrawn = [LevelState(each.time_ms, each.displayed, 0) for each in refilled(5)]

    assert not absorption(refilled(2), "bid", price_held=True).flag
    assert not absorption(refilled(3), "bid", price_held=False).flag
    assert absorption(refilled(3, traded=2), "bid", price_held=True).times == 0
    assert absorption(withdrawn, "bid", price_held=True).times == 0
    assert absorption([LevelState(0, 0, 0), LevelState(1, 0, 5)], "bid", price_held=True).times == 0


@pytest.mark.parametrize(("relative", "severity"), [(None, None), (1.9, "Low"), (2.0, "Medium"), (5.0, "High")])
def test_the_weight_of_an_absorption_is_what_was_traded(relative: float | None, severity: str | None) -> None:
    assert absorption(refilled(3), "bid", price_held=True, traded_over_median=relative).severity == severity


def test_a_fleeting_level_meets_every_condition() -> None:
    assert fleeting_level(50, 1, 800, z=3.5, opposite_traded=1).severity == "Medium"
    assert not fleeting_level(50, 1, 800, z=None, opposite_traded=1).flag
    assert not fleeting_level(50, 1, 800, z=3.4, opposite_traded=1).flag
    assert not fleeting_level(50, 1, 3000, z=3.5, opposite_traded=1).flag
    assert not fleeting_level(50, 2.5, 800, z=3.5, opposite_traded=1).flag
    assert not fleeting_level(50, 1, 800, z=3.5).flag
    assert fleeting_level(0, 0, 800, z=3.5).why_null == "no_events"


@pytest.mark.parametrize(
    ("now", "severity"),
    [
        (Rate(501, 100), "Medium"),
        (Rate(751, 100), "High"),
        (Rate(1001, 100), "Critical"),
        (Rate(600, None), "Medium"),
        (Rate(500, 100), None),
        (Rate(600, 10), None),
        (Rate(100, 100), None),
    ],
)
def test_stuffing_is_fast_at_all_and_unusual_for_the_symbol(now: Rate, severity: str | None) -> None:
    got = quote_stuffing(now, CALM, HOUR_MS)

    assert (got.severity, got.flag, got.why_null) == (severity, severity is not None, None)


def test_stuffing_without_an_hour_of_its_own_is_not_assessed() -> None:
    assert quote_stuffing(Rate(900, 100), CALM, HOUR_MS - 1).why_null == "insufficient_baseline"
    assert quote_stuffing(Rate(900, 100), [Rate(5, 5)] * 60, HOUR_MS).why_null == "degenerate"
    assert quote_stuffing(Rate(None, None), CALM, HOUR_MS).why_null == "no_events"
    assert not quote_stuffing(Rate(900, 100), [Rate(each.per_second, None) for each in CALM], HOUR_MS).flag


@pytest.mark.parametrize(
    ("seen", "raised", "severity"),
    [
        (flags(Baseline(50, HISTORY)), 0, None),
        (flags(Baseline(19, HISTORY)), 1, "Low"),
        (flags(Baseline(19, HISTORY), Baseline(96, HISTORY)), 2, "Medium"),
        (flags(Baseline(19, HISTORY), Baseline(96, HISTORY), minute=3, hour=1), 3, "High"),
        (flags(Baseline(19, HISTORY), Baseline(96, HISTORY), Baseline(-500, HISTORY), 3, 1), 4, "Critical"),
        (flags(Baseline(20, HISTORY), Baseline(95, HISTORY), Baseline(50, HISTORY), 2, 1), 0, None),
    ],
)
def test_crash_flags_are_counted(seen: CrashFlags, raised: int, severity: str | None) -> None:
    assert (seen.raised, seen.severity) == (raised, severity)


def test_a_flag_without_history_is_not_assessed() -> None:
    short = Baseline(1.0, HISTORY[:29])

    assert flags(short, short, short, 1.0, 0.0).why_null == "insufficient_baseline"
    assert flags(short, short, short, 1.0, 0.0).assessed == 0
    assert flags(ofi=Baseline(1.0, [5.0] * 50)).one_sided_flow is None
    assert flags(minute=1.0, hour=1.0).assessed == 1
