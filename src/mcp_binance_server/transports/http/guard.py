"""What every request meets first: the right Host and Origin, and a body that is short, plain and here in time."""

from typing import NamedTuple

from anyio.lowlevel import checkpoint
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mcp_binance_server.transports.http.bodies import Bodies, BodyLimits, replayed
from mcp_binance_server.transports.http.hosts import Allowed
from mcp_binance_server.transports.http.refusals import HttpRefusal

_BAD_TARGET = HttpRefusal(400, "bad_target", "The target of a request must be a path")
_WRONG_HOST = HttpRefusal(
    421, "wrong_host", "This server does not answer to that Host; see the setting for allowed hosts"
)
_WRONG_ORIGIN = HttpRefusal(403, "wrong_origin", "This server does not answer pages of that Origin")
_ENCODED = HttpRefusal(
    415, "encoded", "The body of a request must not be compressed", ((b"accept-encoding", b"identity"),)
)
_BAD_LENGTH = HttpRefusal(400, "bad_length", "A request has one Content-Length or a Transfer-Encoding, not more")
LONGEST_LENGTH = 20  # digits
LONG = 2**20


class Watched(NamedTuple):
    """The headers that are decided on here, each as often as it was sent."""

    host: list[bytes]
    origin: list[bytes]
    length: list[bytes]
    transfer: list[bytes]
    encoding: list[bytes]

    @property
    def has_body(self) -> bool:
        return bool(self.transfer) or self.length not in ([], [b"0"])


class Guard:
    """An ASGI application around another. It sends no CORS header, so no page from elsewhere can read an answer."""

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
        body = await self._bodies.read(receive)
        if isinstance(body, bytes):
            if len(body) > LONG:
                await checkpoint()  # others are heard before it is parsed
            await self._app(scope, replayed(body, receive), send)
        elif body is not None:
            # It has had all the bytes and all the time there are: closed without another look.
            await body.and_close().answer(send)

    def _judge(self, scope: Scope, headers: Watched) -> HttpRefusal | None:
        # A target with a host of its own would outrank the Host that is looked at below.
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
        """Refuse a request whose body was not looked at, and close the connection once the client can know why."""

        async def unfinished(message: Message) -> None:
            await send({**message, "more_body": True} if message["type"] == "http.response.body" else message)

        await refusal.and_close().answer(unfinished)
        await self._bodies.drop_leftover(receive)
        await send({"type": "http.response.body", "body": b""})


def watched(scope: Scope) -> Watched:
    """Return the headers that matter here, in one pass."""
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
