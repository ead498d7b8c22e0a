"""Stages for the chart's page: a browser and the host's page, once for all tests, and a server whose time is theirs."""

import os
import shutil
import subprocess
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
from mcp import Client, types
from playwright.async_api import Browser, Playwright, async_playwright

from apps.harness import Stage
from mcp_binance_server.app import running_app
from mcp_binance_server.settings import read_settings
from mcp_binance_server.simulator.exchange import SimulatedExchange
from mcp_binance_server.surface.apps.page import is_built
from mcp_binance_server.surface.uris import CHART_VIEW
from support.built import installed_apps
from support.clock import FakeClock
from support.desk import NETWORK, Loop

HERE = Path(__file__).parent
MINUTE_MS = 60_000
# Debian's two differ in whether a sandboxed frame has a process of its own.
BROWSERS = ("chromium", "chromium-headless-shell")
ROOT_OPTIONS = ("--no-sandbox",) if os.geteuid() == 0 else ()


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def packages() -> Path:
    return installed_apps() / "node_modules"


@pytest.fixture(scope="session")
def host_script(packages: Path) -> str:
    return bundled(HERE / "host.js", packages)


def bundled(script: Path, packages: Path) -> str:
    """Return a script with everything that it imports."""
    command = ["node", str(packages / "esbuild/bin/esbuild"), str(script), "--bundle", "--format=iife"]
    environment = {"PATH": os.environ["PATH"], "NODE_PATH": str(packages)}  # noqa: TID251 - where node is
    made = subprocess.run(command, env=environment, capture_output=True, check=True, timeout=60)
    return made.stdout.decode("utf-8")


@pytest.fixture(scope="session")
async def driver() -> AsyncIterator[Playwright]:
    async with async_playwright() as running:
        yield running


@pytest.fixture(scope="session", params=BROWSERS)
async def each_browser(driver: Playwright, request: pytest.FixtureRequest) -> AsyncIterator[Browser]:
    launched = await launch(driver, str(request.param))
    yield launched
    await launched.close()


@pytest.fixture(scope="session")
async def one_browser(driver: Playwright) -> AsyncIterator[Browser]:
    launched = await launch(driver, BROWSERS[0])
    yield launched
    await launched.close()


async def launch(driver: Playwright, name: str) -> Browser:
    path = shutil.which(name)
    if path is None:
        pytest.skip(f"no {name}: apt-get install {name}")
    return await driver.chromium.launch(executable_path=path, args=ROOT_OPTIONS, timeout=90_000)


@pytest.fixture(scope="session")
async def served(host_script: str) -> AsyncIterator[tuple[Client, FakeClock, str, str]]:
    """A server on a simulated exchange, and the pages of host and view."""
    if not is_built():
        pytest.skip("no page of the live chart: install a wheel, or node web/build.mjs into surface/apps/chart.html")
    clock = FakeClock()
    transport = Loop(SimulatedExchange(clock))
    async with (
        running_app(read_settings({}), clock=clock, network=NETWORK, transport=transport) as app,
        Client(app.server, cache=None) as client,
    ):
        [page] = (await client.read_resource(CHART_VIEW)).contents
        assert isinstance(page, types.TextResourceContents)
        yield client, clock, host_script, page.text


@pytest.fixture
def stage(one_browser: Browser, served: tuple[Client, FakeClock, str, str]) -> Stage:
    """Where a test opens views; a minute has passed since the test before it, and its weight is forgotten."""
    client, clock, script, page = served
    clock.advance(MINUTE_MS)
    return Stage(one_browser, script, page, client, clock)


@pytest.fixture
def each_stage(stage: Stage, each_browser: Browser) -> Stage:
    return replace(stage, browser=each_browser)
