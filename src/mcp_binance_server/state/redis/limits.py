"""Lua scripts that count connections and request weight of all workers."""

from collections.abc import Awaitable
from math import ceil

import msgspec

from mcp_binance_server.clock import Clock
from mcp_binance_server.errors import EngineUnavailable
from mcp_binance_server.state.engine import Admission, CallKind, Grant, Reserves
from mcp_binance_server.state.expiry import Expiring
from mcp_binance_server.state.redis import keys
from mcp_binance_server.state.redis.keys import (
    ACQUIRE,
    ADMIT,
    LEAVE,
    MEMBERS,
    RECALL,
    REPORT,
    RESTATE,
    STOP,
    TAKE_SHARE,
    TOUCH,
    Reply,
    Script,
    Word,
)
from mcp_binance_server.state.redis.link import Link
from mcp_binance_server.state.redis.local_budget import LocalBudget
from mcp_binance_server.state.redis.memory import Memory
from mcp_binance_server.state.weight import KEEP_MS, LEAST_SHARE, MINUTE_MS, SHARED_WITH, ceiling, charged_minutes

STOPPED = -2
NO_ROOM = -1
FORGOTTEN = -4
KEPT_FOR_OTHERS = -5
# Wait after a memory was lost, in ms. After this time, calls that the lost memory granted are no longer in transit.
ARRIVAL_MS = 1_500
BETWEEN_RECOUNTS_MS = 1_000


class SharedPlaces:
    """Pools with a cap that is exact across processes."""

    def __init__(self, link: Link, memory: Memory, clock: Clock) -> None:
        self._link = link
        self._memory = memory
        self._clock = clock
        self._held: Expiring[tuple[str, str], str] = Expiring()  # parties of the members, by pool and member
        self._told = ""

    async def admit(self, pool: str, member: str, *, ttl_ms: int, cap: int, party: str, channel: str) -> Admission:
        told = keys.channel(channel) if channel else ""
        reply = await self._ask("admit", ADMIT, pool, member, ttl_ms, cap, party, told)
        admitted, count, retry_ms, gone = msgspec.convert(reply, tuple[int, int, int, bytes])
        evicted = gone.decode()
        if evicted:  # this process must not report the evicted member again to a server that was emptied
            self._held.drop((pool, evicted), self._clock.monotonic_ms())
        if admitted:
            self._hold(pool, member, ttl_ms, party)
        return Admission(admitted=bool(admitted), count=count, retry_ms=retry_ms, evicted=evicted)

    async def take_share(
        self, pool: str, member: str, *, party: str, ttl_ms: int, cap: int, newcomers: int
    ) -> Admission:
        reply = await self._ask("take_share", TAKE_SHARE, pool, member, ttl_ms, cap, party, newcomers)
        admitted, count, retry_ms, own, share = msgspec.convert(reply, tuple[int, int, int, int, int])
        if admitted:
            self._hold(pool, member, ttl_ms, party)
        return Admission(admitted=bool(admitted), count=count, retry_ms=retry_ms, own=own, share=share)

    async def touch(self, pool: str, member: str, *, ttl_ms: int) -> bool:
        inside = await self._ask("touch", TOUCH, pool, member, ttl_ms) == [1]
        if inside:
            self._hold(pool, member, ttl_ms)
        return inside

    async def leave(self, pool: str, member: str) -> None:
        # Drop the member first. A place that was left must not be restated, even if the call fails.
        self._held.drop((pool, member), self._clock.monotonic_ms())
        await self._link.run("leave", LEAVE, (keys.pool(pool), keys.parties(pool)), member)

    async def count(self, pool: str) -> int:
        return msgspec.convert(await self._link.run("members", MEMBERS, (keys.pool(pool),)), int)

    async def restate(self) -> None:
        """Report this process's members to the server after it lost its memory.

        Raises:
            EngineUnavailable: they could not be reported; the next call tries again.
        """
        memory = self._memory.id
        if memory == self._told:
            return
        for pool, words in self._by_pool().items():
            await self._link.run("restate", RESTATE, _named(pool), memory, *words)
        self._told = memory

    async def _ask(self, operation: str, script: Script, pool: str, *words: Word) -> Reply:
        async def ask() -> Reply:
            await self.restate()
            return await self._link.run(operation, script, _named(pool), self._memory.id, *words)

        return await self._memory.answered(self._link, operation, ask)

    def _hold(self, pool: str, member: str, ttl_ms: int, party: str = "") -> None:
        now = self._clock.monotonic_ms()
        before = self._held.get((pool, member), now)
        self._held.put((pool, member), party if before is None else before, deadline=now + ttl_ms, now=now)

    def _by_pool(self) -> dict[str, list[Word]]:
        pools: dict[str, list[Word]] = {}
        for (pool, member), party, left_ms in self._held.alive(self._clock.monotonic_ms()):
            pools.setdefault(pool, []).extend((member, max(1, int(left_ms)), party))
        return pools


def _named(pool: str) -> tuple[str, str, str]:
    return keys.pool(pool), keys.MEMORY, keys.parties(pool)


class SharedLedger:
    """The rules of `state.weight.Ledger`, decided in one Lua script.

    A server that lost its memory has forgotten the minute's cost and the stops. Processes that ran before the loss
    report the stops that they know, and these stops continue. The minutes that began before the loss count as full
    until a caller has asked the exchange for its count.
    """

    def __init__(self, link: Link, memory: Memory, clock: Clock, reserves: Reserves, *, edge_ms: int) -> None:
        self._link = link
        self._memory = memory
        self._clock = clock
        self._reserves = reserves
        self._edge_ms = edge_ms
        self._stops: dict[str, tuple[str, float]] = {}
        self.local = LocalBudget(link, memory, clock, reserves, edge_ms=edge_ms)
        self._recounts: dict[str, str] = {}

    async def acquire(
        self, ip: str, kind: CallKind, cost: int, *, limit: int, now_ms: int, party: str = "", local_limit: int = 0
    ) -> Grant:
        if cost < 0:
            raise ValueError(f"weight is never given back: cost {cost}")
        if not local_limit:
            return await self._charge(ip, kind, cost, limit, now_ms, party)
        self.local.note(ip, limit=local_limit, now_ms=now_ms)
        try:
            return await self._charge(ip, kind, cost, limit, now_ms, party)
        except EngineUnavailable:
            if (grant := self._spend_promised(ip, kind, cost, now_ms, party)) is None:
                raise
            return grant

    async def _charge(  # noqa: PLR0917
        self, ip: str, kind: CallKind, cost: int, limit: int, now_ms: int, party: str
    ) -> Grant:
        minutes = charged_minutes(now_ms, self._edge_ms)
        own = minutes.index(now_ms // MINUTE_MS)
        top = ceiling(limit)
        words: tuple[Word, ...] = (
            kind, cost, top, top * self._reserves.order_percent // 100, top * self._reserves.private_percent // 100,
            KEEP_MS - 1, minutes[0], own + 1, ARRIVAL_MS, BETWEEN_RECOUNTS_MS, len(minutes), party,
        )  # fmt: skip
        named: tuple[str, ...] = (keys.stop(ip), keys.MEMORY, *(keys.minute(ip, minute) for minute in minutes))
        if party:
            shared = SHARED_WITH[kind]
            words += tuple(word for each in shared for word in (each, LEAST_SHARE[each]))
            asked = (*minutes, minutes[-1] - 1)
            named += tuple(keys.spenders(ip, minute, each) for each in shared for minute in asked)

        told = ""

        def ask() -> Awaitable[Reply]:
            nonlocal told
            told = self._memory.id
            forgotten = (self._blind_minute(now_ms), self._forgotten_stop_ms(ip))
            return self._link.run("acquire_weight", ACQUIRE, named, told, *forgotten, *words)

        verdict, used, *rest = await self._memory.shared(self._link, "acquire_weight", ask)
        if verdict == STOPPED:
            self._stops[ip] = (told, self._clock.monotonic_ms() + rest[0])
            return Grant(granted=False, reason="stopped", used=used, retry_ms=rest[0])
        if verdict == FORGOTTEN:
            self._recounts[ip] = told
            return Grant(granted=False, reason="forgotten", used=used, retry_ms=rest[0])
        if verdict in {NO_ROOM, KEPT_FOR_OTHERS}:
            position, *kept = rest
            retry_ms = (minutes[position - 1] + 1) * MINUTE_MS + self._edge_ms - now_ms
            if verdict == NO_ROOM:
                return Grant(granted=False, reason="budget", used=used, retry_ms=retry_ms)
            share, spent = kept
            return Grant(granted=False, reason="share", used=used, retry_ms=retry_ms, share=share, own=spent)
        return Grant(granted=True, reason="", used=used, retry_ms=0)

    def _spend_promised(self, ip: str, kind: CallKind, cost: int, now_ms: int, party: str) -> Grant | None:
        _, ends_ms = self._stops.get(ip, ("", 0.0))
        if (stopped_ms := ceil(ends_ms - self._clock.monotonic_ms())) > 0:
            return Grant(granted=False, reason="stopped", used=0, retry_ms=stopped_ms)
        return self.local.spend(ip, kind, cost, now_ms=now_ms, party=party)

    async def used(self, ip: str, now_ms: int) -> int:
        reply = await self._link.call("read_weight", "HGET", keys.minute(ip, now_ms // MINUTE_MS), "total")
        return int(reply) if isinstance(reply, bytes) else 0

    async def report(self, ip: str, used: int, *, minute: int) -> None:
        await self._link.run("report_weight", REPORT, (keys.minute(ip, minute),), used, KEEP_MS - 1)

    async def recall(self, ip: str, used: int, *, minute: int) -> None:
        # Report the count only to the memory that asked for it. Another memory must wait for the calls in transit at
        # its start.
        told = self._recounts.pop(ip, self._memory.id)
        await self._link.run("recall_weight", RECALL, (keys.minute(ip, minute), keys.MEMORY), told, used, KEEP_MS - 1)

    async def stop(self, ip: str, *, ms: int, reason: str) -> int:
        told = self._memory.id
        _, known_ms = self._stops.get(ip, (told, 0.0))
        # Store the stop before the call. If the server cannot be reached now, the next call reports the stop.
        self._stops[ip] = ("", max(known_ms, self._clock.monotonic_ms() + ms))
        left_ms = msgspec.convert(await self._link.run("stop_weight", STOP, (keys.stop(ip),), ms, reason), int)
        self._stops[ip] = (told, self._clock.monotonic_ms() + left_ms)
        return left_ms

    def _blind_minute(self, now_ms: int) -> int:
        ago_ms = self._memory.lost_ms_ago
        return 0 if ago_ms is None else charged_minutes(int(now_ms - ago_ms), self._edge_ms)[0]

    def _forgotten_stop_ms(self, ip: str) -> int:
        told, ends_ms = self._stops.get(ip, (self._memory.id, 0.0))
        return 0 if told == self._memory.id else max(0, ceil(ends_ms - self._clock.monotonic_ms()))
