"""The order book as the exchange shows it at one moment."""

from dataclasses import dataclass
from typing import NamedTuple

from mcp_binance_server.domain.money import Price, Quantity


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
