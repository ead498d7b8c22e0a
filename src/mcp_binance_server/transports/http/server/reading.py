"""Reading from sockets. Slow senders are read less often, and first requests of new connections are queued."""

import asyncio
import re
from collections.abc import Callable

from mcp_binance_server.transports.http.admission.keys import CLAIMS, claim_of
from mcp_binance_server.transports.http.server.connection import HttpConnection

_END_OF_HEAD = b"\r\n\r\n"
_LAST_CHUNK = b"\r\n0\r\n\r\n"
_LENGTH = re.compile(rb"\r\ncontent-length:[ \t]*([0-9]{1,20})[ \t]*\r\n", re.IGNORECASE)
_CHUNKED = re.compile(rb"\r\ntransfer-encoding:", re.IGNORECASE)
_CLAIM = re.compile(rb"\r\n(%s):[ \t]*([^\r\n]*?)[ \t]*(?=\r\n)" % b"|".join(sorted(CLAIMS)), re.IGNORECASE)

Look = Callable[[], None]

# Bytes per read. The default is 256 KiB. Many tiny chunks are expensive to parse, so other tasks get a turn between two
# reads.
READ_SIZE = 16 * 2**10

# A request that arrives in tiny pieces is read at growing intervals, because hundreds of such requests would keep the
# processor busy. Each pause is a share of the elapsed time, so the request takes hardly longer.
PIECES_AT_ONCE = 4
SLOW_RATE = 64 * 2**10  # bytes per second
SHARE = 0.25
LEAST_SECS, MOST_SECS = 0.05, 1.0


class FirstLooks:
    """Queue of the first requests on new connections, with turns between tokens or keys.

    Parsing and queueing a request costs three times as much as accepting a connection, so a client with a thousand new
    connections a second could block the event loop. An incomplete request waits. So does the second request with the
    same token in one round of the loop. Each round parses one waiting request.
    """

    def __init__(self) -> None:
        self._waiting: dict[bytes | None, dict[object, Look]] = {}
        self._claims: dict[object, bytes | None] = {}
        self._looked_at: set[bytes] = set()
        self._is_watched = False

    def is_due(self, data: bytes) -> bool:
        """Return True if a new connection with this data can be handled now."""
        if not is_whole(data):
            return False
        claim = _claim(data)
        if claim is not None:
            if claim in self._looked_at or claim in self._waiting:
                return False
            self._looked_at.add(claim)
            self._watch()
        return True

    def wait(self, newcomer: object, data: bytes, look: Look) -> None:
        self.drop(newcomer)
        claim = self._claims[newcomer] = _claim(data) if is_whole(data) else None
        self._waiting.setdefault(claim, {})[newcomer] = look
        self._watch()

    def drop(self, newcomer: object) -> None:
        if newcomer in self._claims:
            claim = self._claims.pop(newcomer)
            del self._waiting[claim][newcomer]
            if not self._waiting[claim]:
                del self._waiting[claim]

    def _watch(self) -> None:
        if not self._is_watched:
            self._is_watched = True
            asyncio.get_running_loop().call_soon(self._next_round)

    def _next_round(self) -> None:
        self._is_watched = False
        self._looked_at.clear()
        if not self._waiting:
            return
        claim, those = next(iter(self._waiting.items()))
        newcomer, look = next(iter(those.items()))
        self.drop(newcomer)
        if claim in self._waiting:
            self._waiting[claim] = self._waiting.pop(claim)
        look()
        if self._waiting:
            self._watch()


def is_whole(data: bytes) -> bool:
    """Return True if the data looks like a complete request. The data is not parsed."""
    end = data.find(_END_OF_HEAD)
    if end < 0:
        return False
    if length := _LENGTH.search(data, 0, end + 2):
        return len(data) - end - len(_END_OF_HEAD) >= int(length[1])
    return data.endswith(_LAST_CHUNK) if _CHUNKED.search(data, 0, end + 2) else True


def _claim(data: bytes) -> bytes | None:
    shown = _CLAIM.findall(data, 0, data.find(_END_OF_HEAD) + 2)
    return claim_of((name.lower(), value) for name, value in shown)


class RequestReader(asyncio.BufferedProtocol):
    """Protocol between a socket and its connection. Only a BufferedProtocol can limit the bytes per read."""

    def __init__(self, connection: HttpConnection, first_looks: FirstLooks) -> None:
        self._connection = connection
        self._first_looks: FirstLooks | None = first_looks
        self._first = b""
        self._buffer = bytearray()
        self._pieces = 0
        self._received = 0
        self._began = 0.0

    # asyncio types this argument as BaseTransport; uvloop's transport has the same methods without being a subclass.
    def connection_made(self, transport: asyncio.Transport) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        self._connection.connection_made(transport)

    def get_buffer(self, sizehint: int) -> memoryview:  # noqa: ARG002 - the loop's hint; `READ_SIZE` decides
        # A new buffer for each read: idle connections hold none, and data never reaches another client.
        self._buffer = bytearray(READ_SIZE)
        # A memoryview, because asyncio over TLS fills the buffer in slices. A slice of a bytearray would be a copy, and
        # its data would be lost.
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
        # Unless reading is paused, uvloop reads up to 32 times in a row.
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
