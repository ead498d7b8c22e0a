"""The simulated market: history, book and 24-hour statistics of every symbol."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from itertools import islice

from binance_simulator.market.book import BUCKET_MS, Book, Moment, Top
from binance_simulator.market.candles import Candle, Trade
from binance_simulator.market.echoes import MODELS, QUIET, Delayed, Echo, delayed
from binance_simulator.market.history import History
from binance_simulator.market.listing import CROWD_BASE, Listing, Symbol
from binance_simulator.market.noise import ORDINARY, Lru, Temper
from binance_simulator.market.prices import DAY_MS, Course, Prices, in_crowd
from binance_simulator.market.source import Changes, Chronicle, Depth, Source, Tape

DELISTED_MS = 1_735_689_600_000  # 2025-01-01, the last day of symbols that no longer trade
REFERENCE_DAY = 1_784_592_000_000 // DAY_MS  # 2026-07-21, the day for which the dollar values are given
DEEPEST = 5_000  # levels per side
REMEMBERED_BUCKETS = 3_000  # five minutes; a stream that restarts within this time gets the changes from the cache


@dataclass(frozen=True, slots=True)
class Day:
    """Data of the last 24 hours: the candle, the last trade, the trade before the span, and the best prices.

    `total` is None without trades.
    """

    opened_ms: int
    closed_ms: int
    total: Candle | None
    last: Trade | None
    before: Trade | None
    top: Top | None


@dataclass(frozen=True, slots=True)
class Origins:
    """Input from which all prices of a market are computed."""

    seed: int
    courses: frozenset[tuple[str, Course]]
    temper: Temper


@lru_cache(maxsize=128)
def _history(symbol: Symbol, origins: Origins, ended_ms: int | None) -> History:
    # Share a computed history: it is the same for every market with these origins.
    return History(symbol, origins.seed, _prices(origins), ended_ms, origins.temper)


@lru_cache(maxsize=4)
def _heard(origins: Origins, model: Symbol) -> tuple[Delayed, ...]:
    names = [f"{CROWD_BASE}-{number}" for number in range(MODELS)]
    symbols = [replace(model, name=name, base=name) for name in names]
    return delayed([History(symbol, origins.seed, _prices(origins), None, QUIET) for symbol in symbols])


@dataclass(frozen=True, slots=True)
class Ladder:
    """The book of a symbol, and its changes in the newest buckets. The key is the end of a bucket."""

    book: Book
    changes: Lru[int, Changes]


@lru_cache(maxsize=32)
def _ladder(symbol: Symbol, origins: Origins, ended_ms: int | None) -> Ladder:
    usual = _history(symbol, origins, ended_ms).window(DELISTED_MS - DAY_MS, DELISTED_MS)
    book = Book(symbol, origins.seed, 0 if usual is None else usual.lots // 20_000, origins.temper)
    return Ladder(book, Lru(REMEMBERED_BUCKETS))


@lru_cache(maxsize=16)
def _prices(origins: Origins) -> Prices:
    return Prices(origins.seed, REFERENCE_DAY, dict(origins.courses))


class Market:
    """Simulated market. Its prices depend only on seed, symbol and time."""

    def __init__(
        self,
        listing: Listing,
        seed: int,
        *,
        courses: Mapping[str, Course] | None = None,
        quiet: bool = False,
        temper: Temper = ORDINARY,
    ) -> None:
        self.listing = listing
        self.sources: Mapping[str, Source] = {}
        self._origins = Origins(seed, frozenset((courses or {}).items()), temper)
        self._quiet = quiet
        self._echoes: dict[str, Echo] = {}
        self._histories: dict[str, History] = {}

    def history(self, symbol: Symbol) -> Chronicle:
        """Return the candles of a symbol.

        Those of an additional symbol are derived from a shared history, which is cheap.
        """
        return self._echo(symbol) if in_crowd(symbol.base) else self._history(symbol)

    def _history(self, symbol: Symbol) -> History:
        found = self._histories.get(symbol.name)
        if found is None or found.symbol is not symbol:
            found = self._histories[symbol.name] = _history(symbol, self._origins, self._ended_ms(symbol))
        return found

    def _echo(self, symbol: Symbol) -> Echo:
        found = self._echoes.get(symbol.name)
        if found is None or found.symbol is not symbol:
            number, heard = int(symbol.base.removeprefix(CROWD_BASE)), _heard(self._origins, self.listing.model)
            found = Echo(symbol, self._origins.seed, heard[number % len(heard)], self._ended_ms(symbol))
            self._echoes[symbol.name] = found
        return found

    def unit(self, symbol: Symbol) -> Symbol:
        """Return the symbol with the tick and lot of its book and trades."""
        source = self.sources.get(symbol.name)
        return symbol if source is None else source.unit

    def tape(self, symbol: Symbol) -> Tape:
        """Return the trades of a symbol, from its source or else from its history."""
        source = self.sources.get(symbol.name)
        return self._history(symbol) if source is None else source.tape

    def last(self, symbol: Symbol, now_ms: int) -> Trade | None:
        """Return the newest trade."""
        tape = self.tape(symbol)
        return next(tape.backward(tape.until(now_ms)), None)

    def top(self, symbol: Symbol, now_ms: int) -> Top | None:
        """Return the best bid and ask, or None if the symbol does not trade."""
        if (source := self.sources.get(symbol.name)) is not None:
            return source.top(now_ms)
        trade = self.last(symbol, now_ms)
        if trade is None or not self._open(symbol, now_ms):
            return None
        return self._book(symbol).best(trade.price, trade.id, now_ms, buyer_is_maker=trade.buyer_is_maker)

    def depth(self, symbol: Symbol, limit: int, now_ms: int) -> Depth:
        """Return up to `limit` levels per side."""
        if (source := self.sources.get(symbol.name)) is not None:
            return source.depth(limit, now_ms)
        trade, top = self.last(symbol, now_ms), self.top(symbol, now_ms)
        if trade is None or top is None:
            return Depth(0 if trade is None else self._book(symbol).update_id(trade.id, trade.time_ms), [], [])
        book, moment = self._book(symbol), Moment(top, now_ms // BUCKET_MS)
        bids, asks = (list(islice(book.side(moment, direction), limit)) for direction in (-1, 1))
        return Depth(book.update_id(trade.id, now_ms), bids, asks)

    def level(self, symbol: Symbol, price: int, now_ms: int) -> tuple[int, int]:
        """Return the bid and ask quantities at a price, in lots."""
        if (source := self.sources.get(symbol.name)) is not None:
            depth = source.depth(DEEPEST, now_ms)
            return dict(depth.bids).get(price, 0), dict(depth.asks).get(price, 0)
        moment = self._moment(symbol, now_ms)
        return (0, 0) if moment is None else self._book(symbol).at(price, moment)

    def update_id(self, symbol: Symbol, now_ms: int) -> int:
        """Return the ID of the newest change to the book, or 0 before the first trade."""
        if (source := self.sources.get(symbol.name)) is not None:
            return source.update_id(now_ms)
        return self.depth(symbol, 0, now_ms).update_id

    def changes(self, symbol: Symbol, start_ms: int, end_ms: int) -> Changes | None:
        """Return the changes after `start_ms`, up to and including `end_ms`. Both must be ends of buckets.

        A level that has changed and returned is included. A snapshot from within the span is therefore correct again
        after the changes.
        """
        if (source := self.sources.get(symbol.name)) is not None:
            return source.changes(start_ms, end_ms)
        ends = range(start_ms + BUCKET_MS, end_ms + 1, BUCKET_MS)
        kept = self._ladder(symbol).changes
        parts = [kept.get(end, partial(self._bucket_changes, symbol, end)) for end in ends]
        bids: dict[int, int] = {}
        asks: dict[int, int] = {}
        for part in parts:
            bids.update(part.bids)
            asks.update(part.asks)
        return Changes(parts[0].first_id, parts[-1].last_id, bids, asks) if bids or asks else None

    def _bucket_changes(self, symbol: Symbol, end_ms: int) -> Changes:
        start_ms = end_ms - BUCKET_MS
        bids: dict[int, int] = {}
        asks: dict[int, int] = {}
        trades = self._history(symbol).forward(start_ms + 1, self._history(symbol).until(end_ms))
        before = self._moment(symbol, start_ms)
        for at_ms in sorted({end_ms, *(trade.time_ms for trade in trades)}):
            after = self._moment(symbol, at_ms)
            if before is not None and after is not None:
                changed_bids, changed_asks = self._book(symbol).changes(before, after)
                bids.update(changed_bids)
                asks.update(changed_asks)
            before = after
        return Changes(self.update_id(symbol, start_ms) + 1, self.update_id(symbol, end_ms), bids, asks)

    def _moment(self, symbol: Symbol, at_ms: int) -> Moment | None:
        top = self.top(symbol, at_ms)
        return None if top is None else Moment(top, at_ms // BUCKET_MS)

    def day(self, symbol: Symbol, now_ms: int) -> Day:
        """Return the rolling 24 hours up to now, including both ends."""
        history = self.history(symbol)
        opened_ms = now_ms - DAY_MS
        return Day(
            opened_ms=opened_ms,
            closed_ms=now_ms,
            total=history.window(opened_ms, history.until(now_ms)),
            last=self.last(symbol, now_ms),
            before=history.last(min(opened_ms, history.until(now_ms))),
            top=self.top(symbol, now_ms),
        )

    def _open(self, symbol: Symbol, now_ms: int) -> bool:
        ended_ms = self.history(symbol).ended_ms
        return ended_ms is None or now_ms < ended_ms

    def _book(self, symbol: Symbol) -> Book:
        return self._ladder(symbol).book

    def _ladder(self, symbol: Symbol) -> Ladder:
        return _ladder(symbol, self._origins, self._ended_ms(symbol))

    def _ended_ms(self, symbol: Symbol) -> int | None:
        return None if symbol.trading and not self._quiet else DELISTED_MS
