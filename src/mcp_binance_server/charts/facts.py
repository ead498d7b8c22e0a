"""What is known of charts, as it is handed around: facts with their source and age, examples, symbols."""

from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

import msgspec

from mcp_binance_server.charts.catalogue import ChartCatalogue

T_co = TypeVar("T_co", covariant=True)
Source = Literal["live", "cache", "stale", "bundled", "binance"]


@dataclass(frozen=True, slots=True)
class Held(Generic[T_co]):
    """Facts, where they came from, and when they were true; `warning` says why they may not be true any more."""

    value: T_co
    source: Source
    at_ms: int
    warning: str | None = None


class Example(msgspec.Struct, frozen=True):
    """A chart and what it shows."""

    description: str
    config: dict[str, object]


class Documentation(msgspec.Struct, frozen=True):
    """The catalogue and a few examples."""

    catalogue: ChartCatalogue
    examples: tuple[Example, ...]


@dataclass(frozen=True, slots=True)
class ListedSymbol:
    """One symbol of an exchange; `type` is crypto, forex, stock, fund, futures or index."""

    symbol: str
    description: str
    type: str


@dataclass(frozen=True, slots=True)
class SymbolList:
    """All symbols of an exchange that fit a search, the closest first."""

    exchange: str
    symbols: tuple[ListedSymbol, ...]
