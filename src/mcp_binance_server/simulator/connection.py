"""The end of a connection, as a client sees it when a network fails."""

from typing import Protocol, runtime_checkable

from starlette.types import Receive


@runtime_checkable
class Transport(Protocol):
    """What asyncio and uvloop agree on; the latter's transports are not asyncio's."""

    def close(self) -> None: ...

    def is_closing(self) -> bool: ...


async def cut(receive: Receive) -> None:
    """Close the socket under the request; without one, raise where the client can see it.

    Raises:
        ConnectionResetError: the application runs inside its client, there is no socket to close.
    """
    # ASGI has no word for this; uvicorn's `receive` is a method of the object that owns the transport.
    transport: object = getattr(getattr(receive, "__self__", None), "transport", None)
    if not isinstance(transport, Transport):
        raise ConnectionResetError("The simulated exchange cut the connection.")
    transport.close()
    await receive()  # returns when the server has noticed, so that it sends no answer of its own
