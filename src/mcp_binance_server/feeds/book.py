"""A local order book that is synced by update IDs, and the buffer that joins a snapshot to the stream.

The procedure: https://developers.binance.com/docs/binance-spot-api-docs/web-socket-streams
"""

from bisect import bisect_left, bisect_right, insort
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal

from mcp_binance_server.analytics.book.grid import BookSide
from mcp_binance_server.domain.market import BookDelta, BookSnapshot, PriceLevel, WrittenLevel
from mcp_binance_server.domain.money import Price, Quantity

# The exchange writes a zero with as many decimals as the symbol's precision, not always eight.
ZEROS = frozenset(["0", *("0." + "0" * places for places in range(1, 31))])
# Less than every ID of the exchange, so that any delta for a book without a snapshot is a gap.
NOTHING_LOADED = -1
# Eight minutes of a stream with ten events a second.
MOST_BUFFERED = 5_000


@dataclass(frozen=True, slots=True)
class Applied:
    """A delta was applied. The result has the number of changed levels and whether the book is crossed."""

    changed: int
    is_crossed: bool


@dataclass(frozen=True, slots=True)
class Stale:
    """The delta ends at or before `last_id`, so nothing changed."""

    last_id: int
    received: int


@dataclass(frozen=True, slots=True)
class MissedUpdates:
    """Updates were missed: from `expected` up to the one before `received`."""

    expected: int
    received: int

    @property
    def missing(self) -> int:
        return self.received - self.expected


@dataclass(frozen=True, slots=True)
class Joined:
    """The book is in sync with the stream. Buffered deltas were applied, or skipped because they were old."""

    applied: int
    stale: int


@dataclass(frozen=True, slots=True)
class TooOld:
    """The snapshot is older than the first buffered delta. A newer snapshot is needed."""

    last_update_id: int
    first_buffered: int


@dataclass(frozen=True, slots=True)
class KnownTo:
    """For each side, the worst price up to which all levels are known. None means that the whole side is known."""

    bid: Price | None
    ask: Price | None


@dataclass(frozen=True, slots=True)
class LevelCounts:
    """Number of levels on each side of a book."""

    bids: int
    asks: int


def _written(level: PriceLevel) -> WrittenLevel:
    # The exchange never writes an exponent; str() would write a small amount as 1E-8.
    return f"{level.price:f}", f"{level.quantity:f}"


def _read(level: WrittenLevel) -> PriceLevel:
    return PriceLevel(Price(Decimal(level[0])), Quantity(Decimal(level[1])))


class _Side:
    """One side of a book: the levels by price, and the prices in ascending order.

    Float keys are fast, and make "1.10" equal to "1.1000". Two prices stay distinct while price / tick < 2^53.
    """

    __slots__ = ("bound", "is_bids", "keys", "known_to", "levels")

    def __init__(self, *, is_bids: bool) -> None:
        self.is_bids = is_bids
        self.load((), None)

    def load(self, levels: Sequence[WrittenLevel], asked: int | None) -> None:
        self.levels = {float(level[0]): level for level in levels}
        self.keys = sorted(self.levels)
        is_whole = not levels or (asked is not None and len(levels) < asked)
        self.know_to(None if is_whole else _read(self.best(len(levels))[-1]).price)

    def know_to(self, price: Price | None) -> None:
        self.known_to = price
        self.bound = None if price is None else float(price)

    def change(self, changes: Sequence[WrittenLevel]) -> int:
        levels, keys = self.levels, self.keys
        absent = 0
        for level in changes:
            key = float(level[0])
            if level[1] in ZEROS:
                if levels.pop(key, None) is None:
                    absent += 1
                else:
                    del keys[bisect_left(keys, key)]
            else:
                if key not in levels:
                    insort(keys, key)
                levels[key] = level
        return len(changes) - absent

    def best(self, count: int) -> list[WrittenLevel]:
        levels = self.levels
        return [levels[key] for key in self.best_keys(count)]

    def best_keys(self, count: int) -> list[float]:
        count = max(0, count)
        return self.keys[: -count - 1 : -1] if self.is_bids else self.keys[:count]

    def sizes_at(self, prices: Iterable[float]) -> list[float]:
        levels = self.levels
        return [float(levels[price][1]) for price in prices]

    def reaching(self, edge: float) -> int:
        keys = self.keys
        return len(keys) - bisect_left(keys, edge) if self.is_bids else bisect_right(keys, edge)

    @property
    def knows_best(self) -> bool:
        if self.bound is None:
            return True
        if not self.keys:
            return False
        return self.keys[-1] >= self.bound if self.is_bids else self.keys[0] <= self.bound

    @property
    def known_levels(self) -> int | None:
        return None if self.bound is None else self.reaching(self.bound)

    def prune(self, most: int | None) -> int:
        before = len(self.keys)
        # If the market is beyond the bound, so are all levels near the market. Then only the count limits the levels.
        bound = self.bound if self.knows_best else None
        if most is not None and before > most:
            worst = _read(self.best(most)[-1]).price
            if self.bound is None or (float(worst) > self.bound) == self.is_bids:
                self.know_to(worst)
                bound = self.bound
            elif bound is None:
                bound = float(worst)
        if bound is not None:
            self._forget_beyond(bound)
        return before - len(self.keys)

    def _forget_beyond(self, bound: float) -> None:
        beyond = (
            slice(0, bisect_left(self.keys, bound)) if self.is_bids else slice(bisect_right(self.keys, bound), None)
        )
        for key in self.keys[beyond]:
            del self.levels[key]
        del self.keys[beyond]


class LocalBook:
    """Order book of one symbol: a snapshot and all later deltas.

    Nothing here waits or reads a clock. A delta with a malformed number raises ValueError and may be half applied. Its
    IDs are not stored, so the next delta returns MissedUpdates and the book is rebuilt.
    """

    __slots__ = ("_asks", "_bids", "_event_ms", "_last_update_id")

    def __init__(self) -> None:
        self._bids = _Side(is_bids=True)
        self._asks = _Side(is_bids=False)
        self._last_update_id = NOTHING_LOADED
        self._event_ms: int | None = None

    def load(self, snapshot: BookSnapshot, *, asked: int | None = None) -> None:
        """Replace the whole book. A side with fewer levels than `asked` is completely known."""
        self.load_written(
            snapshot.last_update_id, [*map(_written, snapshot.bids)], [*map(_written, snapshot.asks)], asked
        )

    def load_written(
        self, last_update_id: int, bids: Sequence[WrittenLevel], asks: Sequence[WrittenLevel], asked: int | None
    ) -> None:
        """Replace the whole book with levels in the exchange's own notation."""
        self._bids.load(bids, asked)
        self._asks.load(asks, asked)
        self._last_update_id = last_update_id
        self._event_ms = None

    def apply(self, delta: BookDelta) -> Applied | Stale | MissedUpdates:
        """Apply the next delta. After MissedUpdates the book needs a new snapshot."""
        last = self._last_update_id
        if delta.last_update_id <= last:
            return Stale(last, delta.last_update_id)
        if delta.first_update_id > last + 1:
            return MissedUpdates(last + 1, delta.first_update_id)
        changed = self._bids.change(delta.bids) + self._asks.change(delta.asks)
        self._last_update_id = delta.last_update_id
        self._event_ms = delta.event_ms
        return Applied(changed, self.is_crossed)

    def follows(self, delta: BookDelta) -> bool:
        """Return whether a delta includes the next expected update."""
        return delta.first_update_id <= self._last_update_id + 1 <= delta.last_update_id

    def size_at(self, side: BookSide, price: float) -> float:
        """Return the quantity at a price, or 0 if there is no level."""
        level = (self._bids if side == "bid" else self._asks).levels.get(price)
        return 0.0 if level is None else float(level[1])

    def written_at(self, side: BookSide, price: float) -> str | None:
        """Return the quantity at a price in the exchange's own notation, or None if there is no level."""
        level = (self._bids if side == "bid" else self._asks).levels.get(price)
        return None if level is None else level[1]

    def size_between(self, side: BookSide, low: float, high: float) -> float | None:
        """Return the quantity from `low` up to but excluding `high`. Return None if part of the range is unknown."""
        held = self._bids if side == "bid" else self._asks
        if held.bound is not None and (low < held.bound if held.is_bids else high > held.bound):
            return None
        between = held.keys[bisect_left(held.keys, low) : bisect_left(held.keys, high)]
        return sum(held.sizes_at(between))

    def prune(self, *, most: int | None = None) -> int:
        """Drop the levels beyond the known range and, with `most`, all but the best levels. Return the number dropped.

        If the best level has left the known range, only `most` limits that side.
        """
        if most is not None and most < 1:
            raise ValueError(f"a book keeps at least one level a side, not {most}")
        return self._bids.prune(most) + self._asks.prune(most)

    @property
    def is_loaded(self) -> bool:
        return self._last_update_id != NOTHING_LOADED

    @property
    def last_update_id(self) -> int:
        return self._last_update_id

    @property
    def event_ms(self) -> int | None:
        """Event time of the last delta. A snapshot has no time, so it is None before the first delta."""
        return self._event_ms

    @property
    def best_bid(self) -> PriceLevel | None:
        return _read(best[0]) if (best := self._bids.best(1)) else None

    @property
    def best_ask(self) -> PriceLevel | None:
        return _read(best[0]) if (best := self._asks.best(1)) else None

    @property
    def is_crossed(self) -> bool:
        bids, asks = self._bids.keys, self._asks.keys
        return bool(bids) and bool(asks) and bids[-1] >= asks[0]

    @property
    def level_counts(self) -> LevelCounts:
        return LevelCounts(len(self._bids.keys), len(self._asks.keys))

    @property
    def known_to(self) -> KnownTo:
        """The price range of the snapshot. Beyond it, only levels that have changed since are known."""
        return KnownTo(self._bids.known_to, self._asks.known_to)

    @property
    def knows_best(self) -> bool:
        """False if the market has left the price range of the snapshot: an unknown level may be better."""
        return self._bids.knows_best and self._asks.knows_best

    def is_thin(self, least: int) -> bool:
        """Return whether a side has fewer than `least` known levels beyond its best price."""
        known = self._bids.known_levels, self._asks.known_levels
        return any(levels is not None and levels < least for levels in known)

    def top(self, count: int) -> BookSnapshot:
        """Return the best levels of both sides, best first."""
        bids, asks = self.written_top(count)
        return BookSnapshot(self._last_update_id, tuple(map(_read, bids)), tuple(map(_read, asks)))

    def written_top(self, count: int) -> tuple[list[WrittenLevel], list[WrittenLevel]]:
        """Return the best bids and asks in the exchange's own notation, best first."""
        return self._bids.best(count), self._asks.best(count)

    def touch(self) -> tuple[float, float] | None:
        """Return the best bid and ask, or None if a side is empty."""
        bids, asks = self._bids.keys, self._asks.keys
        return (bids[-1], asks[0]) if bids and asks else None

    def near(self, low: float, high: float, least: int, most: int) -> tuple[list[float], list[float]]:
        """Return bids down to `low` and asks up to `high`, best first. Each side has `least` to `most` levels."""
        bids, asks = self._bids, self._asks
        return (
            bids.best_keys(max(least, min(most, bids.reaching(low)))),
            asks.best_keys(max(least, min(most, asks.reaching(high)))),
        )

    def sizes_at(self, side: BookSide, prices: Iterable[float]) -> list[float]:
        """Return the quantities at these prices, which must be in the book."""
        return (self._bids if side == "bid" else self._asks).sizes_at(prices)


class JoinBuffer:
    """Buffer for deltas that arrive before the snapshot.

    A full buffer drops the oldest delta. Then a newer snapshot is needed.
    """

    __slots__ = ("_deltas",)

    def __init__(self, most: int = MOST_BUFFERED) -> None:
        self._deltas: deque[BookDelta] = deque(maxlen=most)

    def __len__(self) -> int:
        return len(self._deltas)

    def add(self, delta: BookDelta) -> None:
        self._deltas.append(delta)

    @property
    def first_update_id(self) -> int | None:
        return self._deltas[0].first_update_id if self._deltas else None

    @property
    def newest_ms(self) -> int:
        """Event time of the newest delta, or 0 if the buffer is empty."""
        return self._deltas[-1].event_ms if self._deltas else 0

    def is_too_old(self, snapshot: BookSnapshot) -> bool:
        """Return whether the snapshot ends before the first delta.

        The rule in Binance's documentation is one ID too strict.
        """
        first = self.first_update_id
        return first is not None and snapshot.last_update_id < first

    def join(
        self, snapshot: BookSnapshot, book: LocalBook, *, asked: int | None = None
    ) -> Joined | TooOld | MissedUpdates:
        """Load the snapshot and replay the later deltas.

        Only Joined changes the book and empties the buffer. TooOld keeps all deltas for a newer snapshot.
        MissedUpdates keeps only the deltas after the gap.
        """
        first = self.first_update_id
        if first is not None and self.is_too_old(snapshot):
            return TooOld(snapshot.last_update_id, first)
        if (gap := self._gap_after(snapshot.last_update_id)) is not None:
            return gap
        book.load(snapshot, asked=asked)
        outcomes = [book.apply(delta) for delta in self._deltas]
        self._deltas.clear()
        applied = sum(isinstance(outcome, Applied) for outcome in outcomes)
        return Joined(applied, len(outcomes) - applied)

    def _gap_after(self, last: int) -> MissedUpdates | None:
        for place, delta in enumerate(self._deltas):
            if delta.first_update_id > last + 1:
                for _ in range(place):
                    self._deltas.popleft()
                return MissedUpdates(last + 1, delta.first_update_id)
            last = max(last, delta.last_update_id)
        return None
