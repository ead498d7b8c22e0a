"""Axes: conversion of prices to pixels, ticks of prices and times, and number formats."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from itertools import pairwise
from math import ceil, exp, floor, log, log10
from zoneinfo import ZoneInfo

from mcp_binance_server.charts.render.spec import Scale
from mcp_binance_server.domain.money import decimals_of
from mcp_binance_server.domain.periods import Candle, moment_of

STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
MANTISSAS = ((1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0), (1.0, 2.0, 3.0, 5.0), (1.0, 2.0, 5.0), (1.0, 3.0), (1.0,))

MOST_DECIMALS = 10
_UNITS = ((1e12, "T"), (1e9, "B"), (1e6, "M"), (1e3, "K"))
MINUS = "\N{MINUS SIGN}"

# English names: strftime would use the locale of the machine.
_MONTHS = ("", "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
DAY_MS = 86_400_000
STRIDES = (1, 2, 3, 4, 5, 7, 10, 14, 31)  # days between labels, counted from the start of each month
EDGE = 0.3  # share of the spacing: a label closer to the left edge would be cut off
_HOURS = ((12, 10), (6, 9), (3, 8), (1, 7))
_MINUTES = ((30, 6), (15, 5), (5, 4), (1, 3))
DAY, MONTH, YEAR = 12, 16, 20


@dataclass(frozen=True, slots=True)
class Axis:
    """Mapping of values to pixel rows.

    `low` lies at `bottom` and `high` at `top`. On a logarithmic axis equal ratios have equal distances.
    """

    low: float
    high: float
    top: float
    bottom: float
    logarithmic: bool = False
    inverted: bool = False

    def y(self, value: float) -> float:
        """Return the pixel row of a value.

        A value far outside is clamped near the pane, so that paths stay drawable.
        """
        if self.logarithmic:
            part = log(max(value, self.low * 1e-6) / self.low) / log(self.high / self.low)
        else:
            part = (value - self.low) / (self.high - self.low)
        part = min(max(part, -20.0), 21.0)
        if self.inverted:
            part = 1 - part
        return self.bottom - part * (self.bottom - self.top)

    def row(self, value: float) -> int:
        """Return the nearest whole pixel row."""
        return round(self.y(value))

    def value(self, y: float) -> float:
        """Return the value at a pixel row."""
        part = (self.bottom - y) / (self.bottom - self.top)
        if self.inverted:
            part = 1 - part
        if self.logarithmic:
            return self.low * exp(part * log(self.high / self.low))
        return self.low + part * (self.high - self.low)


@dataclass(frozen=True, slots=True)
class AxisUnit:
    """Unit of the price axis: price, percent, or index.

    The reference for percent and index is the first close shown; its index is 100.
    """

    scale: Scale
    first: float

    def shown(self, price: float) -> float:
        if self.scale == "percent":
            return (price / self.first - 1) * 100
        return price / self.first * 100 if self.scale == "indexedTo100" else price

    def price(self, shown: float) -> float:
        if self.scale == "percent":
            return (shown / 100 + 1) * self.first
        return shown / 100 * self.first if self.scale == "indexedTo100" else shown


def widened(low: float, high: float, tick: float) -> tuple[float, float]:
    """Widen a flat range to 8 ticks or to 1 % of the price, whichever is more."""
    least = max(8 * tick, abs(high) * 1e-6)
    if high - low >= least:
        return low, high
    middle, half = (low + high) / 2, max(least, abs(high) * 0.01) / 2
    return middle - half, middle + half


def nice_step(span: float, count: float, least: float = 0.0) -> float:
    """Return the smallest round step that gives at most `count` ticks. It is not below `least`."""
    raw = max(span / max(count, 1.0), least, 1e-300)
    power = 10.0 ** floor(log10(raw))
    for step in STEPS:
        if step * power >= raw * (1 - 1e-9) and _whole(step * power, least):
            return step * power
    return 10.0 * power


def linear_ticks(low: float, high: float, count: float, least: float = 0.0) -> tuple[list[float], float]:
    """Return the round values between low and high, and the step between them."""
    step = nice_step(high - low, count, least)
    first, last = ceil(low / step - 1e-9), floor(high / step + 1e-9)
    return [index * step for index in range(first, last + 1)], step


def logarithmic_ticks(low: float, high: float, count: float) -> list[float]:
    """Return round values on a logarithmic axis. A range below a factor of three gets evenly spaced values."""
    if high / low < 3:
        return linear_ticks(low, high, count)[0]
    powers = range(floor(log10(low)), ceil(log10(high)) + 1)
    for mantissas in MANTISSAS:
        found = [m * 10.0**power for power in powers for m in mantissas if low <= m * 10.0**power <= high]
        if len(found) <= count:
            return found
    stride = ceil(len(powers) / max(count, 1.0))
    return [10.0**power for power in powers[::stride] if low <= 10.0**power <= high]


def _whole(step: float, least: float) -> bool:
    # Prices are multiples of the tick. A step of 2.5 ticks would label prices that do not exist.
    return not least or abs(step / least - round(step / least)) < 1e-6


def decimals_for(candles: Sequence[Candle]) -> int:
    """Return the number of decimals for prices.

    It writes every price of the candles exactly, up to ten decimals. Prices from one upwards have at least two.
    """
    most = max(decimals_of(each) for bar in candles for each in (bar.open, bar.high, bar.low, bar.close))
    least = 2 if float(candles[-1].close) >= 1 else 0
    return min(max(most, least), MOST_DECIMALS)


def fixed(value: float, decimals: int) -> str:
    """Format with this many decimals, thousands separators and a true minus sign."""
    text = f"{abs(value):,.{decimals}f}"
    return MINUS + text if value < 0 and text.strip("0.,") else text


def signed(value: float, decimals: int) -> str:
    """Format with a sign. Zero has none."""
    text = fixed(value, decimals)
    return text if text.startswith(MINUS) or not text.strip("0.,") else f"+{text}"


def percent(value: float) -> str:
    """Format a change in percent. Below 1000 % it has two decimals."""
    return signed(value, 2 if abs(value) < 1000 else 0) + "%"


def compact(value: float) -> str:
    """Format a volume with three or four digits, such as 1.23K or 45.6M."""
    size = abs(value)
    for unit, letter in _UNITS:
        if size >= unit * 0.9995:
            scaled = size / unit
            return (
                MINUS if value < 0 else ""
            ) + f"{scaled:,.{2 if scaled < 10 else 1 if scaled < 100 else 0}f}{letter}"
    if 0 < size < 1:
        return fixed(value, min(2 - floor(log10(size)), MOST_DECIMALS))
    return fixed(value, 0 if size >= 100 or size == int(size) else 2)


def decimals_of_step(step: float) -> int:
    """Return the number of decimals that distinguish adjacent ticks."""
    exponent = floor(log10(step) + 1e-9)
    # A step of 2.5 needs one decimal more than its power of ten.
    mantissa = step / 10.0**exponent
    return min(max(0, -exponent + (abs(mantissa - 2.5) < 0.01)), MOST_DECIMALS)


@dataclass(frozen=True, slots=True)
class TimeLabel:
    """A time label below one bar. `strong` marks the start of a month or a year."""

    bar: int
    text: str
    strong: bool


def zone_of(name: str) -> tzinfo | None:
    """Return the time zone with this name, or None if this machine does not know it."""
    if name in ("", "UTC", "Etc/UTC"):
        return UTC
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        return None


def moment(time_ms: int, zone: tzinfo) -> datetime:
    """Convert milliseconds since 1970 to a time in a zone."""
    return moment_of(time_ms).astimezone(zone)


def moment_words(time_ms: int, zone: tzinfo) -> str:
    """Format a time to the minute."""
    return f"{moment(time_ms, zone):%Y-%m-%d %H:%M}"


def zone_label(zone: tzinfo, time_ms: int) -> str:
    """Return "UTC", or the offset of a zone, such as UTC+5:30."""
    offset = moment(time_ms, zone).utcoffset() or timedelta()
    minutes = round(offset.total_seconds() / 60)
    if not minutes:
        return "UTC"
    hours, rest = divmod(abs(minutes), 60)
    return f"UTC{'+' if minutes > 0 else MINUS}{hours}" + (f":{rest:02d}" if rest else "")


def time_labels(times: Sequence[int], centres: Sequence[float], zone: tzinfo, spacing: float) -> list[TimeLabel]:
    """Label the bars at round times, as densely as labels usually fit.

    If two labels overlap, the rounder time is kept. Labels cut off by the left edge are omitted.
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
    """Return the lowest weight at which the labels of this and higher weights usually do not overlap."""
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
