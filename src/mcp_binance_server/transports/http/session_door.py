"""`/mcp` for clients that shake hands: Streamable HTTP up to 2025-11-25, on sessions of ours."""

from mcp.types import jsonrpc
from starlette.types import Receive, Scope, Send

from mcp_binance_server.domain.access import Visitor
from mcp_binance_server.transports.http.conversation import (
    SESSION_ID,
    converse,
    named,
    not_allowed,
    open_by_initialize,
    posted_message,
    stream_taken,
    takes_events,
    unknown_session,
)
from mcp_binance_server.transports.http.refusals import refuse
from mcp_binance_server.transports.http.replies import reply_empty, reply_stream
from mcp_binance_server.transports.http.switchboard import OpenSession, Switchboard, header


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
