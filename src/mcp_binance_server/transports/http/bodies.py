"""The body of a request, read whole before anybody works on it: not too long, not too slow, not too many at once."""

from dataclasses import dataclass

import anyio
from starlette.types import Message, Receive

from mcp_binance_server.transports.http.refusals import HttpRefusal

_SLOW = "The body of a request must be complete within {secs:g} seconds"


@dataclass(frozen=True, slots=True)
class BodyLimits:
    """How much of a request is read, and for how long."""

    most: int = 4 * 2**20
    secs: float = 10.0
    # Bodies over `small` share `held`: a crowd of half-sent large ones can neither fill memory nor shut out small ones.
    small: int = 64 * 2**10
    # Nothing we offer takes a hundredth of it, and to parse the two million that fit takes a tenth of a second.
    values: int = 200_000
    held: int = 64 * 2**20
    # What is read and dropped of a request that is refused by its head.
    leftover: int = 48 * 2**10
    leftover_secs: float = 1.0


class Bodies:
    """Reads bodies within limits, those under way at one time together."""

    def __init__(self, limits: BodyLimits) -> None:
        self._limits = limits
        self._held = 0
        self._too_long = HttpRefusal(413, "too_long", f"A request must not be longer than {limits.most} bytes")
        self._too_full = HttpRefusal(
            413, "too_many_values", f"A request must not have more than {limits.values} values"
        )
        self._too_slow = HttpRefusal(408, "too_slow", _SLOW.format(secs=limits.secs))
        self._too_many = HttpRefusal(
            503, "too_many", "Too many long requests at once; try again", ((b"retry-after", b"1"),)
        )

    def judge(self, declared: int) -> HttpRefusal | None:
        """Refuse a length that is too much already when it is announced."""
        return self._too_long if declared > self._limits.most else None

    async def read(self, receive: Receive) -> bytes | HttpRefusal | None:
        """Return the body, or why it is refused; None when the client has left."""
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
        """Tell whether there are more values than anybody needs, by what begins or parts them in JSON."""
        small, left = self._limits.small, self._limits.values
        if len(body) > small:
            for start in range(0, len(body), small):
                left -= sum(body.count(mark, start, start + small) for mark in b",[{")
                if left < 0:
                    return True
        return False

    async def drop_leftover(self, receive: Receive) -> None:
        """Read for a moment and forget it: a socket that is closed on unread bytes can take the answer with it."""
        dropped = 0
        with anyio.move_on_after(self._limits.leftover_secs):
            while dropped < self._limits.leftover:
                message = await receive()
                dropped += len(message.get("body", b""))
                if not message.get("more_body", False):
                    return


def replayed(body: bytes, receive: Receive) -> Receive:
    """Return a `receive` that gives the whole body once, then what the connection has to say: that it ended."""
    kept: list[bytes] = [body]

    async def receive_again() -> Message:
        if kept:
            return {"type": "http.request", "body": kept.pop(), "more_body": False}
        return await receive()

    return receive_again
