"""The request weight of an address, counted on the state server for all who call from it."""

from collections.abc import Awaitable
from math import ceil

import msgspec

from mcp_binance_server.clock import Clock
from mcp_binance_server.state.engine import CallKind, Grant, Reserves
from mcp_binance_server.state.redis import keys
from mcp_binance_server.state.redis.keys import ACQUIRE, RECALL, REPORT, STOP, Reply, Word
from mcp_binance_server.state.redis.link import Link
from mcp_binance_server.state.redis.memory import Memory
from mcp_binance_server.state.weight import KEEP_MS, LEAST_SHARE, MINUTE_MS, SHARED_WITH, ceiling, charged_minutes

STOPPED = -2
NO_ROOM = -1
FORGOTTEN = -4
KEPT_FOR_OTHERS = -5
# What had been granted when a memory was lost has reached the exchange after this, or never will.
ARRIVAL_MS = 1_500
BETWEEN_RECOUNTS_MS = 1_000


class SharedLedger:
    """The rules of `state.weight.Ledger`, decided in one script.

    A server that lost its memory has forgotten what the minute cost and who was told to stop. A process that lived
    through it tells: a stop it knows of holds on, and the minutes begun before count as full until one caller has asked
    the exchange for its count.
    """

    def __init__(self, link: Link, memory: Memory, clock: Clock, reserves: Reserves, *, edge_ms: int) -> None:
        self._link = link
        self._memory = memory
        self._clock = clock
        self._reserves = reserves
        self._edge_ms = edge_ms
        self._stops: dict[str, tuple[str, float]] = {}
        self._recounts: dict[str, str] = {}

    async def acquire(self, ip: str, kind: CallKind, cost: int, *, limit: int, now_ms: int, party: str = "") -> Grant:
        if cost < 0:
            raise ValueError(f"weight is never given back: cost {cost}")
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

    async def used(self, ip: str, now_ms: int) -> int:
        reply = await self._link.call("read_weight", "HGET", keys.minute(ip, now_ms // MINUTE_MS), "total")
        return int(reply) if isinstance(reply, bytes) else 0

    async def report(self, ip: str, used: int, *, minute: int) -> None:
        await self._link.run("report_weight", REPORT, (keys.minute(ip, minute),), used, KEEP_MS - 1)

    async def recall(self, ip: str, used: int, *, minute: int) -> None:
        # Told to the memory that asked for it: another one has to wait for what was on its way when it began.
        told = self._recounts.pop(ip, self._memory.id)
        await self._link.run("recall_weight", RECALL, (keys.minute(ip, minute), keys.MEMORY), told, used, KEEP_MS - 1)

    async def stop(self, ip: str, *, ms: int, reason: str) -> int:
        told = self._memory.id
        _, known_ms = self._stops.get(ip, (told, 0.0))
        # Remembered before it is told: if the server cannot be reached now, the next call tells it.
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
