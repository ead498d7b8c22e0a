"""What a fleet looks like, and what that asks of its parts on average: rates times costs, before any waiting."""

from collections import Counter
from dataclasses import dataclass, replace
from math import inf

from scale.costs import Costs

PAGES_A_SECOND = 4


@dataclass(frozen=True, slots=True)
class Books:
    """The live books of one process."""

    led: float
    followed: float

    def engine_a_second(self, costs: Costs) -> tuple[float, float]:
        """Return commands, and seconds of the engine, that these ask for."""
        own = costs.process_commands + self.led * costs.led_symbol_commands
        commands = own + self.followed * costs.followed_symbol_commands
        return commands, (own * costs.engine_command_us + self.followed * costs.engine_follower_us) / 1e6

    def core(self, costs: Costs) -> float:
        led, followed = self.led * costs.led_for_others_symbol_ms, self.followed * costs.followed_symbol_ms
        return (costs.process_ms + led + followed) / 1000


@dataclass(frozen=True, slots=True)
class Demand:
    """Parts of a core; above one, that part of the fleet cannot keep up."""

    calls_a_second: float
    process: float
    books: float
    engine: float
    commands_a_second: float


@dataclass(frozen=True, slots=True)
class Shape:
    """One fleet, or one of several equal parts of it that have nothing but the engine in common."""

    sessions: int
    processes: int
    pause_secs: float
    symbols: int
    readers: float | None = None
    """Processes that read one symbol; all of them, if nothing is said."""
    passed_on: float = 0
    """The share of calls that arrive at another process than the one that has their session."""
    is_led_by_one: bool = False
    """All symbols were first read in one process, which then leads them all; else leading is spread evenly."""
    place_secs: float = 30
    cores: float = inf
    """Of one machine for all; without a number everything has a core of its own."""
    hogs: float = 0
    """Other programs of that machine that would use a core all the time."""
    is_beside: bool = False
    """Clients and the simulated exchange run on the same machine."""
    parts: int = 1
    """How many like this one share the engine; `sessions` and `processes` are those of one part."""

    @property
    def books(self) -> list[Books]:
        if self.is_led_by_one:
            return [Books(self.symbols, 0)] + [Books(0, self.symbols)] * (self.processes - 1)
        everywhere = self.processes * self.parts
        led = self.symbols / everywhere
        return [Books(led, led * ((self.readers or everywhere) - 1))] * self.processes

    def demand(self, costs: Costs) -> Demand:
        """Return what this part asks for: the mean of its processes, and its part of the engine."""
        calls = self.sessions / self.pause_secs
        relay = self.passed_on * costs.relay_ms if self.processes * self.parts > 1 else 0
        kinds = Counter(self.books)
        books = sum(many * each.core(costs) for each, many in kinds.items()) / self.processes
        asked = [(many, *each.engine_a_second(costs)) for each, many in kinds.items()]
        small = calls * costs.call_commands + self.sessions / self.place_secs
        return Demand(
            calls_a_second=calls,
            process=books + calls / self.processes * (costs.call_ms + relay) / 1000,
            books=books,
            engine=sum(many * secs for many, _, secs in asked) + small * costs.engine_command_us / 1e6,
            commands_a_second=sum(many * commands for many, commands, _ in asked) + small,
        )

    def part(self, parts: int) -> "Shape":
        """Return one of so many equal parts."""
        return replace(self, sessions=self.sessions // parts, processes=self.processes // parts, parts=parts)
