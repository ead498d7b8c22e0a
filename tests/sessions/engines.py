"""A real engine on a bad line: it takes its time, or does not answer at all."""

from collections import Counter
from random import Random

import anyio
import anyio.lowlevel

from mcp_binance_server.errors import EngineUnavailable
from mcp_binance_server.state.engine import Admission
from mcp_binance_server.state.memory import MemoryEngine
from support.clock import FakeClock


class FarEngine(MemoryEngine):
    """Lets others run before and after it decides, as a network does.

    `is_down` fails every call, `is_mute` loses what it should tell, `is_settling` knows nobody and lets nobody in yet.
    """

    def __init__(self, clock: FakeClock, *, hops: int = 3, seed: int = 7) -> None:
        super().__init__(clock)
        self.is_down = False
        self.is_mute = False
        self.is_settling = False
        self.calls: Counter[str] = Counter()
        self._held: tuple[str, anyio.Event] | None = None
        self._hops = hops
        self._random = Random(seed)

    async def admit(
        self, pool: str, member: str, *, ttl_ms: int, cap: int, party: str = "", channel: str = ""
    ) -> Admission:
        await self._travel("admit")
        if self.is_settling:
            return Admission(admitted=False, count=0, retry_ms=1_000)
        told = "" if self.is_mute else channel
        admission = await super().admit(pool, member, ttl_ms=ttl_ms, cap=cap, party=party, channel=told)
        await self._travel("admitted")
        return admission

    async def touch(self, pool: str, member: str, *, ttl_ms: int) -> bool:
        await self._travel("touch")
        kept = await super().touch(pool, member, ttl_ms=ttl_ms)
        await self._travel("touched")
        return kept

    async def leave(self, pool: str, member: str) -> None:
        await self._travel("leave")
        await super().leave(pool, member)
        await self._travel("left")

    def hold(self, moment: str) -> anyio.Event:
        """Let nobody pass "leave" (nothing decided yet), "admitted" (decided) or the like until the event is set."""
        self._held = (moment, anyio.Event())
        return self._held[1]

    def lose_everything(self) -> None:
        """Forget all places, as an engine without a disk does when it is started anew."""
        self._pools.clear()

    async def _travel(self, moment: str) -> None:
        self.calls[moment] += 1
        if self.is_down:
            raise EngineUnavailable(operation=moment)
        if self._held is not None and self._held[0] == moment:
            await self._held[1].wait()
        for _ in range(self._random.randint(0, self._hops)):
            await anyio.lowlevel.checkpoint()
