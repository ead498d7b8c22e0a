"""The movers of a fleet of four processes: one look at the exchange for all who ask, none while nobody does."""

import json
import math
from collections import Counter
from collections.abc import AsyncGenerator, Iterator
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from mcp import Client

from binance_simulator.exchange import SimulatedExchange
from binance_simulator.streams.loopback import Loopback
from mcp_binance_server.app import App, running_app
from mcp_binance_server.clock import SystemClock
from mcp_binance_server.services.market.board import ROUNDS
from mcp_binance_server.settings import read_settings
from support.board_member import FEWEST_BOARDS, MARKETS
from support.desk import Loop
from support.futures import LIQUIDATED as NETWORK
from support.process import PATIENCE_SECS, Process
from support.state_server import StateServer

pytestmark = [pytest.mark.anyio, pytest.mark.slow, pytest.mark.flood]

MEMBER = (Path(__file__).parent.parent / "support" / "board_member.py").read_text(encoding="utf-8")
CLOCK = SystemClock()
PROCESSES = 4
FRESH_SECS, PERIOD_MS = 2, 3_000
# Longer than a board is fresh: whoever renewed it unasked would have.
NOBODY_MS = 2_500
ALL_SPOT = "/api/v3/ticker/24hr"
ALL_PERPETUALS = ("/fapi/v1/ticker/24hr", "/fapi/v1/premiumIndex", "/fapi/v1/ticker/bookTicker")
LISTS = ("/api/v3/exchangeInfo", "/fapi/v1/exchangeInfo", "/fapi/v1/fundingInfo")


def asked(rest_url: str) -> Counter[str]:
    """Count what both hosts of the simulated exchange have been asked so far, by path."""
    logs = [httpx2.get(f"{rest_url}/control/{name}", timeout=60).json() for name in ("requests", "futures/requests")]
    return Counter(str(each["path"]).partition("?")[0] for log in logs for each in log)


@dataclass(frozen=True, slots=True)
class Phase:
    """What one crowd did, and what it cost."""

    took_ms: float
    scans: int
    boards: dict[str, set[int]]
    sent: Counter[str]

    @property
    def most(self) -> int:
        """How often a market may be looked at in that time, whoever asks.

        Answers that came too far apart, on a machine that stood still, are asked for once more.
        """
        return ROUNDS * (math.ceil(self.took_ms / 1000 / FRESH_SECS) + 1)


@dataclass(frozen=True, slots=True)
class Fleet:
    """Four processes on one state and one exchange."""

    members: list[Process]
    rest_url: str

    def read(self, readers: int) -> Phase:
        """Let so many readers, spread over the processes, ask for a while."""
        before, began_ms = asked(self.rest_url), CLOCK.monotonic_ms()
        for number, member in enumerate(self.members):
            member.send(f"{len(range(number, readers, PROCESSES))} {PERIOD_MS}\n".encode())
        told = [member.answer() for member in self.members]
        took_ms = CLOCK.monotonic_ms() - began_ms
        return Phase(
            took_ms,
            sum(each["asked"] for each in told),
            {market: {board for each in told for board in each["seen"][market]} for market in MARKETS},
            asked(self.rest_url) - before,
        )


@pytest.fixture
def fleet(server: StateServer) -> Iterator[Fleet]:
    with ExitStack() as stack:
        simulator = stack.enter_context(Process("simulator", warm=True))
        stack.callback(simulator.terminate)
        exchange = json.loads(simulator.line())
        settings = {
            "BINANCE_REST_URL": exchange["rest"],
            "BINANCE_STREAM_URL": exchange["streams"],
            "BINANCE_FUTURES_REST_URL": exchange["futures_rest"],
            "BINANCE_FUTURES_STREAM_URL": exchange["futures_streams"],
            "MCP_BINANCE_STATE_URL": server.url,
            "MCP_BINANCE_BOARD_FRESH_SECS": str(FRESH_SECS),
            "MCP_BINANCE_LOG_LEVEL": "WARNING",
        }
        members = [stack.enter_context(Process(code=MEMBER, environment=settings, warm=True)) for _ in range(PROCESSES)]
        assert [member.line() for member in members] == [b"ready"] * PROCESSES
        yield Fleet(members, exchange["rest"])


@pytest.mark.night
def test_a_crowd_of_four_processes_costs_what_one_reader_does(fleet: Fleet) -> None:
    """Four real processes on one real Redis read one simulator over sockets.

    The readers are no connections: each is a task in one of the processes that asks, as the tool does, for the movers
    of both markets twice a second; one reader is alone in one of them, of 2,000 each process has 500.
    """
    started = asked(fleet.rest_url)
    assert started[ALL_SPOT] == 0
    assert not [path for path in started if path.startswith(("/fapi/", "/futures/"))]

    phases = {readers: fleet.read(readers) for readers in (1, 50, 2_000)}

    for readers, phase in phases.items():
        counts = {path: phase.sent[path] for path in (ALL_SPOT, *ALL_PERPETUALS)}
        assert all(1 <= count <= phase.most for count in counts.values()), (readers, phase.took_ms, counts)
        assert phase.scans >= len(MARKETS) * readers
        # Nobody saw a board that was not fetched for all; the first may be the last of the phase before.
        assert all(len(boards) >= FEWEST_BOARDS for boards in phase.boards.values())
        assert len(phase.boards["spot"]) <= counts[ALL_SPOT] + 1
        assert len(phase.boards["perpetual"]) <= counts["/fapi/v1/premiumIndex"] + 1
    whole = asked(fleet.rest_url)
    assert [whole[path] for path in LISTS] == [1, 1, 1]


@asynccontextmanager
async def four_apps(server: StateServer, exchange: SimulatedExchange, **settings: str) -> AsyncGenerator[list[App]]:
    """Start four servers as their processes do, each with an engine of its own; all they send goes to the exchange."""
    read = read_settings({"MCP_BINANCE_STATE_URL": server.url, **settings})
    async with AsyncExitStack() as stack:
        yield [
            await stack.enter_async_context(
                running_app(read, network=NETWORK, transport=Loop(exchange), dialer=Loopback(exchange), preload=True)
            )
            for _ in range(PROCESSES)
        ]


async def movers(app: App, market: str) -> dict[str, Any]:
    """Ask what rose and what fell: there are hours of the simulated market in which nothing did the one."""
    async with Client(app.server, cache=None) as client:
        return (await client.call_tool("scan_market", {"market": market})).structured_content


def moved(told: dict[str, Any]) -> list[Any]:
    return [*told["rows"], *told["losers"]]


def paths(exchange: SimulatedExchange) -> Counter[str]:
    return Counter(each.path for each in exchange.requests)


def is_untouched(exchange: SimulatedExchange) -> bool:
    """Whether nobody has sent the futures host a request or opened a stream of it."""
    return not exchange.futures.requests and not exchange.futures.hub.open_connections


@pytest.mark.night
@pytest.mark.usefixtures("patient_engines")
async def test_four_servers_that_nobody_asks_send_futures_nothing_and_look_at_no_market(server: StateServer) -> None:
    exchange = SimulatedExchange(CLOCK)
    async with four_apps(server, exchange, MCP_BINANCE_BOARD_FRESH_SECS=str(FRESH_SECS)) as apps:
        with anyio.fail_after(PATIENCE_SECS):
            while not exchange.requests:  # a server that starts asks for the symbols alone
                await CLOCK.sleep_ms(20)
        await CLOCK.sleep_ms(NOBODY_MS)

        assert paths(exchange)[LISTS[0]] == 1
        assert paths(exchange)[ALL_SPOT] == 0
        assert is_untouched(exchange)

        assert moved(await movers(apps[0], "perpetual"))
        assert not is_untouched(exchange)


@pytest.mark.usefixtures("patient_engines")
async def test_four_servers_without_derivatives_send_futures_nothing_whatever_is_asked(server: StateServer) -> None:
    exchange = SimulatedExchange(CLOCK)
    async with four_apps(server, exchange, MCP_BINANCE_TOOLSETS="market", MCP_BINANCE_BOARD_FRESH_SECS="300") as apps:
        spot = [await movers(app, "spot") for app in apps]
        perpetual = [await movers(app, "perpetual") for app in apps]

        assert all(moved(told) for told in spot)
        assert len({told["as_of"] for told in spot}) == 1
        assert {told["error_type"] for told in perpetual} == {"futures_not_offered"}
        assert paths(exchange)[ALL_SPOT] == 1
        assert is_untouched(exchange)
