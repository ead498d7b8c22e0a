"""What is done to a fleet, one thing at a time or two at once; each ends when its block does."""

import asyncio
import json
import os
import signal
import socket
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from random import Random

import anyio

from mcp_binance_server.clock import SystemClock
from support.chaos.fleet import HarmedFleet
from support.chaos.tally import STOPPED_MS, STRICT_MS
from support.state_server import StateServer
from support.webapp import ENVELOPE, MODERN, request

CLOCK = SystemClock()
JUMP_MS, SLOW_MS = 3_000, 1_500
SLOW_READERS, GREEDY = 16, 6
# Two addresses of their own: what they take is theirs to answer for.
SLOW_ADDRESS, GREEDY_ADDRESS = "127.0.250.1", "127.0.250.2"

Doing = Callable[[HarmedFleet, Random, float], AbstractAsyncContextManager[None]]


@asynccontextmanager
async def killed_worker(fleet: HarmedFleet, chance: Random, _hold_ms: float) -> AsyncGenerator[None]:
    await fleet.whole()  # one after the other: what is left without any worker is no question
    fleet.end(chance.randrange(fleet.workers), signal.SIGKILL)
    yield


@asynccontextmanager
async def stopped_worker(fleet: HarmedFleet, chance: Random, _hold_ms: float) -> AsyncGenerator[None]:
    """Stop a worker for ever; that it is replaced is the fleet's own work."""
    await fleet.whole()
    fleet.end(chance.randrange(fleet.workers), signal.SIGSTOP)
    yield


@asynccontextmanager
async def emptied_state(fleet: HarmedFleet, _chance: Random, _hold_ms: float) -> AsyncGenerator[None]:
    fleet.state.command("FLUSHALL")
    yield


@asynccontextmanager
async def paused_state(fleet: HarmedFleet, _chance: Random, hold_ms: float) -> AsyncGenerator[None]:
    # Whoever would take it back is paused as well.
    fleet.state.command("CLIENT", "PAUSE", str(round(hold_ms)))
    yield


@asynccontextmanager
async def frozen_state(fleet: HarmedFleet, _chance: Random, _hold_ms: float) -> AsyncGenerator[None]:
    fleet.state.freeze()
    yield
    fleet.state.thaw()


@asynccontextmanager
async def restarted_state(fleet: HarmedFleet, _chance: Random, _hold_ms: float) -> AsyncGenerator[None]:
    fleet.state.kill()
    yield
    await anyio.to_thread.run_sync(fleet.state.start_empty)


@asynccontextmanager
async def failed_over_state(fleet: HarmedFleet, _chance: Random, _hold_ms: float) -> AsyncGenerator[None]:
    """Let a replica take the place of its primary, address and all."""
    replica = await anyio.to_thread.run_sync(_replica_of, fleet.state, fleet.folder / f"r{fleet.replicas}")
    fleet.replicas += 1
    fleet.state.kill()
    yield
    replica.command("REPLICAOF", "NO", "ONE")
    replica.command("CONFIG", "SET", "port", str(fleet.state.port))
    replica.port, replica.options, fleet.state = fleet.state.port, (), replica


def _replica_of(primary: StateServer, folder: Path) -> StateServer:
    folder.mkdir()
    replica = StateServer(folder, "--replicaof", "127.0.0.1", str(primary.port))
    while "master_link_status:up" not in replica.command("INFO", "replication"):
        pass
    return replica


@asynccontextmanager
async def cut_exchange(fleet: HarmedFleet, _chance: Random, _hold_ms: float) -> AsyncGenerator[None]:
    await fleet.order("POST", "faults", kind="cut_before", times=None)
    await fleet.order("POST", "streams/faults", kind="cut", times=None)
    yield
    await fleet.order("DELETE", "faults")
    await fleet.order("DELETE", "streams/faults")


@asynccontextmanager
async def silent_exchange(fleet: HarmedFleet, _chance: Random, _hold_ms: float) -> AsyncGenerator[None]:
    """Let the exchange take connections and requests, and answer nothing."""
    os.kill(fleet.exchange.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(fleet.exchange.pid, signal.SIGCONT)
    # It is back when it answers: first it says all that it has not said, on every stream.
    await fleet.order("GET", "streams")


@asynccontextmanager
async def jumping_clock(fleet: HarmedFleet, _chance: Random, _hold_ms: float) -> AsyncGenerator[None]:
    """Set the exchange's clock forward; backwards its market would be another one."""
    fleet.skew_ms += JUMP_MS
    fleet.past.jumps.append((CLOCK.now_ms(), fleet.skew_ms))
    await fleet.order("POST", "clock", skew_ms=fleet.skew_ms)
    yield


@asynccontextmanager
async def crowded(fleet: HarmedFleet, _chance: Random, _hold_ms: float) -> AsyncGenerator[None]:
    """Let some ask for much and read nothing, and some ask without a pause."""
    async with anyio.create_task_group() as group:
        for _number in range(SLOW_READERS):
            group.start_soon(_read_slowly, fleet.port)
        for number in range(GREEDY):
            group.start_soon(_ask_greedily, fleet.port, number)
        yield
        group.cancel_scope.cancel()


async def _break_futures(fleet: HarmedFleet, path: str, **body: object) -> None:
    await fleet.order("POST", f"futures/{path}", **body)


@asynccontextmanager
async def futures_refused(fleet: HarmedFleet, _chance: Random, _hold_ms: float) -> AsyncGenerator[None]:
    """Let the futures host refuse this place; behind it the ten minutes are over in which it is left alone."""
    await _break_futures(fleet, "quirks", kind="region")
    yield
    await fleet.order("DELETE", "futures/quirks")
    with suppress(OSError, ValueError):
        for key in fleet.state.command("KEYS", "*region:*").split():
            fleet.state.command("DEL", key)


@asynccontextmanager
async def futures_banned(fleet: HarmedFleet, _chance: Random, hold_ms: float) -> AsyncGenerator[None]:
    """Let the futures host ban this address until the harm is over, and say so in words alone."""
    await _break_futures(fleet, "quirks", kind="banned", ms=round(hold_ms), times=1)
    yield
    await fleet.order("DELETE", "futures/quirks")


@asynccontextmanager
async def futures_slow(fleet: HarmedFleet, _chance: Random, _hold_ms: float) -> AsyncGenerator[None]:
    await _break_futures(fleet, "faults", kind="delay", delay_ms=SLOW_MS, times=None)
    yield
    await fleet.order("DELETE", "futures/faults")


@asynccontextmanager
async def futures_halved(fleet: HarmedFleet, _chance: Random, _hold_ms: float) -> AsyncGenerator[None]:
    """Let half a body come from the futures host, and nothing from its streams, which stay open."""
    await _break_futures(fleet, "faults", kind="truncated", times=None)
    await _break_futures(fleet, "streams/faults", kind="silent", times=None)
    yield
    await fleet.order("DELETE", "futures/faults")
    await fleet.order("DELETE", "futures/streams/faults")


def _wish(limit: int) -> bytes:
    arguments = {"symbol": "BTCUSDT", "interval": "1m", "limit": limit}
    params = {"name": "get_klines", "arguments": arguments, "_meta": ENVELOPE}
    body = json.dumps(request("tools/call", params)).encode()
    head = (
        f"POST /mcp HTTP/1.1\r\nhost: 127.0.0.1\r\naccept: application/json, text/event-stream\r\n"
        f"content-type: application/json\r\ncontent-length: {len(body)}\r\nmcp-protocol-version: {MODERN}\r\n"
        "mcp-method: tools/call\r\nmcp-name: get_klines\r\n\r\n"
    )
    return head.encode() + body


async def _read_slowly(port: int) -> None:
    while True:
        with suppress(OSError):
            narrow = socket.socket()
            narrow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
            narrow.bind((SLOW_ADDRESS, 0))
            narrow.settimeout(0)
            with narrow:
                await asyncio.get_running_loop().sock_connect(narrow, ("127.0.0.1", port))
                for _ in range(10):
                    await asyncio.get_running_loop().sock_sendall(narrow, _wish(1_000))
                    await asyncio.get_running_loop().sock_recv(narrow, 64)
                    await CLOCK.sleep_ms(1_000)


async def _ask_greedily(port: int, number: int) -> None:
    while True:
        with suppress(OSError, asyncio.IncompleteReadError, ValueError):
            reader, writer = await asyncio.open_connection("127.0.0.1", port, local_addr=(GREEDY_ADDRESS, 0))
            try:
                while True:
                    writer.write(_wish(900 + number))
                    head = (await reader.readuntil(b"\r\n\r\n")).lower()
                    await reader.readexactly(int(head.partition(b"content-length: ")[2].split()[0]))
            finally:
                writer.close()


@dataclass(frozen=True, slots=True)
class Harm:
    """Something to do, for how long, and how soon all must be well behind it."""

    name: str
    does: tuple[Doing, ...]
    hold_ms: tuple[int, int]
    bar_ms: float = STRICT_MS

    def and_also(self, other: "Harm") -> "Harm":
        """Return both at once."""
        holds = max(self.hold_ms[0], other.hold_ms[0]), max(self.hold_ms[1], other.hold_ms[1])
        name = f"{self.name} + {other.name}"
        return Harm(name, (*self.does, *other.does), holds, max(self.bar_ms, other.bar_ms))

    @asynccontextmanager
    async def done_to(self, fleet: HarmedFleet, chance: Random, hold_ms: float) -> AsyncGenerator[None]:
        async with AsyncExitStack() as stack:
            for does in self.does:
                await stack.enter_async_context(does(fleet, chance, hold_ms))
            yield


SINGLE: Mapping[str, Harm] = {
    harm.name: harm
    for harm in (
        Harm("worker killed", (killed_worker,), (0, 0)),
        Harm("state emptied", (emptied_state,), (0, 0)),
        Harm("exchange cut", (cut_exchange,), (2_000, 15_000)),
        Harm("clients slow and greedy", (crowded,), (2_500, 15_000)),
        Harm("state paused", (paused_state,), (1_500, 10_000)),
        Harm("worker stopped", (stopped_worker,), (0, 0), STOPPED_MS),
        Harm("clock jumped", (jumping_clock,), (0, 0)),
        Harm("exchange silent", (silent_exchange,), (2_500, 20_000)),
        Harm("state failed over", (failed_over_state,), (1_000, 5_000)),
        Harm("state frozen", (frozen_state,), (1_500, 10_000)),
        Harm("state restarted", (restarted_state,), (1_000, 5_000)),
        Harm("futures refused", (futures_refused,), (1_500, 15_000)),
        Harm("futures half", (futures_halved,), (1_500, 20_000)),
        Harm("futures banned", (futures_banned,), (2_000, 15_000)),
        Harm("futures slow", (futures_slow,), (2_000, 15_000)),
    )
}
# A frozen state is in the first pair, and one that was restarted is as empty as one that was emptied.
SHORT = (
    "worker killed",
    "state emptied",
    "exchange cut",
    "clients slow and greedy",
    "state paused",
    "worker stopped",
    "clock jumped",
    "exchange silent",
    "state failed over",
    "futures refused",
    "futures half",
)
PAIRS = tuple(
    SINGLE[one].and_also(SINGLE[other])
    for one, other in (
        ("exchange cut", "state frozen"),
        ("worker killed", "state emptied"),
        ("clients slow and greedy", "worker killed"),
        ("clock jumped", "exchange cut"),
        ("worker stopped", "exchange silent"),
        ("state failed over", "worker killed"),
        ("clients slow and greedy", "state paused"),
        ("exchange silent", "state emptied"),
        ("futures slow", "worker killed"),
        ("futures refused", "exchange cut"),
    )
)
