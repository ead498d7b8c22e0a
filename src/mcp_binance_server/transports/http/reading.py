"""How the bytes of one client come in: a little at a time, on any event loop."""

import asyncio

from mcp_binance_server.transports.http.connection import HttpConnection
from mcp_binance_server.transports.http.first_look import FirstLooks

# One read of a socket, which is 256 KiB otherwise. Tiny chunks cost more to parse than anything else; between two
# reads others have their turn.
READ_SIZE = 16 * 2**10

# A request that drips in is looked at less and less often, or hundreds of such would keep the processor busy. It waits
# for a share of the time it has taken so far, so that it hardly takes longer for it.
PIECES_AT_ONCE = 4
SLOW_RATE = 64 * 2**10  # bytes a second
SHARE = 0.25
LEAST_SECS, MOST_SECS = 0.05, 1.0


class RequestReader(asyncio.BufferedProtocol):
    """Stands between a socket and its connection, because only such a protocol says how much is read at once."""

    def __init__(self, connection: HttpConnection, first_looks: FirstLooks) -> None:
        self._connection = connection
        self._first_looks: FirstLooks | None = first_looks
        self._first = b""
        self._buffer = bytearray()
        self._pieces = 0
        self._received = 0
        self._began = 0.0

    # What a socket's transport can do; uvloop's does it without being a kind of asyncio's.
    def connection_made(self, transport: asyncio.Transport) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        self._connection.connection_made(transport)

    def get_buffer(self, sizehint: int) -> memoryview:  # noqa: ARG002 - the loop's wish, not ours
        # A new one for each read: a connection that only waits holds none, and none is ever another client's.
        self._buffer = bytearray(READ_SIZE)
        # A view: over TLS asyncio fills it in pieces, and a piece of a bytearray would be a copy that nobody reads.
        return memoryview(self._buffer)

    def buffer_updated(self, nbytes: int) -> None:
        buffer, self._buffer = self._buffer, bytearray()
        data = bytes(memoryview(buffer)[:nbytes])
        if self._first_looks is None:
            self._hand_on(data)
            return
        self._first += data
        if len(self._first) >= READ_SIZE or self._first_looks.is_due(self._first):
            self._look()
        else:
            self._first_looks.wait(self, self._first, self._look)

    def _look(self) -> None:
        if self._first_looks is not None:
            self._first_looks.drop(self)
        data, self._first, self._first_looks = self._first, b"", None
        if not self._connection.transport.is_closing():
            self._hand_on(data)

    def _hand_on(self, data: bytes) -> None:
        nbytes = len(data)
        self._connection.data_received(data)
        if not self._connection.is_amid_a_request:
            self._pieces = self._received = 0
        elif self._is_dripping(nbytes):
            self._look_again_later()
            return
        if nbytes == READ_SIZE:
            self._let_others_in()

    def eof_received(self) -> None:
        self._connection.eof_received()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._first_looks is not None:
            self._first_looks.drop(self)
            self._first = b""
        self._connection.connection_lost(exc)

    def pause_writing(self) -> None:
        self._connection.pause_writing()

    def resume_writing(self) -> None:
        self._connection.resume_writing()

    def _let_others_in(self) -> None:
        # uvloop reads on, up to 32 times in a row, unless it is paused.
        connection = self._connection
        if not connection.transport.is_closing():
            connection.transport.pause_reading()
            connection.loop.call_soon(self._read_on)

    def _is_dripping(self, nbytes: int) -> bool:
        if not self._pieces:
            self._began = self._connection.loop.time()
        self._pieces += 1
        self._received += nbytes
        return self._pieces > PIECES_AT_ONCE and self._received < SLOW_RATE * self._elapsed_secs

    @property
    def _elapsed_secs(self) -> float:
        return self._connection.loop.time() - self._began

    def _look_again_later(self) -> None:
        connection = self._connection
        if not connection.transport.is_closing():
            connection.transport.pause_reading()
            pause = min(max(self._elapsed_secs * SHARE, LEAST_SECS), MOST_SECS)
            connection.loop.call_later(pause, self._read_on)

    def _read_on(self) -> None:
        connection = self._connection
        if not connection.flow.read_paused and not connection.transport.is_closing():
            connection.transport.resume_reading()
