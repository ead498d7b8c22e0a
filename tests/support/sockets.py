"""Raw HTTP over real sockets, for clients that no library would be."""

import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

import anyio
from anyio.abc import SocketStream, TaskStatus
from starlette.types import ASGIApp

from mcp_binance_server.transports.http.server.connection import ConnectionLimits
from mcp_binance_server.transports.http.server.serving import serve_http

PATIENCE_SECS = 30.0
HEAD = b"POST /echo HTTP/1.1\r\nhost: 127.0.0.1\r\n"


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back until the server closed: nothing at all, or a status, headers and a body."""

    status: int | None
    headers: dict[bytes, bytes]
    body: bytes


def parsed(data: bytes) -> Answer:
    """Return the first answer in what a server sent, with an interim one before it skipped."""
    head, _, body = data.partition(b"\r\n\r\n")
    while head.startswith(b"HTTP/1.1 1"):
        head, _, body = body.partition(b"\r\n\r\n")
    if not head:
        return Answer(None, {}, b"")
    first, *lines = head.split(b"\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(b":") for line in lines)}
    if b"content-length" in headers:
        body = body[: int(headers[b"content-length"])]
    return Answer(int(first.split()[1]), headers, body)


def connected(port: int, *, receive_buffer: int | None = None) -> socket.socket:
    """Return a connection to the server; a small buffer makes a client that cannot take much."""
    client = socket.socket()
    client.settimeout(PATIENCE_SECS)
    if receive_buffer is not None:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
    try:
        client.connect(("127.0.0.1", port))
    except OSError:
        client.close()
        raise
    return client


async def until_closed(client: SocketStream) -> bytes:
    """Return everything that still comes; a reset is an end as well."""
    data = bytearray()
    with anyio.fail_after(PATIENCE_SECS), suppress(anyio.BrokenResourceError):
        async for chunk in client:
            data += chunk
    return bytes(data)


async def one_answer(client: SocketStream) -> Answer:
    """Return the next answer on a connection, or what there was of it when the server closed."""
    data = b""
    with anyio.fail_after(PATIENCE_SECS), suppress(anyio.BrokenResourceError, anyio.EndOfStream):
        while not _is_whole(parsed(data)):
            data += await client.receive()
    return parsed(data)


def _is_whole(answer: Answer) -> bool:
    return len(answer.body) == int(answer.headers.get(b"content-length", b"-1"))


def stubborn(port: int, *sent: bytes) -> tuple[Answer, int]:
    """Send without looking until it is all out or the server closes; only then read. Returns what was sent as well."""
    taken, data = 0, b""
    with connected(port) as client:
        with suppress(OSError):
            for each in sent:
                client.sendall(each)
                taken += len(each)
        with suppress(OSError):
            while chunk := client.recv(65_536):
                data += chunk
    return parsed(data), taken


async def exchanged(port: int, *sent: bytes) -> Answer:
    """Send bytes and return the answer."""
    async with await anyio.connect_tcp("127.0.0.1", port) as client:
        with suppress(anyio.BrokenResourceError, OSError):
            for data in sent:
                await client.send(data)
        return await one_answer(client)


@asynccontextmanager
async def serving(
    app: ASGIApp, limits: ConnectionLimits | None = None, *, host: str = "127.0.0.1"
) -> AsyncGenerator[int]:
    """Serve an application in this process and give its port; taken down by cancellation."""

    async def drained() -> None: ...

    async def serve(*, task_status: TaskStatus[int]) -> None:
        await serve_http(app, host=host, port=0, ready=task_status.started, drain=drained, limits=limits, grace_secs=1)

    async with anyio.create_task_group() as group:
        yield await group.start(serve)
        group.cancel_scope.cancel()
