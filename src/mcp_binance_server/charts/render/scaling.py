"""Value range of a pane, and the number format of its axis."""

from collections.abc import Callable
from dataclasses import dataclass

from mcp_binance_server.charts.render.drawings.plans import prices_of
from mcp_binance_server.charts.render.layout import Box
from mcp_binance_server.charts.render.request import Request
from mcp_binance_server.charts.render.scale import (
    Axis,
    AxisUnit,
    compact,
    decimals_of_step,
    fixed,
    linear_ticks,
    logarithmic_ticks,
    nice_step,
    percent,
    widened,
)
from mcp_binance_server.charts.render.series.price import CURVES, curve
from mcp_binance_server.charts.render.study_look import StudyView

PAD = 6
BELOW, BELOW_WITH_VOLUME, VOLUME = 0.10, 0.22, 0.18  # of the pane's height
STUDY_AIR = 0.06
TICK_GAP = 3.1  # of the font's size
ABOVE = 40  # height in pixels of the legend's part with grid lines next to it
ARROW_AIR = 46  # an arrow and its text
REACH = 1.0  # drawings up to this many ranges away are brought into view


@dataclass(frozen=True, slots=True)
class AxisSpan:
    """The values of a pane and their format."""

    low: float
    high: float
    write: Callable[[float], str]
    labels: tuple[str, ...]  # the widest labels of its axis


def price_span(request: Request) -> AxisSpan:
    """Return the prices to show: bars, overlays, and drawings that are not too far away."""
    spec, bars = request.spec, request.bars
    tick = 10.0**-request.decimals
    if wanted := spec.looks.price_range:
        margin = (wanted.high - wanted.low) * wanted.margin
        low, high = wanted.low - margin, wanted.high + margin
    else:
        known = curve(bars, request.price.source) if spec.style in CURVES else [*bars.lows, *bars.highs]
        seen = [*known, *(value for view in (*request.overlays, *request.compared) for value in view.seen())]
        low, high = min(seen), max(seen)
        reach = max(high - low, abs(high) * 0.02) * REACH
        near = [p for drawing in spec.drawings for p in prices_of(drawing) if low - reach <= p <= high + reach]
        low, high = min(low, *near, low), max(high, *near, high)
    low, high = widened(low, high, tick)
    if spec.scale == "logarithmic":
        low = max(low, min((each for each in bars.lows if each > 0), default=tick) * 0.2)
        high = max(high, low * 1.0001)
    write = price_writer(request)
    return AxisSpan(low, high, write, (write(low), write(high), write(request.real.closes[-1])))


def price_writer(request: Request) -> Callable[[float], str]:
    """Return the price axis' formatter of a price on its scale."""
    quote = quote_of(request)
    if request.spec.scale == "percent":
        return lambda price: percent(quote.shown(price))
    if request.spec.scale == "indexedTo100":
        return lambda price: fixed(quote.shown(price), 2)
    return lambda price: fixed(price, request.decimals)


def study_writer(request: Request, view: StudyView) -> Callable[[float], str]:
    """Return the formatter of a study's values, for its axis and its legend."""
    if view is request.volume:
        return compact
    if any(view is each for each in request.compared):
        # In percent, as on the axis: prices of another market mean nothing here.
        return price_writer(request)
    if any(view is each for each in request.overlays):
        return _writer(request.decimals)
    return study_span(view, request.decimals).write


def quote_of(request: Request) -> AxisUnit:
    """Return the price in the unit of the scale; its reference is the first close shown."""
    return AxisUnit(request.spec.scale, request.real.closes[0] or 1.0)


def price_axis(request: Request, span: AxisSpan, pane: Box, area: Box) -> Axis:
    """Place the prices in their pane, with space below, and more if volumes are drawn."""
    below = pane.height * (BELOW_WITH_VOLUME if request.volume else BELOW)
    marks = {drawing.name for drawing in request.spec.drawings}
    top = area.top + PAD + (ARROW_AIR if "Arrow Mark Down" in marks else 0)
    below += ARROW_AIR if "Arrow Mark Up" in marks and not request.volume else 0
    bottom = max(area.bottom - below, top + 20)
    return Axis(
        span.low, span.high, top, bottom, logarithmic=request.spec.scale == "logarithmic",
        inverted=request.spec.looks.invert_scale,
    )  # fmt: skip


def price_ticks(request: Request, axis: Axis, area: Box) -> list[float]:
    """Return round prices, or round percentages, from the bottom to the top of the area."""
    ends = sorted((axis.value(area.bottom), axis.value(area.top - ABOVE)))
    count = (area.height + ABOVE) / (request.spec.looks.font_size * TICK_GAP)
    if axis.logarithmic:
        return logarithmic_ticks(max(ends[0], 1e-12), ends[1], count)
    if request.spec.scale in ("percent", "indexedTo100"):
        quote = quote_of(request)
        ticks, _ = linear_ticks(quote.shown(ends[0]), quote.shown(ends[1]), count, 0.01)
        return [quote.price(tick) for tick in ticks]
    ticks, _ = linear_ticks(ends[0], ends[1], count, 10.0**-request.decimals)
    return [tick for tick in ticks if tick >= 0]


def study_span(view: StudyView, decimals: int) -> AxisSpan:
    """Return the value range of a study's pane: its lines, its levels, and zero if it oscillates around zero."""
    study = view.settled.study
    wanted = [*view.seen(), *(level.value for level in view.levels)]
    if study.centred or not wanted:
        wanted.append(0.0)
    low, high = min(wanted), max(wanted)
    if high - low <= abs(high) * 1e-9:
        half = abs(high) * 0.05 or 1.0
        low, high = low - half, high + half
    low, high = low - (high - low) * STUDY_AIR, high + (high - low) * STUDY_AIR
    if study.bounds:
        low, high = max(low, study.bounds[0] - 5), min(high, study.bounds[1] + 5)
    step = nice_step(high - low, 4)
    if study.unit == "volume":
        write: Callable[[float], str] = compact
    else:
        places = max(decimals if study.unit == "price" else 2, decimals_of_step(step))
        write = _writer(places)
    return AxisSpan(low, high, write, (write(low), write(high), *(write(level.value) for level in view.levels)))


def study_axis(span: AxisSpan, area: Box, *, inverted: bool = False) -> Axis:
    """Place a study's values in its pane."""
    return Axis(span.low, span.high, area.top + 3, area.bottom - 5, inverted=inverted)


def study_ticks(view: StudyView, span: AxisSpan, area: Box, size: float) -> list[float]:
    """Return the levels of a study, or round values if it has none."""
    if view.levels:
        return [level.value for level in view.levels]
    count = min(4.0, max(1.0, area.height / (size * 2.4)))
    return linear_ticks(span.low, span.high, count)[0]


def _writer(places: int) -> Callable[[float], str]:
    return lambda value: fixed(value, places)
