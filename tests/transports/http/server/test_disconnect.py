"""A client that goes away in the middle of an answer."""

import json
from collections.abc import AsyncIterator
from typing import Any

import anyio
import pytest
from starlette.types import Message

from conformance.server import build_server
from mcp_binance_server.app import App
from mcp_binance_server.transports.http.admission.hosts import allow
from mcp_binance_server.transports.http.app import Authentication
from mcp_binance_server.transports.http.assembly import Assembled, HttpOptions, assemble
from mcp_binance_server.transports.http.auth.authenticator import Open
from support.clock import FakeClock
from support.raw import INITIALIZED, request

CAPABLE: dict[str, Any] = {
    "protocolVersion": "2025-11-25",
    "capabilities": {"elicitation": {}},
    "clientInfo": {"name": "raw", "version": "0"},
}


class Post:
    """One POST to /mcp: what came back so far, and the moment at which its sender goes away."""

    def __init__(self, message: dict[str, Any], session_id: str | None = None) -> None:
        self._body: bytes | None = json.dumps(message).encode()
        self._session = [(b"mcp-session-id", session_id.encode())] if session_id else []
        self._length = len(self._body)
        self.events: list[Message] = []
        self.arrived = anyio.Event()
        self.leaves = anyio.Event()

    async def receive(self) -> Message:
        if self._body is not None:
            body, self._body = self._body, None
            return {"type": "http.request", "body": body, "more_body": False}
        await self.leaves.wait()
        return {"type": "http.disconnect"}

    async def send(self, event: Message) -> None:
        self.events.append(event)
        if event.get("body"):
            self.arrived.set()

    async def run(self, http: Assembled) -> None:
        headers = [
            (b"host", b"127.0.0.1:1"),
            (b"content-type", b"application/json"),
            (b"accept", b"application/json, text/event-stream"),
            (b"content-length", b"%d" % self._length),
            *self._session,
        ]
        scope = {
            "type": "http", "method": "POST", "path": "/mcp", "query_string": b"", "scheme": "http",
            "headers": headers, "client": ("127.0.0.1", 2),
        }  # fmt: skip
        await http.asgi(scope, self.receive, self.send)


@pytest.fixture
async def http(app: App, clock: FakeClock) -> AsyncIterator[Assembled]:
    options = HttpOptions(
        authentication=Authentication(Open()), allowed=allow(), shares_server_key=False, session_idle_secs=30
    )
    assembled = assemble(build_server(), app.dispatcher, clock, options)
    async with assembled.heart.running():
        yield assembled


async def test_a_client_that_leaves_while_it_is_asked_does_not_hold_its_session_for_ever(
    http: Assembled, clock: FakeClock
) -> None:
    hello = Post(request(0, "initialize", CAPABLE))
    await hello.run(http)
    session_id = dict(hello.events[0]["headers"])[b"mcp-session-id"].decode()
    await Post(INITIALIZED, session_id).run(http)
    asked = Post(request(1, "tools/call", {"name": "test_elicitation", "arguments": {}}), session_id)

    with anyio.fail_after(10):
        async with anyio.create_task_group() as group:
            group.start_soon(asked.run, http)
            await asked.arrived.wait()
            asked.leaves.set()
    clock.advance(31_000)

    assert b"elicitation/create" in asked.events[1]["body"]
    assert http.heart.http_sessions.registry.snapshot().live == 0
