"""How an answer leaves: whole, cut in the middle, or byte by byte."""

from starlette.types import Message, Receive, Send

from mcp_binance_server.clock import Clock
from mcp_binance_server.simulator.answer import Answer
from mcp_binance_server.simulator.connection import cut
from mcp_binance_server.simulator.faults import Fault


async def read_body(receive: Receive) -> bytes:
    """Return the whole body of a request."""
    body = b""
    more = True
    while more:
        message = await receive()
        body += message.get("body", b"")
        more = message.get("more_body", False)
    return body


async def hold_up(fault: Fault | None, clock: Clock, receive: Receive) -> bool:
    """Let a fault delay the answer; return whether it cut the connection instead."""
    if fault is not None and fault.kind != "drip":
        await clock.sleep_ms(fault.delay_ms)
    if fault is not None and fault.kind == "cut_before":
        await cut(receive)
        return True
    return False


async def deliver(
    answer: Answer,
    headers: list[tuple[bytes, bytes]],
    fault: Fault | None,
    *,
    clock: Clock,
    receive: Receive,
    send: Send,
) -> None:
    """Send an answer as its fault wants it."""
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    if fault is not None and fault.kind == "cut_within":
        await send(_chunk(answer.body[: len(answer.body) // 2], more=True))
        await cut(receive)
        return
    if fault is not None and fault.kind == "drip":
        for place in range(len(answer.body)):
            await send(_chunk(answer.body[place : place + 1], more=True))
            await clock.sleep_ms(fault.delay_ms)
        await send(_chunk(b"", more=False))
        return
    await send(_chunk(answer.body, more=False))


def _chunk(body: bytes, *, more: bool) -> Message:
    return {"type": "http.response.body", "body": body, "more_body": more}
