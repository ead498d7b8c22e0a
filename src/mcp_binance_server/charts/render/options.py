"""Overrides as a caller writes them: each is asked for by name, and those nobody asked for can be named."""

from collections.abc import Mapping

from mcp_binance_server.charts.render.colours import Colour, read_colour
from mcp_binance_server.charts.render.spec import Scalar

# 0 solid, 1 dotted, 2 dashed; the rest of the list are dashes too.
_DASHES = {0: "", 1: "2 3"}


class OverrideReader:
    """Reads values out of overrides, keeps to their types, and remembers what was read."""

    def __init__(self, given: Mapping[str, Scalar]) -> None:
        self._given = given
        self._asked: set[str] = set()
        self._wrong: list[str] = []

    def colour(self, key: str, default: Colour) -> Colour:
        value = self._take(key)
        if value is None:
            return default
        colour = read_colour(value)
        if colour is None:
            self._wrong.append(key)
        return colour or default

    def number(self, key: str, default: float, low: float, high: float) -> float:
        value = self._take(key)
        if value is None:
            return default
        if isinstance(value, str | bool) or not low <= value <= high:
            self._wrong.append(key)
            return default
        return float(value)

    def flag(self, key: str, *, default: bool) -> bool:
        value = self._take(key)
        if value is not None and not isinstance(value, bool):
            self._wrong.append(key)
        return value if isinstance(value, bool) else default

    def word(self, key: str, default: str) -> str:
        value = self._take(key)
        return default if value is None else str(value)

    def dash(self, key: str, default: str = "") -> str:
        value = self._take(key)
        return default if value is None or isinstance(value, str) else _DASHES.get(int(value), "6 4")

    def left_over(self) -> list[str]:
        """Return the keys that changed nothing: unknown to us, or with a value that cannot be."""
        return sorted({*(set(self._given) - self._asked), *self._wrong})

    def _take(self, key: str) -> Scalar | None:
        self._asked.add(key)
        return self._given.get(key)
