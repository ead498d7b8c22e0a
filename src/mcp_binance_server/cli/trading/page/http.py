"""A minimal HTTP server on loopback. Each connection serves one request. Size, time and number are limited."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from http import HTTPStatus

import anyio
import h11
from anyio.abc import SocketAttribute, SocketStream

LOOPBACK = "127.0.0.1"
MOST_CONNECTIONS = 8
# A browser sends one or two KiB of headers and a form of a few hundred bytes.
MOST_HEAD, MOST_BODY = 16_384, 4_096
REQUEST_SECS = 10.0
READ_BYTES = 4_096


@dataclass(frozen=True, slots=True)
class PageRequest:
    """A request. Header names are in lower case, and repeated headers are joined."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class PageReply:
    """A response without the headers that all responses share."""

    status: HTTPStatus
    html: str
    headers: tuple[tuple[str, str], ...] = ()


Answer = Callable[[PageRequest], Awaitable[PageReply]]


class _Refused(Exception):
    def __init__(self, status: HTTPStatus) -> None:
        super().__init__(status.phrase)
        self.reply = PageReply(status, "")


@dataclass(eq=False)
class LoopbackServer:
    """An HTTP server on one port of this machine."""

    port: int
    always: tuple[tuple[str, str], ...]
    """Headers of every reply."""
    answer: Answer | None = None
    open_connections: int = 0

    async def take(self, stream: SocketStream) -> None:
        """Answer the one request of a connection. Connections above the limit are closed without an answer."""
        async with stream:
            if self.open_connections >= MOST_CONNECTIONS or self.answer is None:
                return
            self.open_connections += 1
            try:
                await self._exchange(stream, self.answer)
            except (anyio.BrokenResourceError, anyio.ClosedResourceError, anyio.EndOfStream, h11.LocalProtocolError):
                pass  # the client has disconnected
            finally:
                self.open_connections -= 1

    async def _exchange(self, stream: SocketStream, answer: Answer) -> None:
        line = h11.Connection(h11.SERVER, max_incomplete_event_size=MOST_HEAD)
        try:
            request = await _request(stream, line)
            # No timeout, because the decision may already be in the journal and must be answered.
            reply = await answer(request)
        except _Refused as refused:
            reply = refused.reply
        await self._send(stream, line, reply)

    async def _send(self, stream: SocketStream, line: h11.Connection, reply: PageReply) -> None:
        body = reply.html.encode()
        headers = [
            *self.always,
            *reply.headers,
            ("Content-Type", "text/html; charset=utf-8"),
            ("Content-Length", str(len(body))),
            ("Connection", "close"),
        ]
        events = (
            h11.Response(status_code=reply.status, reason=reply.status.phrase.encode(), headers=headers),
            h11.Data(data=body),
            h11.EndOfMessage(),
        )
        with anyio.move_on_after(REQUEST_SECS):
            await stream.send(b"".join(line.send(each) or b"" for each in events))


async def _request(stream: SocketStream, line: h11.Connection) -> PageRequest:
    with anyio.move_on_after(REQUEST_SECS):
        try:
            return await _read(stream, line)
        except h11.RemoteProtocolError as error:
            raise _Refused(HTTPStatus(error.error_status_hint)) from None
    raise _Refused(HTTPStatus.REQUEST_TIMEOUT)


async def _read(stream: SocketStream, line: h11.Connection) -> PageRequest:
    head, body = None, b""
    while True:
        event = line.next_event()
        if event is h11.NEED_DATA:
            line.receive_data(await stream.receive(READ_BYTES))
        elif isinstance(event, h11.Request):
            head = event
        elif isinstance(event, h11.Data):
            body += event.data
            if len(body) > MOST_BODY:
                raise _Refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
        elif isinstance(event, h11.EndOfMessage) and head is not None:
            break
        else:
            raise anyio.EndOfStream
    headers: dict[str, str] = {}
    for name, value in head.headers:
        text, key = value.decode("latin-1"), name.decode("ascii")
        headers[key] = f"{headers[key]}, {text}" if key in headers else text
    return PageRequest(head.method.decode("ascii"), head.target.decode("ascii"), headers, body)


@asynccontextmanager
async def listening(always: tuple[tuple[str, str], ...]) -> AsyncGenerator[LoopbackServer]:
    """Listen on a free loopback port until the context ends."""
    async with (
        await anyio.create_tcp_listener(local_host=LOOPBACK, local_port=0) as listener,
        anyio.create_task_group() as tasks,
    ):
        port = listener.extra(SocketAttribute.local_port)  # noqa: S610 - not Django's
        server = LoopbackServer(port, always)
        tasks.start_soon(listener.serve, server.take)
        yield server
        tasks.cancel_scope.cancel()
