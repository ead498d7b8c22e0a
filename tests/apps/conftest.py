"""Stages for the chart's page: a browser and the host's page, once for all tests, and a server whose time is theirs."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.async_api import Browser, Playwright, async_playwright

from apps.harness import Stage
from apps.programs import HERE, LIGHT, WHOLE, bundled, launched, serving
from support.built import installed_apps
from support.clock import FakeClock

MINUTE_MS = 60_000


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def packages() -> Path:
    return installed_apps() / "node_modules"


@pytest.fixture(scope="session")
async def driver() -> AsyncIterator[Playwright]:
    async with async_playwright() as running:
        yield running


@pytest.fixture(scope="session")
async def whole_browser(driver: Playwright) -> AsyncIterator[Browser]:
    browser = await launched(driver, WHOLE)
    yield browser
    await browser.close()


@pytest.fixture(scope="session")
async def light_browser(driver: Playwright) -> AsyncIterator[Browser]:
    browser = await launched(driver, LIGHT)
    yield browser
    await browser.close()


@pytest.fixture(scope="session")
async def one_stage(light_browser: Browser, packages: Path) -> AsyncIterator[Stage]:
    clock = FakeClock()
    async with serving(clock) as (client, page):
        yield Stage(light_browser, bundled(HERE / "host.js", packages), page, client, clock)


@pytest.fixture
def stage(one_stage: Stage) -> Stage:
    """Where a test opens views; a minute has passed since the test before it, and its weight is forgotten."""
    one_stage.clock.advance(MINUTE_MS)
    return one_stage


@pytest.fixture
def whole_stage(stage: Stage, whole_browser: Browser) -> Stage:
    """Return a stage in the browser of people, for what a page, its host and strangers say to each other."""
    return replace(stage, browser=whole_browser)


@pytest.fixture(params=[WHOLE, LIGHT])
def each_stage(stage: Stage, request: pytest.FixtureRequest) -> Stage:
    return request.getfixturevalue("whole_stage") if request.param == WHOLE else stage
