"""Who gives up a place for somebody who has fewer, when all are taken."""

from collections import Counter
from collections.abc import Collection

from mcp_binance_server.domain.holdings import LEAST_LEAD

TakenPlace = tuple[str, str, float]
"""A member, its party, and how long it still has."""


def gives_way(places: Collection[TakenPlace], party: str) -> str | None:
    """Return the member, of a party that holds most, whose time ends first; None if nobody has to go."""
    held = Counter([holder for _, holder, _ in places])
    del held[""]
    most = max(held.values(), default=0)
    if not party or held[party] + LEAST_LEAD > most:
        return None
    return min((left_ms, member) for member, holder, left_ms in places if held[holder] == most)[1]
