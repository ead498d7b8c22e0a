"""Which colours the studies of one chart have: bands a family each, averages what the bands leave."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from mcp_binance_server.charts.studies.study import Plot, Study

# Told apart on white and on black alike.
PALETTE = ("#2979ff", "#ff9800", "#ab47bc", "#00acc1", "#ec407a", "#7cb342")


@dataclass(frozen=True, slots=True)
class ColourFamily:
    """The upper, middle and lower line of a band and the shade between; `taken` are the palette's colours like them."""

    lines: tuple[str, str, str]
    shade: tuple[str, ...]
    taken: tuple[str, ...]


# The first is TradingView's for Bollinger bands.
FAMILIES = (
    ColourFamily(("#2196f3", "#ff6d00", "#2196f3"), ("rgba(33,150,243,0.09)",), PALETTE[:2]),
    ColourFamily(("#ab47bc", "#c678d6", "#ab47bc"), ("rgba(171,71,188,0.08)",), PALETTE[2:3]),
    ColourFamily(("#7cb342", "#9bc65a", "#7cb342"), ("rgba(124,179,66,0.08)",), PALETTE[5:]),
    ColourFamily(("#a1887f", "#b79f95", "#a1887f"), ("rgba(161,136,127,0.08)",), ()),
)


class Colouring:
    """Hands colours out in the order of the studies."""

    def __init__(self, studies: Sequence[Study], *, line: bool) -> None:
        bands = sum(_is_band(study) for study in studies)
        taken = {colour for family in FAMILIES[:bands] for colour in family.taken}
        # The first of the palette is also the colour of a price drawn as a line.
        left = [colour for colour in PALETTE[line:] if colour not in taken]
        self._spares = left or list(PALETTE)
        self._bands = self._given = 0

    def family_for(self, study: Study) -> ColourFamily | None:
        """Return the next family for a band, None for what is no band."""
        if not _is_band(study):
            return None
        self._bands += 1
        return FAMILIES[(self._bands - 1) % len(FAMILIES)]

    def skip(self, plots: Iterable[Plot]) -> None:
        """Pass over what earlier studies were given."""
        self._given += sum(not plot.colour and not plot.colours for plot in plots)

    def spare(self, plot: Plot) -> str:
        """Return the next free colour for a plot that has none of its own."""
        if plot.colours:
            return plot.colours[0]
        self._given += 1
        return self._spares[(self._given - 1) % len(self._spares)]


def _is_band(study: Study) -> bool:
    return (
        study.overlay and len(study.plots) == len(FAMILIES[0].lines) and any(len(b.colours) == 1 for b in study.bands)
    )
