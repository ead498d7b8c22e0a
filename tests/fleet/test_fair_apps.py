"""Four servers on one state: who spends on all of them leaves the others their shares on each."""

from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from functools import partial
from itertools import count, cycle

import anyio
import pytest

from binance_simulator.exchange import SimulatedExchange
from mcp_binance_server.app import App, running_app
from mcp_binance_server.clock import SystemClock
from mcp_binance_server.domain.access import acting_for
from mcp_binance_server.settings import read_settings
from support.desk import NETWORK, Loop
from support.state_server import StateServer

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("patient_engines")]

# A small limit is soon spent: of nine tenths of it all is for public calls where there is no key.
LIMIT, PUBLIC = 600, 540


@pytest.fixture
async def apps(server: StateServer) -> AsyncIterator[tuple[list[App], SimulatedExchange]]:
    exchange = SimulatedExchange(SystemClock())
    exchange.weight_limit = LIMIT
    settings = read_settings({"MCP_BINANCE_STATE_URL": server.url})
    async with AsyncExitStack() as stack:
        running = [
            await stack.enter_async_context(running_app(settings, network=NETWORK, transport=Loop(exchange)))
            for _ in range(4)
        ]
        for app in running:
            await app.market.directory.table()
        left_ms = 60_000 - exchange.now_ms() % 60_000
        if left_ms < 20_000:
            await SystemClock().sleep_ms(left_ms + 1_100)
        yield running, exchange


async def is_refused(app: App, party: str, limit: int) -> bool:
    """Ask one of the servers for a party, for something that nobody has asked for yet."""
    with acting_for(party):
        arguments = {"symbol": "BTCUSDT", "limit": limit}
        told = await app.dispatcher.call_tool(None, "get_recent_trades", arguments)
    return bool(told.is_error)


@pytest.mark.night
async def test_one_who_spends_on_every_server_leaves_the_others_something_on_each(
    apps: tuple[list[App], SimulatedExchange],
) -> None:
    servers, exchange = apps
    turns, limits = cycle(servers), count(1)
    while not await is_refused(next(turns), "mallory", next(limits)):
        pass

    elsewhere = [await is_refused(app, "mallory", next(limits)) for app in servers]
    bob = [await is_refused(app, "bob", next(limits)) for app in servers[:2]]

    minutes = Counter[int]()
    for request in exchange.requests:
        minutes[request.at_ms // 60_000] += request.weight
    assert elsewhere == [True] * 4
    assert bob == [False, False]
    assert PUBLIC * 0.8 < max(minutes.values()) <= PUBLIC


SCANNED = LIMIT * 20 // 100
INTERVALS = ("15m", "1h", "4h", "1d")


async def screen(app: App, party: str, **asked: object) -> dict[str, object]:
    """Ask one of the servers for a party to judge pairs by their candles."""
    with acting_for(party):
        told = await app.dispatcher.call_tool(None, "scan_market", asked)
    assert not told.is_error, told.content
    return told.structured_content


def read_series(exchange: SimulatedExchange) -> int:
    return sum(each.path == "/api/v3/klines" for each in exchange.requests)


@pytest.mark.night
async def test_one_who_screens_everything_on_every_server_leaves_others_their_candles(
    apps: tuple[list[App], SimulatedExchange],
) -> None:
    servers, exchange = apps
    bob: list[dict[str, object]] = []
    read = -1
    async with anyio.create_task_group() as group:
        for app, interval in zip(servers, INTERVALS, strict=True):
            where = [f"{column}@{interval} > -1000" for column in ("change", "rsi_14")]
            for number in range(3):
                group.start_soon(partial(screen, app, "mallory", min_volume=str(number), where=where))
        # Until she gets no more of this minute.
        while read_series(exchange) > max(read, 0) or not read_series(exchange):
            read = read_series(exchange)
            await SystemClock().sleep_ms(1_000)
        for app, interval in zip(servers, reversed(INTERVALS), strict=True):
            # The least traded, to which she comes last.
            asked = {"sort": "-quote_volume_24h", "min_volume": "0", "limit": 1, "show": [f"atr_14@{interval}"]}
            bob.append(await screen(app, "bob", **asked))
        group.cancel_scope.cancel()

    minutes = Counter(each.at_ms // 60_000 for each in exchange.requests if each.path == "/api/v3/klines")
    assert [each["waiting"] for each in bob] == [0] * 4
    assert read_series(exchange) > read
    assert SCANNED * 0.4 < 2 * max(minutes.values()) <= SCANNED
