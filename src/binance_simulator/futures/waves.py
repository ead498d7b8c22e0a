"""Slow random waves around a mean, reproducible for any time."""

from binance_simulator.market.noise import FULL, Lru, draws

DAY_HOURS, WEEK_HOURS = 24, 168


class Wave:
    """A named wave within ±1: the sum of a weekly, a daily and an hourly part.

    The weekly and the daily part are linear between random knots. A `wild` wave has only the hourly part, in which the
    hours are independent.
    """

    def __init__(self, seed: int, name: str, shares: tuple[float, float, float], *, wild: bool = False) -> None:
        self._key = (seed, "wave", name)
        week, day, hour = shares
        self._week, self._day, self._hour = (0.0, 0.0, 1.0) if wild else (week, day, hour)
        self._knots: Lru[tuple[str, int], float] = Lru(4_000)
        self._days: Lru[int, tuple[float, ...]] = Lru(1_000)

    def at(self, hour: int) -> float:
        """Return the height at a full hour."""
        return self._days.get(hour // DAY_HOURS, lambda: self._drawn(hour // DAY_HOURS))[hour % DAY_HOURS]

    def _drawn(self, day: int) -> tuple[float, ...]:
        hourly = draws(DAY_HOURS, *self._key, "hour", day)
        week, into = day // 7, day % 7 * DAY_HOURS
        this, following = self._knot("week", week), self._knot("week", week + 1)
        today, tomorrow = self._knot("day", day), self._knot("day", day + 1)
        return tuple(
            self._week * (this + (following - this) * (into + hour) / WEEK_HOURS)
            + self._day * (today + (tomorrow - today) * hour / DAY_HOURS)
            + self._hour * _unit(draw)
            for hour, draw in enumerate(hourly)
        )

    def _knot(self, kind: str, at: int) -> float:
        return self._knots.get((kind, at), lambda: _unit(draws(1, *self._key, kind, at)[0]))


def _unit(draw: int) -> float:
    return 2.0 * draw / FULL - 1.0
