"""uvicorn with our own connections, limits and sockets."""

import asyncio
import os
import signal
import socket
import threading
from collections.abc import Awaitable, Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from ssl import SSLContext
from types import FrameType

import anyio
import anyio.lowlevel
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.config import Config
from uvicorn.server import ServerState

from mcp_binance_server.clock import Clock, SystemClock
from mcp_binance_server.errors import SettingsError
from mcp_binance_server.transports.http.server.connection import ConnectionLimits, HttpConnection
from mcp_binance_server.transports.http.server.crowd import ConnectionCrowd
from mcp_binance_server.transports.http.server.disconnect import Unsent
from mcp_binance_server.transports.http.server.reading import FirstLooks, RequestReader

BACKLOG = 2_048
AT_A_TIME = 8
SEND_BUFFER = 256 * 2**10

GRACE_SECS = 10.0
HASTE_SECS = 0.3
SIGNALS = (signal.SIGTERM, signal.SIGINT)
_LOOK_EVERY_MS = 20.0
_LAST_WORDS_SECS = 1.0


def listen(host: str, port: int) -> socket.socket:
    """Return a listening socket.

    Raises:
        SettingsError: the address cannot be listened on.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # The protocol is named because asyncio sends without delay only if it sees it; otherwise each answer takes 40 ms.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if os.name == "posix":  # elsewhere two servers could have the same port
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        # Connections inherit it. By default, the system keeps megabytes for each client that does not read.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER)
        listener.bind((host, port))
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        raise SettingsError(problems=(f"cannot listen on {host} port {port}: {error.strerror}",)) from None
    return listener


def waiting_sockets(listener: socket.socket) -> Iterator[socket.socket]:
    """Yield the sockets to serve on, so that `AT_A_TIME` clients are accepted at once; the first is the listener.

    asyncio's own loops accept as many as their `backlog` says. uvloop accepts one per socket: with a single socket, a
    client behind a hundred others waits for a hundred rounds of the loop.
    """
    yield listener
    if not isinstance(asyncio.get_running_loop(), asyncio.BaseEventLoop):
        yield from (listener.dup() for _ in range(AT_A_TIME - 1))


@dataclass(slots=True)
class Shutdown:
    """A request to shut down: the first winds down, the second hurries; Ctrl-C does both at once."""

    asked: anyio.Event = field(default_factory=anyio.Event)
    patience: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    at_ctrl_c: Callable[[], None] | None = None
    is_hasty: bool = False

    def tell(self, number: int = signal.SIGTERM) -> None:
        self.is_hasty = self.is_hasty or number == signal.SIGINT
        if self.asked.is_set():
            self.patience.cancel()
        self.asked.set()


@dataclass(frozen=True, slots=True)
class ListeningApp:
    """A listening socket and its application."""

    listener: socket.socket
    app: ASGIApp
    limits: ConnectionLimits = field(default_factory=ConnectionLimits)
    tls: SSLContext | None = None


async def serve_http(
    app: ASGIApp,
    *,
    host: str,
    port: int,
    ready: Callable[[int], None],
    drain: Callable[[], Awaitable[None]],
    grace_secs: float = GRACE_SECS,
    limits: ConnectionLimits | None = None,
    clock: Clock | None = None,
    stop: Shutdown | None = None,
    tls: SSLContext | None = None,
) -> None:
    """Serve on the running loop until SIGTERM or SIGINT; then return.

    The first signal ends listening: no new clients, idle connections are closed, `drain` ends streams that would not
    end on their own, and requests in progress are answered, all within the grace time. A second signal ends the rest at
    once. At Ctrl-C (SIGINT) a user waits, so the grace is a fraction of a second. `ready` gets the port, which matters
    if it was 0.

    Raises:
        SettingsError: the address cannot be listened on.
    """
    listener = listen(host, port)
    await serve_apps(
        [ListeningApp(listener, app, limits or ConnectionLimits(), tls)],
        ready=lambda: ready(listener.getsockname()[1]),
        drain=drain,
        stop=stop or Shutdown(),
        grace_secs=grace_secs,
        clock=clock,
    )


async def serve_apps(
    apps: Sequence[ListeningApp],
    *,
    ready: Callable[[], None],
    drain: Callable[[], Awaitable[None]],
    stop: Shutdown,
    grace_secs: float = GRACE_SECS,
    clock: Clock | None = None,
) -> None:
    """Serve on listening sockets until a signal or a request to `stop`; the sockets are closed at the end."""
    servers = [_AppServer(each.app, each.limits) for each in apps]
    try:
        with told_by_signals(stop):
            for server, each in zip(servers, apps, strict=True):
                await server.open(each.listener, each.tls)
            ready()
            await stop.asked.wait()
            for server in servers:
                server.stop_listening()
            with stop.patience:
                stop.patience.deadline = anyio.current_time() + (
                    min(HASTE_SECS, grace_secs) if stop.is_hasty else grace_secs
                )
                await drain()
                for server in servers:
                    await server.emptied(clock or SystemClock())
    finally:
        with anyio.CancelScope(shield=True):
            for server in servers:
                await server.clear()
        for each in apps:
            each.listener.close()


class _AppServer:
    """A listening socket, its connections and the requests in progress."""

    def __init__(self, app: ASGIApp, limits: ConnectionLimits) -> None:
        self._app = app
        self._limits = limits
        self._unsent = Unsent(limits.unsent)
        self._crowd: ConnectionCrowd[HttpConnection] = ConnectionCrowd(limits.most)
        self._first_looks = FirstLooks()
        self._state = ServerState()
        self._servers: list[asyncio.Server] = []
        self._is_cleared = False
        self._config = Config(
            self._answer,
            http="h11",  # httptools keeps the blanks behind a header's value, which MCP forbids
            ws="none",
            lifespan="off",
            interface="asgi3",
            log_config=None,
            log_level="error",
            access_log=False,
            proxy_headers=False,
            workers=1,
            timeout_keep_alive=self._limits.idle_secs,
        )

    async def open(self, listener: socket.socket, tls: SSLContext | None) -> None:
        for each in waiting_sockets(listener):
            server = await asyncio.get_running_loop().create_server(
                self._connection,
                sock=each,
                backlog=AT_A_TIME,
                ssl=tls,
                # A TLS handshake in progress is not a connection yet, so no other timeout would end a slow one.
                ssl_handshake_timeout=self._limits.head_secs if tls else None,
                ssl_shutdown_timeout=self._limits.last_secs if tls else None,
            )
            self._servers.append(server)
        listener.listen(BACKLOG)

    def stop_listening(self) -> None:
        for server in self._servers:
            server.close()

    async def emptied(self, clock: Clock) -> None:
        """Wait until every request in progress is answered and every connection closed."""
        while self._state.connections or self._state.tasks:
            for connection in [*self._state.connections]:
                connection.shutdown()
            await clock.sleep_ms(_LOOK_EVERY_MS)

    async def clear(self) -> None:
        """End all remaining requests and connections at once."""
        self._is_cleared = True
        self.stop_listening()
        for connection in [*self._state.connections]:
            connection.transport.abort()
        # Requests learn that their client has left; those that ignore it are cancelled.
        await anyio.lowlevel.checkpoint()
        tasks = [*self._state.tasks]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=_LAST_WORDS_SECS)
        with anyio.move_on_after(_LAST_WORDS_SECS):
            for server in self._servers:
                await server.wait_closed()

    def _connection(self) -> RequestReader:
        connection = HttpConnection(self._config, self._state, self._limits, self._unsent, self._crowd)
        return RequestReader(connection, self._first_looks)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self._app(scope, receive, send)
        except asyncio.CancelledError:
            # The task ends anyway; if raised further, uvicorn would report it as a fault of the application.
            if not self._is_cleared:
                raise


@contextmanager
def told_by_signals(stop: Shutdown) -> Generator[None]:
    """Let signals stop the server. They reach the main thread only; in other threads the caller must use `stop`."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    loop = asyncio.get_running_loop()

    def tell(number: int, _frame: FrameType | None) -> None:
        if number == signal.SIGINT and stop.at_ctrl_c is not None:
            stop.at_ctrl_c()
        loop.call_soon_threadsafe(stop.tell, number)

    before = [(each, signal.signal(each, tell)) for each in SIGNALS]
    try:
        yield
    finally:
        for each, handler in before:
            signal.signal(each, handler)
