"""Preparation of a chart: size within the limits, known style, and all studies computed.

Studies are computed on all candles and then cut to the bars shown.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil, isfinite

from msgspec import structs

from mcp_binance_server.analytics.indicators.talipp_adapter import (
    anchor_of,
    over_window,
    span_of,
    usual_anchor,
)
from mcp_binance_server.charts.render.drawings.plans import POSITIONS, refusal
from mcp_binance_server.charts.render.layout import panes_that_fit
from mcp_binance_server.charts.render.look import PREFIX, THEMES, OverrideReader, PriceLook, Theme, price_look
from mcp_binance_server.charts.render.scale import decimals_for
from mcp_binance_server.charts.render.series.price import CURVES
from mcp_binance_server.charts.render.series.volume_profile import PROFILE, ProfileView, profile_view
from mcp_binance_server.charts.render.spec import (
    FONTS,
    LARGEST,
    MOST_BARS,
    SMALLEST,
    Anchor,
    ChartSpec,
    DrawingSpec,
    Looks,
    StudySpec,
)
from mcp_binance_server.charts.render.stage import Columns, columns_of, heikin_ashi, place_of
from mcp_binance_server.charts.render.study_look import Colouring, StudyView, compared_view, study_view
from mcp_binance_server.charts.studies.study import Lines
from mcp_binance_server.charts.studies.table import STUDIES, Settled, settle
from mcp_binance_server.domain.periods import Candle

MOST_FUTURE = 0.15  # share of the bars shown
POSITION_ROOM = 0.2


@dataclass(frozen=True, slots=True)
class Request:
    """All data of the picture as numbers.

    `bars` are the bars in the chosen style, `real` the bars as traded.
    """

    spec: ChartSpec
    theme: Theme
    real: Columns
    bars: Columns
    decimals: int
    price: PriceLook
    overlays: tuple[StudyView, ...]
    volume: StudyView | None
    profile: ProfileView | None
    compared: tuple[StudyView, ...]
    panes: tuple[StudyView, ...]
    future: int
    warnings: tuple[str, ...]

    @property
    def views(self) -> list[StudyView]:
        return [*self.overlays, *self.compared, *([self.volume] if self.volume else []), *self.panes]


def prepare(candles: Sequence[Candle], spec: ChartSpec) -> Request:
    """Compute everything that is drawn. An impossible value becomes the nearest possible one, with a warning."""
    spec, warnings = _within_limits(_with_swings(spec, candles[-max(spec.bars, 1) :]))
    theme = THEMES[spec.theme]
    whole = columns_of(candles)
    shown = min(spec.bars, len(candles))
    styled = heikin_ashi(whole) if spec.style == "heikinAshi" else whole
    options = OverrideReader(spec.looks.style)
    price = price_look(spec.style, theme, options)
    warnings += [f"override_not_local: {key} had no local effect." for key in options.left_over()]
    views = _views(candles, spec, theme, shown, warnings)
    panes = [view for view in views if not view.settled.study.overlay and view.settled.study.name != "Volume"]
    room = panes_that_fit(spec.height - 26, len(panes))
    warnings += [
        f"too_many_panes: {view.settled.label} had no room; use a taller picture or fewer studies."
        for view in panes[room:]
    ]
    decimals = decimals_for(candles[-shown:]) if spec.decimals is None else min(max(spec.decimals, 0), 10)
    longest = max((len(line) for view in views for line in view.lines.values()), default=shown)
    return Request(
        spec=spec,
        theme=theme,
        real=whole.last(shown),
        bars=styled.last(shown),
        decimals=decimals,
        price=price,
        overlays=tuple(view for view in views if view.settled.study.overlay),
        volume=next((view for view in views if view.settled.study.name == "Volume"), None),
        compared=_compared(spec, whole.last(shown), theme, warnings),
        profile=_profile(candles[-shown:], spec, decimals, warnings),
        panes=tuple(panes[:room]),
        future=max(min(longest - shown, ceil(shown * MOST_FUTURE)), _room_ahead(spec, whole.last(shown))),
        warnings=tuple(warnings),
    )


def _room_ahead(spec: ChartSpec, bars: Columns) -> int:
    """Return the number of free columns after the last bar that positions need."""
    needed, most = 0, ceil(len(bars) * POSITION_ROOM)
    for drawing in spec.drawings:
        if drawing.name in POSITIONS:
            start, end = drawing.points[0].time_ms, drawing.points[1].time_ms if len(drawing.points) > 1 else None
            begins = len(bars) - 1.0 if start is None else place_of(bars.times, bars.step_ms, start)
            ends = begins + most if end is None else place_of(bars.times, bars.step_ms, end)
            needed = max(needed, ceil(ends) + 1 - len(bars))
    return min(needed, most)


def _with_swings(spec: ChartSpec, shown: Sequence[Candle]) -> ChartSpec:
    """Set the points of each retracement of the last swing.

    They are the highest high and the lowest low of the bars shown, the earlier one first.
    """
    high, low = max(shown, key=lambda each: each.high), min(shown, key=lambda each: each.low)
    ends = sorted((Anchor(high.open_time_ms, float(high.high)), Anchor(low.open_time_ms, float(low.low))), key=_opens)
    drawings = tuple(each if each.points else replace(each, points=tuple(ends)) for each in spec.drawings)
    return replace(spec, drawings=drawings)


def _opens(point: Anchor) -> int:
    return point.time_ms or 0


def _within_limits(spec: ChartSpec) -> tuple[ChartSpec, list[str]]:
    warnings: list[str] = []
    width = min(max(spec.width, SMALLEST[0]), LARGEST[0])
    height = min(max(spec.height, SMALLEST[1]), LARGEST[1])
    if (width, height) != (spec.width, spec.height):
        warnings.append(f"size_clamped: {spec.width}x{spec.height} became {width}x{height}.")
    style = spec.style
    if style not in PREFIX:
        style = "candle"
        warnings.append(f"unknown_style: {spec.style} is drawn as candles by the local renderer.")
    bars = min(max(spec.bars, 1), MOST_BARS)
    if bars < spec.bars:
        warnings.append(f"too_many_bars: the newest {bars} of {spec.bars} bars are shown.")
    if not spec.looks.main_pane:
        warnings.append("override_not_local: the local renderer always shows the main pane.")
    drawings: list[DrawingSpec] = []
    for drawing in spec.drawings:
        if problem := refusal(drawing):
            warnings.append(problem)
        else:
            drawings.append(drawing)
    looks = _readable(spec.looks, warnings)
    return (
        replace(spec, width=width, height=height, style=style, bars=bars, drawings=tuple(drawings), looks=looks),
        warnings,
    )


def _readable(looks: Looks, warnings: list[str]) -> Looks:
    prices = looks.price_range
    if prices and not (isfinite(prices.low) and isfinite(prices.high) and prices.low < prices.high):
        warnings.append("param_out_of_range: the price range has no height; all prices are shown.")
        prices = None
    return structs.replace(looks, font_size=min(max(looks.font_size, FONTS[0]), FONTS[1]), price_range=prices)


def _views(
    candles: Sequence[Candle], spec: ChartSpec, theme: Theme, shown: int, warnings: list[str]
) -> list[StudyView]:
    views: list[StudyView] = []
    known = [STUDIES[asked.name] for asked in spec.studies if asked.name in STUDIES]
    colours = Colouring(known, line=spec.style in CURVES)
    short: list[str] = []
    for asked in spec.studies:
        study = STUDIES.get(asked.name)
        if study is None:
            warnings.append(f"study_not_local: the local renderer has no {asked.name}; it was left out.")
            continue
        settled = settle(study, asked.inputs)
        warnings += settled.warnings
        if study.name == PROFILE:
            continue
        lines = {
            key: line[len(candles) - shown :] for key, line in _lines(settled, candles, shown, spec.as_of_ms).items()
        }
        options = OverrideReader(asked.override)
        view = study_view(settled, lines, options, theme.level, colours)
        if ignored := options.left_over():
            warnings.append(f"override_not_local: {', '.join(ignored)} of {settled.label} had no local effect.")
        warnings += _remarks(asked, view, candles, shown)
        if len(candles) - shown < min(study.warm_up(settled.inputs), MOST_BARS):
            short.append(settled.label)
        views.append(view)
    if short:
        warnings.append(
            f"warm_up_short: only {len(candles) - shown} bars were loaded before the first bar shown; the early "
            "values of"
            f" {', '.join(short)} are missing or not yet settled."
        )
    return views


def _compared(spec: ChartSpec, bars: Columns, theme: Theme, warnings: list[str]) -> tuple[StudyView, ...]:
    known = [STUDIES[asked.name] for asked in spec.studies if asked.name in STUDIES]
    colours = Colouring(known, line=spec.style in CURVES)
    colours.skip(plot for study in known if study.overlay for plot in study.plots)
    views = tuple(compared_view(each, bars, theme.level, colours) for each in spec.compared)
    warnings += [
        f"no_values: {view.settled.label} has no candle in the bars shown." for view in views if not view.seen()
    ]
    return views


def _profile(bars: Sequence[Candle], spec: ChartSpec, decimals: int, warnings: list[str]) -> ProfileView | None:
    asked = next((each for each in spec.studies if each.name == PROFILE), None)
    if asked is None:
        return None
    options = OverrideReader(asked.override)
    view = profile_view(settle(STUDIES[PROFILE], asked.inputs), bars, decimals, options)
    if ignored := options.left_over():
        warnings.append(f"override_not_local: {', '.join(ignored)} of {view.settled.label} had no local effect.")
    if view.poc is None:
        warnings.append(f"no_values: {view.settled.label} has nothing to show: no volume in the bars shown.")
    return view


def _lines(settled: Settled, candles: Sequence[Candle], shown: int, as_of_ms: int | None) -> Lines:
    study, inputs = settled.study, settled.inputs
    if study.running:
        return _since_first_shown(study.lines(candles[-shown - 1 :], inputs), len(candles), shown)
    if study.anchored:
        return study.lines(candles, inputs)
    now_ms = candles[-1].close_time_ms + 1 if as_of_ms is None else as_of_ms
    return over_window(candles, now_ms, lambda bars: study.lines(bars, inputs), warm_up=study.warm_up(inputs))


def _since_first_shown(sums: Lines, bars: int, shown: int) -> Lines:
    """Restart running sums at the first bar shown.

    `sums` start one bar earlier, unless the first bar shown is also the first bar known.
    """
    is_first = bars == shown
    return {
        key: [*([None] * (bars - len(line))), *(_less(each, 0.0 if is_first else line[0] or 0.0) for each in line)]
        for key, line in sums.items()
    }


def _less(value: float | None, by: float) -> float | None:
    return None if value is None else value - by


def _remarks(asked: StudySpec, view: StudyView, candles: Sequence[Candle], shown: int) -> list[str]:
    study, remarks = view.settled.study, list[str]()
    if asked.force_overlay and not study.overlay and study.name != "Volume":
        remarks.append(f"override_not_local: {study.name} stays in its own pane because its scale differs.")
    first = candles[0]
    if study.anchored and anchor_of(first) < first.open_time_ms and anchor_of(candles[-shown]) == anchor_of(first):
        remarks.append(
            f"warm_up_short: {study.name} is incomplete at the first bars shown: its {usual_anchor(span_of(first))}"
            " began before the first bar loaded."
        )
    if not view.seen():
        remarks.append(f"no_values: {view.settled.label} has no value in the bars shown.")
    return remarks
