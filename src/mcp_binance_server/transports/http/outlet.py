"""Where the messages of a session wait for whoever reads them."""

from collections import deque
from dataclasses import dataclass, field

import anyio
from mcp.types import jsonrpc

Answer = jsonrpc.JSONRPCResponse | jsonrpc.JSONRPCError
# A reader this far behind has stopped reading; what it misses is said by the end of its stream.
MOST_WAITING = 1_000


class LineClosed(Exception):
    """The talk is over; whoever still waits gets nothing more."""


@dataclass
class Outlet:
    """Where messages wait for their reader."""

    _waiting: deque[jsonrpc.JSONRPCMessage] = field(default_factory=deque[jsonrpc.JSONRPCMessage])
    _arrived: anyio.Event = field(default_factory=anyio.Event)
    _closed: bool = False

    def put(self, message: jsonrpc.JSONRPCMessage) -> None:
        if len(self._waiting) >= MOST_WAITING:
            self.close()
            return
        self._waiting.append(message)
        self._arrived.set()

    async def next(self) -> jsonrpc.JSONRPCMessage:
        """Return the next message.

        Raises:
            LineClosed: there is none, and none will come.
        """
        while not self._waiting:
            if self._closed:
                raise LineClosed
            self._arrived = anyio.Event()
            await self._arrived.wait()
        return self._waiting.popleft()

    def close(self) -> None:
        self._closed = True
        self._arrived.set()

    def left(self) -> tuple[jsonrpc.JSONRPCMessage, ...]:
        """Return what nobody came for."""
        return tuple(self._waiting)
