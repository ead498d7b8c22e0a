"""Colours and line styles of studies and compared symbols."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from mcp_binance_server.analytics.indicators.talipp_adapter import Line
from mcp_binance_server.charts.render.look import Colour, OverrideReader, read_colour
from mcp_binance_server.charts.render.spec import ComparedSeries
from mcp_binance_server.charts.render.stage import Columns
from mcp_binance_server.charts.studies.study import Band, Inputs, Plot, PlotKind, Study
from mcp_binance_server.charts.studies.table import Settled

# Colours that are readable on white and on black.
PALETTE = ("#2979ff", "#ff9800", "#ab47bc", "#00acc1", "#ec407a", "#7cb342")

_KINDS: Mapping[str, PlotKind] = {
    "line": "line", "line_with_breaks": "line", "step_line": "line", "histogram": "columns", "column": "columns",
    "columns": "columns", "circles": "dots", "cross": "dots",
}  # fmt: skip

PLOT = "Plot"


@dataclass(frozen=True, slots=True)
class ColourFamily:
    """Colours of a band: upper, middle and lower line, and shade.

    `taken` are the similar colours of the palette.
    """

    lines: tuple[str, str, str]
    shade: tuple[str, ...]
    taken: tuple[str, ...]


# The first family has TradingView's colours of Bollinger bands.
FAMILIES = (
    ColourFamily(("#2196f3", "#ff6d00", "#2196f3"), ("rgba(33,150,243,0.09)",), PALETTE[:2]),
    ColourFamily(("#ab47bc", "#c678d6", "#ab47bc"), ("rgba(171,71,188,0.08)",), PALETTE[2:3]),
    ColourFamily(("#7cb342", "#9bc65a", "#7cb342"), ("rgba(124,179,66,0.08)",), PALETTE[5:]),
    ColourFamily(("#a1887f", "#b79f95", "#a1887f"), ("rgba(161,136,127,0.08)",), ()),
)


class Colouring:
    """Allocator of colours to studies, in the order of the studies."""

    def __init__(self, studies: Sequence[Study], *, line: bool) -> None:
        bands = sum(_is_band(study) for study in studies)
        taken = {colour for family in FAMILIES[:bands] for colour in family.taken}
        # A price drawn as a line already has the first colour of the palette.
        left = [colour for colour in PALETTE[line:] if colour not in taken]
        self._spares = left or list(PALETTE)
        self._bands = self._given = 0

    def family_for(self, study: Study) -> ColourFamily | None:
        """Return the next colour family for a study with a band, else None."""
        if not _is_band(study):
            return None
        self._bands += 1
        return FAMILIES[(self._bands - 1) % len(FAMILIES)]

    def skip(self, plots: Iterable[Plot]) -> None:
        """Skip the colours that earlier studies use."""
        self._given += sum(not plot.colour and not plot.colours for plot in plots)

    def spare(self, plot: Plot) -> str:
        """Return the next free colour for a plot without a colour of its own."""
        if plot.colours:
            return plot.colours[0]
        self._given += 1
        return self._spares[(self._given - 1) % len(self._spares)]


def _is_band(study: Study) -> bool:
    return (
        study.overlay and len(study.plots) == len(FAMILIES[0].lines) and any(len(b.colours) == 1 for b in study.bands)
    )


@dataclass(frozen=True, slots=True)
class PlotLook:
    """One plot with its colour and line style."""

    plot: Plot
    kind: PlotKind
    colours: tuple[Colour, ...]
    width: float
    visible: bool

    @property
    def ink(self) -> Colour:
        return self.colours[0]


@dataclass(frozen=True, slots=True)
class LevelLook:
    """One dashed level with its colour."""

    value: float
    ink: Colour


@dataclass(frozen=True, slots=True)
class StudyView:
    """A study ready to be drawn: its look, and its lines cut to the bars shown."""

    settled: Settled
    lines: Mapping[str, Line]
    plots: tuple[PlotLook, ...]
    levels: tuple[LevelLook, ...]
    bands: tuple[tuple[Band, tuple[Colour, ...]], ...]
    shade: Colour | None

    def seen(self) -> list[float]:
        """Return all values of the visible plots."""
        return [
            value for look in self.plots if look.visible for value in self.lines[look.plot.key] if value is not None
        ]


def study_view(
    settled: Settled, lines: Mapping[str, Line], options: OverrideReader, level_ink: Colour, colours: Colouring
) -> StudyView:
    """Return a study ready to be drawn.

    Overrides set the look of plots and levels. Other plots get the next free colours.
    """
    study = settled.study
    family = colours.family_for(study)
    plots = tuple(
        _plot_look(plot, options, _named(own or plot.colour or colours.spare(plot)))
        for plot, own in zip(study.plots, family.lines if family else [""] * len(study.plots), strict=True)
    )
    levels = tuple(
        LevelLook(
            options.number(f"{level.key}.value", level.value, -1e12, 1e12),
            options.colour(f"{level.key}.color", level_ink),
        )
        for level in study.levels
        if options.flag(f"{level.key}.visible", default=True)
    )
    filled = options.flag("Plots Background.visible", default=True)
    shade_of = family.shade if family else ()
    bands = tuple((band, _band_colours(shade_of or band.colours, options)) for band in study.bands)
    bands = bands if filled else ()
    shaded = options.flag("Hlines Background.visible", default=True) and len(levels) == 2
    shade = options.colour("Hlines Background.color", plots[0].ink.faded(0.08)) if shaded else None
    return StudyView(settled, lines, plots, levels, bands, shade)


def _plot_look(plot: Plot, options: OverrideReader, own: Colour) -> PlotLook:
    stem, _, number = plot.key.rpartition(".")
    key = stem if number.isdigit() else plot.key
    if plot.colours:
        colours = tuple(
            options.colour(f"{key}.color.{index}", _named(colour)) for index, colour in enumerate(plot.colours)
        )
    else:
        colours = (options.colour(f"{key}.color.{number}" if number.isdigit() else f"{key}.color", own),)
    return PlotLook(
        plot=plot,
        kind=_KINDS.get(options.word(f"{key}.plottype", plot.kind), plot.kind),
        colours=colours,
        width=options.number(f"{key}.linewidth", plot.width, 1, 10),
        visible=options.flag(f"{key}.visible", default=True),
    )


def _band_colours(colours: tuple[str, ...], options: OverrideReader) -> tuple[Colour, ...]:
    own = tuple(_named(colour) for colour in colours)
    return own if len(own) > 1 else tuple(options.colour("Plots Background.color", each) for each in own)


def _named(colour: str) -> Colour:
    return read_colour(colour) or Colour("#888888")


def compared_view(series: ComparedSeries, bars: Columns, level_ink: Colour, colours: Colouring) -> StudyView:
    """Return the line of a compared market.

    It starts at the first close of the chart and changes by the same percentage as the other market.
    """
    closes = dict(zip(series.times, series.closes, strict=True))
    known = [closes.get(time_ms) for time_ms in bars.times]
    first = next((place for place, close in enumerate(known) if close), None)
    base = known[first] if first is not None else None
    own = bars.closes[0]
    line = [None if close is None or not base else own * close / base for close in known]
    study = Study(series.symbol, series.symbol, (Plot(PLOT, width=1.6),), lambda _, __: {}, lambda _: 0, overlay=True)
    return study_view(
        Settled(study, Inputs({}), series.symbol, ()), {PLOT: line}, OverrideReader({}), level_ink, colours
    )
