"""A fleet of processes, one engine, the sessions that call it: simulated, call by call."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from math import inf
from random import Random

from scale.costs import Costs
from scale.shape import PAGES_A_SECOND, Books, Shape
from scale.stations import Cores, Thread, nothing
from scale.timeline import Timeline

# Symbols of one process speak on so many beats at most, each for its part of them: fewer and longer pieces of work.
MOST_BEATS = 40
DEPTHS_A_SECOND = 10
# What asks the engine on a beat, and what other parts of the fleet ask of it, comes in bundles.
BEAT_SECS, REST_A_SECOND = 0.05, 1_000


@dataclass(frozen=True, slots=True)
class Outcome:
    """What was seen between the settling and the end; uses are parts of a core."""

    calls_a_second: float
    processes: tuple[float, ...]
    engine: float
    exchange: float
    clients: float
    commands_a_second: float
    p50_ms: float
    p99_ms: float

    @property
    def process(self) -> float:
        return sum(self.processes) / len(self.processes)


@dataclass
class _Fleet:
    shape: Shape
    costs: Costs
    chance: Random
    timeline: Timeline = field(default_factory=Timeline)
    took_secs: list[float] = field(default_factory=list[float])
    commands: float = 0

    def __post_init__(self) -> None:
        shape, line = self.shape, self.timeline
        shared = Cores(line, shape.cores, shape.hogs) if shape.cores < inf else None
        self.processes = [Thread(shared or Cores(line, 1)) for _ in range(shape.processes)]
        self.engine, self.exchange, self.clients = (Thread(shared or Cores(line, 1)) for _ in range(3))

    def begin(self) -> None:
        for process, books in zip(self.processes, self.shape.books, strict=True):
            self._keep_books(process, books)
        costs, shape = self.costs, self.shape
        if shape.is_beside:
            secs = costs.exchange_symbol_ms / 1000 / DEPTHS_A_SECOND * shape.symbols
            self._each(1 / DEPTHS_A_SECOND, partial(self.exchange.ask, secs, nothing))
        rest = shape.demand(costs).engine * (shape.parts - 1)
        if rest:
            self._now_and_then(REST_A_SECOND, partial(self.engine.ask, rest / REST_A_SECOND, nothing))
        self._now_and_then(shape.sessions / shape.place_secs, self._keep_place)
        for _ in range(shape.sessions):
            home = self.processes[self.chance.randrange(len(self.processes))]
            self.timeline.after(self.chance.uniform(0, shape.pause_secs), partial(self._call, home))

    def _each(self, secs: float, action: Callable[[], None]) -> None:
        self.timeline.every(secs, self.chance.uniform(0, secs), action)

    def _now_and_then(self, a_second: float, action: Callable[[], None]) -> None:
        """Do something at random moments, so often on average."""

        def happen() -> None:
            self.timeline.after(self.chance.expovariate(a_second), happen)
            action()

        self.timeline.after(self.chance.expovariate(a_second), happen)

    def _keep_books(self, process: Thread, books: Books) -> None:
        costs = self.costs
        own_ms = costs.process_ms / DEPTHS_A_SECOND
        self._each(1 / DEPTHS_A_SECOND, partial(process.ask, own_ms / 1000, nothing))
        for symbols, ms, a_second in (
            (books.led, costs.led_for_others_symbol_ms, DEPTHS_A_SECOND),
            (books.followed, costs.followed_symbol_ms, PAGES_A_SECOND),
        ):
            beats = min(MOST_BEATS, round(symbols)) or (1 if symbols else 0)
            for _ in range(beats):
                self._each(1 / a_second, partial(process.ask, ms / 1000 * symbols / beats / a_second, nothing))
        commands, secs = books.engine_a_second(costs)
        self._each(BEAT_SECS, partial(self._ask_engine, commands * BEAT_SECS, secs * BEAT_SECS, nothing))

    def _ask_engine(self, commands: float, secs: float, done: Callable[[], None]) -> None:
        self.commands += commands
        self.engine.ask(secs, done)

    def _keep_place(self) -> None:
        self._ask_engine(1, self.costs.engine_command_us / 1e6, nothing)

    def _call(self, home: Thread) -> None:
        """One call of one session; afterwards it pauses and calls again."""
        costs, chance, began = self.costs, self.chance, self.timeline.now
        work = costs.kind_ms(chance.randrange(len(costs.call_kinds_ms))) / 2000
        relay = costs.relay_ms / 2000
        arrival = home
        if len(self.processes) > 1 and chance.random() < self.shape.passed_on:
            arrival = chance.choice([each for each in self.processes if each is not home])
        asks = int(costs.call_commands) + (chance.random() < costs.call_commands % 1)
        client = costs.client_ms / 2000 if self.shape.is_beside else 0.0

        def ended() -> None:
            self.took_secs.append(self.timeline.now - began)
            pause = self.shape.pause_secs * chance.uniform(0.5, 1.5)
            self.timeline.after(pause, partial(self._call, home))

        def answer() -> None:
            back = partial(self.clients.ask, client, ended) if client else ended
            home.ask(work, partial(arrival.ask, relay, back) if arrival is not home else back)

        def ask_engine() -> None:
            secs = asks * costs.engine_command_us / 1e6
            if asks:
                self._ask_engine(asks, secs, answer)
            else:
                answer()

        def arrive() -> None:
            if arrival is home:
                home.ask(work, ask_engine)
            else:
                arrival.ask(relay, partial(home.ask, work, ask_engine))

        if client:
            self.clients.ask(client, arrive)
        else:
            arrive()


def simulate(shape: Shape, costs: Costs, *, seed: int = 1, seconds: float = 60, settle_secs: float = 0) -> Outcome:
    """Run a fleet for so long, once every session has called."""
    fleet = _Fleet(shape, costs, Random(seed))
    fleet.begin()
    fleet.timeline.run(settle_secs or shape.pause_secs)
    threads = [*fleet.processes, fleet.engine, fleet.exchange, fleet.clients]
    used = [each.used_secs for each in threads]
    fleet.took_secs.clear()
    commands, began = fleet.commands, fleet.timeline.now
    fleet.timeline.run(began + seconds)
    uses = [(now.used_secs - then) / seconds for now, then in zip(threads, used, strict=True)]
    took = sorted(fleet.took_secs) or [0.0]
    return Outcome(
        calls_a_second=len(fleet.took_secs) / seconds,
        processes=tuple(uses[:-3]),
        engine=uses[-3],
        exchange=uses[-2],
        clients=uses[-1],
        commands_a_second=(fleet.commands - commands) / seconds,
        p50_ms=1000 * took[len(took) // 2],
        p99_ms=1000 * took[int(len(took) * 0.99)],
    )
