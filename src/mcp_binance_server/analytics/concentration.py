"""How many assets a portfolio really consists of."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from mcp_binance_server.analytics.envelope import WhyNull
from mcp_binance_server.analytics.thresholds import DEFAULTS

Level = Literal["diversified", "moderate", "concentrated"]


@dataclass(frozen=True, slots=True)
class Concentration:
    """The Herfindahl index of the weights, the number of equal assets it stands for, and a word for it."""

    weights: tuple[float, ...]
    hhi: float | None
    normalised: float | None
    effective: float | None
    level: Level | None
    n: int
    why_null: WhyNull | None = None


def concentration(values: Sequence[Decimal], *, edges: tuple[float, float] = DEFAULTS.hhi_edges) -> Concentration:
    """Measure concentration by value; an asset worth nothing is no asset."""
    total = sum(values, Decimal(0))
    n = sum(1 for value in values if value)
    if not total:
        return Concentration((), None, None, None, None, n, "empty_portfolio")
    weights = tuple(float(value / total) for value in values)
    hhi = sum(weight * weight for weight in weights)
    normalised = (hhi - 1 / n) / (1 - 1 / n) if n > 1 else 1.0
    moderate, concentrated = edges
    level: Level = "diversified" if hhi < moderate else "moderate" if hhi < concentrated else "concentrated"
    return Concentration(weights, hhi, normalised, 1 / hhi, level, n)
