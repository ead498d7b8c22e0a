"""The colours, widths and levels of a study: its own, or what the overrides say."""

from collections.abc import Mapping
from dataclasses import dataclass

from mcp_binance_server.analytics.indicators.talipp_adapter import Line
from mcp_binance_server.charts.render.colours import Colour, read_colour
from mcp_binance_server.charts.render.options import OverrideReader
from mcp_binance_server.charts.render.study_colours import Colouring
from mcp_binance_server.charts.studies.study import Band, Plot, PlotKind
from mcp_binance_server.charts.studies.table import Settled

_KINDS: Mapping[str, PlotKind] = {
    "line": "line", "line_with_breaks": "line", "step_line": "line", "histogram": "columns", "column": "columns",
    "columns": "columns", "circles": "dots", "cross": "dots",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class PlotLook:
    """One plot as it will be drawn."""

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
    """One dashed level as it will be drawn."""

    value: float
    ink: Colour


@dataclass(frozen=True, slots=True)
class StudyView:
    """A study with its lines cut to the picture and its look."""

    settled: Settled
    lines: Mapping[str, Line]
    plots: tuple[PlotLook, ...]
    levels: tuple[LevelLook, ...]
    bands: tuple[tuple[Band, tuple[Colour, ...]], ...]
    shade: Colour | None

    def seen(self) -> list[float]:
        """Return every value of a visible plot."""
        return [
            value for look in self.plots if look.visible for value in self.lines[look.plot.key] if value is not None
        ]


def study_view(
    settled: Settled, lines: Mapping[str, Line], options: OverrideReader, level_ink: Colour, colours: Colouring
) -> StudyView:
    """Look up what the overrides say of each plot and level; the rest is coloured unlike the studies before it."""
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
