"""Random walks that can be read at any day first: one unit of standard deviation a day, and never far from home."""

import math
from itertools import accumulate

from mcp_binance_server.simulator.lru import Lru
from mcp_binance_server.simulator.noise import draws, signed_unit

KNOT_DAYS = 128
UNIFORM = math.sqrt(3)  # a draw of [-1, 1) times this has the standard deviation one


class Walks:
    """Walks by name; the same name is the same walk."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._hours: Lru[tuple[str, int], tuple[float, ...]] = Lru(20_000)
        self._spans: Lru[tuple[str, int], tuple[float, ...]] = Lru(2_000)

    def hours(self, name: str, day: int) -> tuple[float, ...]:
        """Return the heights at the day's 25 full hours, midnight to midnight."""
        return self._hours.get((name, day), lambda: self._draw_hours(name, day))

    def midnight(self, name: str, day: int) -> float:
        """Return the height at the beginning of a day."""
        span, rest = divmod(day, KNOT_DAYS)
        return self._spans.get((name, span), lambda: self._draw_span(name, span))[rest]

    def _draw_hours(self, name: str, day: int) -> tuple[float, ...]:
        noise = draws(24, self._seed, "walk", name, day)
        return _between(self.midnight(name, day), self.midnight(name, day + 1), noise, 1 / math.sqrt(24))

    def _draw_span(self, name: str, span: int) -> tuple[float, ...]:
        noise = draws(KNOT_DAYS, self._seed, "span", name, span)
        return _between(self._knot(name, span), self._knot(name, span + 1), noise, 1)

    def _knot(self, name: str, span: int) -> float:
        # Two knots differ as much as a free walk does in the days between them, yet none strays from home.
        return math.sqrt(KNOT_DAYS / 2) * UNIFORM * signed_unit(draws(1, self._seed, "knot", name, span)[0])


def _between(first: float, last: float, noise: tuple[int, ...], step: float) -> tuple[float, ...]:
    # The walk is pulled straight at both ends: either side of an end has the same height there.
    free = list(accumulate((step * UNIFORM * signed_unit(draw) for draw in noise), initial=first))
    pull = (last - free[-1]) / len(noise)
    return tuple(height + pull * place for place, height in enumerate(free))
