"""Half an hour of harm to a fleet that has well-behaved clients, and what these saw of it.

python -m support.chaos.run MINUTES CLIENTS [SEED]          (from tests/; scripts/chaos does it)
"""

import sys
from collections.abc import Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from random import Random

import anyio

from mcp_binance_server.clock import SystemClock
from support.chaos.clients import ModestClient, modest_clients
from support.chaos.fleet import HarmedFleet, harmed_fleet
from support.chaos.harms import PAIRS, SHORT, SINGLE, Harm
from support.chaos.listeners import PageListener
from support.chaos.tally import Tally
from support.repeating import print_run_command
from support.stolen import stolen

CLOCK = SystemClock()
# Only a defect takes so long.
PATIENCE_MS = 45_000
LOOK_MS = 20
SETTLE_MS = 300
# On a machine that does other things as well, everything takes longer by what it takes in peace.
QUIET_TIMES, PEACE_EVERY = 5, 4
LONG_WORKERS, LONG_PAUSE_MS = 4, 4_000


@dataclass
class Chaos:
    """A fleet, its clients, and the one who harms it."""

    fleet: HarmedFleet
    chance: Random
    clients: list[ModestClient] = field(default_factory=list[ModestClient])
    listeners: list[PageListener] = field(default_factory=list[PageListener])
    _hurry: anyio.Event = field(default_factory=anyio.Event)

    def people(self, clients: int, pause_ms: float) -> None:
        """Invite clients, and a few who listen."""
        self.clients = modest_clients(self.fleet, clients, pause_ms, self.hurry)
        last = len(self.clients)
        self.listeners = [
            PageListener(last + number, self.fleet, number % 2 == 0, pause_ms, self.hurry)
            for number in range(max(2, clients // 25))
        ]

    def hurry(self) -> anyio.Event:
        """Return the event that makes all guests ask at once."""
        return self._hurry

    async def all_answered(self) -> tuple[float, list[ModestClient]]:
        """Have every client ask now; return how long it took until all had good answers, and who had none."""
        began_ms = CLOCK.monotonic_ms()
        self._hurry.set()
        self._hurry = anyio.Event()
        while late := [each for each in self.clients if each.good_ms <= began_ms]:
            if CLOCK.monotonic_ms() - began_ms > PATIENCE_MS:
                return PATIENCE_MS, late
            await CLOCK.sleep_ms(LOOK_MS)
        return CLOCK.monotonic_ms() - began_ms, []

    async def measure_peace(self) -> None:
        """Have every client ask while nothing is wrong: how long that takes tells how busy the machine is."""
        tally = self.fleet.tally
        tally.current = tally.row("calm")
        quiet_ms, _ = await self.all_answered()
        tally.slowest_quiet_ms = max(tally.slowest_quiet_ms, quiet_ms)

    async def suffer(self, harm: Harm, hold_ms: float) -> None:
        """Do something to the fleet, for so long, and wait until every client has a good answer again."""
        tally = self.fleet.tally
        row = tally.current = tally.row(harm.name, harm.bar_ms)
        async with harm.done_to(self.fleet, self.chance, hold_ms):
            await CLOCK.sleep_ms(hold_ms)
        async with stolen() as late:
            took_ms, unanswered = await self.all_answered()
            allowed_ms = harm.bar_ms + QUIET_TIMES * tally.slowest_quiet_ms + late.ms
        row.recoveries_ms.append(took_ms)
        if unanswered or took_ms > allowed_ms:
            who = [(each.number, each.said) for each in unanswered[:5]]
            told = f"{harm.name}: {took_ms:.0f} ms, allowed {allowed_ms:.0f}; without an answer: {who}"
            row.late.append(f"{told}; heard: {row.last_said}")
        await CLOCK.sleep_ms(SETTLE_MS)

    async def hear_again(self) -> None:
        """Wait until every listener has been told something new."""
        self.fleet.tally.current = self.fleet.tally.row("calm")
        began_ms = CLOCK.monotonic_ms()
        while silent := [each for each in self.listeners if each.heard_ms <= began_ms]:
            if CLOCK.monotonic_ms() - began_ms > PATIENCE_MS:
                self.fleet.tally.hung += [f"listener {each.number} hears nothing" for each in silent]
                return
            await CLOCK.sleep_ms(LOOK_MS)


def once() -> Iterator[tuple[Harm, float]]:
    """Give what harms in a way of its own, as short as it still means something."""
    for harm in (*(SINGLE[name] for name in SHORT), PAIRS[0]):
        yield harm, harm.hold_ms[0]


def for_long(minutes: float, chance: Random) -> Iterator[tuple[Harm, float]]:
    """Give all of it again and again in another order, pairs after singles, until the time is over."""
    until_ms = CLOCK.monotonic_ms() + minutes * 60_000
    while True:
        for several in (list(SINGLE.values()), list(PAIRS)):
            for harm in chance.sample(several, len(several)):
                if CLOCK.monotonic_ms() >= until_ms:
                    return
                yield harm, chance.uniform(*harm.hold_ms)


async def run_chaos(clients: int, workers: int, pause_ms: float, minutes: float | None = None, seed: int = 1) -> Tally:
    """Run all of it and return what was seen."""
    chance = Random(seed)
    async with AsyncExitStack() as stack:
        fleet = await stack.enter_async_context(harmed_fleet(workers, clients))
        chaos = Chaos(fleet, chance)
        chaos.people(clients, pause_ms)
        async with anyio.create_task_group() as group:
            group.start_soon(fleet.watch)
            for each in (*chaos.clients, *chaos.listeners):
                group.start_soon(each.live)
            await chaos.all_answered()
            for number, (harm, hold_ms) in enumerate(once() if minutes is None else for_long(minutes, chance)):
                if number % PEACE_EVERY == 0:
                    await chaos.measure_peace()
                await chaos.suffer(harm, hold_ms)
            await fleet.whole()
            await chaos.hear_again()
            group.cancel_scope.cancel()
    return fleet.tally


def main(minutes: float, clients: int, seed: int = 1) -> int:
    """Print the table; 1 if anything was seen that must not be, or a recovery took longer than its bar."""
    tally = anyio.run(run_chaos, clients, LONG_WORKERS, LONG_PAUSE_MS, minutes, seed)
    sys.stdout.write(f"{minutes:g} minutes, {clients} clients, {LONG_WORKERS} workers, seed {seed}\n{tally.table()}\n")
    if is_wrong := bool(tally.defects()) or any(row.worst_ms > row.bar_ms for row in tally.rows.values()):
        print_run_command(seed, "scripts/chaos", f"{minutes:g}", clients, seed)
    return int(is_wrong)


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1]), *map(int, sys.argv[2:])))
