"""Endpoints `/mcp/sse` and `/mcp/message`. GET `/mcp/sse` is also the older HTTP+SSE transport of MCP."""

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
    SessionRoutes,
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
from mcp_binance_server.transports.http.mcp.session_stream import SessionClosed
from mcp_binance_server.transports.http.mcp.sessions import OpenSession, header

MESSAGES = "/mcp/message"
# Protocol revision for clients that name none.
REVISION = "2024-11-05"


class SseHttp(SessionRoutes):
    """POST `/mcp/sse` opens a session, POST `/mcp/message` sends to it.

    GET `/mcp/sse` streams, DELETE ends the session.
    """

    missing = "Connection-ID is missing: POST /mcp/sse returns one"

    def _given(self, scope: Scope) -> str | None:
        return header(scope, CONNECTION_ID) or header(scope, SESSION_ID) or _queried(scope)

    async def message(self, scope: Scope, receive: Receive, send: Send, visitor: Visitor) -> None:
        if scope["method"] != "POST":
            await not_allowed(send, b"POST")
            return
        opened = await self._found(scope, send, visitor)
        message = await posted_message(scope, receive, send) if opened else None
        if opened is None or message is None:
            return
        with self._registry.in_use(opened.session):
            if opened.stream.answers_on_stream:
                await self._tell(opened, message, scope, send)
            else:
                await converse(opened, message, scope, receive, send)

    async def _post(self, scope: Scope, receive: Receive, send: Send, visitor: Visitor) -> None:
        body = (await receive()).get("body", b"")
        message = None
        if body.strip() not in (b"", b"{}"):
            message = await posted_message(scope, replayed(body, receive), send)
            if message is None:
                return
            if not isinstance(message, jsonrpc.JSONRPCRequest) or message.method != "initialize":
                await refuse(send, 400, "not_initialize", "To open a session, send initialize or an empty body")
                return
        opened = await self._http_sessions.open(scope, visitor)
        with self._registry.in_use(opened.session):
            if message is not None:
                await open_by_initialize(self._http_sessions, opened, message, scope, send)
                return
            try:
                await _introduce(opened, scope)
            except SessionClosed:
                await unknown_session(send)
                return
            told = {
                "connection_id": opened.session.connection_id,
                "created_at": opened.session.created_at.isoformat(timespec="milliseconds"),
                "idle_timeout_secs": opened.session.idle_ms // 1000,
                "messages": MESSAGES,
            }
            await reply_json(send, json.dumps(told).encode(), named(opened))

    async def _stream(self, scope: Scope, receive: Receive, send: Send, visitor: Visitor) -> None:
        if not await takes_events(scope, send):
            return
        joins = header(scope, CONNECTION_ID) is not None or header(scope, SESSION_ID) is not None
        opened = await self._found(scope, send, visitor) if joins else await self._http_sessions.open(scope, visitor)
        if opened is None:
            return
        stream = opened.stream
        if stream.listener is not None:
            await stream_taken(send)
            return
        outlet = stream.listen()
        stream.answers_on_stream = True
        endpoint = f"{scope.get('root_path', '')}{MESSAGES}?session_id={opened.session.connection_id}"
        try:
            with self._registry.in_use(opened.session):
                await reply_stream(outlet, receive, send, named(opened), endpoint=endpoint)
        finally:
            stream.stop_listening(outlet)
            stream.answers_on_stream = False
            if not joins:  # in this transport the session ends with its stream
                with anyio.CancelScope(shield=True):
                    await self._registry.end(opened.session)

    async def _tell(self, opened: OpenSession, message: jsonrpc.JSONRPCMessage, scope: Scope, send: Send) -> None:
        try:
            await opened.stream.tell(message, Request(scope))
        except SessionClosed:
            await unknown_session(send)
        else:
            await reply_empty(send, 202, named(opened))


async def _introduce(opened: OpenSession, scope: Scope) -> None:
    """Do the MCP handshake for a client that skipped it, so that its first message can be a request."""
    request = Request(scope)
    params = {
        "protocolVersion": REVISION,
        "capabilities": {},
        "clientInfo": {"name": header(scope, b"user-agent") or "unknown", "version": "0"},
    }
    message = jsonrpc.JSONRPCRequest(jsonrpc="2.0", id="open", method="initialize", params=params)
    async with opened.stream.asking(message, request, streams=False) as outlet:
        await outlet.next()
    await opened.stream.tell(jsonrpc.JSONRPCNotification(jsonrpc="2.0", method="notifications/initialized"), request)


def _queried(scope: Scope) -> str | None:
    found = parse_qs(scope.get("query_string", b"").decode("latin-1")).get("session_id", [])
    return found[0] if len(found) == 1 else None
