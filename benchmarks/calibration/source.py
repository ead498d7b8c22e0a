"""A zero-intelligence market as the book and tape of a simulated exchange, made minute by minute as its time passes."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator

from binance_simulator.market.book import Top
from binance_simulator.market.candles import Trade
from binance_simulator.market.listing import Symbol
from binance_simulator.market.source import Changes, Depth, Event, Span, Stream
from calibration.records import Delta, Levels, Print
from calibration.zero_intelligence import START_MS, Market

KEPT_MINUTES = 12
BUCKET_MS = 100


class RegimeSource:
    """Time only goes on: what is older than some minutes can no longer be asked for."""

    def __init__(self, symbol: Symbol, market: Market, begun_ms: int) -> None:
        self.unit = symbol
        self.tape = RegimeTape(self)
        self._market = market
        self._shift_ms = -(-begun_ms // BUCKET_MS) * BUCKET_MS - START_MS - round(market.now_s * 1000)
        self._known_until_ms = 0
        self._deltas: list[tuple[Delta, int, int]] = []
        self._laid = 0
        self.trades: list[Trade] = []
        self.times: list[int] = []
        self._last_id = 1_000
        self._applied_id = self._last_id
        self._bids, self._asks = dict[int, int](), dict[int, int]()
        self._grow()

    def top(self, now_ms: int) -> Top:
        """Return the best bid and ask."""
        self._move(now_ms)
        bid, ask = max(self._bids), min(self._asks)
        return Top((bid, self._bids[bid]), (ask, self._asks[ask]))

    def update_id(self, now_ms: int) -> int:
        """Return the id of the newest change."""
        self._move(now_ms)
        return self._applied_id

    def depth(self, limit: int, now_ms: int) -> Depth:
        """Return the best levels of both sides."""
        self._move(now_ms)
        bids = sorted(self._bids.items(), reverse=True)[:limit]
        return Depth(self._applied_id, bids, sorted(self._asks.items())[:limit])

    def changes(self, start_ms: int, end_ms: int) -> Changes | None:
        """Return the messages of a span laid over each other."""
        self.reach(end_ms)
        deltas = self._deltas
        chosen = deltas[bisect_right(deltas, start_ms, key=_time) : bisect_right(deltas, end_ms, key=_time)]
        if not chosen:
            return None
        bids, asks = dict[int, int](), dict[int, int]()
        for delta, _, _ in chosen:
            bids |= dict(delta.bids)
            asks |= dict(delta.asks)
        return Changes(chosen[0][1], chosen[-1][2], bids, asks)

    def events(self, stream: Stream, span: Span) -> list[Event] | None:
        """Leave every stream to be made as usual."""
        del stream
        self.reach(span.end_ms)

    def reach(self, now_ms: int) -> None:
        """Let the market run until it knows everything up to a moment."""
        while self._known_until_ms <= now_ms:
            self._grow()

    def _grow(self) -> None:
        minute = self._market.minute()
        if not self._bids:
            self._bids, self._asks = dict(minute.first.bids), dict(minute.first.asks)
        for delta in minute.deltas:
            first, self._last_id = self._last_id + 1, self._last_id + delta.updates
            self._deltas.append((delta._replace(ms=delta.ms + self._shift_ms), first, self._last_id))
        for each in minute.trades:
            self._take(each)
        self._known_until_ms = minute.to_ms + self._shift_ms
        oldest_ms = self._known_until_ms - KEPT_MINUTES * 60_000
        gone = min(self._laid, bisect_left(self._deltas, oldest_ms, key=_time))
        del self._deltas[:gone]
        self._laid -= gone
        gone = bisect_left(self.times, oldest_ms)
        del self.trades[:gone], self.times[:gone]

    def _take(self, each: Print) -> None:
        self.trades.append(Trade(each.id, each.id, each.tick, each.lots, each.ms + self._shift_ms, each.sell))
        self.times.append(each.ms + self._shift_ms)

    def _move(self, now_ms: int) -> None:
        self.reach(now_ms)
        while self._laid < len(self._deltas) and self._deltas[self._laid][0].ms <= now_ms:
            delta, _, self._applied_id = self._deltas[self._laid]
            _lay(self._bids, delta.bids)
            _lay(self._asks, delta.asks)
            self._laid += 1


class RegimeTape:
    """The trades that are still kept."""

    def __init__(self, source: RegimeSource) -> None:
        self._source = source

    def until(self, now_ms: int) -> int:
        """Return the first moment whose trades nobody can have seen yet."""
        return now_ms + 1

    def forward(self, start_ms: int, end_ms: int) -> Iterator[Trade]:
        """Yield the trades with start <= time < end, oldest first."""
        self._source.reach(end_ms)
        times = self._source.times
        yield from self._source.trades[bisect_left(times, start_ms) : bisect_left(times, end_ms)]

    def backward(self, end_ms: int) -> Iterator[Trade]:
        """Yield the trades before `end_ms`, newest first."""
        self._source.reach(end_ms)
        yield from reversed(self._source.trades[: bisect_left(self._source.times, end_ms)])

    def time_of_trade(self, identity: int) -> int:
        """Return the time of the trade, or of the first behind it."""
        place = bisect_right(self._source.trades, identity - 1, key=lambda trade: trade.id)
        times = self._source.times
        return times[place] if place < len(times) else times[-1] + 1

    def time_of_aggregate(self, identity: int) -> int:
        """Return the time of the aggregate trade: each trade is one."""
        return self.time_of_trade(identity)


def _lay(side: dict[int, int], levels: Levels) -> None:
    for tick, lots in levels:
        if lots:
            side[tick] = lots
        else:
            side.pop(tick, None)


def _time(told: tuple[Delta, int, int]) -> int:
    return told[0].ms
