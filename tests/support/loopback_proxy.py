"""A proxy on this machine: CONNECT, requests in absolute form and SOCKS5; it counts what it let through."""

import asyncio
import base64
import contextlib
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import anyio.lowlevel

Answer = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]

HEAD_END = b"\r\n\r\n"
SOCKS5, NO_LOGIN, LOGIN, REFUSED_LOGIN = 5, 0, 2, 0xFF
SUCCEEDED, NOT_ALLOWED = 0, 2


@dataclass
class LoopbackProxy:
    """Leads every host to one port of this machine, or does what `fault` does instead."""

    target: int = 0
    login: tuple[str, str] | None = None
    status: int | None = None
    """What CONNECT and SOCKS are refused with."""
    fault: Answer | None = None
    """Takes the connection once the first request has been read."""
    port: int = 0
    asked: list[str] = field(default_factory=list[str])
    """The host of each request, with the way it was asked for."""
    passed: list[str] = field(default_factory=list[str])
    bytes_through: int = 0
    """What clients sent through tunnels."""
    served: dict[asyncio.StreamWriter, asyncio.Task[None] | None] = field(
        default_factory=dict[asyncio.StreamWriter, "asyncio.Task[None] | None"], repr=False
    )

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def socks(self) -> str:
        return f"socks5://127.0.0.1:{self.port}"

    def with_login(self, user: str, password: str, scheme: str = "http") -> str:
        return f"{scheme}://{user}:{password}@127.0.0.1:{self.port}"

    @property
    def hosts(self) -> set[str]:
        return {each.partition(" ")[2] for each in self.passed}

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.served[writer] = asyncio.current_task()
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            first = await reader.readexactly(1)
            await (self._socks(reader, writer) if first[0] == SOCKS5 else self._http(first, reader, writer))
        writer.close()

    async def close(self) -> None:
        """End every connection, and wait until its socket is closed."""
        for writer in self.served:
            writer.transport.abort()
        tasks = [task for task in self.served.values() if task is not None]
        await asyncio.gather(*tasks, *(each.wait_closed() for each in self.served), return_exceptions=True)
        await notice()

    async def _http(self, first: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = first + await reader.readuntil(HEAD_END)
        line, *rest = head.decode().rstrip("\r\n").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (each.partition(":") for each in rest)}
        method, target, version = line.split(" ")
        is_tunnel = method == "CONNECT"
        host = target.rpartition(":")[0] if is_tunnel else urlsplit(target).hostname or ""
        self.asked.append(f"{'CONNECT' if is_tunnel else 'absolute'} {host}")
        if self.fault is not None:
            await self.fault(reader, writer)
            return
        status = self.status or (None if self._may(headers) else 407)
        if status is not None:
            writer.write(f"HTTP/1.1 {status} CaNaRyReason\r\nContent-Length: 0\r\n\r\n".encode())
            await writer.drain()
            return
        self.passed.append(self.asked[-1])
        if is_tunnel:
            writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            await self._lead(b"", reader, writer)
            return
        parts = urlsplit(target)
        path = f"{parts.path or '/'}{f'?{parts.query}' if parts.query else ''}"
        kept = [each for each in rest if not each.lower().startswith(("proxy-", "connection:"))]
        asked_for = "\r\n".join([f"{method} {path} {version}", *kept, "Connection: close", "", ""])
        await self._lead(asked_for.encode(), reader, writer)

    def _may(self, headers: Mapping[str, str]) -> bool:
        if self.login is None:
            return True
        return headers.get("proxy-authorization") == f"Basic {base64.b64encode(':'.join(self.login).encode()).decode()}"

    async def _socks(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        offered = await reader.readexactly((await reader.readexactly(1))[0])
        wanted = NO_LOGIN if self.login is None else LOGIN
        writer.write(bytes([SOCKS5, wanted if wanted in offered else REFUSED_LOGIN]))
        if wanted not in offered:
            return
        if self.login is not None:
            await reader.readexactly(1)
            given = [(await reader.readexactly((await reader.readexactly(1))[0])).decode() for _ in range(2)]
            writer.write(bytes([1, given != [*self.login]]))
            if given != [*self.login]:
                return
        kind = (await reader.readexactly(4))[3]
        if kind == 3:  # a name, which the proxy resolves
            host = (await reader.readexactly((await reader.readexactly(1))[0])).decode()
        else:
            host = ".".join(map(str, await reader.readexactly(4)))
        await reader.readexactly(2)
        self.asked.append(f"SOCKS {host}")
        if self.fault is not None:
            await self.fault(reader, writer)
            return
        writer.write(bytes([SOCKS5, self.status or SUCCEEDED, 0, 1, 0, 0, 0, 0, 0, 0]))
        if self.status is None:
            self.passed.append(self.asked[-1])
            await self._lead(b"", reader, writer)

    async def _lead(self, first: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, here = await asyncio.open_connection("127.0.0.1", self.target)
        self.served[here] = None
        here.write(first)
        try:
            ways = self._pipe(reader, here, counts=True), self._pipe(there, writer, counts=False)
            await asyncio.gather(*ways, return_exceptions=True)
        finally:
            here.close()

    async def _pipe(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter, *, counts: bool) -> None:
        while data := await source.read(65_536):
            self.bytes_through += len(data) if counts else 0
            sink.write(data)
            await sink.drain()
        if sink.can_write_eof():
            sink.write_eof()
        else:
            sink.close()


async def notice() -> None:
    """Let both ends of a closed connection notice it: a socket that is open when a loop ends is a warning."""
    for _ in range(20):
        await anyio.lowlevel.checkpoint()


@asynccontextmanager
async def loopback_proxy(target: int = 0, **behaviour: object) -> AsyncGenerator[LoopbackProxy]:
    """Serve a proxy on the loop that runs."""
    proxy = LoopbackProxy(target, **behaviour)  # type: ignore[arg-type]
    server = await asyncio.start_server(proxy.serve, "127.0.0.1", 0)
    proxy.port = server.sockets[0].getsockname()[1]
    try:
        yield proxy
    finally:
        server.close()
        await proxy.close()


@contextmanager
def proxy_beside(target: int, **behaviour: object) -> Generator[LoopbackProxy]:
    """Serve a proxy in a thread of its own, for a test that is no coroutine."""
    ready, over = threading.Event(), asyncio.Event()
    held: list[tuple[LoopbackProxy, asyncio.AbstractEventLoop]] = []

    async def serve() -> None:
        async with loopback_proxy(target, **behaviour) as proxy:
            held.append((proxy, asyncio.get_running_loop()))
            ready.set()
            await over.wait()

    thread = threading.Thread(target=asyncio.run, args=(serve(),), daemon=True)
    thread.start()
    assert ready.wait(30)
    proxy, loop = held[0]
    try:
        yield proxy
    finally:
        loop.call_soon_threadsafe(over.set)
        thread.join(30)


async def cut(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """End the connection without an answer."""
    writer.transport.abort()


async def cut_in_the_answer(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """End the connection in the middle of the answer to CONNECT."""
    writer.write(b"HTTP/1.1 200 Conn")
    await writer.drain()
    writer.close()


async def stay_silent(reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
    """Give no answer for as long as the client waits."""
    await reader.read()
