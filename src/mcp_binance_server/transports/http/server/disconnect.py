"""Handling of clients that disconnect, clients that do not read, and answers that must end early."""

from asyncio import Future
from collections import Counter
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field

import anyio
import h11
from starlette.types import Message, Scope, Send

DISCONNECT = "mcp_binance_server.disconnect"
"""Scope key of a request's `Disconnect`. Connections of other servers do not set it."""

MOST_UNSENT = 64 * 2**20


class Disconnect:
    """Signal that the client of a request has disconnected. It cancels the work for this client."""

    __slots__ = ("_has_left", "_wait", "_work")

    def __init__(self) -> None:
        self._has_left = False
        self._wait: Future[None] | None = None
        self._work: anyio.CancelScope | None = None

    @property
    def has_left(self) -> bool:
        return self._has_left

    def tell(self) -> None:
        self._has_left = True
        if self._wait is not None and not self._wait.done():
            self._wait.set_result(None)
        if self._work is not None:
            self._work.cancel()

    def ends_wait(self, wait: Future[None]) -> None:
        """Resolve the future when the client disconnects."""
        self._wait = wait

    @contextmanager
    def ends_this(self) -> Generator[None]:
        """Cancel the block when the client disconnects."""
        with anyio.CancelScope() as work:
            if self._has_left:
                work.cancel()
            self._work = work
            try:
                yield
            finally:
                self._work = None


def ends_with_client(scope: Scope) -> AbstractContextManager[None]:
    """Cancel the block when the client of a request disconnects."""
    disconnect: Disconnect | None = scope.get(DISCONNECT)
    return nullcontext() if disconnect is None else disconnect.ends_this()


@dataclass(frozen=True, slots=True)
class _Unread:
    address: str
    size: int
    break_off: Callable[[], None]


@dataclass
class Unsent:
    """Unread answers of all clients, oldest first.

    Over the limit, the address with the most unread bytes loses its oldest answer.
    """

    most: int = MOST_UNSENT
    _waiting: dict[object, _Unread] = field(default_factory=dict[object, _Unread], repr=False)

    def add(self, connection: object, address: str, size: int, break_off: Callable[[], None]) -> None:
        """Record an answer that its client has not read. `break_off` closes the connection."""
        self._waiting[connection] = _Unread(address, size, break_off)
        while sum(each.size for each in self._waiting.values()) > self.most:
            held: Counter[str] = Counter()
            for each in self._waiting.values():
                held[each.address] += each.size
            ((greediest, _),) = held.most_common(1)
            oldest = next(each for each, told in self._waiting.items() if told.address == greediest)
            self._waiting.pop(oldest).break_off()

    def drop(self, connection: object) -> None:
        """Drop an answer, because its client has read it or has disconnected."""
        self._waiting.pop(connection, None)


class CutShort:
    """A `send` that remembers whether an answer has begun, so that the answer can be ended early.

    `at_promise` is called for an answer with a Content-Length, which cannot be ended early.
    """

    def __init__(self, send: Send, at_promise: Callable[[], None]) -> None:
        self._send = send
        self._at_promise = at_promise
        self._has_begun = False
        self._has_ended = False

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._has_begun = True
            if any(name == b"content-length" for name, _ in message["headers"]):
                self._at_promise()
        elif not message.get("more_body", False):
            self._has_ended = True
        await self._send(message)

    async def end(self) -> bool:
        """End an answer that has begun. Return False if none has begun."""
        if self._has_begun and not self._has_ended:
            await self._send({"type": "http.response.body", "body": b""})
        return self._has_begun


class JoinedAnswers(h11.Connection):
    """HTTP/1.1 that sends the head and body of an answer together, if the head has a Content-Length."""

    _head: tuple[bytes, ...] = ()

    def send_with_data_passthrough(self, event: h11.Event) -> list[bytes] | None:
        written = super().send_with_data_passthrough(event)
        if written is None:
            return None
        # An answer without Content-Length is a stream. Its head must not wait for the first event.
        if isinstance(event, h11.Response) and any(name == b"content-length" for name, _ in event.headers):
            self._head = tuple(written)
            return []
        if self._head:
            written, self._head = [*self._head, *written], ()
        return written
