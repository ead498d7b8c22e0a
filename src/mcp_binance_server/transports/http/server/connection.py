"""One connection of a client: uvicorn's HTTP/1.1 with the patience that uvicorn lacks.

uvicorn waits for ever for the head of a request and for a client that does not read its answer. The body is timed by
the guard, which can still answer.
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
from mcp_binance_server.transports.http.server.crowd import LET_IN, ConnectionCrowd
from mcp_binance_server.transports.http.server.disconnect import (
    DISCONNECT,
    MOST_UNSENT,
    Disconnect,
    JoinedAnswers,
    Unsent,
)
from mcp_binance_server.transports.http.server.fairness import AHEAD

LOG = logging.getLogger(__name__)

# What callers prove themselves with, or sign with.
SECRET_HEADERS = frozenset({b"authorization", API_KEY, SECRET_KEY})
_AT_ONCE = struct.pack("hh" if sys.platform == "win32" else "ii", 1, 0)


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """How long a client may take and how many there may be."""

    most: int = 800  # below the 1,024 descriptors that a process commonly may have
    head_secs: float = 5.0
    idle_secs: int = 5
    # Within each such span a client takes its whole answer, or at least this much of it.
    reading_secs: float = 10.0
    reading_least: int = 64 * 2**10
    # So many bytes of answers may wait for all clients together.
    unsent: int = MOST_UNSENT
    # When the server winds down, the rest of a request that was begun has to come within this time.
    last_secs: float = 1.0


class HttpConnection(H11Protocol):
    """A client's connection, closed when the client is too slow for its limits."""

    def __init__(
        self,
        config: Config,
        state: ServerState,
        limits: ConnectionLimits,
        unsent: Unsent,
        crowd: "ConnectionCrowd[HttpConnection]",
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
        self._house, self.app = self.app, self._introduced

    async def _introduced(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._disconnect = scope[DISCONNECT] = Disconnect()
        # uvicorn stops to read where a second request begins.
        scope[AHEAD] = self._is_behind or self.flow.read_paused
        scope[WHOLE] = self.conn.their_state is h11.DONE
        scope[LET_IN] = partial(self._crowd.let_in, self)
        try:
            await self._house(scope, receive, send)
        except AnswerBrokenOff:
            # The end of the answer is missing, which says it all. To uvicorn the client has left: it would log again.
            self.cycle.disconnected = True
            self.transport.close()
        finally:
            del scope[LET_IN]  # the scope is the connection's own: left there, it would hold itself

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
            gone.close_for("others need one, and its party holds most")
        super().connection_made(transport)
        self._crowd.enter(self, party)
        # Whatever the kernel does not take at once counts as unread: the deadline must see the last byte too.
        # Over TLS the limit itself is too much already: 0 would never be met.
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
        self._unset_keepalive_if_required()  # uvicorn forgets it after an error

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        # The first byte of a head ends uvicorn's wait for the next request; ours begins with it.
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
        if self._under_way() is not None:  # the next one had come already
            self._crowd.asked(self)
        if self.conn.their_state is h11.SEND_BODY:
            # Answered before it was whole: the rest could drip for ever, and nobody wants it.
            self.transport.close()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._watch_reading()
        address, size = self.client[0] if self.client else "", self.transport.get_write_buffer_size()
        self._unsent.add(self, address, size, partial(self.close_for, "too much that its address does not read"))

    def resume_writing(self) -> None:
        self._reading_timer = _cancelled(self._reading_timer)
        self._unsent.drop(self)
        super().resume_writing()

    def send_400_response(self, msg: str) -> None:
        LOG.info("refused what is no HTTP request")
        self._break_off(_answer(HTTPStatus.BAD_REQUEST, "bad_request", msg))

    def _forget_secrets(self) -> None:
        """Take out of a request that is over what only its handlers had to see; in a cycle it lives on for a while."""
        # Starlette puts a list of its own into the scope, once somebody has asked it for a header.
        for headers in (self.headers, self.scope["headers"]) if self.scope else ():
            kept = [header for header in headers if header[0] not in SECRET_HEADERS]
            cast("list[tuple[bytes, bytes]]", headers)[:] = kept

    @property
    def is_amid_a_request(self) -> bool:
        """Whether the client has begun a request and not come to its end."""
        return self.conn.their_state in (h11.IDLE, h11.SEND_BODY)

    def shutdown(self) -> None:
        """Close as soon as the request in hand is answered; without one, now."""
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
            LOG.info("refused the rest of a request: the server winds down")
            self._break_off(_STOPPING)

    def _break_off(self, answer: bytes) -> None:
        if under_way := self._under_way():
            # The application is still at work on the request that broke off: to it, the client has left.
            under_way.disconnected = True
            under_way.message_event.set()
            self._disconnect.tell()
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            self.transport.write(answer)
        self.transport.close()

    def _expect_a_head(self) -> None:
        if self._head_timer is None and not self.transport.is_closing():
            self._head_timer = self.loop.call_later(self._limits.head_secs, self.close_for, "a slow head")

    def _watch_reading(self) -> None:
        self._reading_timer = _cancelled(self._reading_timer)
        left = self.transport.get_write_buffer_size()
        self._reading_timer = self.loop.call_later(self._limits.reading_secs, self._check_reading, left)

    def _check_reading(self, before: int) -> None:
        if before - self.transport.get_write_buffer_size() >= self._limits.reading_least:
            self._watch_reading()
        else:
            self.close_for("a slow reader")

    def close_for(self, cause: str) -> None:
        """Close at once, whatever the client has not read."""
        LOG.info("closed a connection: %s", cause)
        # Otherwise the system goes on for minutes with what this client does not read.
        self.transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _AT_ONCE)
        self.transport.abort()


async def _nothing_more(_scope: Scope, _receive: Receive, _send: Send) -> None:
    """Stand in for the application of a closed connection, which held itself by it until the collector came."""


def _cancelled(timer: asyncio.TimerHandle | None) -> None:
    if timer is not None:
        timer.cancel()


def _answer(status: HTTPStatus, reason: str, message: str, headers: bytes = b"") -> bytes:
    body = refusal_body(reason, message)
    head = f"HTTP/1.1 {status} {status.phrase}\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n"
    return head.encode() + b"connection: close\r\n" + headers + b"\r\n" + body


_STOPPING = _answer(HTTPStatus.SERVICE_UNAVAILABLE, "stopping", "The server is stopping", b"retry-after: 1\r\n")
_FULL = _answer(HTTPStatus.SERVICE_UNAVAILABLE, "too_many", "Too many connections; try again", b"retry-after: 1\r\n")
