"""Per-minute limits on requests and on the weight of scans, in addition to a host's weight budget."""

import math
from collections.abc import Callable
from dataclasses import dataclass

from mcp_binance_server.clock import Clock
from mcp_binance_server.errors import RateLimited
from mcp_binance_server.exchange.server_time import ServerTime
from mcp_binance_server.state.engine import CallKind, Grant, WeightBudget
from mcp_binance_server.state.weight import EDGE_MS, MINUTE_MS, limit_for

# The engine reserves weight for private calls. A host without private calls would waste it, so all calls count as
# private.
WHOLE_KIND: CallKind = "private"
SECOND_MS = 1_000


@dataclass
class Allowance:
    """Rate limit per minute of exchange time, shared by all processes; it is never exceeded."""

    engine: WeightBudget
    time: ServerTime
    clock: Clock
    ledger_id: str
    per_minute: int | Callable[[], int]
    """Weight that can be spent in a minute, or a function that returns the present weight."""
    patience_ms: int = 2_000

    @property
    def limit(self) -> int:
        return self.per_minute() if callable(self.per_minute) else self.per_minute

    async def spend(self, weight: int = 1, *, party: str = "") -> None:
        """Book a weight before its request is sent; wait up to `patience_ms` for the next minute.

        Raises:
            RateLimited: the minute's limit, or the party's share of it, is used up; the error has the time to wait.
        """
        grant = await self._ask(weight, party)
        if not grant and grant.retry_ms <= self.patience_ms:
            await self.clock.sleep_ms(grant.retry_ms)
            grant = await self._ask(weight, party)
        if not grant:
            raise RateLimited(
                retry_after_secs=max(1, math.ceil(grant.retry_ms / SECOND_MS)),
                current_weight=None,
                weight_limit=self.limit,
                own_weight=grant.own if grant.reason == "share" else None,
                weight_share=grant.share if grant.reason == "share" else None,
            )

    async def used(self) -> int:
        """Return the weight used so far in this minute."""
        return await self.engine.read_weight(self.ledger_id, now_ms=self.time.likely_ms())

    async def _ask(self, weight: int, party: str) -> Grant:
        now_ms = self.time.likely_ms()
        grant = await self.engine.acquire_weight(
            self.ledger_id,
            WHOLE_KIND,
            weight,
            limit=limit_for(self.limit),
            now_ms=now_ms,
            party=party,
        )
        if grant.reason == "forgotten":
            # The exchange does not report this count, so a lost count cannot be restored: wait for the next minute.
            left_ms = MINUTE_MS - now_ms % MINUTE_MS + EDGE_MS
            return Grant(granted=False, reason="budget", used=grant.used, retry_ms=left_ms)
        return grant
