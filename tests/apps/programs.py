"""What a stage is made of: a browser of this machine, the host's script, and a server that has the chart's page."""

import os
import shutil
import subprocess
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from mcp import Client, types
from playwright.async_api import Browser, Playwright

from binance_simulator.exchange import SimulatedExchange
from mcp_binance_server.app import running_app
from mcp_binance_server.exchange.endpoints import Network
from mcp_binance_server.settings import read_settings
from mcp_binance_server.surface.apps.page import is_built
from mcp_binance_server.surface.uris import CHART_VIEW
from support.clock import FakeClock
from support.desk import NETWORK, Loop

HERE = Path(__file__).parent
# In the first, as in people's browsers, a sandboxed frame has a process of its own; the second takes half the time.
WHOLE, LIGHT = "chromium", "chromium-headless-shell"
ROOT_OPTIONS = ("--no-sandbox",) if os.geteuid() == 0 else ()
LAUNCHED_WITHIN_MS = 90_000


async def launched(driver: Playwright, name: str) -> Browser:
    path = shutil.which(name)
    if path is None:
        pytest.skip(f"no {name}: apt-get install {name}")
    return await driver.chromium.launch(executable_path=path, args=ROOT_OPTIONS, timeout=LAUNCHED_WITHIN_MS)


def bundled(script: Path, packages: Path) -> str:
    """Return a script with everything that it imports."""
    command = ["node", str(packages / "esbuild/bin/esbuild"), str(script), "--bundle", "--format=iife"]
    environment = {"PATH": os.environ["PATH"], "NODE_PATH": str(packages)}  # noqa: TID251 - where node is
    made = subprocess.run(command, env=environment, capture_output=True, check=True, timeout=60)
    return made.stdout.decode("utf-8")


@asynccontextmanager
async def serving(clock: FakeClock, network: Network = NETWORK) -> AsyncGenerator[tuple[Client, str]]:
    """Run a server on a simulated exchange; yield a client of it, and the page that it serves."""
    if not is_built():
        pytest.skip("no page of the live chart: python web/build.py src/mcp_binance_server/surface/apps/chart.html")
    transport = Loop(SimulatedExchange(clock))
    async with (
        running_app(read_settings({}), clock=clock, network=network, transport=transport) as app,
        Client(app.server, cache=None) as client,
    ):
        yield client, await page_of(client)


async def page_of(client: Client) -> str:
    [page] = (await client.read_resource(CHART_VIEW)).contents
    assert isinstance(page, types.TextResourceContents)
    return page.text
