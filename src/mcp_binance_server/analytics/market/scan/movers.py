"""Sorting of pairs: by a column, gainers, losers, and most traded."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import isfinite

Values = Sequence[float | None]


@dataclass(frozen=True, slots=True)
class Movers:
    """Positions on the board, largest move or volume first. A gainer rose, and a loser fell."""

    gainers: tuple[int, ...]
    losers: tuple[int, ...]
    most_traded: tuple[int, ...]


def movers(
    symbols: Sequence[str], changes: Values, volumes: Values, places: Iterable[int] | None = None, count: int = 10
) -> Movers:
    """Return the movers among the given positions. Ties are sorted by name. Pairs without a value are left out."""
    among = range(len(symbols)) if places is None else list(places)
    risen = [place for place in among if (change := changes[place]) is not None and change > 0]
    fallen = [place for place in among if (change := changes[place]) is not None and change < 0]
    traded = [place for place in among if volumes[place] is not None]
    return Movers(
        tuple(in_order(risen, symbols, changes)[:count]),
        tuple(in_order(fallen, symbols, changes, largest_first=False)[:count]),
        tuple(in_order(traded, symbols, volumes)[:count]),
    )


def in_order(places: Iterable[int], symbols: Sequence[str], values: Values, *, largest_first: bool = True) -> list[int]:
    """Sort positions by value, ties by symbol. Pairs without a value come last in both directions."""
    sign = -1 if largest_first else 1

    def key(place: int) -> tuple[bool, float, str]:
        value = values[place]
        if value is None or not isfinite(value):
            return True, 0.0, symbols[place]
        return False, sign * value, symbols[place]

    return sorted(places, key=key)
