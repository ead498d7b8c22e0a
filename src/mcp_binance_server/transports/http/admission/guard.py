"""Middleware that checks Host and Origin, and limits the size of bodies."""

from dataclasses import dataclass
from typing import NamedTuple

import anyio
from anyio.lowlevel import checkpoint
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mcp_binance_server.transports.http.admission.hosts import Allowed
from mcp_binance_server.transports.http.admission.refusals import HttpRefusal

_SLOW = "The body of a request must be complete within {secs:g} seconds"

_BAD_TARGET = HttpRefusal(400, "bad_target", "The target of a request must be a path")
_WRONG_HOST = HttpRefusal(421, "wrong_host", "This Host is not allowed; see the setting for allowed hosts")
_WRONG_ORIGIN = HttpRefusal(403, "wrong_origin", "Web pages of this Origin are not allowed")
_ENCODED = HttpRefusal(
    415, "encoded", "The body of a request must not be compressed", ((b"accept-encoding", b"identity"),)
)
_BAD_LENGTH = HttpRefusal(400, "bad_length", "A request must have no more than one Content-Length or Transfer-Encoding")
LONGEST_LENGTH = 20  # digits

WHOLE = "mcp_binance_server.whole"
"""Scope key of a boolean: True if the connection has already received the whole request."""
LONG = 2**20


@dataclass(frozen=True, slots=True)
class BodyLimits:
    """Limits on the size of request bodies, and on the time in which they must arrive."""

    most: int = 4 * 2**20
    secs: float = 10.0
    # Bodies above `small` bytes share `held` bytes of memory, so that incomplete large bodies can neither fill the
    # memory nor block small bodies.
    small: int = 64 * 2**10
    # Ten times the number of values in a real request. Without this limit two million values would fit, and parsing
    # them takes 0.3 s.
    values: int = 20_000
    held: int = 64 * 2**20
    # Bytes of an unread body that are dropped after a refusal.
    leftover: int = 48 * 2**10
    leftover_secs: float = 1.0


class Bodies:
    """Reader of request bodies, with limits for each body and for all concurrent bodies together."""

    def __init__(self, limits: BodyLimits) -> None:
        self._limits = limits
        self._held = 0
        self._too_long = HttpRefusal(413, "too_long", f"A request must not be longer than {limits.most} bytes")
        self._too_full = HttpRefusal(
            413, "too_many_values", f"A request must not have more than {limits.values} values"
        )
        self._too_slow = HttpRefusal(408, "too_slow", _SLOW.format(secs=limits.secs))
        self._too_many = HttpRefusal(
            503, "too_many", "Too many large requests at once; try again", ((b"retry-after", b"1"),)
        )

    def judge(self, declared: int) -> HttpRefusal | None:
        """Return a refusal if the declared length is over the limit."""
        return self._too_long if declared > self._limits.most else None

    async def read(self, receive: Receive, *, is_here: bool = False) -> bytes | HttpRefusal | None:
        """Read the body.

        Return a refusal if the body breaks a limit, and None if the client has disconnected. With `is_here` the body
        has already arrived, so no timeout is needed.
        """
        if is_here:
            whole = await receive()
            return self._ended(whole, whole.get("body", b""))
        with anyio.move_on_after(self._limits.secs):
            first = await receive()
            if first["type"] == "http.request" and first.get("more_body", False):
                return await self._rest(bytearray(first.get("body", b"")), receive)
            return self._ended(first, first.get("body", b""))
        return self._too_slow

    async def _rest(self, body: bytearray, receive: Receive) -> bytes | HttpRefusal | None:
        booked = 0
        try:
            while len(body) <= self._limits.most:
                message = await receive()
                body += message.get("body", b"")
                if not message.get("more_body", False):
                    return self._ended(message, body)
                grown = max(0, len(body) - self._limits.small) - booked
                booked += grown
                self._held += grown
                if self._held > self._limits.held:
                    return self._too_many
            return self._too_long
        finally:
            self._held -= booked

    def _ended(self, last: Message, body: bytes | bytearray) -> bytes | HttpRefusal | None:
        if last["type"] != "http.request":
            return None
        if len(body) > self._limits.most:
            return self._too_long
        return self._too_full if self._is_too_full(body) else bytes(body)

    def _is_too_full(self, body: bytes | bytearray) -> bool:
        """Return True if a body has too many JSON values. Its commas and opening brackets are counted."""
        piece, left = self._limits.small, self._limits.values
        for start in range(0, len(body), piece):
            left -= sum(body.count(mark, start, start + piece) for mark in b",[{")
            if left < 0:
                return True
        return False

    async def drop_leftover(self, receive: Receive) -> None:
        """Read and drop the rest of a body for a moment.

        If a socket is closed with unread bytes, the client may not receive the answer.
        """
        dropped = 0
        with anyio.move_on_after(self._limits.leftover_secs):
            while dropped < self._limits.leftover:
                message = await receive()
                dropped += len(message.get("body", b""))
                if not message.get("more_body", False):
                    return


def replayed(body: bytes, receive: Receive) -> Receive:
    """Return a `receive` that returns the whole body first, then the later messages of the connection."""
    kept: list[bytes] = [body]

    async def receive_again() -> Message:
        if kept:
            return {"type": "http.request", "body": kept.pop(), "more_body": False}
        return await receive()

    return receive_again


class Watched(NamedTuple):
    """All values of each header that the guard checks."""

    host: list[bytes]
    origin: list[bytes]
    length: list[bytes]
    transfer: list[bytes]
    encoding: list[bytes]

    @property
    def has_body(self) -> bool:
        return bool(self.transfer) or self.length not in ([], [b"0"])


class Guard:
    """ASGI middleware that checks each request before its body is read.

    It sends no CORS headers, so web pages of other origins cannot read an answer.
    """

    def __init__(self, app: ASGIApp, allowed: Allowed, limits: BodyLimits | None = None) -> None:
        self._app = app
        self._allowed = allowed
        self._bodies = Bodies(limits or BodyLimits())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
            return
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = watched(scope)
        refusal = self._judge(scope, headers)
        if not headers.has_body:
            await (refusal.answer(send) if refusal else self._app(scope, receive, send))
            return
        if refusal is not None:
            await self._turn_away(refusal, receive, send)
            return
        body = await self._bodies.read(receive, is_here=scope.get(WHOLE, False))
        if isinstance(body, bytes):
            if len(body) > LONG:
                await checkpoint()  # parsing a large body takes long, so let other tasks run first
            await self._app(scope, replayed(body, receive), send)
        elif body is not None:
            # The body has reached a limit of size or time: close the connection without reading the rest.
            await body.and_close().answer(send)

    def _judge(self, scope: Scope, headers: Watched) -> HttpRefusal | None:
        # A request target with a host would override the Host header, which is checked below.
        if not scope["path"].startswith("/"):
            return _BAD_TARGET
        if not self._allowed.is_host(headers.host):
            return _WRONG_HOST
        if not self._allowed.is_origin(headers.origin):
            return _WRONG_ORIGIN
        if headers.encoding and any(value.lower() != b"identity" for value in headers.encoding):
            return _ENCODED
        return self._judge_length(headers) if headers.length else None

    def _judge_length(self, headers: Watched) -> HttpRefusal | None:
        declared, *others = headers.length
        if others or headers.transfer or not declared.isdigit() or len(declared) > LONGEST_LENGTH:
            return _BAD_LENGTH
        return self._bodies.judge(int(declared))

    async def _turn_away(self, refusal: HttpRefusal, receive: Receive, send: Send) -> None:
        """Refuse a request before its body is read. Close the connection after the client could read the answer."""

        async def unfinished(message: Message) -> None:
            await send({**message, "more_body": True} if message["type"] == "http.response.body" else message)

        await refusal.and_close().answer(unfinished)
        await self._bodies.drop_leftover(receive)
        await send({"type": "http.response.body", "body": b""})


def watched(scope: Scope) -> Watched:
    """Collect the headers that the guard checks, in one pass."""
    found = Watched([], [], [], [], [])
    host, origin, length, transfer, encoding = found
    for name, value in scope["headers"]:
        match name:
            case b"host":
                host.append(value)
            case b"origin":
                origin.append(value)
            case b"content-length":
                length.append(value)
            case b"transfer-encoding":
                transfer.append(value)
            case b"content-encoding":
                encoding.append(value)
            case _:
                pass
    return found
