"""Streamable HTTP transport, with sessions and without."""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any

from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.types import jsonrpc
from starlette.types import Receive, Scope, Send

from mcp_binance_server.domain.access import Visitor
from mcp_binance_server.state.pace import LoopPace
from mcp_binance_server.surface.answers import place_for_long_texts, restored
from mcp_binance_server.transports.http.admission.guard import replayed
from mcp_binance_server.transports.http.admission.refusals import refuse
from mcp_binance_server.transports.http.mcp.exchange import (
    SESSION_ID,
    SessionRoutes,
    converse,
    named,
    open_by_initialize,
    posted_message,
    reply_json,
    reply_stream,
    stream_taken,
    takes_events,
)
from mcp_binance_server.transports.http.mcp.sessions import HttpSessions, header
from mcp_binance_server.transports.http.mcp.single import SingleRequests
from mcp_binance_server.transports.http.server.disconnect import DISCONNECT, Disconnect

TakesLong = Callable[[str, str], bool]
"""Returns True for the method and name of a slow call, whose client needs progress reports."""


class SessionHttp(SessionRoutes):
    """POST sends one message, GET opens the stream of server messages, DELETE ends the session."""

    missing = "Mcp-Session-Id is missing"

    def _given(self, scope: Scope) -> str | None:
        return header(scope, SESSION_ID)

    async def _post(self, scope: Scope, receive: Receive, send: Send, visitor: Visitor) -> None:
        message = await posted_message(scope, receive, send)
        if message is None:
            return
        if self._given(scope) is None:
            await self._open(scope, send, visitor, message)
            return
        opened = await self._found(scope, send, visitor)
        if opened is not None:
            with self._registry.in_use(opened.session):
                await converse(opened, message, scope, receive, send)

    async def _open(self, scope: Scope, send: Send, visitor: Visitor, message: jsonrpc.JSONRPCMessage) -> None:
        if not isinstance(message, jsonrpc.JSONRPCRequest) or message.method != "initialize":
            await refuse(send, 400, "session_missing", "Only initialize opens a session: send Mcp-Session-Id")
            return
        opened = await self._http_sessions.open(scope, visitor)
        with self._registry.in_use(opened.session):
            await open_by_initialize(self._http_sessions, opened, message, scope, send)

    async def _stream(self, scope: Scope, receive: Receive, send: Send, visitor: Visitor) -> None:
        opened = await self._found(scope, send, visitor)
        if opened is None or not await takes_events(scope, send):
            return
        if opened.stream.listener is not None:
            await stream_taken(send)
            return
        outlet = opened.stream.listen()
        try:
            with self._registry.in_use(opened.session):
                await reply_stream(outlet, receive, send, named(opened))
        finally:
            opened.stream.stop_listening(outlet)


class SessionlessHttp:
    """Requests without a session.

    Fast requests get plain JSON. Slow requests and subscriptions get a stream of events. Preparing a stream costs three
    tasks and a channel, about as much as a plain answer.
    """

    def __init__(self, server: Server[Any], http_sessions: HttpSessions, takes_long: TakesLong, pace: LoopPace) -> None:
        self._pace = pace
        self._http_sessions = http_sessions
        self._takes_long = takes_long
        self._single = SingleRequests(server)
        self._streaming = StreamableHTTPSessionManager(server)

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        async with self._streaming.run():
            yield

    async def __call__(self, scope: Scope, receive: Receive, send: Send, visitor: Visitor) -> None:
        with self._http_sessions.stateless(scope, visitor):
            await self._answer(scope, receive, send)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        disconnect: Disconnect | None = scope.get(DISCONNECT)
        if disconnect is None or not self._is_soon_answered(scope):
            await self._streaming.handle_request(scope, receive, send)
            return
        body = (await receive()).get("body", b"")
        asked = None if b'"progressToken"' in body else self._single.read(body, scope)
        if asked is None:
            await self._streaming.handle_request(scope, replayed(body, receive), send)
            return
        with disconnect.ends_this(), place_for_long_texts() as aside:
            status, answer = await self._single.answer(asked)
            await reply_json(send, await restored(answer, aside, self._pace) if aside.texts else answer, status=status)

    def _is_soon_answered(self, scope: Scope) -> bool:
        if scope["method"] != "POST" or "text/event-stream" not in (header(scope, b"accept") or ""):
            return False
        method = header(scope, b"mcp-method")
        return method is not None and not self._takes_long(method, header(scope, b"mcp-name") or "")
