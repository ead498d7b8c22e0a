"""Weight budget of one process while the state server is away.

It is a part of a tenth of the limit, which is never spent otherwise. While the server answers, it promises weight for
future minutes, named by their numbers. The promises to all processes for one minute never exceed `spare`, even if
processes come, leave or are cut off. So no process needs to know the number or the clocks of the others.
"""

from dataclasses import dataclass, field
from uuid import uuid4

import msgspec

from mcp_binance_server.clock import Clock
from mcp_binance_server.state.engine import CallKind, Grant, Reserves
from mcp_binance_server.state.redis import keys
from mcp_binance_server.state.redis.keys import LOCAL_BUDGET
from mcp_binance_server.state.redis.link import Link
from mcp_binance_server.state.redis.memory import Memory
from mcp_binance_server.state.weight import (
    MINUTE_MS,
    Ledger,
    Spent,
    ceiling,
    charged_minutes,
    limit_for,
    most_for_one,
    spare,
)

# Number of future minutes with promises, which is the longest outage that is bridged. A dead process's promises stay
# unused.
AHEAD_MINUTES = 10
# Far longer than any promise. So a jump of the server's clock deletes no promise that still counts.
KEEP_PROMISES_MS = 86_400_000


@dataclass(slots=True)
class Promises:
    """Promises of weight to one process for one IP address."""

    limit: int
    offset_ms: float
    """Exchange time minus monotonic time at the last request for weight."""
    told_of: int = 0
    """The last minute that the server has promised weight for."""
    weights: dict[int, int] = field(default_factory=dict[int, int])

    def note(self, limit: int, offset_ms: float) -> None:
        if limit < self.limit:
            self.weights.clear()  # a tenth of the old limit may be more than a tenth of the new one
        self.limit, self.offset_ms = limit, offset_ms

    def of(self, minutes: tuple[int, ...]) -> int:
        """Return the weight that can be spent in these minutes: the smallest promise for any of them."""
        return min(self.weights.get(minute, 0) for minute in minutes)


class LocalBudget:
    """Promised weight of this process. It is requested while the server answers, and spent while the server is away.

    Spending follows the same rules as the minute's weight.
    """

    def __init__(self, link: Link, memory: Memory, clock: Clock, reserves: Reserves, *, edge_ms: int) -> None:
        self._link, self._memory, self._clock = link, memory, clock
        # No order is sent on a promise.
        self._reserves = Reserves(order_percent=0, private_percent=reserves.private_percent)
        self._ledger = Ledger(self._reserves, edge_ms=edge_ms)
        self._edge_ms = edge_ms
        self._process = uuid4().hex
        self._promises: dict[str, Promises] = {}

    def note(self, ip: str, *, limit: int, now_ms: int) -> None:
        """Register an IP address whose calls may have to be sent while the server is away."""
        offset_ms = now_ms - self._clock.monotonic_ms()
        promises = self._promises.get(ip)
        if promises is None:
            self._promises[ip] = Promises(limit, offset_ms)
            self._memory.watch(keys.stop(ip))
        else:
            promises.note(limit, offset_ms)

    async def renew(self) -> None:
        """Request weight for the minutes without a promise. Each minute that passes adds one.

        Raises:
            EngineUnavailable: the weight could not be requested.
        """
        for ip, promises in [*self._promises.items()]:
            minute = int(self._clock.monotonic_ms() + promises.offset_ms) // MINUTE_MS
            if promises.told_of < minute + AHEAD_MINUTES:
                await self._ask(ip, promises, minute)

    async def _ask(self, ip: str, promises: Promises, minute: int) -> None:
        limit = promises.limit
        reply = await self._link.run(
            "local_budget", LOCAL_BUDGET, (keys.promises(ip), keys.MEMORY), self._memory.id, self._process, minute,
            promises.told_of, AHEAD_MINUTES, spare(limit), most_for_one(limit), KEEP_PROMISES_MS,
        )  # fmt: skip
        verdict, *told = msgspec.convert(reply, list[int])
        if verdict != 1 or promises.limit < limit:
            return  # the server has another memory, which the next greeting reports, or the limit is outdated
        first, *weights = told
        promises.told_of = first + len(weights) - 1
        held = {each: weight for each, weight in promises.weights.items() if each >= minute - 1}
        promises.weights = held | dict(enumerate(weights, first))

    def spend(self, ip: str, kind: CallKind, cost: int, *, now_ms: int, party: str) -> Grant | None:
        """Charge one call to the promises of its minutes. Return None if waiting for the next minute would not help."""
        promises = self._promises.get(ip)
        if promises is None or kind == "order":
            return None
        at, minutes = self._clock.monotonic_ms(), charged_minutes(now_ms, self._edge_ms)
        stopped_ms = self._memory.stop_left_ms(keys.stop(ip))
        if stopped_ms > 0:
            return Grant(granted=False, reason="stopped", used=0, retry_ms=stopped_ms)
        limit = limit_for(promises.of(minutes))
        grant = self._ledger.acquire(ip, kind, cost, limit=limit, now_ms=now_ms, at=at, party=party)
        if grant:
            return Grant(granted=True, reason="", used=grant.used, retry_ms=0, is_local=True)
        later = promises.of(charged_minutes(now_ms + grant.retry_ms, self._edge_ms))
        fits_later = cost <= Spent().room(kind, ceiling(limit_for(later)), self._reserves)
        return grant if fits_later else None
