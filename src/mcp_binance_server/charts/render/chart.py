"""The whole picture: candles and a spec in, SVG, PNG and what they show out."""

from collections.abc import Sequence
from dataclasses import dataclass

from mcp_binance_server.charts.render.canvas import Canvas
from mcp_binance_server.charts.render.fonts import font_files
from mcp_binance_server.charts.render.painter import Painter
from mcp_binance_server.charts.render.png import rasterise
from mcp_binance_server.charts.render.request import prepare
from mcp_binance_server.charts.render.spec import ChartMeta, ChartSpec, Rendered
from mcp_binance_server.domain.candles import Candle


@dataclass(frozen=True, slots=True)
class Scene:
    """The finished drawing before it becomes text: every text and line with its place."""

    canvas: Canvas
    meta: ChartMeta
    warnings: tuple[str, ...]


def render(candles: Sequence[Candle], spec: ChartSpec) -> Rendered:
    """Draw candles, oldest first, as a spec asks; the same input gives the same bytes.

    Raises:
        ValueError: there is no candle to draw.
    """
    scene = compose(candles, spec)
    svg = scene.canvas.svg()
    return Rendered(svg, rasterise(svg, font_files()), scene.meta, scene.warnings)


def compose(candles: Sequence[Candle], spec: ChartSpec) -> Scene:
    """Draw everything but the pixels.

    Raises:
        ValueError: there is no candle to draw.
    """
    if not candles:
        raise ValueError("No candles to draw: load at least one bar.")
    request = prepare(candles, spec)
    painter = Painter(request)
    painter.paint()
    last = candles[-1]
    meta = ChartMeta(
        width=request.spec.width,
        height=request.spec.height,
        bars=len(request.bars),
        first_open_ms=request.bars.times[0],
        last_open_ms=last.open_time_ms,
        last_bar_closed=spec.as_of_ms is None or last.close_time_ms < spec.as_of_ms,
        panes=1 + len(request.panes),
        studies=tuple(view.settled.label for view in (*request.views, *([request.profile] if request.profile else []))),
    )
    return Scene(painter.canvas, meta, (*request.warnings, *painter.warnings))
