"""What the server says, as an HTTP answer: JSON where that is all, a stream of events where there is more."""

from collections.abc import Awaitable, Callable, Iterable

import anyio
from mcp.types import jsonrpc
from starlette.types import Receive, Send

from mcp_binance_server.telemetry.metrics import CONTENT_TYPE
from mcp_binance_server.transports.http.outlet import Answer, LineClosed, Outlet

Headers = Iterable[tuple[bytes, bytes]]

# Proxies cut silent connections after a minute or less.
PING_SECS = 15.0
JSON = (b"content-type", b"application/json")
STREAM = (
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-cache, no-transform"),
    (b"x-accel-buffering", b"no"),
)


async def reply_json(send: Send, body: bytes, headers: Headers = (), *, status: int = 200) -> None:
    described = [JSON, (b"content-length", b"%d" % len(body)), *headers]
    await send({"type": "http.response.start", "status": status, "headers": described})
    await send({"type": "http.response.body", "body": body})


async def reply_figures(send: Send, body: bytes) -> None:
    """Answer with metrics as Prometheus reads them."""
    headers = [(b"content-type", CONTENT_TYPE), (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def reply_empty(send: Send, status: int, headers: Headers = ()) -> None:
    await send({"type": "http.response.start", "status": status, "headers": [(b"content-length", b"0"), *headers]})
    await send({"type": "http.response.body", "body": b""})


async def reply_from(outlet: Outlet, receive: Receive, send: Send, headers: Headers, *, streams: bool) -> None:
    """Answer a request: as JSON if the answer comes first and soon, else as events up to and with the answer.

    Raises:
        LineClosed: the session ended before anything was said.
    """
    first = None
    with anyio.move_on_after(PING_SECS if streams else None):
        first = await _next_sendable(outlet, streams=streams)
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
    """Send whatever comes to the outlet until the client leaves or the session ends."""
    await _start_stream(send, headers)
    if endpoint is not None:
        await _send_chunk(send, f"event: endpoint\r\ndata: {endpoint}\r\n\r\n".encode())
    await _pour(outlet, receive, send, until_answer=False)


async def _pour(outlet: Outlet, receive: Receive, send: Send, *, until_answer: bool) -> None:
    async def watch() -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        # Whoever left while being asked would never answer, and hold the session for ever.
        outlet.close()

    async with anyio.create_task_group() as group:
        group.start_soon(watch)
        message = None
        try:
            while not (until_answer and isinstance(message, Answer)):
                message = await _or_ping(outlet.next, send)
                await _send_event(send, message)
        except LineClosed:
            pass
        group.cancel_scope.cancel()
    await send({"type": "http.response.body", "body": b""})


def dumped(message: jsonrpc.JSONRPCMessage) -> bytes:
    return message.model_dump_json(by_alias=True, exclude_unset=True).encode()


async def _next_sendable(outlet: Outlet, *, streams: bool) -> jsonrpc.JSONRPCMessage:
    while True:
        message = await outlet.next()
        if streams or isinstance(message, Answer):
            return message


async def _or_ping(wait: Callable[[], Awaitable[jsonrpc.JSONRPCMessage]], send: Send) -> jsonrpc.JSONRPCMessage:
    while True:
        with anyio.move_on_after(PING_SECS):
            return await wait()
        await _send_chunk(send, b": ping\r\n\r\n")


async def _start_stream(send: Send, headers: Headers) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": [*STREAM, *headers]})


async def _send_event(send: Send, message: jsonrpc.JSONRPCMessage) -> None:
    await _send_chunk(send, b"event: message\r\ndata: " + dumped(message) + b"\r\n\r\n")


async def _send_chunk(send: Send, chunk: bytes) -> None:
    await send({"type": "http.response.body", "body": chunk, "more_body": True})
