"""Distances of trades from the mid price."""

from array import array
from typing import NamedTuple

from mcp_binance_server.domain.market import Trade

# Columns of 25 bytes a trade: about 50 kB for a symbol that trades all the time.
MOST_PAID = 2_000


class PaidTrade(NamedTuple):
    """A trade and the mid price before it."""

    time_ms: int
    price: float
    mid: float
    is_sale: bool


class PaidTrades:
    """The newest trades with a known mid price, oldest first."""

    __slots__ = ("_mids", "_most", "_prices", "_sales", "_times")

    def __init__(self, most: int = MOST_PAID) -> None:
        self._most = most
        self._times, self._prices, self._mids = array("d"), array("d"), array("d")
        self._sales = array("b")

    def __len__(self) -> int:
        return min(self._most, len(self._times))

    def add(self, trade: Trade, mid: float | None) -> None:
        """Add a trade. Without a mid price before it, the trade is dropped."""
        if mid is None:
            return
        self._times.append(trade.time_ms)
        self._prices.append(float(trade.price))
        self._mids.append(mid)
        self._sales.append(trade.buyer_is_maker)
        # Trim rarely, because it moves the whole array.
        if len(self._times) >= self._most + self._most // 4:
            for column in (self._times, self._prices, self._mids, self._sales):
                del column[: -self._most]

    def between(self, from_ms: int, to_ms: int) -> list[PaidTrade]:
        """Return the trades of a window."""
        rows = zip(*(each[-self._most :] for each in self._columns), strict=True)
        return [PaidTrade(int(at), price, mid, bool(sold)) for at, price, mid, sold in rows if from_ms <= at < to_ms]

    @property
    def _columns(self) -> tuple["array[float]", "array[float]", "array[float]", "array[int]"]:
        return self._times, self._prices, self._mids, self._sales
