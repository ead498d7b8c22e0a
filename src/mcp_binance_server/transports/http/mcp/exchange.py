"""One HTTP request and its answer, as JSON or as server-sent events."""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from functools import lru_cache
from typing import ClassVar

import anyio
from mcp.types import jsonrpc
from starlette.requests import Request
from starlette.types import Receive, Scope, Send

from mcp_binance_server.domain.access import Visitor
from mcp_binance_server.telemetry.metrics import CONTENT_TYPE
from mcp_binance_server.transports.frames import RefusedFrame, read_frame
from mcp_binance_server.transports.http.admission.refusals import refuse
from mcp_binance_server.transports.http.mcp.session_stream import Answer, IdInUse, Outlet, SessionClosed
from mcp_binance_server.transports.http.mcp.sessions import HttpSessions, OpenSession, header
from mcp_binance_server.transports.http.server.disconnect import ends_with_client

Headers = Iterable[tuple[bytes, bytes]]

# Interval of pings, because proxies close connections that are silent for a minute or less.
PING_SECS = 15.0
JSON = (b"content-type", b"application/json")
STREAM = (
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-cache, no-transform"),
    (b"x-accel-buffering", b"no"),
)

SESSION_ID = b"mcp-session-id"
CONNECTION_ID = b"connection-id"


async def reply_json(send: Send, body: bytes, headers: Headers = (), *, status: int = 200) -> None:
    described = [JSON, (b"content-length", b"%d" % len(body)), *headers]
    await send({"type": "http.response.start", "status": status, "headers": described})
    await send({"type": "http.response.body", "body": body})


async def reply_figures(send: Send, body: bytes) -> None:
    """Answer with metrics in the Prometheus format."""
    headers = [(b"content-type", CONTENT_TYPE), (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def reply_empty(send: Send, status: int, headers: Headers = ()) -> None:
    await send({"type": "http.response.start", "status": status, "headers": [(b"content-length", b"0"), *headers]})
    await send({"type": "http.response.body", "body": b""})


async def reply_from(outlet: Outlet, receive: Receive, send: Send, headers: Headers, *, streams: bool) -> None:
    """Answer a request with JSON if the answer is the first message and comes soon.

    Otherwise send a stream of events that ends with the answer.

    Raises:
        SessionClosed: the session ended before its first message.
    """
    first = await (outlet.next_within(PING_SECS) if streams else _answer(outlet))
    if isinstance(first, Answer):
        await reply_json(send, dumped(first), headers)
        return
    await _start_stream(send, headers)
    if first is not None:
        await _send_event(send, first)
    await _pour(outlet, receive, send, until_answer=True)


async def reply_stream(
    outlet: Outlet, receive: Receive, send: Send, headers: Headers, *, endpoint: str | None = None
) -> None:
    """Send all messages of the outlet as events until the client disconnects or the session ends."""
    await _start_stream(send, headers)
    if endpoint is not None:
        await _send_chunk(send, f"event: endpoint\r\ndata: {endpoint}\r\n\r\n".encode())
    await _pour(outlet, receive, send, until_answer=False)


async def _pour(outlet: Outlet, receive: Receive, send: Send, *, until_answer: bool) -> None:
    async def watch() -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        # A disconnected client would never answer a question of the server, and the session would wait forever.
        outlet.close()

    async with anyio.create_task_group() as group:
        group.start_soon(watch)
        message = None
        try:
            while not (until_answer and isinstance(message, Answer)):
                while (message := await outlet.next_within(PING_SECS)) is None:
                    await _send_chunk(send, b": ping\r\n\r\n")
                await _send_event(send, message)
        except SessionClosed:
            pass
        group.cancel_scope.cancel()
    await send({"type": "http.response.body", "body": b""})


def dumped(message: jsonrpc.JSONRPCMessage) -> bytes:
    return message.model_dump_json(by_alias=True, exclude_unset=True).encode()


async def _answer(outlet: Outlet) -> Answer:
    """Return the answer, and drop all messages before it."""
    while not isinstance(message := await outlet.next(), Answer):
        pass
    return message


async def _start_stream(send: Send, headers: Headers) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": [*STREAM, *headers]})


async def _send_event(send: Send, message: jsonrpc.JSONRPCMessage) -> None:
    await _send_chunk(send, b"event: message\r\ndata: " + dumped(message) + b"\r\n\r\n")


async def _send_chunk(send: Send, chunk: bytes) -> None:
    await send({"type": "http.response.body", "body": chunk, "more_body": True})


async def converse(
    opened: OpenSession, message: jsonrpc.JSONRPCMessage, scope: Scope, receive: Receive, send: Send
) -> None:
    """Send a message to a session's server, and return its result to the client."""
    request = Request(scope)
    try:
        if not isinstance(message, jsonrpc.JSONRPCRequest):
            await opened.stream.tell(message, request)
            await reply_empty(send, 202, named(opened))
            return
        streams = accepts(scope, "text/event-stream")
        async with opened.stream.asking(message, request, streams=streams) as outlet:
            with ends_with_client(scope):
                await reply_from(outlet, receive, send, named(opened), streams=streams)
    except IdInUse:
        await refuse(send, 400, "id_in_use", "A request with this id is still being answered")
    except SessionClosed:
        await unknown_session(send)


async def open_by_initialize(
    http_sessions: HttpSessions, opened: OpenSession, message: jsonrpc.JSONRPCRequest, scope: Scope, send: Send
) -> None:
    """Answer the `initialize` request that opened a session. If the request fails, end the session."""
    answer: jsonrpc.JSONRPCMessage | None = None
    try:
        async with opened.stream.asking(message, Request(scope), streams=False) as outlet:
            answer = await outlet.next()
    except SessionClosed:
        await unknown_session(send)
    finally:
        if not isinstance(answer, jsonrpc.JSONRPCResponse):
            await http_sessions.registry.end(opened.session)
    if isinstance(answer, jsonrpc.JSONRPCResponse):
        meta = {**answer.result.get("_meta", {}), "connection_id": opened.session.connection_id}
        answer.result["_meta"] = meta
        await reply_json(send, dumped(answer), named(opened))
    elif answer is not None:
        await reply_json(send, dumped(answer), status=400)


async def posted_message(scope: Scope, receive: Receive, send: Send) -> jsonrpc.JSONRPCMessage | None:
    """Return the message in a POST. Refuse an invalid message and return None."""
    if not await is_json(scope, send):
        return None
    body = (await receive()).get("body", b"")
    message = read_frame(body)
    if isinstance(message, RefusedFrame):
        await reply_json(send, dumped(message.answer), status=400)
        return None
    return message


async def is_json(scope: Scope, send: Send) -> bool:
    """Return True if the request sends and accepts JSON. Otherwise refuse the request."""
    if not accepts(scope, "application/json"):
        await refuse(send, 406, "not_acceptable", "Accept must include application/json")
        return False
    kind = (header(scope, b"content-type") or "").partition(";")[0].strip().lower()
    if kind != "application/json":
        await refuse(send, 415, "not_json", "Content-Type must be application/json")
        return False
    return True


async def takes_events(scope: Scope, send: Send) -> bool:
    if accepts(scope, "text/event-stream"):
        return True
    await refuse(send, 406, "not_acceptable", "Accept must include text/event-stream")
    return False


def accepts(scope: Scope, kind: str) -> bool:
    """Return True if a request accepts a media type. Without an Accept header any type is accepted."""
    accept = header(scope, b"accept")
    return accept is None or bool(_offered(accept) & {kind, f"{kind.partition('/')[0]}/*", "*/*"})


@lru_cache(maxsize=64)  # clients repeat the same few values with every request
def _offered(accept: str) -> frozenset[str]:
    return frozenset(part.partition(";")[0].strip().lower() for part in accept.split(","))


async def not_allowed(send: Send, allowed: bytes) -> None:
    await refuse(send, 405, "method_not_allowed", "Method not allowed", headers=[(b"allow", allowed)])


def named(opened: OpenSession) -> list[tuple[bytes, bytes]]:
    """Return the response headers with the session ID. Clients use both names of the header."""
    name = opened.session.connection_id.encode()
    return [(SESSION_ID, name), (CONNECTION_ID, name)]


async def unknown_session(send: Send) -> None:
    """Answer a request whose session is unknown, has ended, or belongs to another visitor.

    The answer is the same for all three.
    """
    await refuse(send, 404, "session_not_found", "Session not found: it has ended or never existed; open a new one")


async def stream_taken(send: Send) -> None:
    await refuse(send, 409, "stream_open", "This session has an event stream already")


class SessionRoutes(ABC):
    """An endpoint with sessions. POST sends a message, GET opens the stream, DELETE ends the session."""

    missing: ClassVar[str]
    """Error text for a request without a session ID that needs one."""

    def __init__(self, http_sessions: HttpSessions) -> None:
        self._http_sessions = http_sessions
        self._registry = http_sessions.registry

    async def __call__(self, scope: Scope, receive: Receive, send: Send, visitor: Visitor) -> None:
        match scope["method"]:
            case "POST":
                await self._post(scope, receive, send, visitor)
            case "GET":
                await self._stream(scope, receive, send, visitor)
            case "DELETE":
                await self._end(scope, send, visitor)
            case _:
                await not_allowed(send, b"GET, POST, DELETE")

    @abstractmethod
    async def _post(self, scope: Scope, receive: Receive, send: Send, visitor: Visitor) -> None: ...

    @abstractmethod
    async def _stream(self, scope: Scope, receive: Receive, send: Send, visitor: Visitor) -> None: ...

    @abstractmethod
    def _given(self, scope: Scope) -> str | None:
        """Return the session ID in the headers of a request. Return None without one."""

    async def _end(self, scope: Scope, send: Send, visitor: Visitor) -> None:
        opened = await self._found(scope, send, visitor)
        if opened is not None:
            await self._registry.end(opened.session)
            await reply_empty(send, 200)

    async def _found(self, scope: Scope, send: Send, visitor: Visitor) -> OpenSession | None:
        """Return the session of a request. Send an error and return None if there is no such session."""
        given = self._given(scope)
        if given is None:
            await refuse(send, 400, "session_missing", self.missing)
            return None
        opened = self._http_sessions.find(scope, visitor, given)
        if opened is None:
            await unknown_session(send)
        return opened
