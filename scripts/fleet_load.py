"""Measure the requests of a fleet to the exchange, with shared state, many clients and forty symbols.

    python scripts/fleet_load.py --clients 500 --seconds 60 [--servers 4] [--symbols 40] [--pause 10] [--alone]

Starts a simulated exchange, a redis-server and the servers (`--http`). Each client opens a session on one server and
calls a tool every `pause` seconds. Prints one JSON object. For comparison, `--alone` gives each server its own state,
so that the servers share no budget.
"""

import argparse
import json
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import AsyncGenerator, Generator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import httpx2

from mcp_binance_server.clock import SystemClock

CLOCK = SystemClock()
HEADERS = {"accept": "application/json, text/event-stream", "mcp-protocol-version": "2025-11-25"}
HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "load", "version": "1"}}
CALLS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("get_orderbook_depth", {}),
    ("get_orderbook_metrics", {}),
    ("get_order_book", {}),
    ("get_ticker", {}),
    ("estimate_slippage", {"amount": "1000", "side": "BUY"}),
)
PATIENCE_SECS = 60
# Time limit of the warm-up, which ends when a round of all symbols sends no request to the exchange.
OPENING_MS = 90_000


@dataclass
class Counts:
    """Counts of calls and failures, and the latencies that clients measured."""

    calls: int = 0
    failed: Counter[str] = field(default_factory=Counter[str])
    took_ms: list[float] = field(default_factory=list[float])

    def at(self, percent: float) -> float | None:
        ordered = sorted(self.took_ms)
        return round(ordered[min(len(ordered) - 1, int(len(ordered) * percent / 100))], 1) if ordered else None


@contextmanager
def process(*command: str, **options: Any) -> Generator["subprocess.Popen[str]"]:  # noqa: ANN401
    running = subprocess.Popen(command, text=True, **options)  # noqa: S603 - our own commands
    try:
        yield running
    finally:
        running.terminate()
        running.wait()


def line_of(pipe: Any) -> str:  # noqa: ANN401
    return str(pipe.readline())


class Client:
    """One session of one client."""

    def __init__(self, http: httpx2.AsyncClient, url: str, counts: Counts) -> None:
        self._http, self._url, self._counts = http, url, counts
        self._session: dict[str, str] = {}

    async def open(self) -> None:
        told = await self._send("initialize", HELLO, 1)
        self._session = {"mcp-session-id": told.headers["mcp-session-id"]}
        await self._send("notifications/initialized", None, None)

    async def call(self, tool: str, arguments: dict[str, Any]) -> None:
        began = CLOCK.monotonic_ms()
        self._counts.calls += 1
        try:
            told = await self._send("tools/call", {"name": tool, "arguments": arguments}, 2)
        except httpx2.HTTPError as error:
            self._counts.failed[type(error).__name__] += 1
            return
        self._counts.took_ms.append(CLOCK.monotonic_ms() - began)
        if told.status_code == 404:
            await self.open()
        if told.status_code != 200 or '"isError":true' in told.text:
            self._counts.failed[f"{told.status_code} {told.text[:200]}"] += 1

    async def _send(self, method: str, params: dict[str, Any] | None, number: int | None) -> httpx2.Response:
        body = {"jsonrpc": "2.0", "method": method, **({"params": params} if params is not None else {})}
        if number is not None:
            body["id"] = number
        return await self._http.post(f"{self._url}/mcp", json=body, headers={**HEADERS, **self._session})


async def live(client: Client, symbols: list[str], pause_secs: float, until_ms: float, chance: random.Random) -> None:
    await CLOCK.sleep_ms(chance.uniform(0, pause_secs * 1000))
    while CLOCK.monotonic_ms() < until_ms:
        tool, arguments = chance.choice(CALLS)
        await client.call(tool, {"symbol": chance.choice(symbols), **arguments})
        await CLOCK.sleep_ms(chance.uniform(0.5, 1.5) * pause_secs * 1000)


@asynccontextmanager
async def control(rest: str) -> AsyncGenerator[httpx2.AsyncClient]:
    async with httpx2.AsyncClient(base_url=f"{rest}/control", timeout=PATIENCE_SECS) as http:
        yield http


async def measured(given: argparse.Namespace, rest: str, servers: list[str], pids: list[int]) -> dict[str, object]:
    symbols = [f"CROWD{place:03}USDT" for place in range(given.symbols)]
    limits = httpx2.Limits(max_connections=None, max_keepalive_connections=None)
    counts, chance = Counts(), random.Random(1)  # noqa: S311 - equal in every run
    async with control(rest) as exchange, httpx2.AsyncClient(timeout=PATIENCE_SECS, limits=limits) as http:
        clients = [Client(http, servers[place % len(servers)], counts) for place in range(given.clients)]
        for client in clients:
            await client.open()
        began = CLOCK.monotonic_ms()
        asked, before = 1, 0
        while asked > before and CLOCK.monotonic_ms() - began < OPENING_MS:
            before = asked
            async with anyio.create_task_group() as tasks:
                for client in clients[: len(servers)]:
                    tasks.start_soon(_warm, client, symbols)
            await CLOCK.sleep_ms(2_000)
            asked = len((await exchange.get("/requests")).json())
        warm_ms = CLOCK.monotonic_ms() - began
        opening = _weights((await exchange.get("/requests")).json())
        await exchange.delete("/requests")
        warm, counts = counts, Counts()
        seen: list[dict[str, int]] = []
        cpu = [_cpu_secs(pid) for pid in pids]
        until_ms = CLOCK.monotonic_ms() + given.seconds * 1000
        async with anyio.create_task_group() as tasks:
            for client in clients:
                client._counts = counts  # noqa: SLF001 - the same client with new counts
                tasks.start_soon(live, client, symbols, given.pause, until_ms, chance)
            while CLOCK.monotonic_ms() < until_ms:
                seen.append((await exchange.get("/streams")).json()["streams"])
                await CLOCK.sleep_ms(1_000)
        spent = _weights((await exchange.get("/requests")).json())
        cpu = [_cpu_secs(pid) - before for pid, before in zip(pids, cpu, strict=True)]
    depth = [sum(count for name, count in each.items() if "@depth" in name) for each in seen]
    return {
        "servers": len(servers),
        "clients": given.clients,
        "symbols": given.symbols,
        "seconds": given.seconds,
        "alone": given.alone,
        "opening": {"seconds": round(warm_ms / 1000, 1), "calls": warm.calls, "failed": warm.failed, **opening},
        "streamed_symbols": {"least": min(depth), "most": max(depth)},
        "calls_a_second": round(counts.calls / given.seconds, 1),
        "failed": counts.failed,
        "call_ms": {"p50": counts.at(50), "p99": counts.at(99)},
        "requests": spent["requests"],
        "weight_a_minute": round(spent["weight"] * 60 / given.seconds, 1),
        "refused": spent["refused"],
        "cpu_percent_of_each_server": [round(100 * each / given.seconds, 1) for each in cpu],
        "client_rss_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
    }


async def _warm(client: Client, symbols: list[str]) -> None:
    for symbol in symbols:
        await client.call("get_orderbook_metrics", {"symbol": symbol})


def _cpu_secs(pid: int) -> float:
    words = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def _weights(requests: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "requests": Counter(each["path"] for each in requests),
        "weight": sum(each["weight"] for each in requests),
        "refused": sum(each["status"] in (418, 429) for each in requests),
    }


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--servers", type=int, default=4)
    options.add_argument("--clients", type=int, default=100)
    options.add_argument("--symbols", type=int, default=40)
    options.add_argument("--seconds", type=float, default=60)
    options.add_argument("--pause", type=float, default=10)
    options.add_argument("--alone", action="store_true")
    given = options.parse_args()
    engine = shutil.which("redis-server") or shutil.which("valkey-server")
    if engine is None:
        sys.exit("This needs redis-server or valkey-server.")
    ours = (sys.executable, "-m", "mcp_binance_server")
    with ExitStack() as stack:
        place = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "state"
        switches = ("--port", "0", "--unixsocket", str(place), "--save", "", "--appendonly", "no")
        stack.enter_context(process(engine, *switches, stdout=subprocess.DEVNULL))
        simulator = process(*ours, "simulator", "--crowd", str(given.symbols), stdout=subprocess.PIPE)
        addresses = json.loads(line_of(stack.enter_context(simulator).stdout))
        environment = {
            **os.environ,  # noqa: TID251 - for another process
            "BINANCE_REST_URL": addresses["rest"],
            "BINANCE_STREAM_URL": addresses["streams"],
            "MCP_BINANCE_STATE_URL": "memory://" if given.alone else f"unix://{place}",
            "MCP_BINANCE_FEED_SYMBOLS": str(given.symbols + 10),
            "MCP_BINANCE_SESSION_CAP": str(given.clients + 10),
            "MCP_BINANCE_SESSION_IDLE_SECS": "600",
        }
        servers, pids = list[str](), list[int]()
        for _ in range(given.servers):
            server = process(*ours, "--http", "--port", "0", env=environment, stderr=subprocess.PIPE)
            running = stack.enter_context(server)
            told = line_of(running.stderr)
            servers.append(told.partition("MCP at ")[2].partition("/mcp")[0])
            pids.append(running.pid)
        print(json.dumps(anyio.run(measured, given, addresses["rest"], servers, pids)))


if __name__ == "__main__":
    main()
