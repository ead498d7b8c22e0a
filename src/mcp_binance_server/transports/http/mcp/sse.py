"""`/mcp/sse` and `/mcp/message`: the data model's pair of addresses, and on GET the first HTTP transport of MCP."""

import json
from urllib.parse import parse_qs

import anyio
from mcp.types import jsonrpc
from starlette.requests import Request
from starlette.types import Receive, Scope, Send

from mcp_binance_server.domain.access import Visitor
from mcp_binance_server.transports.http.admission.guard import replayed
from mcp_binance_server.transports.http.admission.refusals import refuse
from mcp_binance_server.transports.http.mcp.exchange import (
    CONNECTION_ID,
    SESSION_ID,
    converse,
    named,
    not_allowed,
    open_by_initialize,
    posted_message,
    reply_empty,
    reply_json,
    reply_stream,
    stream_taken,
    takes_events,
    unknown_session,
)
from mcp_binance_server.transports.http.mcp.session_stream import LineClosed
from mcp_binance_server.transports.http.mcp.sessions import OpenSession, Switchboard, header

MESSAGES = "/mcp/message"
# The revision that the data model was written for; a client that says nothing speaks it.
REVISION = "2024-11-05"


class PairDoor:
    """POST `/mcp/sse` opens a session, POST `/mcp/message` asks in it, GET `/mcp/sse` streams, DELETE leaves."""

    def __init__(self, switchboard: Switchboard) -> None:
        self._switchboard = switchboard
        self._registry = switchboard.registry

    async def sse(self, scope: Scope, receive: Receive, send: Send, visitor: Visitor) -> None:
        match scope["method"]:
            case "POST":
                await self._open(scope, receive, send, visitor)
            case "GET":
                await self._stream(scope, receive, send, visitor)
            case "DELETE":
                await self._leave(scope, send, visitor)
            case _:
                await not_allowed(send, b"GET, POST, DELETE")

    async def message(self, scope: Scope, receive: Receive, send: Send, visitor: Visitor) -> None:
        if scope["method"] != "POST":
            await not_allowed(send, b"POST")
            return
        call = await self._found(scope, send, visitor)
        message = await posted_message(scope, receive, send) if call else None
        if call is None or message is None:
            return
        with self._registry.in_use(call.session):
            if call.line.answers_on_stream:
                await self._tell(call, message, scope, send)
            else:
                await converse(call, message, scope, receive, send)

    async def _open(self, scope: Scope, receive: Receive, send: Send, visitor: Visitor) -> None:
        body = (await receive()).get("body", b"")
        message = None
        if body.strip() not in (b"", b"{}"):
            message = await posted_message(scope, replayed(body, receive), send)
            if message is None:
                return
            if not isinstance(message, jsonrpc.JSONRPCRequest) or message.method != "initialize":
                await refuse(send, 400, "not_initialize", "A session opens without a body or with initialize")
                return
        call = await self._switchboard.open(scope, visitor)
        with self._registry.in_use(call.session):
            if message is not None:
                await open_by_initialize(self._switchboard, call, message, scope, send)
                return
            try:
                await _introduce(call, scope)
            except LineClosed:
                await unknown_session(send)
                return
            opened = {
                "connection_id": call.session.connection_id,
                "created_at": call.session.created_at.isoformat(timespec="milliseconds"),
                "idle_timeout_secs": call.session.idle_ms // 1000,
                "messages": MESSAGES,
            }
            await reply_json(send, json.dumps(opened).encode(), named(call))

    async def _stream(self, scope: Scope, receive: Receive, send: Send, visitor: Visitor) -> None:
        if not await takes_events(scope, send):
            return
        joins = header(scope, CONNECTION_ID) is not None or header(scope, SESSION_ID) is not None
        call = await self._found(scope, send, visitor) if joins else await self._switchboard.open(scope, visitor)
        if call is None:
            return
        line = call.line
        if line.stream is not None:
            await stream_taken(send)
            return
        outlet = line.listen()
        line.answers_on_stream = True
        endpoint = f"{scope.get('root_path', '')}{MESSAGES}?session_id={call.session.connection_id}"
        try:
            with self._registry.in_use(call.session):
                await reply_stream(outlet, receive, send, named(call), endpoint=endpoint)
        finally:
            line.stop_listening(outlet)
            line.answers_on_stream = False
            if not joins:  # the stream was the session
                with anyio.CancelScope(shield=True):
                    await self._registry.end(call.session)

    async def _tell(self, call: OpenSession, message: jsonrpc.JSONRPCMessage, scope: Scope, send: Send) -> None:
        try:
            await call.line.tell(message, Request(scope))
        except LineClosed:
            await unknown_session(send)
        else:
            await reply_empty(send, 202, named(call))

    async def _leave(self, scope: Scope, send: Send, visitor: Visitor) -> None:
        call = await self._found(scope, send, visitor)
        if call is not None:
            await self._registry.end(call.session)
            await reply_empty(send, 200)

    async def _found(self, scope: Scope, send: Send, visitor: Visitor) -> OpenSession | None:
        given = header(scope, CONNECTION_ID) or header(scope, SESSION_ID) or _queried(scope)
        if given is None:
            await refuse(send, 400, "session_missing", "Connection-ID is missing: POST /mcp/sse gives one")
            return None
        call = self._switchboard.find(scope, visitor, given)
        if call is None:
            await unknown_session(send)
        return call


async def _introduce(call: OpenSession, scope: Scope) -> None:
    """Shake hands for a client that only opened a session, so that its first message can be a question."""
    request = Request(scope)
    params = {
        "protocolVersion": REVISION,
        "capabilities": {},
        "clientInfo": {"name": header(scope, b"user-agent") or "unknown", "version": "0"},
    }
    message = jsonrpc.JSONRPCRequest(jsonrpc="2.0", id="open", method="initialize", params=params)
    async with call.line.asking(message, request, streams=False) as outlet:
        await outlet.next()
    await call.line.tell(jsonrpc.JSONRPCNotification(jsonrpc="2.0", method="notifications/initialized"), request)


def _queried(scope: Scope) -> str | None:
    found = parse_qs(scope.get("query_string", b"").decode("latin-1")).get("session_id", [])
    return found[0] if len(found) == 1 else None
