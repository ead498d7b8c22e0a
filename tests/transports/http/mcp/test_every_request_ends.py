"""Requests whose answer does not come, or whose client does not wait for it: none of them holds anything for ever."""

from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import anyio
import pytest
from mcp import MCPError, types
from mcp.server.lowlevel import Server

from mcp_binance_server.app import App
from mcp_binance_server.surface.errors import RequestContext, guarded
from mcp_binance_server.transports.http.assembly import Assembled, assemble
from support.clock import FakeClock
from support.requirement import requirement
from support.webapp import OPTIONS, HttpClient, served, served_http

CLIENTS, EACH = 8, 40
CALL: dict[str, Any] = {"name": "stuck", "arguments": {}}


@dataclass
class Stuck:
    """A server whose one tool never answers."""

    began: anyio.Event = field(default_factory=anyio.Event)
    ended: anyio.Event = field(default_factory=anyio.Event)

    async def call_tool(self, _ctx: RequestContext, _params: types.CallToolRequestParams) -> types.CallToolResult:
        self.began.set()
        try:
            await anyio.sleep_forever()
        finally:
            self.ended.set()
        raise AssertionError

    @property
    def server(self) -> Server[Any]:
        return Server("stuck", on_call_tool=self.call_tool)


@asynccontextmanager
async def served_stuck(app: App, stuck: Stuck) -> AsyncGenerator[tuple[str, Assembled]]:
    http = assemble(stuck.server, app.dispatcher, app.clock, OPTIONS)
    async with http.heart.running(), served(http) as url:
        yield url, http


@pytest.mark.slow
@pytest.mark.night
async def test_an_id_that_is_used_again_and_again_is_answered_each_time(app: App) -> None:
    found: Counter[int] = Counter()

    async def ask(http: HttpClient, session_id: str) -> None:
        for _ in range(EACH):
            found[(await http.ask("ping", session_id, accept="application/json")).status_code] += 1

    async with served_http(app) as url, HttpClient(base_url=url, timeout=60) as http:
        session_id = await http.initialize()
        async with anyio.create_task_group() as group:
            for _ in range(CLIENTS):
                group.start_soon(ask, http, session_id)

    assert set(found) <= {200, 400}
    assert found[200] >= EACH
    assert found.total() == CLIENTS * EACH


@pytest.mark.parametrize("accept", ["application/json", "application/json, text/event-stream"])
async def test_a_client_that_leaves_ends_its_work_and_does_not_hold_its_session(
    app: App, clock: FakeClock, accept: str
) -> None:
    stuck, held = Stuck(), 0
    with anyio.fail_after(60):
        async with served_stuck(app, stuck) as (url, http), HttpClient(base_url=url) as client:
            session_id = await client.initialize()

            async def ask() -> None:
                async with HttpClient(base_url=url, timeout=60) as disconnect:
                    await disconnect.ask("tools/call", session_id, CALL, accept=accept)

            async with anyio.create_task_group() as group:
                group.start_soon(ask)
                await stuck.began.wait()
                held = http.heart.http_sessions.opened()[0].session.in_flight
                group.cancel_scope.cancel()
            await stuck.ended.wait()
            while http.heart.http_sessions.opened()[0].session.in_flight:
                await anyio.lowlevel.checkpoint()
            clock.advance(31_000)

            assert held == 1
            assert http.heart.http_sessions.registry.snapshot().live == 0


@pytest.mark.parametrize("accept", ["application/json", "application/json, text/event-stream"])
async def test_an_answer_that_does_not_come_in_time_is_said_and_its_work_ended(app: App, accept: str) -> None:
    stuck = Stuck()
    with anyio.fail_after(60):
        async with served_stuck(app, stuck) as (url, http), HttpClient(base_url=url, timeout=60) as client:
            session_id = await client.initialize()
            http.heart.http_sessions.opened()[0].stream.longest_secs = 0.05
            answer = await client.ask("tools/call", session_id, CALL, request_id=7, accept=accept)
            await stuck.ended.wait()

    told = answer.json()
    assert (answer.status_code, told["id"]) == (200, 7)
    assert told["error"]["data"]["error_type"] == "took_too_long"
    assert told["error"]["message"] == "There was no answer within 0.05 seconds."


@requirement("ruling/45")
async def test_every_method_ends_in_time() -> None:
    async def waits(_ctx: RequestContext, _params: None) -> None:
        await anyio.sleep_forever()

    class Context:
        protocol_version = "2025-11-25"

    with pytest.raises(MCPError) as caught:
        await guarded(waits, longest_secs=0.01)(Context(), None)  # pyright: ignore[reportArgumentType]

    assert caught.value.error.data["error_type"] == "took_too_long"
