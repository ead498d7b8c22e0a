"""Streamable HTTP, with sessions and without."""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any

from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.types import jsonrpc
from starlette.types import Message, Receive, Scope, Send

from mcp_binance_server.domain.access import Visitor
from mcp_binance_server.state.pace import LoopPace
from mcp_binance_server.surface.answers import Aside, place_for_long_texts, restored
from mcp_binance_server.transports.http.admission.guard import replayed
from mcp_binance_server.transports.http.admission.refusals import refuse
from mcp_binance_server.transports.http.mcp.exchange import (
    SESSION_ID,
    converse,
    named,
    not_allowed,
    open_by_initialize,
    posted_message,
    reply_empty,
    reply_stream,
    stream_taken,
    takes_events,
    unknown_session,
)
from mcp_binance_server.transports.http.mcp.sessions import OpenSession, Switchboard, header
from mcp_binance_server.transports.http.server.disconnect import LEAVING, Leaving

TakesLong = Callable[[str, str], bool]
"""Whether a call may take so long that its client should hear something meanwhile, by its method and name."""


class SessionDoor:
    """One POST a message, one GET for what the server says unasked, DELETE to leave."""

    def __init__(self, switchboard: Switchboard) -> None:
        self._switchboard = switchboard

    async def __call__(self, scope: Scope, receive: Receive, send: Send, visitor: Visitor) -> None:
        match scope["method"]:
            case "POST":
                await self._post(scope, receive, send, visitor)
            case "GET":
                await self._listen(scope, receive, send, visitor)
            case "DELETE":
                await self._leave(scope, send, visitor)
            case _:
                await not_allowed(send, b"GET, POST, DELETE")

    async def _post(self, scope: Scope, receive: Receive, send: Send, visitor: Visitor) -> None:
        message = await posted_message(scope, receive, send)
        if message is None:
            return
        session_id = header(scope, SESSION_ID)
        if session_id is None:
            await self._open(scope, send, visitor, message)
            return
        call = self._switchboard.find(scope, visitor, session_id)
        if call is None:
            await unknown_session(send)
            return
        with self._switchboard.registry.in_use(call.session):
            await converse(call, message, scope, receive, send)

    async def _open(self, scope: Scope, send: Send, visitor: Visitor, message: jsonrpc.JSONRPCMessage) -> None:
        if not isinstance(message, jsonrpc.JSONRPCRequest) or message.method != "initialize":
            await refuse(send, 400, "session_missing", "Only initialize opens a session: send Mcp-Session-Id")
            return
        call = await self._switchboard.open(scope, visitor)
        with self._switchboard.registry.in_use(call.session):
            await open_by_initialize(self._switchboard, call, message, scope, send)

    async def _listen(self, scope: Scope, receive: Receive, send: Send, visitor: Visitor) -> None:
        call = await self._found(scope, send, visitor)
        if call is None or not await takes_events(scope, send):
            return
        if call.line.stream is not None:
            await stream_taken(send)
            return
        outlet = call.line.listen()
        try:
            with self._switchboard.registry.in_use(call.session):
                await reply_stream(outlet, receive, send, named(call))
        finally:
            call.line.stop_listening(outlet)

    async def _leave(self, scope: Scope, send: Send, visitor: Visitor) -> None:
        call = await self._found(scope, send, visitor)
        if call is not None:
            await self._switchboard.registry.end(call.session)
            await reply_empty(send, 200)

    async def _found(self, scope: Scope, send: Send, visitor: Visitor) -> OpenSession | None:
        session_id = header(scope, SESSION_ID)
        if session_id is None:
            await refuse(send, 400, "session_missing", "Mcp-Session-Id is missing")
            return None
        call = self._switchboard.find(scope, visitor, session_id)
        if call is None:
            await unknown_session(send)
        return call


class ModernDoor:
    """Answers plainly what is soon answered; what may take long or is watched can become a stream of events.

    A stream has to be ready before it is known whether there will be one: three tasks and a channel, which cost about
    as much as the whole of a plain answer.
    """

    def __init__(self, server: Server[Any], switchboard: Switchboard, takes_long: TakesLong, pace: LoopPace) -> None:
        self._pace = pace
        self._switchboard = switchboard
        self._takes_long = takes_long
        self._plain = StreamableHTTPSessionManager(server, json_response=True)
        self._streaming = StreamableHTTPSessionManager(server)

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        async with self._plain.run(), self._streaming.run():
            yield

    async def __call__(self, scope: Scope, receive: Receive, send: Send, visitor: Visitor) -> None:
        with self._switchboard.stateless(scope, visitor):
            await self._answer(scope, receive, send)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        leaving: Leaving | None = scope.get(LEAVING)
        if leaving is None or not self._is_soon_answered(scope):
            await self._streaming.handle_request(scope, receive, send)
            return
        body = (await receive()).get("body", b"")
        receive = replayed(body, receive)
        if b'"progressToken"' in body:
            await self._streaming.handle_request(scope, receive, send)
            return
        with leaving.ends_this(), place_for_long_texts() as aside:
            await self._plain.handle_request(scope, receive, _restoring(aside, self._pace, send))

    def _is_soon_answered(self, scope: Scope) -> bool:
        # The headers are held against the body by the SDK; a request without them is refused there.
        if scope["method"] != "POST" or "text/event-stream" not in (header(scope, b"accept") or ""):
            return False
        method = header(scope, b"mcp-method")
        return method is not None and not self._takes_long(method, header(scope, b"mcp-name") or "")


def _restoring(aside: Aside, pace: LoopPace, send: Send) -> Send:
    """Return a `send` that puts long texts back into a plain answer, which comes in two messages."""
    begun: list[Message] = []

    async def sending(message: Message) -> None:
        if not aside.texts:
            await send(message)
        elif message["type"] == "http.response.start":
            begun.append(message)
        else:
            body = await restored(message["body"], aside, pace)
            (start,) = begun
            length = (b"content-length", b"%d" % len(body))
            headers = [length if name == b"content-length" else (name, value) for name, value in start["headers"]]
            await send({**start, "headers": headers})
            await send({**message, "body": body})

    return sending
