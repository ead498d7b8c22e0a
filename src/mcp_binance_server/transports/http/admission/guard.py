"""Host, Origin, and bodies of a bounded size."""

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
"""Scope key of a boolean: the connection has already received the whole request."""
LONG = 2**20


@dataclass(frozen=True, slots=True)
class BodyLimits:
    """Limits on the size of a request's body, and on the time to read it."""

    most: int = 4 * 2**20
    secs: float = 10.0
    # Bodies over `small` share `held`: many half-sent large ones can neither fill memory nor shut out small ones.
    small: int = 64 * 2**10
    # No request of ours needs a tenth of it; parsing the two million values that fit takes a third of a second.
    values: int = 20_000
    held: int = 64 * 2**20
    # Bytes to read and drop of a request that was refused by its head.
    leftover: int = 48 * 2**10
    leftover_secs: float = 1.0


class Bodies:
    """A reader of bodies, with limits for each and for all concurrent ones together."""

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
        """Refuse an announced length over the limit."""
        return self._too_long if declared > self._limits.most else None

    async def read(self, receive: Receive, *, is_here: bool = False) -> bytes | HttpRefusal | None:
        """Return the body, or its refusal; None if the client has left. `is_here` skips the timeout."""
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
        """Return True if the body has more values than any request needs, counted by JSON's separators and brackets."""
        piece, left = self._limits.small, self._limits.values
        for start in range(0, len(body), piece):
            left -= sum(body.count(mark, start, start + piece) for mark in b",[{")
            if left < 0:
                return True
        return False

    async def drop_leftover(self, receive: Receive) -> None:
        """Read and drop for a moment: closing a socket with unread bytes can destroy the answer."""
        dropped = 0
        with anyio.move_on_after(self._limits.leftover_secs):
            while dropped < self._limits.leftover:
                message = await receive()
                dropped += len(message.get("body", b""))
                if not message.get("more_body", False):
                    return


def replayed(body: bytes, receive: Receive) -> Receive:
    """Return a `receive` that gives the whole body once, then the connection's own messages, such as its end."""
    kept: list[bytes] = [body]

    async def receive_again() -> Message:
        if kept:
            return {"type": "http.request", "body": kept.pop(), "more_body": False}
        return await receive()

    return receive_again


class Watched(NamedTuple):
    """The headers that the guard checks, each with all its values."""

    host: list[bytes]
    origin: list[bytes]
    length: list[bytes]
    transfer: list[bytes]
    encoding: list[bytes]

    @property
    def has_body(self) -> bool:
        return bool(self.transfer) or self.length not in ([], [b"0"])


class Guard:
    """An ASGI middleware. It sends no CORS header, so no page from elsewhere can read an answer."""

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
                await checkpoint()  # others get a turn before it is parsed
            await self._app(scope, replayed(body, receive), send)
        elif body is not None:
            # The body has used up all bytes and time: close without reading on.
            await body.and_close().answer(send)

    def _judge(self, scope: Scope, headers: Watched) -> HttpRefusal | None:
        # A target with its own host would override the Host header that is checked below.
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
        """Refuse a request with an unread body, and close the connection after the client could read the reason."""

        async def unfinished(message: Message) -> None:
            await send({**message, "more_body": True} if message["type"] == "http.response.body" else message)

        await refusal.and_close().answer(unfinished)
        await self._bodies.drop_leftover(receive)
        await send({"type": "http.response.body", "body": b""})


def watched(scope: Scope) -> Watched:
    """Return the headers for the guard, in one pass."""
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
