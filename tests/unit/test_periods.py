"""Time as people write it: every accepted form, and nothing but a refusal for the rest."""

from datetime import UTC, datetime

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mcp_binance_server.domain.periods import Edge, Period, read_moment, read_period
from mcp_binance_server.errors import InvalidArguments
from mcp_binance_server.surface.views.markdown import instant

NOW_MS = 1_784_592_123_456  # Tuesday, 2026-07-21T00:02:03.456Z
SECOND, MINUTE, HOUR, DAY = 1_000, 60_000, 3_600_000, 86_400_000
TODAY_MS = NOW_MS // DAY * DAY

moments = st.integers(min_value=10**11, max_value=4 * 10**12)
units = {
    "s": SECOND, "sec": SECOND, "seconds": SECOND, "m": MINUTE, "min": MINUTE, "minutes": MINUTE,
    "h": HOUR, "hrs": HOUR, "hours": HOUR, "d": DAY, "days": DAY, "w": 7 * DAY, "weeks": 7 * DAY,
}  # fmt: skip
forms = ("{n}{unit}", "{n} {unit}", "last {n} {unit}", "past {n} {unit}", "{n} {unit} ago", "since {n} {unit} ago")


def utc(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()) * 1000


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("last 36 hours", NOW_MS - 36 * HOUR),
        ("36h", NOW_MS - 36 * HOUR),
        ("  Last  36   HOURS ", NOW_MS - 36 * HOUR),
        ("in the last 36 hours", NOW_MS - 36 * HOUR),
        ("last hour", NOW_MS - HOUR),
        ("an hour ago", NOW_MS - HOUR),
        ("past week", NOW_MS - 7 * DAY),
        ("2 days ago", NOW_MS - 2 * DAY),
        ("1d12h", NOW_MS - 36 * HOUR),
        ("1 day 12 hours ago", NOW_MS - 36 * HOUR),
        ("5m", NOW_MS - 5 * MINUTE),
        ("5M", utc("2026-02-21 00:02:03") + 456),
        ("3 months ago", utc("2026-04-21 00:02:03") + 456),
        ("1 year", utc("2025-07-21 00:02:03") + 456),
        ("900 years", 0),
        ("900 weeks 900000 days", 0),
        ("now", NOW_MS),
        ("today", TODAY_MS),
        ("since yesterday", TODAY_MS - DAY),
        ("this week", utc("2026-07-20")),
        ("this month", utc("2026-07-01")),
        ("this year", utc("2026-01-01")),
        ("2026-07-20", utc("2026-07-20")),
        ("20260720", utc("2026-07-20")),
        ("2026-07-20T15:00Z", utc("2026-07-20 15:00")),
        ("2026-07-20t15:00:01.250z", utc("2026-07-20 15:00:01") + 250),
        ("2026-07-20 15:00:00", utc("2026-07-20 15:00")),
        ("2026-07-20T15:00:00+02:00", utc("2026-07-20 13:00")),
        ("1784592000", 1_784_592_000_000),
        ("1784592000123", 1_784_592_000_123),
        (1_784_592_000_123, 1_784_592_000_123),
        ("0001-01-01T00:00:00+14:00", 0),
    ],
)
def test_a_time_is_read_as_a_person_means_it(text: str | int, moment: int) -> None:
    assert read_moment(text, NOW_MS) == moment


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("yesterday", TODAY_MS - 1),
        ("today", TODAY_MS + DAY - 1),
        ("this week", utc("2026-07-27") - 1),
        ("this month", NOW_MS),
        ("2026-07-19", utc("2026-07-20") - 1),
        ("2026-07-19T00:00Z", utc("2026-07-19")),
        ("until 2 hours ago", NOW_MS - 2 * HOUR),
    ],
)
def test_a_whole_day_as_an_end_ends_with_its_last_millisecond(text: str, moment: int) -> None:
    assert read_moment(text, NOW_MS, edge="end") == moment


def test_the_last_day_of_a_shorter_month_stands_for_a_day_it_does_not_have() -> None:
    assert read_moment("1 month ago", utc("2026-03-31")) == utc("2026-02-28")


NO_TIMES: tuple[str | int, ...] = (
    "", "   ", "tomorrow", "soon", "hours", "h", "36 parsecs", "last", "2026-13-01", "2026/07/20", "-36h", "36,5h", "7",
    "1e9", "x" * 65, "9" * 30, "٣٦h", "1784592000000 ago", "last 1 2 hours", "\x00", "\ud800", -1, 7, 10**20, 10**5000,
)  # fmt: skip


@pytest.mark.parametrize("text", NO_TIMES, ids=range(len(NO_TIMES)))
def test_anything_else_is_refused_and_told_what_is_accepted(text: str | int) -> None:
    with pytest.raises(InvalidArguments) as refused:
        read_moment(text, NOW_MS, edge="end")

    assert refused.value.errors[0]["argument"] == "end"
    for accepted in ("ISO instant", "epoch milliseconds", "last 36 hours", "since yesterday"):
        assert accepted in refused.value.message


@given(
    st.one_of(st.text(max_size=80), st.integers(), st.from_regex(r"[a-z0-9 :TZ+.-]{1,40}")),
    st.sampled_from(["start", "end"]),
)
@example("0001-01-01T00:00:00-14:00", "end")
@example("9999-12-31T23:59:59.999999-23:59", "end")
@example("2026-W53-7", "start")
@example("1 month 999999 years", "start")
def test_a_text_is_a_moment_or_is_refused(text: str | int, edge: Edge) -> None:
    try:
        found = read_moment(text, NOW_MS, edge=edge)
    except InvalidArguments:
        return

    assert found >= 0


@given(moments)
def test_what_we_write_we_read_again(moment: int) -> None:
    assert read_moment(instant(moment), NOW_MS) == moment
    assert read_moment(instant(moment), NOW_MS, edge="end") == moment
    assert read_moment(str(moment), NOW_MS) == moment
    assert read_moment(moment, NOW_MS) == moment


@given(st.integers(min_value=1, max_value=999), st.sampled_from(sorted(units)), st.sampled_from(forms))
def test_every_unit_can_be_counted_back_in_every_form(count: int, unit: str, form: str) -> None:
    expected = NOW_MS - count * units[unit]

    assert read_moment(form.format(n=count, unit=unit), NOW_MS) == max(0, expected)


def test_a_period_has_both_ends_or_one_or_none() -> None:
    assert read_period(None, None, NOW_MS) == Period()
    assert read_period("", "", NOW_MS) == Period()
    assert read_period("36h", None, NOW_MS) == Period(NOW_MS - 36 * HOUR)
    assert read_period("yesterday", "yesterday", NOW_MS) == Period(TODAY_MS - DAY, TODAY_MS - 1)


def test_an_end_that_lies_ahead_is_now() -> None:
    assert read_period(None, "2030-01-01", NOW_MS) == Period()
    assert read_period("today", "today", NOW_MS) == Period(TODAY_MS)


@pytest.mark.parametrize(
    ("start", "end", "problem"),
    [("2030-01-01", None, "start: it is in the future"), ("today", "2 days ago", "start: it is after end")],
)
def test_a_period_that_holds_nothing_is_refused(start: str, end: str | None, problem: str) -> None:
    with pytest.raises(InvalidArguments, match=problem):
        read_period(start, end, NOW_MS)


@given(moments, moments)
def test_a_period_is_never_the_wrong_way_round(start: int, end: int) -> None:
    try:
        period = read_period(start, end, NOW_MS)
    except InvalidArguments:
        assert start > min(end, NOW_MS)
    else:
        assert (period.start_ms or 0) <= (NOW_MS if period.end_ms is None else period.end_ms)
