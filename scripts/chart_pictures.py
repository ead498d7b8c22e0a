"""Take screenshots of the live chart for the documentation, in two themes and three widths.

    python scripts/chart_pictures.py docs/images

It needs what tests/apps need: MCP_TEST_APPS, chromium, and a package with the chart's page. The market is simulated and
its clock stands still, so the same sources give the same pictures.
"""

import sys
from dataclasses import replace
from io import BytesIO
from pathlib import Path

import anyio
from PIL import Image
from playwright.async_api import async_playwright

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from apps.harness import Stage
from apps.programs import HERE, WHOLE, bundled, launched, serving
from support.built import installed_apps
from support.clock import FakeClock
from support.desk import NETWORK

NOW_MS = 1_794_924_123_456
THEMES = ("dark", "light")
HEIGHTS = {420: 470, 760: 470, 1280: 560}
COLOURS = 96  # a chart has few colours, and a small file loads fast
CHART = {
    "symbol": "BINANCE:BTCUSDT",
    "interval": "1h",
    "studies": [{"name": "Volume"}, {"name": "Bollinger Bands"}, {"name": "Relative Strength Index"}],
}


async def photograph(folder: Path) -> None:
    """Write one picture for each theme and width."""
    clock = FakeClock(NOW_MS)
    script = bundled(HERE / "host.js", installed_apps() / "node_modules")
    async with async_playwright() as driver, serving(clock, replace(NETWORK, simulated=True)) as (client, page):
        browser = await launched(driver, WHOLE)
        stage = Stage(browser, script, page, client, clock)
        for theme in THEMES:
            for width, height in HEIGHTS.items():
                async with stage.view(CHART, theme=theme, size=(width, height)) as view:
                    await view.drawn()
                    taken = await view.page.screenshot()
                write(taken, folder / f"live-chart-{theme}-{width}.png")
        await browser.close()


def write(png: bytes, path: Path) -> None:
    """Write a picture with a limited palette, and print its size."""
    with Image.open(BytesIO(png)) as image:
        image.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE).save(path, optimize=True)
    print(f"{path}: {path.stat().st_size} bytes")


if __name__ == "__main__":
    anyio.run(photograph, Path(sys.argv[1]))
