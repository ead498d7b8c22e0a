"""Places in pools, counted on the state server; what this process holds is told again to a server that forgot."""

import msgspec

from mcp_binance_server.clock import Clock
from mcp_binance_server.state.engine import Admission
from mcp_binance_server.state.expiry import Expiring
from mcp_binance_server.state.redis import keys
from mcp_binance_server.state.redis.keys import ADMIT, LEAVE, MEMBERS, RESTATE, TAKE_SHARE, TOUCH, Reply, Script, Word
from mcp_binance_server.state.redis.link import Link
from mcp_binance_server.state.redis.memory import Memory


class SharedPlaces:
    """Pools with a cap that is exact across processes."""

    def __init__(self, link: Link, memory: Memory, clock: Clock) -> None:
        self._link = link
        self._memory = memory
        self._clock = clock
        self._held: Expiring[tuple[str, str], str] = Expiring()  # members of pools, and their parties
        self._told = ""

    async def admit(self, pool: str, member: str, *, ttl_ms: int, cap: int, party: str, channel: str) -> Admission:
        told = keys.channel(channel) if channel else ""
        reply = await self._ask("admit", ADMIT, pool, member, ttl_ms, cap, party, told)
        admitted, count, retry_ms, gone = msgspec.convert(reply, tuple[int, int, int, bytes])
        gave_way = gone.decode()
        if gave_way:  # if it was ours, it must not be told again to a server that forgot
            self._held.drop((pool, gave_way), self._clock.monotonic_ms())
        if admitted:
            self._hold(pool, member, ttl_ms, party)
        return Admission(admitted=bool(admitted), count=count, retry_ms=retry_ms, gave_way=gave_way)

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
        # Forgotten first: a place that was left must not be told again, whatever becomes of the call.
        self._held.drop((pool, member), self._clock.monotonic_ms())
        await self._link.run("leave", LEAVE, (keys.pool(pool), keys.parties(pool)), member)

    async def count(self, pool: str) -> int:
        return msgspec.convert(await self._link.run("members", MEMBERS, (keys.pool(pool),)), int)

    async def restate(self) -> None:
        """Tell a new memory who of ours was inside.

        Raises:
            EngineUnavailable: it could not be told; the next call tries again.
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
