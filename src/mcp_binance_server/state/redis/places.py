"""Places in pools, counted on the state server; what this process holds is told again to a server that forgot."""

import msgspec

from mcp_binance_server.clock import Clock
from mcp_binance_server.state.engine import Admission
from mcp_binance_server.state.expiry import Expiring
from mcp_binance_server.state.redis import keys
from mcp_binance_server.state.redis.link import Link
from mcp_binance_server.state.redis.memory import Memory
from mcp_binance_server.state.redis.scripts import ADMIT, MEMBERS, RESTATE, TOUCH, Script
from mcp_binance_server.state.redis.wire import Reply, Word


class SharedPlaces:
    """Pools with a cap that is exact across processes."""

    def __init__(self, link: Link, memory: Memory, clock: Clock) -> None:
        self._link = link
        self._memory = memory
        self._clock = clock
        self._held: Expiring[tuple[str, str], str] = Expiring()
        self._told = ""

    async def admit(self, pool: str, member: str, *, ttl_ms: int, cap: int) -> Admission:
        admitted, count, retry_ms = await self._ask("admit", ADMIT, pool, member, ttl_ms, cap)
        if admitted:
            self._hold(pool, member, ttl_ms)
        return Admission(admitted=bool(admitted), count=count, retry_ms=retry_ms)

    async def touch(self, pool: str, member: str, *, ttl_ms: int) -> bool:
        inside = (await self._ask("touch", TOUCH, pool, member, ttl_ms))[0] == 1
        if inside:
            self._hold(pool, member, ttl_ms)
        return inside

    async def leave(self, pool: str, member: str) -> None:
        # Forgotten first: a place that was left must not be told again, whatever becomes of the call.
        self._held.drop((pool, member), self._clock.monotonic_ms())
        await self._link.call("leave", "ZREM", keys.pool(pool), member)

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
        for pool, members in self._by_pool().items():
            words = [word for pair in members.items() for word in pair]
            await self._link.run("restate", RESTATE, (keys.pool(pool), keys.MEMORY), memory, *words)
        self._told = memory

    async def _ask(self, operation: str, script: Script, pool: str, *words: Word) -> list[int]:
        named = (keys.pool(pool), keys.MEMORY)

        async def ask() -> Reply:
            await self.restate()
            return await self._link.run(operation, script, named, self._memory.id, *words)

        return await self._memory.shared(self._link, operation, ask)

    def _hold(self, pool: str, member: str, ttl_ms: int) -> None:
        now = self._clock.monotonic_ms()
        self._held.put((pool, member), member, deadline=now + ttl_ms, now=now)

    def _by_pool(self) -> dict[str, dict[str, int]]:
        now = self._clock.monotonic_ms()
        pools: dict[str, dict[str, int]] = {}
        for (pool, member), left_ms in self._held.alive(now):
            pools.setdefault(pool, {})[member] = max(1, int(left_ms))
        return pools
