"""Streams without a socket, for a client in the same process.

They use the same sessions, clock and faults as the real sockets.
"""

from collections import deque
from collections.abc import Awaitable, Callable
from urllib.parse import parse_qs, unquote, urlsplit

import anyio
import anyio.lowlevel

from binance_simulator.exchange import SimulatedExchange
from binance_simulator.futures.listing import FUTURES_HOST
from binance_simulator.market.book import BUCKET_MS
from binance_simulator.streams.futures import futures_session
from binance_simulator.streams.session import Session
from binance_simulator.streams.subscriptions import StreamSession
from binance_simulator.streams.ws_api import PATH, WsApiSession

MOST_WAITING = 100_000  # frames; as at Binance, a reader that falls this far behind is disconnected


class LoopbackConnection:
    """One open connection. Nothing runs in the background: a read computes the frames that are due."""

    def __init__(self, exchange: SimulatedExchange, session: Session, most_waiting: int) -> None:
        self._exchange = exchange
        self._session = session
        self._most_waiting = most_waiting
        self._waiting: deque[bytes] = deque()
        self._touched = anyio.Event()
        self._open = True
        self._why = "The connection was closed by its owner."
        session.hub.enter(session)

    async def send(self, text: str) -> None:
        """Send a message to the server.

        Raises:
            ConnectionError: the connection has ended.
        """
        await anyio.lowlevel.checkpoint()
        self._fetch()
        if not self._open:
            raise ConnectionResetError(self._why)
        self._keep(self._session.receive(text, self._exchange.now_ms()))
        self._touched.set()

    async def recv(self) -> bytes:
        """Wait for the next frame and return it.

        Raises:
            ConnectionError: the connection has ended and all its frames have been read.
        """
        await anyio.lowlevel.checkpoint()
        while not self._waiting:
            beats, self._touched = self._exchange.hub.beats, anyio.Event()
            self._fetch()
            if not self._waiting and not self._open:
                raise ConnectionResetError(self._why)
            if not self._waiting:
                await self._wait(beats)
        return self._waiting.popleft()

    async def close(self) -> None:
        """Close the connection and drop its unread frames."""
        self._waiting.clear()
        self._end(self._why)
        await anyio.lowlevel.checkpoint()

    def _fetch(self) -> None:
        if self._open:
            self._keep(self._session.due(self._exchange.now_ms()))

    def _keep(self, texts: list[str]) -> None:
        self._waiting.extend(text.encode() for text in texts)
        if len(self._waiting) > self._most_waiting:
            self._waiting.clear()
            self._end(f"More than {self._most_waiting} frames were unread.")
        elif self._session.ending is not None:
            self._end(f"The simulated exchange ended the connection: {self._session.ending}.")

    def _end(self, why: str) -> None:
        if self._open:
            self._open = False
            self._why = why
            self._session.hub.leave(self._session)
        self._touched.set()

    async def _wait(self, beats: int) -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._first_of, self._touched.wait, tasks.cancel_scope)
            tasks.start_soon(self._first_of, lambda: self._moved(beats), tasks.cancel_scope)

    async def _first_of(self, wait: Callable[[], Awaitable[object]], scope: anyio.CancelScope) -> None:
        await wait()
        scope.cancel()

    async def _moved(self, beats: int) -> None:
        if self._exchange.hub.by_hand:
            await self._exchange.hub.pulse(beats)
        else:
            await self._exchange.clock.sleep_ms(BUCKET_MS - self._exchange.now_ms() % BUCKET_MS)


class Loopback:
    """Dialer for the streams of one exchange, of its futures host, and for its WebSocket API."""

    def __init__(self, exchange: SimulatedExchange, *, most_waiting: int = MOST_WAITING) -> None:
        self._exchange = exchange
        self._most_waiting = most_waiting

    async def connect(self, url: str) -> LoopbackConnection:
        """Open a connection. The scheme and host of the URL are ignored, except for the futures host.

        Raises:
            ConnectionError: the handshake was refused.
        """
        address = urlsplit(url)
        path, futures = unquote(address.path), address.hostname == FUTURES_HOST
        refused = futures and self._exchange.futures.refuses(path, self._exchange.now_ms())
        if refused:
            raise ConnectionRefusedError(f"The handshake was refused with status {refused}.")
        fault = (self._exchange.futures.faults if futures else self._exchange.faults).take(path)
        if fault is not None:
            await self._exchange.clock.sleep_ms(fault.delay_ms)
            if fault.kind != "delay":
                raise ConnectionRefusedError(f"The handshake was refused with status {fault.status}.")
        await anyio.lowlevel.checkpoint()
        streams = parse_qs(address.query).get("streams", [""])[0]
        session = self._futures(path, streams) if futures else self._session(path, streams)
        return LoopbackConnection(self._exchange, session, self._most_waiting)

    def _session(self, path: str, streams: str) -> Session:
        if path == PATH:
            return WsApiSession(self._exchange)
        if path == "/stream":
            return self._stream(streams, combined=True)
        if path == "/ws" or path.startswith("/ws/"):
            return self._stream(path.removeprefix("/ws").removeprefix("/"), combined=False)
        raise ConnectionRefusedError(f"The handshake was refused with status 404: unknown path {path}.")

    def _futures(self, path: str, streams: str) -> Session:
        session = futures_session(self._exchange, path, streams)
        if session is None:
            raise ConnectionRefusedError(f"The handshake was refused with status 404: unknown path {path}.")
        return session

    def _stream(self, names: str, *, combined: bool) -> StreamSession:
        session = StreamSession(self._exchange, combined=combined)
        session.subscribe([name for name in names.split("/") if name])
        return session
