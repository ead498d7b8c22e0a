"""Usage reports between the processes of a fleet, so that a party's share applies to all processes together."""

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Annotated, Final
from uuid import uuid4

import anyio
import msgspec

from mcp_binance_server.clock import Clock
from mcp_binance_server.errors import EngineUnavailable
from mcp_binance_server.state.engine import Leases

CHANNEL: Final = "use"
TELLS_MS: Final = 250.0
# Heartbeat timeout in ms. A silent process is dead or cut off.
FORGETS_MS: Final = 1_000.0
# Most parties reported per resource. Those with the highest usage are reported.
MOST_TOLD: Final = 16
# Most recent parties reported per resource. With two names, each party can see whether there is another party.
MOST_NAMED: Final = 2

_Amount = Annotated[float, msgspec.Meta(ge=0)]


class PartyUse(msgspec.Struct, array_like=True, frozen=True):
    """Usage of one shared resource: some parties that asked recently, and each party's amount."""

    asked: Annotated[list[str], msgspec.Meta(max_length=MOST_NAMED)]
    used: Annotated[Mapping[str, _Amount], msgspec.Meta(max_length=MOST_TOLD)]

    def __bool__(self) -> bool:
        return bool(self.asked or self.used)


class UsageReport(msgspec.Struct, array_like=True, frozen=True):
    """Report of one process: the usage of each shared resource, by name."""

    process: str
    shared: dict[str, PartyUse]


class RemoteUsage:
    """Usage of one resource as reported by other processes. It is empty in a process that is alone."""

    def __init__(self, look_again: Callable[[], None] = lambda: None) -> None:
        self.look_again = look_again
        self.told: dict[str, PartyUse] = {}

    def has_others(self, party: str) -> bool:
        """Return True if another party has recently asked in another process."""
        return any(each != party for use in self.told.values() for each in use.asked)

    def used(self, party: str) -> float:
        return sum([use.used.get(party, 0.0) for use in self.told.values()])

    def processes(self, party: str) -> int:
        """Return the number of other processes in which a party uses the resource."""
        return sum([party in use.used for use in self.told.values()])


class FleetUse:
    """Usage reports of this process to the others on one engine, a few times a second while there is usage.

    A party is identified by the same hash as in the engine. The name "" is this process itself and is not used in other
    processes. While the engine is away, each process divides only its own resources.
    """

    def __init__(self, engine: Leases, clock: Clock) -> None:
        self._engine, self._clock = engine, clock
        self._name = uuid4().hex
        self._shared: dict[str, tuple[RemoteUsage, Callable[[], PartyUse]]] = {}
        self._heard_ms: dict[str, float] = {}
        self._was_used = False
        self._decoder = msgspec.msgpack.Decoder(UsageReport)

    def share(self, name: str, elsewhere: RemoteUsage, used_here: Callable[[], PartyUse]) -> None:
        """Report the usage of one resource from now on. Write the other processes' reports into `elsewhere`."""
        self._shared[name] = (elsewhere, used_here)

    @asynccontextmanager
    async def running(self) -> AsyncGenerator["FleetUse"]:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._hear)
            tasks.start_soon(self._tell)
            try:
                yield self
            finally:
                tasks.cancel_scope.cancel()

    async def _tell(self) -> None:
        while True:
            await self._clock.sleep_until_ms(self._clock.monotonic_ms() + TELLS_MS)
            self._drop_stale_reports()
            for elsewhere, _ in self._shared.values():
                elsewhere.look_again()
            used = {name: use for name, (_, used_here) in self._shared.items() if (use := used_here())}
            # Report the end of all usage once.
            if used or self._was_used:
                self._was_used = bool(used)
                with suppress(EngineUnavailable):
                    await self._engine.publish(CHANNEL, msgspec.msgpack.encode(UsageReport(self._name, used)))

    async def _hear(self) -> None:
        while True:
            with suppress(EngineUnavailable):
                async with self._engine.subscribe(CHANNEL) as tellings:
                    async for data in tellings:
                        self._take(data)
            await self._clock.sleep_until_ms(self._clock.monotonic_ms() + TELLS_MS)

    def _take(self, data: bytes) -> None:
        try:
            told = self._decoder.decode(data)
        except (ValueError, RecursionError):
            return  # a process of another version counts as silent
        if told.process != self._name:
            self._heard_ms[told.process] = self._clock.monotonic_ms()
            for name, (elsewhere, _) in self._shared.items():
                if use := told.shared.get(name):
                    elsewhere.told[told.process] = use
                else:
                    elsewhere.told.pop(told.process, None)

    def _drop_stale_reports(self) -> None:
        now = self._clock.monotonic_ms()
        for process in [each for each, at in self._heard_ms.items() if now - at >= FORGETS_MS]:
            del self._heard_ms[process]
            for elsewhere, _ in self._shared.values():
                elsewhere.told.pop(process, None)
