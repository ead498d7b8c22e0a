"""Two whole servers that read one market, and what their readers see when the state is lost."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import anyio
import pytest

from binance_simulator.exchange import SimulatedExchange
from binance_simulator.streams.loopback import Loopback
from mcp_binance_server.app import App, running_app
from mcp_binance_server.clock import SystemClock
from mcp_binance_server.errors import EngineUnavailable, RateLimited
from mcp_binance_server.settings import read_settings
from support.desk import Loop
from support.state_server import StateServer
from support.stepped import STREAMED

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("patient_engines")]

CLOCK = SystemClock()
# A second is promised; a busy machine gets more.
PATIENCE_SECS = 5


@pytest.fixture
def exchange() -> SimulatedExchange:
    return SimulatedExchange(CLOCK)


@pytest.fixture
async def apps(server: StateServer, exchange: SimulatedExchange) -> AsyncIterator[list[App]]:
    settings = read_settings({"MCP_BINANCE_STATE_URL": server.url})
    async with AsyncExitStack() as stack:
        yield [
            await stack.enter_async_context(
                running_app(settings, network=STREAMED, transport=Loop(exchange), dialer=Loopback(exchange))
            )
            for _ in range(2)
        ]


async def is_live(app: App) -> bool | None:
    """Read the book as a tool does; None when that fails cleanly."""
    with anyio.fail_after(PATIENCE_SECS):
        try:
            return (await app.context.order_books.levels("BTCUSDT", 20)).is_live
        except (EngineUnavailable, RateLimited):  # a minute that was forgotten counts as used up
            return None


async def until_live(apps: list[App]) -> None:
    with anyio.fail_after(30):
        while not all([await is_live(app) for app in apps]):
            await CLOCK.sleep_ms(50)


async def hear_events(apps: list[App]) -> None:
    """Have both read what finished books do not tell: they go over to events, and the days' figures are at hand."""
    with anyio.fail_after(30):
        while not all([(await app.context.order_books.metrics("BTCUSDT"))[0].is_live for app in apps]):
            await CLOCK.sleep_ms(50)


@pytest.mark.night
async def test_both_answer_from_one_stream_and_ask_nothing_more(apps: list[App], exchange: SimulatedExchange) -> None:
    await until_live(apps)
    await hear_events(apps)
    exchange.requests.clear()

    for app in apps:
        view, _ = await app.context.order_books.metrics("BTCUSDT")
        book = await app.market.book("BTCUSDT", 100)
        assert view.is_live
        assert view.age_ms < 2_000
        assert book.origin == "streamed"

    assert exchange.requests == []
    assert set(exchange.hub.streams().values()) == {1}


@pytest.mark.night
async def test_without_the_state_reads_answer_with_their_age_or_fail_cleanly_and_come_back(
    apps: list[App], server: StateServer, exchange: SimulatedExchange
) -> None:
    await until_live(apps)
    exchange.requests.clear()

    server.kill()
    seen: list[list[bool | None]] = []
    for _ in range(14):
        seen.append([await is_live(app) for app in apps])
        await CLOCK.sleep_ms(500)

    # The process that leads still hears the exchange; the other one does not, and nothing unbooked was sent.
    assert sorted(seen[-1], key=bool) == [None, True]
    assert exchange.requests == []
    server.start_empty()
    await until_live(apps)
