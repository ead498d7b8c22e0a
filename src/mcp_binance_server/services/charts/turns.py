"""Chart work with limited concurrency. Equal requests run once, and parties get turns in round-robin order."""

from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from mcp_binance_server.charts.errors import ChartNotDrawn
from mcp_binance_server.state.fair_turns import FairTurn, FairTurns
from mcp_binance_server.state.flight import Flights

# Limit of waiting for a turn. Fifty pictures in a row take less time.
LONGEST_WAIT_SECS: Final = 30.0
# Limit of waiting, loading and drawing together, in ms, with a margin.
LONGEST_MS: Final = 90_000

ValueT = TypeVar("ValueT")


async def in_turn(
    name: str,
    work: Callable[[FairTurn], Awaitable[ValueT]],
    *,
    flights: Flights[ValueT],
    turns: FairTurns,
    longest_wait_secs: float = LONGEST_WAIT_SECS,
) -> ValueT:
    """Run work when its turn comes. Concurrent requests with an equal `name` share the result.

    Raises:
        ChartNotDrawn: too many charts are waiting, of this party or in total.
    """

    async def do(turn: FairTurn) -> ValueT:
        try:
            await turns.wait(turn, longest_wait_secs)
        except TimeoutError:
            raise ChartNotDrawn(reason="too many charts are waiting for their turn") from None
        try:
            return await work(turn)
        finally:
            turns.end(turn)

    if flights.is_under_way(name):
        # Work in one party's long queue runs sooner if another party wants it too.
        turns.join(name)
        return await flights.join(name, lambda: do(_asked(turns, name)), lock_ms=LONGEST_MS)
    # Queue before joining. Then only the party with a full queue is refused, not every party that wants this chart.
    turn = _asked(turns, name)
    return await flights.join(name, lambda: do(turn), lock_ms=LONGEST_MS)


def _asked(turns: FairTurns, name: str) -> FairTurn:
    if not turns.has_room():
        raise ChartNotDrawn(reason=f"{turns.most_waiting} of your charts are already waiting for their turn")
    return turns.ask(name)
