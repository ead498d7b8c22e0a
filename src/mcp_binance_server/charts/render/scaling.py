"""Value range of each pane, and the number format of its axis."""

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
BELOW, BELOW_WITH_VOLUME, VOLUME = 0.10, 0.22, 0.18  # shares of the height of the pane
STUDY_AIR = 0.06
TICK_GAP = 3.1  # multiple of the font size
ABOVE = 40  # pixels below the top in which the legend interrupts the grid lines
ARROW_AIR = 46  # pixels for an arrow and its text
REACH = 1.0  # multiple of the price range: drawings up to this far away widen it


@dataclass(frozen=True, slots=True)
class AxisSpan:
    """Value range of a pane with its number format."""

    low: float
    high: float
    write: Callable[[float], str]
    labels: tuple[str, ...]  # candidates for the widest label of the axis


def price_span(request: Request) -> AxisSpan:
    """Return the price range to show. It covers the bars, the overlays and the drawings near them."""
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
    """Return the formatter of prices for the scale in use: price, percent or index."""
    quote = quote_of(request)
    if request.spec.scale == "percent":
        return lambda price: percent(quote.shown(price))
    if request.spec.scale == "indexedTo100":
        return lambda price: fixed(quote.shown(price), 2)
    return lambda price: fixed(price, request.decimals)


def study_writer(request: Request, view: StudyView) -> Callable[[float], str]:
    """Return the number formatter of a study for its axis and its legend."""
    if view is request.volume:
        return compact
    if any(view is each for each in request.compared):
        # Use percent like the axis: the price of another market means nothing here.
        return price_writer(request)
    if any(view is each for each in request.overlays):
        return _writer(request.decimals)
    return study_span(view, request.decimals).write


def quote_of(request: Request) -> AxisUnit:
    """Return the unit of the price scale. Its reference is the first close shown."""
    return AxisUnit(request.spec.scale, request.real.closes[0] or 1.0)


def price_axis(request: Request, span: AxisSpan, pane: Box, area: Box) -> Axis:
    """Return the price axis. It leaves space below the prices, and more space if the volume is drawn there."""
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
    """Return the value range of a study: its lines, its levels, and zero for a study that oscillates around zero."""
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
    """Return the axis of a study in its pane."""
    return Axis(span.low, span.high, area.top + 3, area.bottom - 5, inverted=inverted)


def study_ticks(view: StudyView, span: AxisSpan, area: Box, size: float) -> list[float]:
    """Return the ticks of a study: its levels, or round values if it has none."""
    if view.levels:
        return [level.value for level in view.levels]
    count = min(4.0, max(1.0, area.height / (size * 2.4)))
    return linear_ticks(span.low, span.high, count)[0]


def _writer(places: int) -> Callable[[float], str]:
    return lambda value: fixed(value, places)
