"""Entry point of the renderer. A chart is drawn in this process or in a process of its own."""

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass

import anyio
import anyio.to_thread

from mcp_binance_server.charts.render.canvas import Canvas, font_files
from mcp_binance_server.charts.render.legend import drawing_rows, legend_rows
from mcp_binance_server.charts.render.painter import Painter
from mcp_binance_server.charts.render.png import rasterise
from mcp_binance_server.charts.render.request import prepare
from mcp_binance_server.charts.render.spec import ChartMeta, ChartSpec, Rendered
from mcp_binance_server.domain.periods import Candle

LONGEST_SECONDS = 20.0
PNG = b"\x89PNG\r\n\x1a\n"
# Niceness of the rasteriser process, so that waiting requests run first. `LAST` is for pictures with `gives_way`.
POLITE, LAST = 10, 19
# Start with `-c` and without `site`, in half the time of `-m`. On Windows `site` is needed to find the packages.
_START = "from mcp_binance_server.charts.render.png import main; main()"
_FLAGS = ("-P",) if sys.platform == "win32" else ("-S", "-P")


@dataclass(frozen=True, slots=True)
class Scene:
    """The finished drawing before it is written as SVG, with the position of every text and line."""

    canvas: Canvas
    meta: ChartMeta
    warnings: tuple[str, ...]


def render(candles: Sequence[Candle], spec: ChartSpec) -> Rendered:
    """Draw candles, oldest first, according to a spec. Equal input gives equal bytes.

    Raises:
        ValueError: there is no candle to draw.
    """
    scene = compose(candles, spec)
    svg = scene.canvas.svg()
    return Rendered(svg, rasterise(svg, font_files()), scene.meta, scene.warnings)


def compose(candles: Sequence[Candle], spec: ChartSpec) -> Scene:
    """Draw the scene without rasterising it.

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
        legend=(*legend_rows(request), *drawing_rows(request)),
        as_of_ms=spec.as_of_ms,
    )
    return Scene(painter.canvas, meta, (*request.warnings, *painter.warnings))


async def render_apart(
    candles: Sequence[Candle],
    spec: ChartSpec,
    *,
    limiter: anyio.CapacityLimiter | None = None,
    gives_way: bool = False,
) -> Rendered:
    """Draw like `render`, without blocking the event loop.

    The rasteriser holds the GIL for a fifth of a second, so it runs in a process of its own. `limiter` bounds the
    number of scenes composed at a time, because composing is pure Python and slows down all other threads. A picture
    with `gives_way` runs at the lowest priority.

    Raises:
        ValueError: there is no candle to draw.
        RuntimeError: the process of the rasteriser failed.
        TimeoutError: it took longer than twenty seconds.
    """
    scene = await anyio.to_thread.run_sync(compose, candles, spec, limiter=limiter)
    svg = scene.canvas.svg()
    return Rendered(svg, await rasterise_apart(svg, gives_way=gives_way), scene.meta, scene.warnings)


async def rasterise_apart(svg: str, *, gives_way: bool = False) -> bytes:
    """Return the PNG of an SVG.

    The process that draws it has no environment variables and no secrets.

    Raises:
        RuntimeError: the process failed.
        TimeoutError: it took longer than twenty seconds.
    """
    environment = None if sys.platform == "win32" else {"PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, *_FLAGS, "-c", _START, str(LAST if gives_way else POLITE), *font_files()]
    with anyio.fail_after(LONGEST_SECONDS):
        done = await anyio.run_process(command, input=svg.encode(), env=environment, check=False)
    if done.returncode or not done.stdout.startswith(PNG):
        raise RuntimeError(f"The rasteriser exited with status {done.returncode} and no picture.")
    return done.stdout
