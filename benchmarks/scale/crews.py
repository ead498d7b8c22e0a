"""What a call costs with n workers on n cores, from what it costs with 1, 2 and 4 of them on two.

Three things make a call dearer with more workers, and each is measured by itself:

- fewer connections for each worker: fewer requests are found at one turn of its loop;
- more workers than cores: they take turns, and each finds the caches cold;
- a call that arrives where its session is not is passed on.

Assumed, not measured: that the second depends on workers per core alone, so that four on four cores are like two on
two; and that four cores at work do not slow each other through what they share beyond their own caches.
"""

from dataclasses import dataclass

from scale.costs import Costs, passed_on

# Places in the lists of costs, as measure.py writes them: workers x connections.
ONE_16, TWO_16, FOUR_16, ONE_4, TWO_8, TWO_32 = range(6)


@dataclass(frozen=True, slots=True)
class ToldCrew:
    """One number of workers on one number of cores, as foretold."""

    workers: int
    own_ms: float
    any_ms: float
    commands_a_second: float

    @property
    def calls_a_second(self) -> float:
        """Return what fills all their cores, in sessions on their own connections."""
        return 1_000 * self.workers / self.own_ms


def asked_a_second(costs: Costs, workers: int) -> float:
    """Return how often so many workers ask the engine: what is shared is kept at hand, so by time and not by call.

    Each worker more asks for as much more as the second did. Few connections are not spread evenly over workers.
    """
    one, two = (costs.own_page_commands[at] * costs.own_page_rate[at] for at in (ONE_16, TWO_16))
    return one + (workers - 1) * (two - one)


def fewer_connections(costs: Costs) -> float:
    """Return how much dearer a call is for a lone worker with a quarter of the connections."""
    return costs.own_page_ms[ONE_4] / costs.own_page_ms[ONE_16]


def taking_turns(costs: Costs) -> tuple[float, float]:
    """Return how much dearer a call is with one worker a core, and with two, each with the same connections."""
    alone = costs.own_page_ms[ONE_4]
    return costs.own_page_ms[TWO_8] / alone, costs.own_page_ms[FOUR_16] / alone


def four_on_four(costs: Costs) -> ToldCrew:
    """Foretell four workers on four cores, four connections each."""
    own = costs.own_page_ms[ONE_4] * taking_turns(costs)[0]
    return ToldCrew(4, own, own + passed_on(4) * costs.relay_ms, asked_a_second(costs, 4))


def four_on_two(costs: Costs) -> ToldCrew:
    """Foretell four workers on two cores, of which only the cost of turns is taken from the run with four."""
    own = costs.own_page_ms[ONE_4] * taking_turns(costs)[1]
    share = costs.any_page_passed_on[1]
    return ToldCrew(4, own, own + share * costs.relay_ms, asked_a_second(costs, 4))


def crew_lines(costs: Costs) -> list[str]:
    """Return what is foretold, beside what could be measured of it."""
    turns, told, here = taking_turns(costs), four_on_four(costs), four_on_two(costs)
    commands = costs.own_page_commands[FOUR_16] * costs.own_page_rate[FOUR_16]
    return [
        f"a call for a lone worker: {costs.own_page_ms[ONE_16]:.2f} ms with 16 connections, "
        f"{costs.own_page_ms[ONE_4]:.2f} with 4 ({fewer_connections(costs) - 1:+.0%})",
        f"with 4 connections each: one worker a core {turns[0] - 1:+.0%}, two a core {turns[1] - 1:+.0%}",
        f"passed on: {costs.relay_ms:.2f} ms more",
        f"4 workers on 2 cores, any connection: foretold {here.any_ms:.2f} ms, "
        f"measured {costs.any_page_ms[1]:.2f}; engine commands a second: foretold "
        f"{here.commands_a_second:.0f}, measured {commands:.0f}",
        f"4 workers on 4 cores, foretold: {told.own_ms:.2f} ms and {told.calls_a_second:,.0f} calls a second on own "
        f"connections, {told.any_ms:.2f} ms on any",
    ]
