"""What a part of the picture needs to draw itself: the canvas, the colours, the columns and the scale of its pane."""

from dataclasses import dataclass, replace

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


def shared_columns(stage: Stage) -> Stage:
    """Merge bars that fall on one pixel column into one bar, so that none hides another."""
    centres = stage.grid.centres[: len(stage.bars)]
    if stage.grid.slot >= 1:
        return stage
    firsts = [bar for bar, x in enumerate(centres) if not bar or x != centres[bar - 1]]
    grid = replace(stage.grid, centres=[centres[bar] for bar in firsts])
    return replace(stage, grid=grid, bars=stage.bars.merged([*firsts, len(stage.bars)]))
