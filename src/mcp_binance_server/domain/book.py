"""The order book as the exchange shows it at one moment, and what changes it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from mcp_binance_server.domain.money import Price, Quantity

# Price and quantity as the exchange wrote them.
WrittenLevel = tuple[str, str]


class PriceLevel(NamedTuple):
    """How much stands at one price."""

    price: Price
    quantity: Quantity


@dataclass(frozen=True, slots=True)
class BookSnapshot:
    """Levels of both sides, best first, as of one update id."""

    last_update_id: int
    bids: tuple[PriceLevel, ...]
    asks: tuple[PriceLevel, ...]


@dataclass(frozen=True, slots=True)
class BookDelta:
    """What the updates `first_update_id` to `last_update_id` set; a quantity of zero removes the level."""

    first_update_id: int
    last_update_id: int
    event_ms: int
    bids: Sequence[WrittenLevel]
    asks: Sequence[WrittenLevel]
