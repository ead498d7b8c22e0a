"""Labels of the time axis: round moments first, as many as stand apart."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from itertools import pairwise
from zoneinfo import ZoneInfo

from mcp_binance_server.charts.render.scale import MINUS

# strftime would ask the machine's language.
_MONTHS = ("", "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
DAY_MS = 86_400_000
STRIDES = (1, 2, 3, 4, 5, 7, 10, 14, 31)  # days between labels; months begin anew
EDGE = 0.3  # of the spacing: nearer to the left border half a label would be cut off
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_HOURS = ((12, 10), (6, 9), (3, 8), (1, 7))
_MINUTES = ((30, 6), (15, 5), (5, 4), (1, 3))
DAY, MONTH, YEAR = 12, 16, 20


@dataclass(frozen=True, slots=True)
class TimeLabel:
    """A label under one bar; strong when a month or a year begins there."""

    bar: int
    text: str
    strong: bool


def zone_of(name: str) -> tzinfo | None:
    """Return the time zone of a name; None when this machine does not know it."""
    if name in ("", "UTC", "Etc/UTC"):
        return UTC
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        return None


def moment(time_ms: int, zone: tzinfo) -> datetime:
    """Return a moment on the clocks of a zone."""
    return (_EPOCH + timedelta(milliseconds=time_ms)).astimezone(zone)


def zone_label(zone: tzinfo, time_ms: int) -> str:
    """Return UTC, or how far the zone is from it: UTC+5:30."""
    offset = moment(time_ms, zone).utcoffset() or timedelta()
    minutes = round(offset.total_seconds() / 60)
    if not minutes:
        return "UTC"
    hours, rest = divmod(abs(minutes), 60)
    return f"UTC{'+' if minutes > 0 else MINUS}{hours}" + (f":{rest:02d}" if rest else "")


def time_labels(times: Sequence[int], centres: Sequence[float], zone: tzinfo, spacing: float) -> list[TimeLabel]:
    """Label the bars of round moments, as fine as stand apart in general; where two still meet, the rounder one stays.

    Nothing is labelled at the left edge, where half a label would be cut off.
    """
    moments = [moment(each, zone) for each in times]
    stride = _days_apart(times, centres, spacing)
    ranked = [
        (weight, bar)
        for bar in range(1, len(moments))
        if centres[bar] >= spacing * EDGE and (weight := _weight(moments[bar - 1], moments[bar], stride))
    ]
    finest = _finest(ranked, centres, spacing)
    chosen: list[tuple[int, int]] = []
    for weight, bar in sorted(ranked, key=lambda each: (-each[0], each[1])):
        if weight >= finest and all(abs(centres[bar] - centres[other]) >= spacing for other, _ in chosen):
            chosen.append((bar, weight))
    return _worded(sorted(chosen) or [(len(times) - 1, DAY)], moments)


def _days_apart(times: Sequence[int], centres: Sequence[float], spacing: float) -> int:
    steps = sorted(after - before for before, after in pairwise(times))
    if not steps or not steps[len(steps) // 2]:
        return 1
    slot = (centres[len(times) - 1] - centres[0]) / len(steps)
    pixels = slot * DAY_MS / steps[len(steps) // 2]
    return next((days for days in STRIDES if days * pixels >= spacing), STRIDES[-1])


def _finest(ranked: Sequence[tuple[int, int]], centres: Sequence[float], spacing: float) -> int:
    """Return the lowest weight whose marks, with those above it, usually stand apart."""
    finest = max((weight for weight, _ in ranked), default=0)
    for weight in sorted({weight for weight, _ in ranked}, reverse=True):
        marks = [centres[bar] for each, bar in ranked if each >= weight]
        gaps = sorted(after - before for before, after in pairwise(marks))
        if gaps and gaps[len(gaps) // 2] < spacing:
            break
        finest = weight
    return finest


def _worded(chosen: Sequence[tuple[int, int]], moments: Sequence[datetime]) -> list[TimeLabel]:
    dated = any(weight >= DAY for _, weight in chosen)
    months_said = any(weight >= MONTH for _, weight in chosen)
    labels: list[TimeLabel] = []
    for index, (bar, weight) in enumerate(chosen):
        at = moments[bar]
        if weight >= YEAR:
            text = str(at.year)
        elif weight >= MONTH:
            text = _MONTHS[at.month]
        elif weight >= DAY:
            text = str(at.day) if (labels and months_said) or _day_said(labels) else f"{at.day} {_MONTHS[at.month]}"
        else:
            clock = f"{at:%H:%M}" if weight > 2 else f"{at:%H:%M:%S}"
            text = clock if dated or index else f"{at.day} {_MONTHS[at.month]} {clock}"
        labels.append(TimeLabel(bar, text, strong=weight >= DAY and (weight >= MONTH or _mixed(chosen))))
    return labels


def _day_said(labels: Sequence[TimeLabel]) -> bool:
    return any(" " in label.text for label in labels)


def _mixed(chosen: Sequence[tuple[int, int]]) -> bool:
    return any(weight < DAY for _, weight in chosen)


def _weight(before: datetime, at: datetime, stride: int) -> int:
    if at.year != before.year:
        return YEAR + (at.year % 5 == 0) + (at.year % 10 == 0)
    if at.month != before.month:
        return MONTH + (at.month % 3 == 1) + (at.month % 6 == 1)
    if at.date() != before.date():
        return 0 if (at.day - 1) % stride else DAY
    for hours, weight in _HOURS:
        if at.hour // hours != before.hour // hours:
            return weight
    for minutes, weight in _MINUTES:
        if at.minute // minutes != before.minute // minutes:
            return weight
    return 2 if at.second // 30 != before.second // 30 else 1
