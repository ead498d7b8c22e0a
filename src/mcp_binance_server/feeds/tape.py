"""The tape: the newest aggregate trades of a symbol, the gaps among them, and the aggressor's side."""

from bisect import bisect_right
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from itertools import islice, pairwise

from mcp_binance_server.domain.market import Trade
from mcp_binance_server.domain.money import Quantity
from mcp_binance_server.feeds.book import MissedUpdates, Stale

NONE = Quantity(Decimal(0))


@dataclass(frozen=True, slots=True)
class Printed:
    """A trade that follows directly on the one before; `forgotten` older ones were dropped for it."""

    forgotten: int


@dataclass(frozen=True, slots=True)
class Coverage:
    """Time since which no trade is missing (None: never), time of the newest trade, and number of missing IDs."""

    from_ms: int | None
    to_ms: int | None
    missing: int


@dataclass(frozen=True, slots=True)
class SignedVolume:
    """Base quantity by aggressor: bought from the asks, and sold to the bids."""

    buy: Quantity
    sell: Quantity

    @property
    def net(self) -> Quantity:
        return Quantity(self.buy - self.sell)

    @property
    def total(self) -> Quantity:
        return Quantity(self.buy + self.sell)


@dataclass(frozen=True, slots=True)
class TapeWindow:
    """Trades since a moment, oldest first, the number of missing IDs among them, and whether the window is complete."""

    from_ms: int
    trades: tuple[Trade, ...]
    missing: int
    is_complete: bool

    @property
    def volume(self) -> SignedVolume:
        # The buyer's order was resting in the book, so the seller was the aggressor.
        sell = sum((trade.quantity for trade in self.trades if trade.buyer_is_maker), NONE)
        buy = sum((trade.quantity for trade in self.trades if not trade.buyer_is_maker), NONE)
        return SignedVolume(Quantity(buy), Quantity(sell))


@dataclass(frozen=True, slots=True)
class _Hole:
    gap: MissedUpdates
    closed_ms: int


class Tape:
    """Aggregate trades in the order of their contiguous IDs, at most `most` of them, none older than `span_ms`.

    Age is measured against the newest trade. A trade can share its millisecond with others, so the complete part begins
    one millisecond after a trade whose predecessors are not held.
    """

    __slots__ = ("_complete_ms", "_holes", "_most", "_newest_ms", "_span_ms", "_trades")

    def __init__(self, *, span_ms: int, most: int, opened_ms: int | None = None) -> None:
        """Start empty; `opened_ms` is the exchange's time since which the stream is known to send every trade."""
        if span_ms < 0 or most < 1:
            raise ValueError(f"a tape keeps at least one trade and no negative span, not {most} in {span_ms} ms")
        self._span_ms = span_ms
        self._most = most
        self._complete_ms = opened_ms
        self._newest_ms = 0
        self._trades: deque[Trade] = deque()
        self._holes: deque[_Hole] = deque()

    def __len__(self) -> int:
        return len(self._trades)

    def add(self, trade: Trade) -> Printed | Stale | MissedUpdates:
        """Keep the next trade, also one after MissedUpdates; a Stale trade is known already, or was skipped."""
        gap: MissedUpdates | None = None
        if self._trades:
            last = self._trades[-1].trade_id
            if trade.trade_id <= last:
                return Stale(last, trade.trade_id)
            if trade.trade_id > last + 1:
                gap = MissedUpdates(last + 1, trade.trade_id)
                self._holes.append(_Hole(gap, trade.time_ms))
        elif self._complete_ms is None:
            self._lose(trade.time_ms)
        self._trades.append(trade)
        self._newest_ms = max(self._newest_ms, trade.time_ms)
        forgotten = self._forget()
        return gap if gap is not None else Printed(forgotten)

    def fill(self, trades: Iterable[Trade]) -> int:
        """Insert trades that were requested again, in holes or before the first; return the number kept as new."""
        if not self._trades:
            raise ValueError("an empty tape has no holes; add the first trade")
        first, last = self._trades[0].trade_id, self._trades[-1].trade_id
        held = {trade.trade_id: trade for trade in self._trades}
        new = {trade.trade_id: trade for trade in trades if trade.trade_id < last and trade.trade_id not in held}
        self._trades = deque(trade for _, trade in sorted((held | new).items()))
        self._holes = deque(
            _Hole(MissedUpdates(before.trade_id + 1, after.trade_id), after.time_ms)
            for before, after in pairwise(self._trades)
            if after.trade_id > before.trade_id + 1
        )
        if self._trades[0].trade_id < first:
            self._complete_ms = self._trades[0].time_ms + 1
        self._forget()
        return sum(trade.trade_id in new for trade in self._trades)

    def _forget(self) -> int:
        oldest_ms = self._newest_ms - self._span_ms
        forgotten = 0
        # The last trade always stays: the next ID is compared with it.
        while len(self._trades) > 1 and (len(self._trades) > self._most or self._trades[0].time_ms < oldest_ms):
            self._lose(self._trades.popleft().time_ms)
            forgotten += 1
        while self._holes and self._holes[0].gap.received <= self._trades[0].trade_id:
            self._lose(self._holes.popleft().closed_ms)
        return forgotten

    def _lose(self, until_ms: int) -> None:
        self._complete_ms = max(until_ms + 1, self._complete_ms or 0)

    @property
    def newest(self) -> Trade | None:
        return self._trades[-1] if self._trades else None

    @property
    def holes(self) -> tuple[MissedUpdates, ...]:
        """Gaps between the trades held, oldest first."""
        return tuple(hole.gap for hole in self._holes)

    @property
    def coverage(self) -> Coverage:
        to_ms = self._newest_ms if self._trades else None
        return Coverage(self._covered_from_ms, to_ms, sum(hole.gap.missing for hole in self._holes))

    @property
    def _covered_from_ms(self) -> int | None:
        if self._complete_ms is None or not self._holes:
            return self._complete_ms
        return max(self._complete_ms, self._holes[-1].closed_ms + 1)

    def last(self, count: int) -> tuple[Trade, ...] | None:
        """Return the newest trades, oldest first; None if fewer are held, or one among them is missing."""
        if len(self._trades) < count:
            return None
        newest = tuple(islice(reversed(self._trades), count))[::-1]
        is_whole = not newest or newest[-1].trade_id - newest[0].trade_id == count - 1
        return newest if is_whole else None

    def after(self, trade_id: int, most: int) -> tuple[Trade, ...]:
        """Return the trades after an ID, oldest first, at most `most` of them; gaps show in their IDs."""
        trades = self._trades
        first = bisect_right(trades, trade_id, key=lambda trade: trade.trade_id)
        return tuple(trades[place] for place in range(first, min(first + most, len(trades))))

    def window(self, from_ms: int) -> TapeWindow:
        """Return the trades at `from_ms` and after it, and whether they are complete."""
        trades = tuple(trade for trade in self._trades if trade.time_ms >= from_ms)
        missing = sum(hole.gap.missing for hole in self._holes if hole.closed_ms >= from_ms)
        covered_ms = self._covered_from_ms
        return TapeWindow(from_ms, trades, missing, covered_ms is not None and covered_ms <= from_ms)
