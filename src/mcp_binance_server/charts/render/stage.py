"""What a part of the picture needs to draw itself: the canvas, the colours, the columns and the scale of its pane."""

from dataclasses import dataclass

from mcp_binance_server.charts.render.boxes import Box
from mcp_binance_server.charts.render.canvas import Canvas
from mcp_binance_server.charts.render.colours import Theme
from mcp_binance_server.charts.render.columns import Columns
from mcp_binance_server.charts.render.layout import Grid
from mcp_binance_server.charts.render.scale import Axis


@dataclass(frozen=True, slots=True)
class Stage:
    """One pane while it is drawn; `area` is the part below its legend, where lines may go."""

    canvas: Canvas
    theme: Theme
    grid: Grid
    bars: Columns
    axis: Axis
    area: Box
