"""What a chart costs beside its pixels: the whole of it against the bare rasteriser on the same SVG."""

from itertools import pairwise
from resource import RUSAGE_CHILDREN, getrusage
from statistics import median
from time import process_time

from charts.render.market import market
from mcp_binance_server.charts.render.canvas import font_files
from mcp_binance_server.charts.render.chart import render, render_apart
from mcp_binance_server.charts.render.palette import with_palette
from mcp_binance_server.charts.render.png import rgba
from mcp_binance_server.charts.render.spec import ChartSpec, StudySpec, bars_to_load

STUDIES = ("Bollinger Bands", "Volume", "MACD")
BARS, ROUNDS = 500, 7
# Twice the bar, for the machine may be busy.
MOST = 2 * 1.6


def cpu_secs() -> float:
    """Return the CPU that this process has had, and the rasterisers that it started."""
    children = getrusage(RUSAGE_CHILDREN)
    return process_time() + children.ru_utime + children.ru_stime


async def test_a_chart_of_three_studies_costs_little_more_than_its_pixels() -> None:
    spec = ChartSpec("BTCUSDT", "1h", bars=BARS, studies=tuple(StudySpec(name, {}) for name in STUDIES))
    candles = market(bars=bars_to_load(spec))
    drawn = render(candles, spec)
    here: list[float] = []
    apart: list[float] = []

    for _ in range(ROUNDS):
        moments = [cpu_secs()]
        pixels = rgba(drawn.svg, font_files())
        moments.append(cpu_secs())
        render(candles, spec)
        moments.append(cpu_secs())
        await render_apart(candles, spec)
        moments.append(cpu_secs())
        bare, whole, call = (after - before for before, after in pairwise(moments))
        here.append(whole / bare)
        assert with_palette(pixels) == drawn.png
        apart.append(call / bare)

    print(f"here {median(here):.2f}, in a process of its own {median(apart):.2f}")  # noqa: T201 - figures
    assert drawn.meta.bars == BARS
    assert median(here) < MOST
    assert median(apart) < MOST
