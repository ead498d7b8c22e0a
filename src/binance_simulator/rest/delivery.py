"""Sending of an answer with its fault applied."""

import gzip
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Protocol, runtime_checkable

from starlette.types import Message, Receive, Send

from binance_simulator.clock import Clock
from binance_simulator.faults import Fault, Kind
from binance_simulator.refusals import Answer, page

TEXT, PING = 0x81, 0x89  # first byte of an unfragmented frame, https://www.rfc-editor.org/rfc/rfc6455#section-5.2


@runtime_checkable
class Transport(Protocol):
    """Methods that the transports of asyncio and uvloop share. The classes of uvloop are not derived from asyncio's."""

    def close(self) -> None: ...

    def is_closing(self) -> bool: ...

    def write(self, data: bytes) -> None: ...

    def pause_reading(self) -> None: ...


def transport_of(receive: Receive) -> Transport | None:
    """Return the transport of a request.

    Return None if the application runs in the client's process without a socket.
    """
    # uvicorn's `receive` is a method of the object that owns the transport.
    transport: object = getattr(getattr(receive, "__self__", None), "transport", None)
    return transport if isinstance(transport, Transport) else None


def framed(text: str) -> bytes:
    """Return a text as one WebSocket frame of a server. It is not compressed, which every client must accept."""
    payload = text.encode()
    size = len(payload)
    if size < 126:
        return bytes((TEXT, size)) + payload
    if size < 1 << 16:
        return bytes((TEXT, 126)) + size.to_bytes(2) + payload
    return bytes((TEXT, 127)) + size.to_bytes(8) + payload


async def cut(receive: Receive) -> None:
    """Close the connection of the request.

    Raises:
        ConnectionResetError: the application runs in the client's process, so there is no socket to close.
    """
    transport = transport_of(receive)
    if transport is None:
        raise ConnectionResetError("The simulated exchange cut the connection.")
    transport.close()
    await receive()  # wait until the server has noticed the end, so that it sends no answer itself


async def say_nothing(receive: Receive) -> None:
    """Keep the connection open until the client gives up.

    Raises:
        TimeoutError: the application runs in the client's process, which would otherwise wait forever.
    """
    if transport_of(receive) is None:
        raise TimeoutError("The simulated exchange does not answer.")
    while (await receive())["type"] != "http.disconnect":
        pass


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
    """Delay the answer if its fault requires it. Return True if the fault has ended the connection."""
    if fault is not None and fault.kind != "drip":
        await clock.sleep_ms(fault.delay_ms)
    if fault is not None and fault.kind == "cut_before":
        await cut(receive)
        return True
    if fault is not None and fault.kind == "silence":
        await say_nothing(receive)
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
    """Send an answer with its fault applied."""
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    if fault is not None and fault.kind == "cut_within":
        await send(_chunk(answer.body[: len(answer.body) // 2], more=True))
        await cut(receive)
        return
    if fault is not None and fault.kind == "drip":
        for place in range(0, len(answer.body), fault.piece):
            await send(_chunk(answer.body[place : place + fault.piece], more=True))
            await clock.sleep_ms(fault.delay_ms)
        await send(_chunk(b"", more=False))
        return
    await send(_chunk(answer.body, more=False))


def _chunk(body: bytes, *, more: bool) -> Message:
    return {"type": "http.response.body", "body": body, "more_body": more}


def spoil(answer: Answer, fault: Fault) -> Answer:
    """Return the answer as changed by the fault."""
    change = CHANGES.get(fault.kind)
    return answer if change is None else change(answer, fault)


def _html(_answer: Answer, _fault: Fault) -> Answer:
    return page(200, "OK")


def _truncated(answer: Answer, _fault: Fault) -> Answer:
    return replace(answer, body=answer.body[: len(answer.body) // 2])


def _empty(answer: Answer, _fault: Fault) -> Answer:
    return replace(answer, body=b"")


def _content_type(answer: Answer, _fault: Fault) -> Answer:
    return replace(answer, content_type="text/plain")


def _gzip(answer: Answer, _fault: Fault) -> Answer:
    return _announced(replace(answer, body=gzip.compress(answer.body, mtime=0)))


def _false_gzip(answer: Answer, _fault: Fault) -> Answer:
    return _announced(answer)


def _huge(answer: Answer, fault: Fault) -> Answer:
    return replace(answer, body=b'"' + b"x" * (fault.size - 2) + b'"')


def _announced(answer: Answer) -> Answer:
    return replace(answer, headers=answer.headers | {"content-encoding": "gzip"})


CHANGES: Mapping[Kind, Callable[[Answer, Fault], Answer]] = {
    "html": _html,
    "truncated": _truncated,
    "empty": _empty,
    "content_type": _content_type,
    "gzip": _gzip,
    "false_gzip": _false_gzip,
    "huge": _huge,
}
