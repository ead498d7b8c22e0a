"""Another market as a line in the picture: its change since the first bar shown, on the scale of the chart's own."""

from mcp_binance_server.charts.render.colours import Colour
from mcp_binance_server.charts.render.columns import Columns
from mcp_binance_server.charts.render.options import OverrideReader
from mcp_binance_server.charts.render.spec import ComparedSeries
from mcp_binance_server.charts.render.study_colours import Colouring
from mcp_binance_server.charts.render.study_look import StudyView, study_view
from mcp_binance_server.charts.studies.study import Inputs, Plot, Study
from mcp_binance_server.charts.studies.table import Settled

PLOT = "Plot"


def compared_view(series: ComparedSeries, bars: Columns, level_ink: Colour, colours: Colouring) -> StudyView:
    """Return a line that begins where the chart begins and moves by the other market's percent."""
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
