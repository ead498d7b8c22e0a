"""The tape: a symbol's newest aggregate trades, with gaps and the aggressor's side."""

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
    """A trade was added without a gap. `forgotten` is the number of old trades that were dropped."""

    forgotten: int


@dataclass(frozen=True, slots=True)
class Coverage:
    """The complete time span of a tape.

    `from_ms` is the time since which no trade is missing, or None. `to_ms` is the time of the newest trade. `missing`
    is the number of missing IDs.
    """

    from_ms: int | None
    to_ms: int | None
    missing: int


@dataclass(frozen=True, slots=True)
class SignedVolume:
    """Base quantity by aggressor: taker buys and taker sells."""

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
    """Trades since a time, oldest first, and the number of missing IDs among them."""

    from_ms: int
    trades: tuple[Trade, ...]
    missing: int
    is_complete: bool

    @property
    def volume(self) -> SignedVolume:
        # The buyer was the maker, so the seller was the aggressor.
        sell = sum((trade.quantity for trade in self.trades if trade.buyer_is_maker), NONE)
        buy = sum((trade.quantity for trade in self.trades if not trade.buyer_is_maker), NONE)
        return SignedVolume(Quantity(buy), Quantity(sell))


@dataclass(frozen=True, slots=True)
class _Hole:
    gap: MissedUpdates
    closed_ms: int


class Tape:
    """Aggregate trades sorted by ID: at most `most`, and at most `span_ms` older than the newest trade.

    Trades can share a millisecond. The complete part therefore begins one millisecond after a trade whose predecessors
    are missing.
    """

    __slots__ = ("_complete_ms", "_holes", "_most", "_newest_ms", "_span_ms", "_trades")

    def __init__(self, *, span_ms: int, most: int, opened_ms: int | None = None) -> None:
        """Start empty. Since `opened_ms`, in the exchange's time, the stream has sent every trade."""
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
        """Add a trade. A trade after a gap is added too. A Stale trade is skipped, because its ID is not new."""
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
        """Insert requested trades into gaps or before the first trade. Return the number of new trades."""
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
        # Always keep the last trade, because the next ID is compared with it.
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
        """Gaps between the stored trades, oldest first."""
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
        """Return the newest trades, oldest first. Return None if there are too few or one of them is missing."""
        if len(self._trades) < count:
            return None
        newest = tuple(islice(reversed(self._trades), count))[::-1]
        is_whole = not newest or newest[-1].trade_id - newest[0].trade_id == count - 1
        return newest if is_whole else None

    def after(self, trade_id: int, most: int) -> tuple[Trade, ...]:
        """Return at most `most` trades after an ID, oldest first. Their IDs show any gaps."""
        trades = self._trades
        first = bisect_right(trades, trade_id, key=lambda trade: trade.trade_id)
        return tuple(trades[place] for place in range(first, min(first + most, len(trades))))

    def window(self, from_ms: int) -> TapeWindow:
        """Return the trades at or after `from_ms`, and whether they are complete."""
        trades = tuple(trade for trade in self._trades if trade.time_ms >= from_ms)
        missing = sum(hole.gap.missing for hole in self._holes if hole.closed_ms >= from_ms)
        covered_ms = self._covered_from_ms
        return TapeWindow(from_ms, trades, missing, covered_ms is not None and covered_ms <= from_ms)
