"""Work on charts of which little is done at a time: equal pieces once, each party in its turn."""

from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from mcp_binance_server.charts.errors import ChartNotDrawn
from mcp_binance_server.state.fair_turns import FairTurn, FairTurns
from mcp_binance_server.state.flight import Flights

# Fifty pictures in a row take less; who would wait longer is told so.
LONGEST_WAIT_SECS: Final = 30.0
# Waiting, loading and drawing together, with room to spare.
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
    """Do a piece of work when its turn comes; all who want the same one meanwhile get what it gives.

    Raises:
        ChartNotDrawn: too many wait for a turn, of this party or of all.
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
        # What waits among the many pieces of one party is done sooner where another wants it too.
        turns.join(name)
        return await flights.join(name, lambda: do(_asked(turns, name)), lock_ms=LONGEST_MS)
    # Asked for out here: who has too many waiting is refused alone, not with all who want the same.
    turn = _asked(turns, name)
    return await flights.join(name, lambda: do(turn), lock_ms=LONGEST_MS)


def _asked(turns: FairTurns, name: str) -> FairTurn:
    if not turns.has_room():
        raise ChartNotDrawn(reason=f"{turns.most_waiting} charts of yours are waiting for their turn already")
    return turns.ask(name)
