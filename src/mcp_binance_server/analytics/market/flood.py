"""Message floods: far more book changes in ten seconds than usual, while trades increase much less."""

from array import array
from collections.abc import Sequence
from math import log
from statistics import median

from mcp_binance_server.analytics.market.minute import HALF_BLOCK_S, HALF_BLOCKS, SECONDS, HalfBlock, blocks_of_ten

USUAL_MINUTES = 60
# Added to both counts of trades, so that a few more trades hardly count.
_FEW_TRADES = 5


class UsualRates:
    """Usual numbers of book changes and trades per ten seconds in the last hour."""

    __slots__ = ("_trades", "_updates")

    def __init__(self) -> None:
        self._updates: array[float] = array("f")
        self._trades: array[float] = array("f")

    def __len__(self) -> int:
        return len(self._updates)

    def add(self, blocks: Sequence[HalfBlock]) -> None:
        """Add a minute's means per ten seconds."""
        for column, total in (
            (self._updates, sum(each.updates for each in blocks)),
            (self._trades, sum(each.trades for each in blocks)),
        ):
            column.append(2 * total / HALF_BLOCKS)
            del column[:-USUAL_MINUTES]

    def trades_per_minute(self) -> float | None:
        """Return the usual number of trades per minute, or None before the first minute is over."""
        return SECONDS / (2 * HALF_BLOCK_S) * median(self._trades) if self._trades else None

    def score(self, blocks: Sequence[HalfBlock]) -> float:
        """Return the largest log ratio of book changes to their usual number.

        If trades rose as well, their log ratio is subtracted.
        """
        changes, trades = median(self._updates), median(self._trades)
        return max(
            log((ten.updates + 1) / (changes + 1)) - max(0.0, log((ten.trades + _FEW_TRADES) / (trades + _FEW_TRADES)))
            for ten in blocks_of_ten(blocks)
        )

    def series(self) -> "array[float]":
        """Return alternating changes and trades, for storage."""
        return array("d", [each for pair in zip(self._updates, self._trades, strict=True) for each in pair])

    def restore(self, row: Sequence[float]) -> None:
        """Restore the row that `series` returned."""
        self._updates, self._trades = array("f", row[::2][-USUAL_MINUTES:]), array("f", row[1::2][-USUAL_MINUTES:])
