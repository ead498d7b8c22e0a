"""Measure the server's growth over hundreds of thousands of requests and tens of thousands of sessions.

    python scripts/soak.py --requests 200000 --sessions 20000 [--clients 8]

Starts the server with `--http` on the offline exchange and calls it over every transport, in both protocol eras (with
and without sessions). Some sessions are closed and some abandoned. Event streams are opened and dropped, and some
requests are invalid.

Prints one JSON object with memory, descriptors and tasks before and after, as in /metrics. It also has the growth of
memory per 100,000 requests: the least-squares slope over samples every 1,000 requests, with its 95 % confidence
interval.
"""

import argparse
import asyncio
import json
import math
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from random import Random
from typing import Any

from product import Product, running_product

ENVELOPE = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "soak", "version": "1"},
}
INITIALIZE = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "soak", "version": "1"}}
SYMBOLS = ("BTCUSDT", "ETHUSDT", "BNBUSDT", "SOLUSDT")
EVERY = 1_000
WARM_UP = 2_000
# Ignore this share of the requests at the start, in which caches and pools fill.
SETTLED = 0.2
IDLE_SECS = 5
LEFT_BEHIND = 0.05
STREAMED = 0.1
FIGURES = {
    "rss": "process_resident_memory_bytes",
    "descriptors": "process_open_fds",
    "tasks": "mcp_binance_tasks",
    "sessions": "mcp_binance_sessions",
}


@dataclass
class Tally:
    """Counts of requests and answers."""

    requests: int = 0
    sessions: int = 0
    statuses: Counter[int] = field(default_factory=Counter)
    samples: list[tuple[int, dict[str, float]]] = field(default_factory=list)


class Connection:
    """One persistent HTTP connection. It reconnects when the server has closed it."""

    def __init__(self, port: int, tally: Tally) -> None:
        self._port = port
        self._tally = tally
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None

    async def send(
        self, method: str, path: str, body: bytes = b"", **headers: str
    ) -> tuple[int, dict[str, str], bytes]:
        lines = [f"{method} {path} HTTP/1.1", "host: 127.0.0.1", f"content-length: {len(body)}"]
        lines += ["content-type: application/json", "accept: application/json, text/event-stream"]
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        sent = "\r\n".join((*lines, "", "")).encode() + body
        for _ in range(3):
            try:
                reader, writer = await self._opened()
                writer.write(sent)
                answer = await _answer(reader)
            except (ConnectionError, asyncio.IncompleteReadError):
                self.close()  # the server closes idle connections
                continue
            self._tally.requests += 1
            self._tally.statuses[answer[0]] += 1
            return answer
        raise SystemExit("the server closes every connection")

    async def peek(self, path: str, **headers: str) -> None:
        """Open an event stream on its own connection and drop it when it has started."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
        lines = [f"GET {path} HTTP/1.1", "host: 127.0.0.1", "accept: text/event-stream"]
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        writer.write("\r\n".join((*lines, "", "")).encode())
        head = await reader.readuntil(b"\r\n\r\n")
        self._tally.requests += 1
        self._tally.statuses[int(head.split()[1])] += 1
        writer.close()

    async def _opened(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if self._reader is None or self._writer is None:
            self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port)
        return self._reader, self._writer

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()
        self._reader = self._writer = None


async def _answer(reader: asyncio.StreamReader) -> tuple[int, dict[str, str], bytes]:
    first, *lines = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    if "content-length" in headers:
        return int(first.split()[1]), headers, await reader.readexactly(int(headers["content-length"]))
    body = b""
    while size := int(await reader.readuntil(b"\r\n"), 16):
        body += (await reader.readexactly(size + 2))[:-2]
    await reader.readexactly(2)
    return int(first.split()[1]), headers, body


class Client:
    """A client that comes back with a different transport each time."""

    def __init__(self, port: int, tally: Tally, seed: str) -> None:
        self._random = Random(seed)  # noqa: S311 - not a secret
        self._http = Connection(port, tally)
        self._tally = tally

    async def run(self, requests: int, sessions: int) -> None:
        share = requests / max(1, sessions)
        while self._tally.requests < requests:
            if self._tally.sessions < min(sessions, self._tally.requests / share):
                self._tally.sessions += 1
                await self._random.choice([self._by_handshake, self._by_pair])()
            else:
                await self._modern()
        self._http.close()

    async def _by_handshake(self) -> None:
        status, headers, _ = await self._http.send("POST", "/mcp", message("initialize", INITIALIZE))
        if status != 200:
            return
        named = {"mcp_session_id": headers["mcp-session-id"]}
        await self._http.send("POST", "/mcp", message("notifications/initialized", None, None), **named)
        await self._talk("/mcp", named)
        await self._part("/mcp", named)

    async def _by_pair(self) -> None:
        status, headers, _ = await self._http.send("POST", "/mcp/sse")
        if status != 200:
            return
        named = {"connection_id": headers["connection-id"]}
        await self._talk("/mcp/message", named)
        await self._part("/mcp/sse", named)

    async def _talk(self, path: str, named: dict[str, str]) -> None:
        for _ in range(self._random.randint(1, 4)):
            method, params = self._question()
            await self._http.send("POST", path, message(method, params), **named)
        if self._random.random() < 0.05:
            await self._http.send("POST", path, b'{"jsonrpc": "2.0", "id": 1, ', **named)

    async def _part(self, path: str, named: dict[str, str]) -> None:
        if self._random.random() < STREAMED:
            await self._http.peek(path, **named)
        if self._random.random() >= LEFT_BEHIND:
            await self._http.send("DELETE", path, **named)

    async def _modern(self) -> None:
        method, params = self._question()
        headers = {"mcp_protocol_version": "2026-07-28", "mcp_method": method}
        if name := params.get("name") or params.get("uri"):
            headers["mcp_name"] = name
        await self._http.send("POST", "/mcp", message(method, {**params, "_meta": ENVELOPE}), **headers)

    def _question(self) -> tuple[str, dict[str, Any]]:
        symbol = self._random.choice(SYMBOLS)
        common: list[tuple[str, dict[str, Any]]] = [
            ("tools/list", {}),
            ("prompts/list", {}),
            ("resources/read", {"uri": "guide://help"}),
            ("resources/read", {"uri": f"binance://market/{symbol.lower()}"}),
            ("tools/call", {"name": "get_ticker", "arguments": {"symbol": symbol}}),
            ("tools/call", {"name": "get_ticker", "arguments": {"symbol": f"NO{self._random.randrange(10**6)}"}}),
            ("tools/call", {"name": f"no_tool_{self._random.randrange(10**6)}", "arguments": {}}),
            ("resources/read", {"uri": f"binance://nothing/{self._random.randrange(10**6)}"}),
        ]
        rare: list[tuple[str, dict[str, Any]]] = [
            ("prompts/get", {"name": "trading_analysis", "arguments": {"symbol": symbol}}),
            ("resources/read", {"uri": "binance://account/balances"}),
            ("tools/call", {"name": "get_open_orders", "arguments": {}}),
        ]
        return self._random.choice(rare if self._random.random() < 0.02 else common)


def message(method: str, params: dict[str, Any] | None, request_id: int | None = 1) -> bytes:
    named = {} if request_id is None else {"id": request_id}
    told = {} if params is None else {"params": params}
    return json.dumps({"jsonrpc": "2.0", **named, "method": method, **told}).encode()


async def figures(port: int) -> dict[str, float]:
    """Return the server's metrics."""
    connection = Connection(port, Tally())
    text = (await connection.send("GET", "/metrics", connection="close"))[2].decode()
    connection.close()
    found = dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
    return {name: float(found[metric]) for name, metric in FIGURES.items()}


async def watch(port: int, tally: Tally) -> None:
    while True:
        if tally.requests >= (tally.samples[-1][0] + EVERY if tally.samples else 0):
            tally.samples.append((tally.requests, await figures(port)))
        await asyncio.sleep(0.05)  # noqa: TID251


async def load(port: int, requests: int, sessions: int, clients: int, seed: str) -> Tally:
    tally = Tally()
    watcher = asyncio.create_task(watch(port, tally))
    async with asyncio.TaskGroup() as group:
        for number in range(clients):
            group.create_task(Client(port, tally, f"{seed}-{number}").run(requests, sessions))
    watcher.cancel()
    return tally


async def settled(port: int) -> dict[str, float]:
    """Wait until all abandoned sessions have expired and all idle connections are closed. Return the metrics."""
    for _ in range(120):
        await asyncio.sleep(0.5)  # noqa: TID251
        seen = await figures(port)
        if not seen["sessions"]:
            break
    await asyncio.sleep(IDLE_SECS + 1)  # noqa: TID251
    return await figures(port)


def slope(points: list[tuple[float, float]]) -> tuple[float, float]:
    """Return the least-squares slope, and half the width of its 95 % confidence interval."""
    if len(points) < 3:
        return math.nan, math.nan
    mean_x, mean_y = (sum(values) / len(points) for values in zip(*points, strict=True))
    spread = sum((x - mean_x) ** 2 for x, _ in points)
    found = sum((x - mean_x) * (y - mean_y) for x, y in points) / spread
    residue = sum((y - mean_y - found * (x - mean_x)) ** 2 for x, y in points) / (len(points) - 2)
    return found, 1.96 * math.sqrt(residue / spread)


async def soaked(product: Product, given: argparse.Namespace) -> dict[str, object]:
    await load(product.port, WARM_UP, WARM_UP // 10, given.clients, "warm")
    before = await settled(product.port)
    began = time.perf_counter()
    tally = await load(product.port, given.requests, given.sessions, given.clients, "soak")
    took = time.perf_counter() - began
    after = await settled(product.port)
    points = [(at / 100_000, seen["rss"] / 2**20) for at, seen in tally.samples]
    kept = [point for point in points if point[0] >= SETTLED * given.requests / 100_000]
    growth, either_way = slope(kept)
    whole, whole_either_way = slope(points)
    return {
        "requests": tally.requests,
        "sessions": tally.sessions,
        "seconds": round(took, 1),
        "statuses": dict(sorted(tally.statuses.items())),
        "before": shown(before),
        "after": shown(after),
        "rss_mib": [round(y, 1) for _, y in points[:: max(1, len(points) // 20)]],
        "slope_mib_per_100k": round(growth, 3),
        "slope_95": [round(growth - either_way, 3), round(growth + either_way, 3)],
        "slope_from_the_start": [round(whole - whole_either_way, 3), round(whole + whole_either_way, 3)],
    }


def shown(seen: dict[str, float]) -> dict[str, float]:
    return {**seen, "rss": round(seen["rss"] / 2**20, 1)}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--requests", type=int, default=200_000)
    options.add_argument("--sessions", type=int, default=20_000)
    options.add_argument("--clients", type=int, default=8)
    given = options.parse_args()
    with running_product(MCP_BINANCE_SESSION_IDLE_SECS=str(IDLE_SECS)) as product:
        found = asyncio.run(soaked(product, given))
        found["exit_code"] = product.stop()
    print(json.dumps(found))
    sys.exit(found["exit_code"] != 0)


if __name__ == "__main__":
    main()
