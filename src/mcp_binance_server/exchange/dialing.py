"""WebSocket connections: opened with the `websockets` library, below the exchange's rate limit, with backoff."""

import logging
from collections import deque
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING, Protocol
from urllib.parse import urlsplit

from mcp_binance_server.clock import Clock
from mcp_binance_server.loading import load
from mcp_binance_server.proxies.environment import OutgoingProxies, Proxy, ProxyFailure, explain_status
from mcp_binance_server.words import one_line

if TYPE_CHECKING:
    from websockets.asyncio.client import ClientConnection
    from websockets.exceptions import ProxyError

# The exchange allows 300 attempts per IP in five minutes; the other 100 are left to other programs at this address.
MOST_ATTEMPTS = 200
ATTEMPTS_MS = 300_000
# For about a minute the pauses stay under two seconds, so that a recovery is found quickly. Then the backoff grows,
# because five processes behind one address must together stay below the limit.
FIRST_PAUSE_MS, QUICK_PAUSE_MS, LONGEST_PAUSE_MS = 1_000, 2_000, 30_000
QUICK_FAILURES = 40
# A failing host is tried once a second, as with requests, even if several connections are lost.
BETWEEN_TRIES_MS = 1_000

OPEN_SECS = 10.0
CLOSE_SECS = 2.0
# Pings count against the limit of five messages a second; a healthy exchange answers within seconds.
PING_SECS = 20.0
LARGEST_FRAME = 4 * 2**20


class StreamConnection(Protocol):
    """A WebSocket with text frames; `recv` raises ConnectionError when the connection is closed."""

    async def send(self, text: str) -> None: ...

    async def recv(self) -> bytes: ...

    async def close(self) -> None: ...


class Dialer(Protocol):
    """Opener of WebSocket connections, over the network or to a simulated exchange in this process."""

    async def connect(self, url: str) -> StreamConnection:
        """Open a connection.

        Raises:
            OSError: the connection failed or timed out.
        """
        ...


@dataclass(frozen=True, slots=True)
class NetworkDialer:
    """Dialer over the network; the `websockets` library answers the exchange's pings."""

    proxies: OutgoingProxies = field(default_factory=OutgoingProxies)

    async def connect(self, url: str) -> StreamConnection:
        await load("websockets.asyncio.client")
        from websockets.asyncio.client import connect  # noqa: PLC0415 - only streaming pays for the import
        from websockets.exceptions import ProxyError, WebSocketException  # noqa: PLC0415

        proxy, host = self.proxies.of(url), urlsplit(url).hostname or ""
        try:
            opened = await connect(
                url,
                open_timeout=OPEN_SECS,
                close_timeout=CLOSE_SECS,
                ping_interval=PING_SECS,
                ping_timeout=PING_SECS,
                max_size=LARGEST_FRAME,
                max_queue=(4_096, 512),
                compression=None,
                logger=_quiet_logger(),
                proxy=None if proxy is None else proxy.url,
            )
        except ProxyError as error:
            raise _refused(error, proxy, host) from None
        except WebSocketException as error:
            raise ConnectionError(f"the exchange refused the connection: {type(error).__name__}") from None
        except OSError as error:
            if proxy is None:
                raise
            raise ProxyFailure(proxy, f"gave no connection to {host} ({type(error).__name__})") from None
        return _NetworkConnection(opened)


@dataclass
class Pacer:
    """Rate limiter of connection attempts, with backoff after failures."""

    clock: Clock
    random: Random = field(default_factory=Random, repr=False)
    _attempts: deque[float] = field(default_factory=deque[float], repr=False)

    async def wait(self, failures: int) -> None:
        """Wait until the next attempt is allowed; `failures` is the number of failed attempts in a row.

        After forty failures, each further failure doubles the longest pause, up to 30 s.
        """
        if failures:
            longest = _longest_pause_ms(failures)
            await self.clock.sleep_ms(self.random.uniform(longest / 4, longest))
            while (left_ms := self._last_ms + BETWEEN_TRIES_MS - self.clock.monotonic_ms()) > 0:
                await self.clock.sleep_ms(left_ms)
        while len(self._recent()) >= MOST_ATTEMPTS:
            await self.clock.sleep_ms(self._attempts[0] + ATTEMPTS_MS - self.clock.monotonic_ms())
        self._attempts.append(self.clock.monotonic_ms())

    @property
    def _last_ms(self) -> float:
        return self._attempts[-1] if self._attempts else float("-inf")

    def _recent(self) -> deque[float]:
        oldest = self.clock.monotonic_ms() - ATTEMPTS_MS
        while self._attempts and self._attempts[0] <= oldest:
            self._attempts.popleft()
        return self._attempts


def _longest_pause_ms(failures: int) -> int:
    if failures == 1:
        return FIRST_PAUSE_MS
    return min(LONGEST_PAUSE_MS, QUICK_PAUSE_MS * 2 ** min(max(0, failures - QUICK_FAILURES), 10))


class _NetworkConnection:
    def __init__(self, opened: "ClientConnection") -> None:
        from websockets.exceptions import ConnectionClosed  # noqa: PLC0415

        self._opened = opened
        self._closed = ConnectionClosed

    async def send(self, text: str) -> None:
        try:
            await self._opened.send(text)
        except self._closed:
            raise ConnectionError("the connection is closed") from None

    async def recv(self) -> bytes:
        try:
            return await self._opened.recv(decode=False)
        except self._closed as closed:
            raise ConnectionError(str(closed)) from None

    async def close(self) -> None:
        await self._opened.close()


def _refused(error: "ProxyError", proxy: Proxy | None, host: str) -> ConnectionError:
    from websockets.exceptions import InvalidProxyStatus  # noqa: PLC0415

    if proxy is None:
        return ConnectionError(f"unexpected error of a proxy: {type(error).__name__}")
    if isinstance(error, InvalidProxyStatus):
        return explain_status(proxy, error.response.status_code, host)
    if proxy.is_socks:
        return ProxyFailure(proxy, f"opens no connection to {host}: {one_line(str(error.__cause__))}")
    return ProxyFailure(proxy, f"closed the connection before reaching {host} ({type(error).__name__})")


def _quiet_logger() -> logging.Logger:
    """Return a separate logger: the library logs frames at DEBUG, and every lost connection at INFO."""
    logger = logging.getLogger("mcp_binance_server.exchange.websockets")
    logger.setLevel(logging.ERROR)
    return logger
