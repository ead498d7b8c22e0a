"""Circuit breaker: the whole fleet sends a failing host one request a second; after recovery the rate ramps up."""

import logging
import math
from contextlib import suppress
from dataclasses import dataclass, field
from uuid import uuid4

from mcp_binance_server.channel import MOST_CONNECTIONS
from mcp_binance_server.clock import Clock
from mcp_binance_server.errors import EngineUnavailable, ExchangeUnavailable
from mcp_binance_server.proxies.errors import ProxyUnavailable
from mcp_binance_server.state.engine import StateEngine

LOG = logging.getLogger(__name__)

# All idle connections can be cut at once, and each fails only when it is used. So failures within 100 ms are no outage.
FAILURES, LEAST_OUTAGE_MS = 3, 100
BETWEEN_TRIES_MS = 1_000
# Interval between two checks for the result of another process's try.
BETWEEN_LOOKS_MS = 250
TOLD_MS = 3_000
# Ramp after an outage. The first second allows as many requests as there are connections, evenly spaced; each further
# second allows twice as many.
TURN_MS = 1_000 / MOST_CONNECTIONS
RETURN_MS = 4_000
LONGEST_TURN_MS = 2_000


@dataclass
class Breaker:
    """Circuit breaker of one host. A request that cannot be sent fails at once; the error has the time to wait."""

    host: str
    clock: Clock
    engine: StateEngine
    _owner: str = field(default_factory=lambda: uuid4().hex, init=False, repr=False)
    _failures: int = field(default=0, init=False)
    _failing_since_ms: float = field(default=0, init=False)
    _reason: str = field(default="", init=False)
    _by_proxy: bool = field(default=False, init=False)
    _answered_ms: float = field(default=float("-inf"), init=False)
    _returned_ms: float = field(default=0, init=False)
    _next_try_ms: float = field(default=0, init=False)
    _turn_ms: float | None = field(default=None, init=False)
    is_open: bool = field(default=False, init=False)
    """Whether the host is considered down."""

    async def enter(self) -> None:
        """Wait until a request may be sent.

        Raises:
            ExchangeUnavailable: the host is down and this second's request is taken, or the queue after an outage is
                too long.
        """
        if not self.is_open and self._turn_ms is not None:
            await self._take_turn(self._turn_ms)
        if self.is_open:
            await self._try()

    def failed(self, sent_ms: float, reason: str, *, by_proxy: bool = False) -> None:
        """Record a request that failed: without an answer, or with a server error.

        `sent_ms` is the time of sending. `by_proxy` means that a proxy failed and the host was not reached.
        """
        if sent_ms < self._answered_ms:
            return  # the host has answered a later request
        now_ms = self.clock.monotonic_ms()
        if self._failures == 0:
            self._failing_since_ms = now_ms
        self._failures += 1
        self._reason, self._by_proxy = reason, by_proxy
        lasts = now_ms - self._failing_since_ms >= LEAST_OUTAGE_MS
        if self._failures >= FAILURES and lasts:
            self.open(reason, first_try_ms=now_ms + BETWEEN_TRIES_MS)

    def open(self, reason: str, *, first_try_ms: float) -> None:
        """Open the breaker. After `first_try_ms`, send one request a second until one is answered."""
        if not self.is_open:
            self.is_open, self._reason, self._next_try_ms = True, reason, first_try_ms
            LOG.warning("%s: %s; sending one request a second until one is answered", self.host, reason)

    async def answered(self) -> None:
        """Record an answer of the host and close the breaker; after an outage, notify the other processes."""
        was_open = self.is_open
        self._close()
        if was_open:
            with suppress(EngineUnavailable):
                await self.engine.put(self._key, b"", ttl_ms=TOLD_MS)

    async def _try(self) -> None:
        now_ms = self.clock.monotonic_ms()
        if now_ms < self._next_try_ms:
            raise self._error()
        self._next_try_ms = now_ms + BETWEEN_TRIES_MS
        with suppress(EngineUnavailable):
            if await self.engine.lease(f"try:{self.host}", self._owner, ttl_ms=BETWEEN_TRIES_MS) is not None:
                return
            self._next_try_ms = now_ms + BETWEEN_LOOKS_MS
            if await self.engine.get(self._key) is None:
                raise self._error()
            self._close()

    async def _take_turn(self, turn_ms: float) -> None:
        now_ms = self.clock.monotonic_ms()
        if now_ms - self._returned_ms >= RETURN_MS:
            self._turn_ms = None
            return
        turn_ms = max(turn_ms, now_ms)
        wait_ms = turn_ms - now_ms
        if wait_ms > LONGEST_TURN_MS:
            raise ExchangeUnavailable(
                reason="it answers again, and many requests are queued", retry_after_secs=_whole_secs(wait_ms)
            )
        self._turn_ms = turn_ms + TURN_MS / 2 ** int((turn_ms - self._returned_ms) / 1000)
        await self.clock.sleep_ms(wait_ms)

    def _close(self) -> None:
        self._answered_ms = now_ms = self.clock.monotonic_ms()
        if self.is_open:
            LOG.warning("%s answers again", self.host)
            self._returned_ms, self._turn_ms = now_ms, now_ms + TURN_MS
        self.is_open, self._failures = False, 0

    def _error(self) -> ExchangeUnavailable:
        now_ms = self.clock.monotonic_ms()
        since_secs = _whole_secs(now_ms - self._failing_since_ms)
        return (ProxyUnavailable if self._by_proxy else ExchangeUnavailable)(
            reason=f"{self._reason}; failing for {since_secs} s; one request a second is tried",
            retry_after_secs=_whole_secs(self._next_try_ms - now_ms),
        )

    @property
    def _key(self) -> str:
        return f"answered:{self.host}"


def _whole_secs(duration_ms: float) -> int:
    return max(1, math.ceil(duration_ms / 1000))
