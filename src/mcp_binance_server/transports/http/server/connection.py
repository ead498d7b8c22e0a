"""HTTP/1.1 connection of uvicorn, with timeouts for slow clients.

uvicorn waits forever for the head of a request, and for a client that does not read its answer. The guard limits the
time for a body, because it can still answer.
"""

import asyncio
import logging
import socket
import struct
import sys
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from typing import cast

import h11
from starlette.types import Receive, Scope, Send
from uvicorn.config import Config
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle
from uvicorn.server import ServerState

from mcp_binance_server.domain.access import LOCAL, party_of
from mcp_binance_server.transports.http.admission.guard import WHOLE
from mcp_binance_server.transports.http.admission.keys import API_KEY, SECRET_KEY
from mcp_binance_server.transports.http.admission.refusals import AnswerBrokenOff, refusal_body
from mcp_binance_server.transports.http.server.connection_registry import LET_IN, ConnectionRegistry
from mcp_binance_server.transports.http.server.disconnect import (
    DISCONNECT,
    MOST_UNSENT,
    Disconnect,
    JoinedAnswers,
    Unsent,
)
from mcp_binance_server.transports.http.server.fairness import AHEAD

LOG = logging.getLogger(__name__)

# Headers that contain tokens or API keys.
SECRET_HEADERS = frozenset({b"authorization", API_KEY, SECRET_KEY})
_AT_ONCE = struct.pack("hh" if sys.platform == "win32" else "ii", 1, 0)


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """Time limits for clients, and the limit on the number of connections."""

    most: int = 800  # below 1,024, the usual limit of file descriptors per process
    head_secs: float = 5.0
    idle_secs: int = 5
    # In each such period a client must read its whole answer, or at least `reading_least` bytes of it.
    reading_secs: float = 10.0
    reading_least: int = 64 * 2**10
    # Maximum bytes of unread answers for all clients together.
    unsent: int = MOST_UNSENT
    # Seconds that a client has to finish a request during shutdown.
    last_secs: float = 1.0


class HttpConnection(H11Protocol):
    """Connection of a client, closed when the client exceeds a time limit."""

    def __init__(
        self,
        config: Config,
        state: ServerState,
        limits: ConnectionLimits,
        unsent: Unsent,
        crowd: "ConnectionRegistry[HttpConnection]",
    ) -> None:
        super().__init__(config, state, app_state={})
        self._unsent = unsent
        self._crowd = crowd
        self.conn = JoinedAnswers(h11.SERVER)
        self._limits = limits
        self._head_timer: asyncio.TimerHandle | None = None
        self._reading_timer: asyncio.TimerHandle | None = None
        self._last_timer: asyncio.TimerHandle | None = None
        self._disconnect = Disconnect()
        self._is_behind = False
        self._inner_app, self.app = self.app, self._introduced

    async def _introduced(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._disconnect = scope[DISCONNECT] = Disconnect()
        # uvicorn pauses reading when a second request begins before the first is answered.
        scope[AHEAD] = self._is_behind or self.flow.read_paused
        scope[WHOLE] = self.conn.their_state is h11.DONE
        scope[LET_IN] = partial(self._crowd.let_in, self)
        try:
            await self._inner_app(scope, receive, send)
        except AnswerBrokenOff:
            # A missing end shows the client that the answer is incomplete. uvicorn does not log an answer that is
            # marked as disconnected.
            self.cycle.disconnected = True
            self.transport.close()
        finally:
            del scope[LET_IN]  # avoid a reference cycle, because the connection holds the scope

    def connection_made(self, transport: asyncio.Transport) -> None:
        peer: object = transport.get_extra_info("peername")
        party = party_of(LOCAL, None, str(peer[0]) if isinstance(peer, tuple) else "")  # pyright: ignore[reportUnknownArgumentType]
        has_room, gone = self._crowd.make_room(party)
        if not has_room:
            self.transport = transport
            transport.write(_FULL)
            transport.close()
            return
        if gone is not None:
            gone.close_for("limit reached, and this client has the most")
        super().connection_made(transport)
        self._crowd.enter(self, party)
        # Bytes that the kernel has not taken count as unread, so that the timeout covers the last byte too. Over TLS a
        # buffer at its limit counts as full, so a limit of 0 would always be full.
        transport.set_write_buffer_limits(high=1 if self.scheme == "https" else 0)
        self._expect_a_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._head_timer = _cancelled(self._head_timer)
        self._reading_timer = _cancelled(self._reading_timer)
        self._last_timer = _cancelled(self._last_timer)
        super().connection_lost(exc)
        self.app = _nothing_more
        self._crowd.leave(self)
        self._unsent.drop(self)
        self._forget_secrets()
        self._disconnect.tell()
        self._unset_keepalive_if_required()  # uvicorn does not do this after an error.

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        # uvicorn's idle timeout ends with the first byte of a head. From then on the head has a timeout of its own.
        if self.conn.their_state is h11.IDLE:
            self._expect_a_head()
            return
        self._crowd.asked(self)
        if self._head_timer is not None:
            self._head_timer = _cancelled(self._head_timer)

    def on_response_complete(self) -> None:
        self._is_behind = bool(self.conn.trailing_data[0])
        self._forget_secrets()
        self._crowd.answered(self)
        super().on_response_complete()
        if self._under_way() is not None:  # the next request has already begun
            self._crowd.asked(self)
        if self.conn.their_state is h11.SEND_BODY:
            # The answer came before the end of the request. The rest is not needed, and could take forever.
            self.transport.close()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._watch_reading()
        address, size = self.client[0] if self.client else "", self.transport.get_write_buffer_size()
        self._unsent.add(self, address, size, partial(self.close_for, "too many unread bytes for its address"))

    def resume_writing(self) -> None:
        self._reading_timer = _cancelled(self._reading_timer)
        self._unsent.drop(self)
        super().resume_writing()

    def send_400_response(self, msg: str) -> None:
        LOG.info("refused bytes that are not an HTTP request")
        self._break_off(_answer(HTTPStatus.BAD_REQUEST, "bad_request", msg))

    def _forget_secrets(self) -> None:
        """Remove secrets from a finished request, because a reference cycle may keep its scope in memory."""
        # Starlette replaces the list in the scope when a header is read, so clean both lists.
        for headers in (self.headers, self.scope["headers"]) if self.scope else ():
            kept = [header for header in headers if header[0] not in SECRET_HEADERS]
            cast("list[tuple[bytes, bytes]]", headers)[:] = kept

    @property
    def is_amid_a_request(self) -> bool:
        """Whether the client has sent a part of a request."""
        return self.conn.their_state in (h11.IDLE, h11.SEND_BODY)

    def shutdown(self) -> None:
        """Close after the answer to the current request. Without a request, close at once."""
        under_way = self._under_way()
        if under_way is None:
            self.transport.close()
            return
        under_way.keep_alive = False
        if self.conn.their_state is h11.SEND_BODY and self._last_timer is None:
            self._last_timer = self.loop.call_later(self._limits.last_secs, self._stop_waiting)

    def _under_way(self) -> RequestResponseCycle | None:
        return self.cycle if self.cycle and not self.cycle.response_complete else None

    def _stop_waiting(self) -> None:
        if self.conn.their_state is h11.SEND_BODY:
            LOG.info("refused the rest of a request: the server is shutting down")
            self._break_off(_STOPPING)

    def _break_off(self, answer: bytes) -> None:
        if under_way := self._under_way():
            # Show the application, which still handles the request, that the client has disconnected.
            under_way.disconnected = True
            under_way.message_event.set()
            self._disconnect.tell()
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            self.transport.write(answer)
        self.transport.close()

    def _expect_a_head(self) -> None:
        if self._head_timer is None and not self.transport.is_closing():
            self._head_timer = self.loop.call_later(
                self._limits.head_secs, self.close_for, "the headers of a request arrived too slowly"
            )

    def _watch_reading(self) -> None:
        self._reading_timer = _cancelled(self._reading_timer)
        left = self.transport.get_write_buffer_size()
        self._reading_timer = self.loop.call_later(self._limits.reading_secs, self._check_reading, left)

    def _check_reading(self, before: int) -> None:
        if before - self.transport.get_write_buffer_size() >= self._limits.reading_least:
            self._watch_reading()
        else:
            self.close_for("the client read too slowly")

    def close_for(self, cause: str) -> None:
        """Close at once, and discard unsent data."""
        LOG.info("closed a connection: %s", cause)
        # Otherwise the system would keep the unsent data for minutes.
        self.transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _AT_ONCE)
        self.transport.abort()


async def _nothing_more(_scope: Scope, _receive: Receive, _send: Send) -> None:
    """Replace the application of a closed connection, to break a reference cycle."""


def _cancelled(timer: asyncio.TimerHandle | None) -> None:
    if timer is not None:
        timer.cancel()


def _answer(status: HTTPStatus, reason: str, message: str, headers: bytes = b"") -> bytes:
    body = refusal_body(reason, message)
    head = f"HTTP/1.1 {status} {status.phrase}\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n"
    return head.encode() + b"connection: close\r\n" + headers + b"\r\n" + body


_STOPPING = _answer(HTTPStatus.SERVICE_UNAVAILABLE, "stopping", "The server is stopping", b"retry-after: 1\r\n")
_FULL = _answer(HTTPStatus.SERVICE_UNAVAILABLE, "too_many", "Too many connections; try again", b"retry-after: 1\r\n")
