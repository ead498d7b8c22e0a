"""What most tests need: a clock that stands still, a simulated exchange, a server on it, a client of each era."""

import signal
from collections.abc import AsyncIterator

import pytest
from hypothesis import settings as settings_of_hypothesis
from mcp import Client

from mcp_binance_server.app import App, running_app
from mcp_binance_server.settings import Settings, read_settings
from mcp_binance_server.simulator.exchange import SimulatedExchange
from support.clock import FakeClock
from support.desk import NETWORK, Loop
from support.evidence import log_everything
from support.golden import Golden

# "auto" asks a server of the newest revision to describe itself; "legacy" shakes hands. Behind the first answer both
# run the same lines, so these are counted for one.
ERAS = (pytest.param("legacy", marks=pytest.mark.flood), "auto")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--golden-write", action="store_true", help="write the golden files anew")
    parser.addoption("--scale", type=int, default=1, help="how many times longer the long tests run")


# The same examples in every run, so that a failure is nobody's luck; `--hypothesis-profile search` looks for new ones.
settings_of_hypothesis.register_profile("steady", derandomize=True, deadline=None)
settings_of_hypothesis.register_profile("search", deadline=None, max_examples=1_000)
settings_of_hypothesis.load_profile("steady")


def pytest_configure() -> None:
    log_everything()
    # A shell has its background work ignore Ctrl-C, and so would every process that a test starts to press it.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def golden(pytestconfig: pytest.Config) -> Golden:
    return Golden(write=bool(pytestconfig.getoption("--golden-write")))


@pytest.fixture
def scale(pytestconfig: pytest.Config) -> int:
    return int(pytestconfig.getoption("--scale") or 1)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def exchange(clock: FakeClock) -> SimulatedExchange:
    return SimulatedExchange(clock)


@pytest.fixture
def settings(exchange: SimulatedExchange) -> Settings:
    return read_settings(
        {"BINANCE_API_KEY": exchange.account.api_key, "BINANCE_SECRET_KEY": exchange.account.secret_key}
    )


@pytest.fixture
async def app(settings: Settings, clock: FakeClock, exchange: SimulatedExchange) -> AsyncIterator[App]:
    async with running_app(settings, clock=clock, network=NETWORK, transport=Loop(exchange)) as running:
        yield running


@pytest.fixture(params=ERAS)
def era(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
async def client(app: App, era: str) -> AsyncIterator[Client]:
    async with Client(app.server, mode=era, cache=None) as connected:
        yield connected
