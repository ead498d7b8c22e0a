"""How much a configuration asks for: the size of the picture and what is drawn on it."""

from collections.abc import Mapping
from dataclasses import dataclass

from mcp_binance_server.charts.config import LARGEST_NUMBER, is_list


@dataclass(frozen=True, slots=True)
class Usage:
    """A size in pixels, and the numbers of studies and drawings, sound or not."""

    width: int
    height: int
    studies: int
    drawings: int

    @property
    def count(self) -> int:
        """What a plan counts: studies and drawings together."""
        return self.studies + self.drawings

    @property
    def resolution(self) -> str:
        return f"{self.width}x{self.height}"


def usage_of(config: Mapping[str, object], usual: tuple[int, int]) -> Usage:
    """Count what a configuration asks for; a side that is missing, or no number, has its usual length."""
    width, height = (
        _side(config.get(key), otherwise) for key, otherwise in zip(("width", "height"), usual, strict=True)
    )
    studies, drawings = (_length(config.get(key)) for key in ("studies", "drawings"))
    return Usage(width, height, studies, drawings)


def _side(value: object, otherwise: int) -> int:
    if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= LARGEST_NUMBER:
        return int(value) if value == int(value) else otherwise
    return otherwise


def _length(value: object) -> int:
    return len(value) if is_list(value) else 0
