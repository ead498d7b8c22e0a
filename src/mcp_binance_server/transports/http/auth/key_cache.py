"""The keys of an issuer, kept: looked for again when they are old or do not fit, but never often."""

import asyncio
import logging

from mcp_binance_server.clock import Clock
from mcp_binance_server.transports.http.auth.authenticator import Unauthenticated
from mcp_binance_server.transports.http.auth.key_set import KeySet
from mcp_binance_server.transports.http.auth.key_source import KeysNotFetched, KeySource

LOG = logging.getLogger(__name__)

# Whoever sends nonsense decides how often we could ask; the issuer must not notice.
BETWEEN_LOOKS_MS = 60_000
# Until there are keys nobody can come in, and an issuer that starts a little later than we do is no rarity.
BETWEEN_FIRST_LOOKS_MS = 10_000
# An outage of the issuer is no reason to lock everybody out; one of a day is, keys are withdrawn for a reason.
OLDEST_MS = 86_400_000


class KeyCache:
    """Hands out the newest keys; one look at a time, shared by all who wait for it."""

    def __init__(self, source: KeySource, clock: Clock, *, keep_ms: int) -> None:
        self._source = source
        self._clock = clock
        self._keep_ms = keep_ms
        self._held: KeySet | None = None
        self._fetched_ms = 0.0
        self._next_look_ms: float | None = None
        self._look: asyncio.Task[None] | None = None

    async def current(self) -> KeySet:
        """Return the keys: from memory while they are fresh; a little older, while new ones are on their way.

        Raises:
            Unauthenticated: there are none, and the issuer does not answer.
        """
        if self._held is None or self._age_ms >= 2 * self._keep_ms:
            await self._finished_look()
        elif self._age_ms >= self._keep_ms:
            self._started_look()
        if self._held is None or self._age_ms >= OLDEST_MS:
            raise Unauthenticated(
                "The keys of the authorization server cannot be fetched; the token cannot be checked now.",
                error="temporarily_unavailable",
                status=503,
                retry_after_secs=BETWEEN_FIRST_LOOKS_MS // 1000,
            )
        return self._held

    async def newer_than(self, seen: KeySet) -> KeySet | None:
        """Return other keys than these if there are any; the issuer is asked at most once a minute."""
        if self._held is seen:
            await self._finished_look()
        return self._held if self._held is not seen else None

    async def close(self) -> None:
        """End a look under way."""
        if self._look is not None:
            self._look.cancel()
            await asyncio.wait((self._look,))

    @property
    def _age_ms(self) -> float:
        return self._clock.monotonic_ms() - self._fetched_ms

    async def _finished_look(self) -> None:
        look = self._started_look()
        if look is not None:
            # A task of its own: whoever stops waiting does not stop it for the others.
            await asyncio.wait((look,))

    def _started_look(self) -> asyncio.Task[None] | None:
        if self._look is not None and not self._look.done():
            return self._look
        now = self._clock.monotonic_ms()
        if self._next_look_ms is not None and now < self._next_look_ms:
            return None
        self._next_look_ms = now + (BETWEEN_FIRST_LOOKS_MS if self._held is None else BETWEEN_LOOKS_MS)
        self._look = asyncio.get_running_loop().create_task(self._fetch())
        return self._look

    async def _fetch(self) -> None:
        started_ms = self._clock.monotonic_ms()
        try:
            keys = await self._source.fetch()
        except KeysNotFetched as problem:
            LOG.warning("the issuer's keys could not be fetched, %s: %s", self._fallback, problem)
            return
        self._next_look_ms = started_ms + BETWEEN_LOOKS_MS
        self._fetched_ms = started_ms
        if self._held is None or self._held.document != keys.document:
            self._held = keys
            LOG.info("the issuer has %d usable keys", len(keys.keys))

    @property
    def _fallback(self) -> str:
        return "nobody can be let in" if self._held is None else "those at hand are used"
