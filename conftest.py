"""What most tests and benchmarks need: a clock that stands still, a simulated exchange, a server, a client of each era.

Whatever takes long to import is imported by the fixture that needs it: a test of a function does not wait for a server.
"""

import gc
import signal
import sys
from collections import Counter
from contextlib import nullcontext
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings as settings_of_hypothesis

# Before any of them is imported: an assert in a helper shows its values too. A folder of test files alone is left out,
# since it may have the name of an installed package: tests/packaging.
TESTS = Path(__file__).parent / "tests"
HELPERS = (each for each in TESTS.rglob("*.py") if not each.name.startswith(("test_", "conftest")))
pytest.register_assert_rewrite(*{each.relative_to(TESTS).parts[0] for each in HELPERS})

from support.clock import FakeClock
from support.counting import uncounted, uncounted_processes
from support.eras import ERAS
from support.evidence import log_everything
from support.fixtures import COLLECTED, UNPUBLISHED, Collected, needed_by, reason
from support.golden import Golden
from support.repeating import command_of
from support.tiers import COMMIT, NIGHT, QUICK, TIERS, chosen, folder_of, is_of_all

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Generator

    from mcp import Client

    from binance_simulator.exchange import SimulatedExchange
    from mcp_binance_server.app import App
    from mcp_binance_server.settings import Settings


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--golden-write", action="store_true", help="write the golden files anew")
    parser.addoption("--tier", choices=TIERS, default=COMMIT, help="which tests run; see support/tiers.py")
    parser.addoption("--scale", type=int, default=1, help="how many times longer the long tests run")
    parser.addoption(
        "--live",
        action="append",
        choices=["mainnet", "demo", "testnet"],
        default=[],
        help="ask these real hosts too, read-only; see tests/live",
    )


TESTS_BETWEEN_FREEZES = 250
_tests_begun = count()

# The same examples in every run, so that a failure is nobody's luck; `--hypothesis-profile search` looks for new ones.
settings_of_hypothesis.register_profile("steady", derandomize=True, deadline=None)
settings_of_hypothesis.register_profile("search", deadline=None, max_examples=1_000, print_blob=True)
settings_of_hypothesis.load_profile("steady")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    return True if tier_of(config) == QUICK and is_of_all(collection_path) else None


def tier_of(config: pytest.Config) -> str:
    """Return the tier of a run; a longer run than usual is a night's."""
    return NIGHT if int(config.getoption("--scale") or 1) > 1 else str(config.getoption("--tier"))


def pytest_configure() -> None:
    log_everything()
    # A shell has its background work ignore Ctrl-C, and so would every process that a test starts to press it.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_report_header() -> list[str]:
    from mcp_binance_server.surface.apps.page import is_built

    return [] if is_built() else ["the live chart's page is not built; tests of lists expect it: see CONTRIBUTING.md"]


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection() -> "Generator[None, object, object]":
    """Collect tests, and no garbage meanwhile: there is none, and to look for it takes a quarter of the time.

    Nor is what was collected ever looked through again; a suite in one process is a heap of a gigabyte.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(5_000, 10, 50)
        gc.enable()


def pytest_sessionfinish() -> None:
    # Pytest looks five times over for exceptions nobody heard of; after the first there is nothing left to walk.
    gc.collect()
    gc.freeze()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> "Generator[None]":
    needed: Counter[str] = Counter()
    for item in items:  # before any is taken out by its mark
        for name in needed_by(item):
            needed[name] += 1
            if not UNPUBLISHED[name].is_here:
                item.add_marker(pytest.mark.skip(reason=reason(name)))
    config.stash[COLLECTED] = Collected({item.path for item in items}, needed)
    for item in [*uncounted(items)]:
        item.add_marker("flood")
    for item in items:
        if folder_of(item) == "simulator":
            item.add_marker("simulator")
    kept = chosen(items, tier_of(config), config.args)
    config.hook.pytest_deselected(items=[*({*items} - {*kept})])
    items[:] = kept

    yield

    # Whoever takes long begins early, so that one core does not wait for another at the end.
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> "Generator[None, object, object]":
    # Modules and caches that tests have loaded meanwhile: a collection need not look through them either.
    if next(_tests_begun) % TESTS_BETWEEN_FREEZES == 0:
        gc.freeze()
    with uncounted_processes() if item.get_closest_marker("flood") else nullcontext():
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> "Generator[None, pytest.TestReport, pytest.TestReport]":
    """Add the command that repeats a failure."""
    report = yield
    if report.failed:
        report.sections.append(("Repeat with", command_of(item.config, item.nodeid)))
    return report


@pytest.fixture(autouse=True)
def costly_things_done_once() -> None:
    # Where clients are loaded; whoever tests a function does not wait for them.
    if "mcp.client.session" in sys.modules:
        from support.once import check_schemas_once, trust_once

        check_schemas_once()
        trust_once()


@pytest.fixture
def golden(pytestconfig: pytest.Config) -> Golden:
    return Golden(write=bool(pytestconfig.getoption("--golden-write")))


@pytest.fixture
def scale(pytestconfig: pytest.Config) -> int:
    return int(pytestconfig.getoption("--scale") or 1)


@pytest.fixture
def sized(pytestconfig: pytest.Config, scale: int) -> "Callable[[int, int], int]":
    """Return the first of two sizes, times `--scale`, at night, and the second in a commit."""
    is_full = tier_of(pytestconfig) == NIGHT
    return lambda full, commit: full * scale if is_full else commit


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def exchange(clock: FakeClock) -> "SimulatedExchange":
    from binance_simulator.exchange import SimulatedExchange

    return SimulatedExchange(clock)


@pytest.fixture
def settings(exchange: "SimulatedExchange") -> "Settings":
    from mcp_binance_server.settings import read_settings

    return read_settings(
        {"BINANCE_API_KEY": exchange.account.api_key, "BINANCE_SECRET_KEY": exchange.account.secret_key}
    )


@pytest.fixture
async def app(settings: "Settings", clock: FakeClock, exchange: "SimulatedExchange") -> "AsyncIterator[App]":
    from mcp_binance_server.app import running_app
    from support.desk import NETWORK, Loop

    async with running_app(settings, clock=clock, network=NETWORK, transport=Loop(exchange)) as running:
        yield running


@pytest.fixture(params=ERAS)
def era(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
async def client(app: "App", era: str) -> "AsyncIterator[Client]":
    from mcp import Client

    async with Client(app.server, mode=era, cache=None) as connected:
        yield connected
