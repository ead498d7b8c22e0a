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
from mcp_binance_server.transports.http.server.connection_registry import ConnectionRegistry
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
        SettingsError: the server cannot listen on this address.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # Name the protocol. Otherwise asyncio does not set TCP_NODELAY, and each answer takes 40 ms longer.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if os.name == "posix":  # on Windows this option would let two servers share a port
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        # Connections inherit this option. By default the system buffers megabytes for each client that does not read.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER)
        listener.bind((host, port))
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        raise SettingsError(problems=(f"cannot listen on {host} port {port}: {error.strerror}",)) from None
    return listener


def waiting_sockets(listener: socket.socket) -> Iterator[socket.socket]:
    """Yield several sockets to serve on. The first is the listener itself.

    asyncio accepts up to `backlog` clients per round of the event loop, but uvloop only one per socket. With a single
    socket, a client behind a hundred others would wait for a hundred rounds.
    """
    yield listener
    if not isinstance(asyncio.get_running_loop(), asyncio.BaseEventLoop):
        yield from (listener.dup() for _ in range(AT_A_TIME - 1))


@dataclass(slots=True)
class Shutdown:
    """Shutdown signal.

    The first call starts a graceful shutdown, a second call ends it at once. Ctrl-C makes the grace period short.
    """

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
    """Serve on the running event loop until SIGTERM or SIGINT.

    The first signal starts a graceful shutdown: listening ends, idle connections are closed, and `drain` ends the
    streams. Requests in progress are answered within the grace period. A second signal ends everything at once. After
    Ctrl-C (SIGINT) the grace period is a fraction of a second, because a user is waiting. `ready` is called with the
    port, which is new information if port 0 was requested.

    Raises:
        SettingsError: the server cannot listen on this address.
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
    """Serve on listening sockets until a signal or `stop`, then close them."""
    servers = [_AppServer(each.app, each.limits) for each in apps]
    try:
        with stop_on_signals(stop):
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
        self._crowd: ConnectionRegistry[HttpConnection] = ConnectionRegistry(limits.most)
        self._first_looks = FirstLooks()
        self._state = ServerState()
        self._servers: list[asyncio.Server] = []
        self._is_cleared = False
        self._config = Config(
            self._answer,
            http="h11",  # httptools keeps the blanks after a header's value, which MCP forbids.
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
                # During a TLS handshake there is no connection object, so no other timeout covers it.
                ssl_handshake_timeout=self._limits.head_secs if tls else None,
                ssl_shutdown_timeout=self._limits.last_secs if tls else None,
            )
            self._servers.append(server)
        listener.listen(BACKLOG)

    def stop_listening(self) -> None:
        for server in self._servers:
            server.close()

    async def emptied(self, clock: Clock) -> None:
        """Wait until all requests are answered and all connections closed."""
        while self._state.connections or self._state.tasks:
            for connection in [*self._state.connections]:
                connection.shutdown()
            await clock.sleep_ms(_LOOK_EVERY_MS)

    async def clear(self) -> None:
        """Abort all remaining requests and connections."""
        self._is_cleared = True
        self.stop_listening()
        for connection in [*self._state.connections]:
            connection.transport.abort()
        # Requests first see that their client has disconnected. Requests that still run are cancelled.
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
            # The task ends anyway. uvicorn would log the exception as an error of the application.
            if not self._is_cleared:
                raise


@contextmanager
def stop_on_signals(stop: Shutdown) -> Generator[None]:
    """Stop the server on signals.

    Signals reach only the main thread. In another thread the caller must use `stop`.
    """
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
