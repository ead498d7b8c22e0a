"""Cache of rarely fetched facts with single-flight fetches. A stale value is the fallback after a failure."""

import logging
import zlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import msgspec

from mcp_binance_server.charts.catalogue import Held, Source
from mcp_binance_server.charts.errors import ChartServiceError, ChartUnavailable
from mcp_binance_server.clock import Clock
from mcp_binance_server.domain.access import acting_for
from mcp_binance_server.state.engine import MAX_VALUE_BYTES, Values
from mcp_binance_server.state.expiry import Expiring

LOG = logging.getLogger(__name__)

T = TypeVar("T")

STALE_MS = 30 * 24 * 60 * 60 * 1000
# Milliseconds without a new fetch after a failure. This pause also applies to forced reads.
PAUSE_MS = 60 * 1000


class _Packed(msgspec.Struct, array_like=True):
    at_ms: int
    content: bytes


@dataclass
class FactCache(Generic[T]):
    """Cache of facts of one kind, keyed by name.

    The shared state engine stores them as bytes. This process also keeps the last decoded value.
    """

    engine: Values
    clock: Clock
    fresh_ms: int
    longest_ms: int
    decode: Callable[[bytes], T]
    _decoded: tuple[bytes, T] | None = field(default=None, init=False)
    _failures: Expiring[str, ChartServiceError] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._failures = Expiring()

    async def read(self, name: str, fetch: Callable[[], Awaitable[bytes]], *, force: bool = False) -> Held[T]:
        """Return facts from the fresh cache, from a fetch, or from the stale cache.

        `force` skips only the fresh cache.

        Raises:
            ChartServiceError: the cache is empty, and the last fetch failed.
        """
        kept = None if force else await self.engine.get(name)
        if kept is not None:
            LOG.info("cache hit: %s", name)
            return self._held(kept, "cache")
        LOG.info("cache %s: %s", "passed over" if force else "miss", name)
        try:
            return self._held(await self._fetched(name, fetch), "live")
        except ChartServiceError as failure:
            old = await self.engine.get(f"{name}:stale")
            if old is None:
                raise
            return self._held(old, "stale", f"could not be refreshed: {failure.message}")

    @property
    def last(self) -> T | None:
        """The last value read in this process, or None."""
        return None if self._decoded is None else self._decoded[1]

    async def _fetched(self, name: str, fetch: Callable[[], Awaitable[bytes]]) -> bytes:
        failure = self._failures.get(name, self.clock.monotonic_ms())
        if failure is not None:
            raise failure.with_traceback(None)
        return await self.engine.single_flight(
            f"{name}:refresh", lambda: self._refresh(name, fetch), ttl_ms=0, lock_ms=self.longest_ms
        )

    async def _refresh(self, name: str, fetch: Callable[[], Awaitable[bytes]]) -> bytes:
        try:
            with acting_for(""):  # The fetch serves all parties, so no party is charged.
                packed = self._packed(await fetch())
        except ChartServiceError as failure:
            LOG.warning("%s: %s", name, failure.message)
            now = self.clock.monotonic_ms()
            self._failures.put(name, failure, deadline=now + PAUSE_MS, now=now)
            raise
        await self.engine.put(name, packed, ttl_ms=self.fresh_ms)
        await self.engine.put(f"{name}:stale", packed, ttl_ms=STALE_MS)
        return packed

    def _packed(self, content: bytes) -> bytes:
        packed = msgspec.msgpack.encode(_Packed(self.clock.now_ms(), zlib.compress(content)))
        if len(packed) > MAX_VALUE_BYTES:
            raise ChartUnavailable(reason="the response is too large to store; request less of it")
        return packed

    def _held(self, packed: bytes, source: Source, warning: str | None = None) -> Held[T]:
        kept = msgspec.msgpack.decode(packed, type=_Packed)
        if self._decoded is None or self._decoded[0] != packed:
            self._decoded = (packed, self.decode(zlib.decompress(kept.content)))
        return Held(self._decoded[1], source, kept.at_ms, warning)
