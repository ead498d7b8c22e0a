"""The command `--http` told to stop while it is busy: who is being served is served, and nothing stays behind."""

import os
import re
import signal
import socket
import time
from dataclasses import dataclass, field

import anyio
import httpx2
import pytest
from anyio import to_thread
from anyio.abc import TaskStatus

from mcp_binance_server.clock import SystemClock
from support.product import Running, running_product
from support.webapp import ENVELOPE, MODERN, HttpClient, request

EACH = 10
# Long enough for all to have asked, within the deadline of one attempt.
LATE_MS = 800
GRACE_SECS, NOISE_SECS = 10, 5
MARKET = {"uri": "binance://market/ethusdt"}
MODERN_HEADERS = {"mcp-protocol-version": MODERN, "mcp-method": "resources/read", "mcp-name": MARKET["uri"]}


@dataclass
class Callers:
    """Clients on every transport of one server, and what became of each."""

    http: HttpClient
    answers: list[httpx2.Response] = field(default_factory=list[httpx2.Response])
    ended: list[int] = field(default_factory=list[int])

    async def listen(self, path: str, named: dict[str, str], *, task_status: TaskStatus[None]) -> None:
        async with self.http.stream("GET", path, headers={"accept": "text/event-stream", **named}) as stream:
            task_status.started()
            await stream.aread()  # fails if the stream is torn instead of ended
            self.ended.append(stream.status_code)

    async def ask(self, path: str, named: dict[str, str]) -> None:
        message = request("resources/read", {**MARKET, "_meta": ENVELOPE}, "asked")
        self.answers.append(await self.http.post(path, json=message, headers=named))

    async def pair(self) -> str:
        return (await self.http.post("/mcp/sse")).headers["connection-id"]

    async def tasks(self) -> float:
        found = re.search(r"^mcp_binance_tasks (\S+)$", (await self.http.get("/metrics")).text, re.MULTILINE)
        assert found
        return float(found[1])


def test_sigterm_answers_what_is_under_way_ends_every_stream_and_leaves_in_time() -> None:
    with running_product() as product:
        callers, took = anyio.run(wind_down, product)
        code = product.process.wait()
    said = product.process.errors.read_text(encoding="utf-8").splitlines()

    assert [(answer.status_code, answer.json()["id"]) for answer in callers.answers] == [(200, "asked")] * 3 * EACH
    assert callers.ended == [200] * 3
    assert code == 0
    assert took < GRACE_SECS + NOISE_SECS
    assert [line for line in said if not line.startswith("MCP at ")] == []


async def wind_down(product: Running) -> tuple[Callers, float]:
    limits, told = httpx2.Limits(max_connections=200), 0.0
    with socket.create_connection(("127.0.0.1", product.port)):  # one that says nothing
        async with HttpClient(base_url=product.url, timeout=30, limits=limits) as http:
            http.headers["accept"] = "application/json, text/event-stream"
            callers = Callers(http)
            handshaken = [{"mcp-session-id": await http.initialize()} for _ in range(EACH + 1)]
            paired = [{"connection-id": await callers.pair()} for _ in range(EACH + 1)]
            late = {"kind": "delay", "path": "*/ticker/24hr", "delay_ms": LATE_MS, "times": None}
            await http.post(f"{product.exchange['control']}/faults", json=late)
            async with anyio.create_task_group() as group:
                await group.start(callers.listen, "/mcp", handshaken.pop())
                await group.start(callers.listen, "/mcp/sse", paired.pop())
                await group.start(callers.listen, "/mcp/sse", {})
                calm = await callers.tasks()
                for number in range(EACH):
                    group.start_soon(callers.ask, "/mcp", handshaken[number])
                    group.start_soon(callers.ask, "/mcp/message", paired[number])
                    group.start_soon(callers.ask, "/mcp", MODERN_HEADERS)
                while not callers.answers and await callers.tasks() < calm + 3 * EACH:
                    await SystemClock().sleep_ms(20)
                told = time.perf_counter()
                os.kill(product.process.pid, signal.SIGTERM)
            await to_thread.run_sync(product.process.wait)
            took = time.perf_counter() - told
    with pytest.raises(OSError, match="refused"):
        socket.create_connection(("127.0.0.1", product.port))
    return callers, took
