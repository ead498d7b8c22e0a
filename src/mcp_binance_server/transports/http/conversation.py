"""One message of a session and its answer: what every door of sessions does with a request."""

from mcp.types import jsonrpc
from starlette.requests import Request
from starlette.types import Receive, Scope, Send

from mcp_binance_server.transports.frames import RefusedFrame, read_frame
from mcp_binance_server.transports.http.leaving import ends_with_client
from mcp_binance_server.transports.http.line import IdInUse
from mcp_binance_server.transports.http.outlet import LineClosed
from mcp_binance_server.transports.http.refusals import refuse
from mcp_binance_server.transports.http.replies import dumped, reply_empty, reply_from, reply_json
from mcp_binance_server.transports.http.switchboard import OpenSession, Switchboard, header

SESSION_ID = b"mcp-session-id"
CONNECTION_ID = b"connection-id"


async def converse(
    call: OpenSession, message: jsonrpc.JSONRPCMessage, scope: Scope, receive: Receive, send: Send
) -> None:
    """Hand a message to a session's line and answer with what comes back."""
    request = Request(scope)
    try:
        if not isinstance(message, jsonrpc.JSONRPCRequest):
            await call.line.tell(message, request)
            await reply_empty(send, 202, named(call))
            return
        streams = accepts(scope, "text/event-stream")
        async with call.line.asking(message, request, streams=streams) as outlet:
            with ends_with_client(scope):
                await reply_from(outlet, receive, send, named(call), streams=streams)
    except IdInUse:
        await refuse(send, 400, "id_in_use", "A request with this id is still being answered")
    except LineClosed:
        await unknown_session(send)


async def open_by_initialize(
    switchboard: Switchboard, call: OpenSession, message: jsonrpc.JSONRPCRequest, scope: Scope, send: Send
) -> None:
    """Answer the request that opened a session; a session whose opening failed does not stay."""
    answer: jsonrpc.JSONRPCMessage | None = None
    try:
        async with call.line.asking(message, Request(scope), streams=False) as outlet:
            answer = await outlet.next()
    except LineClosed:
        await unknown_session(send)
    finally:
        if not isinstance(answer, jsonrpc.JSONRPCResponse):
            await switchboard.registry.end(call.session)
    if isinstance(answer, jsonrpc.JSONRPCResponse):
        meta = {**answer.result.get("_meta", {}), "connection_id": call.session.connection_id}
        answer.result["_meta"] = meta
        await reply_json(send, dumped(answer), named(call))
    elif answer is not None:
        await reply_json(send, dumped(answer), status=400)


async def posted_message(scope: Scope, receive: Receive, send: Send) -> jsonrpc.JSONRPCMessage | None:
    """Return the message of a POST; None when it was none and has been refused."""
    if not await is_json(scope, send):
        return None
    body = (await receive()).get("body", b"")
    message = read_frame(body)
    if isinstance(message, RefusedFrame):
        await reply_json(send, dumped(message.answer), status=400)
        return None
    return message


async def is_json(scope: Scope, send: Send) -> bool:
    """Tell whether JSON is sent and taken; what is not has been refused."""
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
    """Tell whether a request takes an answer of this kind; one without Accept takes any."""
    accept = header(scope, b"accept")
    if accept is None:
        return True
    offered = {part.partition(";")[0].strip().lower() for part in accept.split(",")}
    return bool(offered & {kind, f"{kind.partition('/')[0]}/*", "*/*"})


async def not_allowed(send: Send, allowed: bytes) -> None:
    await refuse(send, 405, "method_not_allowed", "Method not allowed", headers=[(b"allow", allowed)])


def named(call: OpenSession) -> list[tuple[bytes, bytes]]:
    """Return the headers that name a session, by MCP's name for it and by the data model's."""
    name = call.session.connection_id.encode()
    return [(SESSION_ID, name), (CONNECTION_ID, name)]


async def unknown_session(send: Send) -> None:
    """Answer whoever names a session that is not theirs, is over, or never was: all of them alike."""
    await refuse(send, 404, "session_not_found", "Session not found: it has ended or never was; open a new one")


async def stream_taken(send: Send) -> None:
    await refuse(send, 409, "stream_open", "This session has an event stream already")
