"""A connection below its protocol: what ASGI has no word for."""

from typing import Protocol, runtime_checkable

from starlette.types import Receive

TEXT, PING = 0x81, 0x89  # whole frames, https://www.rfc-editor.org/rfc/rfc6455#section-5.2


@runtime_checkable
class Transport(Protocol):
    """What asyncio and uvloop agree on; the latter's transports are not asyncio's."""

    def close(self) -> None: ...

    def is_closing(self) -> bool: ...

    def write(self, data: bytes) -> None: ...

    def pause_reading(self) -> None: ...


def transport_of(receive: Receive) -> Transport | None:
    """Return the socket behind a request; None when the application runs inside its client."""
    # uvicorn's `receive` is a method of the object that owns the transport.
    transport: object = getattr(getattr(receive, "__self__", None), "transport", None)
    return transport if isinstance(transport, Transport) else None


def framed(text: str) -> bytes:
    """Return a text as one WebSocket frame of a server; it is never compressed, which every client must accept."""
    payload = text.encode()
    size = len(payload)
    if size < 126:
        return bytes((TEXT, size)) + payload
    if size < 1 << 16:
        return bytes((TEXT, 126)) + size.to_bytes(2) + payload
    return bytes((TEXT, 127)) + size.to_bytes(8) + payload


async def cut(receive: Receive) -> None:
    """Close the socket under the request; without one, raise where the client can see it.

    Raises:
        ConnectionResetError: the application runs inside its client, there is no socket to close.
    """
    transport = transport_of(receive)
    if transport is None:
        raise ConnectionResetError("The simulated exchange cut the connection.")
    transport.close()
    await receive()  # returns when the server has noticed, so that it sends no answer of its own
