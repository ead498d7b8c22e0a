"""Replay of a recording: its book, quotes and trades, moved to the exchange's time."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import accumulate, pairwise

import msgspec

from binance_simulator.market.book import Level, Top
from binance_simulator.market.candles import Trade
from binance_simulator.market.listing import Symbol
from binance_simulator.market.prices import HOUR_MS, Course, level_of
from binance_simulator.market.recording import Fill, Recording, levels_of, whole
from binance_simulator.market.source import Changes, Depth, Event, Span, Stream

Written = list[tuple[str, str]]


class Shift:
    """Conversion from recorded time to the exchange's time. The first line is at the start of the replay.

    `speed` applies to all later lines. The clocks of the recorder and the exchange differed. The correction is the
    smallest offset with which no event arrives before its event time.
    """

    def __init__(self, recording: Recording, begun_ms: int, speed: float) -> None:
        timed = [(at_ms, diff.event_ms) for at_ms, diff in recording.diffs]
        timed += [(at_ms, fill.event_ms) for at_ms, fill in recording.fills]
        self._ahead_ms = max(event_ms - at_ms for at_ms, event_ms in timed)
        arrivals = (recording.diffs[:1], recording.quotes[:1], recording.fills[:1])
        self._first_ms = self._ahead_ms + min(entries[0][0] for entries in arrivals if entries)
        self._begun_ms = begun_ms
        self._speed = speed

    def arrivals(self, local_ms: list[int]) -> list[int]:
        """Return the exchange's times for local arrival times, in their order."""
        return list(accumulate((self.moment(at_ms + self._ahead_ms) for at_ms in local_ms), max))

    def moment(self, recorded_ms: int) -> int:
        """Return the exchange's time for a recorded event time."""
        return self._begun_ms + round((recorded_ms - self._first_ms) / self._speed)


def anchors(recordings: Mapping[Symbol, Recording], begun_ms: int) -> dict[str, Course]:
    """Return a course of each recorded asset: a random walk that leads to the first recorded price.

    The course ends with the hour in which the replay starts, so that the candles of that hour are as usual.
    """
    found: dict[str, Course] = {}
    for symbol, recording in recordings.items():
        first = (
            recording.fills[0][1].price if recording.fills else recording.quotes[0][1].bid if recording.quotes else None
        )
        if first is not None:
            usd = float(first) * level_of(symbol.quote).usd
            found.setdefault(symbol.base, Course(begun_ms // HOUR_MS + 1, (usd,), level_of(symbol.base).daily))
    return found


class Replay:
    """One recorded symbol. After the end of the recording, its streams are silent and its book stays unchanged."""

    def __init__(self, symbol: Symbol, recording: Recording, begun_ms: int, speed: float) -> None:
        shift = Shift(recording, begun_ms, speed)
        # Recorded quantities can be finer than the listed lot.
        self.unit = replace(symbol, lot=1)
        self.tape = ReplayTape(self.unit, recording, shift)
        self._begun_ms = begun_ms
        self._snapshot = recording.snapshot
        self._diffs = [diff for _, diff in recording.diffs]
        self._diff_times = shift.arrivals([at_ms for at_ms, _ in recording.diffs])
        self._event_times = [shift.moment(diff.event_ms) for diff in self._diffs]
        self._quotes = [quote for _, quote in recording.quotes]
        self._quote_times = shift.arrivals([at_ms for at_ms, _ in recording.quotes])
        self._applied = -1
        self._bids: dict[int, int] = {}
        self._asks: dict[int, int] = {}
        self._rewind()

    def top(self, now_ms: int) -> Top:
        """Return the best bid and ask of the rebuilt book."""
        self._move(now_ms)
        bid, ask = max(self._bids), min(self._asks)
        return Top((bid, self._bids[bid]), (ask, self._asks[ask]))

    def update_id(self, now_ms: int) -> int:
        """Return the ID of the newest event, or that of the snapshot if it is newer."""
        if now_ms < self._begun_ms:
            return self._diffs[0].first_id - 1  # before the recording starts, the book is older than all events
        count = self._count(now_ms)
        return max(self._snapshot.last_update_id, self._diffs[count - 1].last_id if count else 0)

    def depth(self, limit: int, now_ms: int) -> Depth:
        """Return the book: the recorded snapshot with all events up to now."""
        self._move(now_ms)
        return Depth(self.update_id(now_ms), _best(self._bids, limit, bids=True), _best(self._asks, limit, bids=False))

    def changes(self, start_ms: int, end_ms: int) -> Changes | None:
        """Return the recorded events of a span as one change."""
        chosen = self._diffs[self._count(start_ms) : self._count(end_ms)]
        if not chosen:
            return None
        bids, asks = dict[int, int](), dict[int, int]()
        for diff in chosen:
            bids |= self._levels(diff.bids)
            asks |= self._levels(diff.asks)
        return Changes(chosen[0].first_id, chosen[-1].last_id, bids, asks)

    def events(self, stream: Stream, span: Span) -> list[Event] | None:
        """Return recorded depth events and best quotes. Return None for streams that are generated as usual."""
        if stream.kind == "depth" and stream.every_ms == 100:
            return [self._depth_event(place) for place in range(self._count(span.start_ms), self._count(span.end_ms))]
        if stream.kind == "bookTicker":
            first, last = (bisect_right(self._quote_times, at_ms) for at_ms in span)
            return [self._quote_event(place) for place in range(first, last)]
        return None

    def _depth_event(self, place: int) -> Event:
        diff = self._diffs[place]
        head = f'{{"e":"depthUpdate","E":{self._event_times[place]},"s":"{self.unit.name}"'
        ids = f',"U":{diff.first_id},"u":{diff.last_id}'
        levels = f',"b":{bytes(diff.bids).decode()},"a":{bytes(diff.asks).decode()}}}'
        return Event(head + ids + levels, diff.last_id - diff.first_id + 1)

    def _quote_event(self, place: int) -> Event:
        quote = self._quotes[place]
        prices = f'"b":"{quote.bid}","B":"{quote.bid_quantity}","a":"{quote.ask}","A":"{quote.ask_quantity}"'
        return Event(f'{{"u":{quote.update_id},"s":"{self.unit.name}",{prices}}}')

    def _count(self, now_ms: int) -> int:
        return bisect_right(self._diff_times, now_ms)

    def _move(self, now_ms: int) -> None:
        count = self._count(now_ms)
        if count < self._applied:
            self._rewind()
        for diff in self._diffs[self._applied : count]:
            if diff.last_id > self._snapshot.last_update_id:
                _lay(self._bids, self._levels(diff.bids))
                _lay(self._asks, self._levels(diff.asks))
        self._applied = count

    def _rewind(self) -> None:
        self._applied = 0
        self._bids = levels_of(self.unit, self._snapshot.bids)
        self._asks = levels_of(self.unit, self._snapshot.asks)

    def _levels(self, raw: msgspec.Raw) -> dict[int, int]:
        return levels_of(self.unit, msgspec.json.decode(raw, type=Written))


class ReplayTape:
    """The recorded trades. Trades with the same time, price and side are one aggregate; their IDs start at 1."""

    def __init__(self, symbol: Symbol, recording: Recording, shift: Shift) -> None:
        fills = [fill for _, fill in recording.fills]
        aggregates = [1] * len(fills)
        for place, (before, fill) in enumerate(pairwise(fills), start=1):
            aggregates[place] = aggregates[place - 1] + (_kind(before) != _kind(fill))
        self._trades = [
            Trade(
                fill.id,
                aggregate,
                whole(fill.price, symbol.tick),
                whole(fill.quantity, symbol.lot),
                shift.moment(fill.time_ms),
                fill.buyer_is_maker,
            )
            for fill, aggregate in zip(fills, aggregates, strict=True)
        ]
        self._times = list(accumulate((trade.time_ms for trade in self._trades), max))

    def until(self, now_ms: int) -> int:
        """Return the time before which all trades are visible at `now_ms`."""
        return now_ms + 1

    def forward(self, start_ms: int, end_ms: int) -> Iterator[Trade]:
        """Yield the trades with start <= time < end, oldest first."""
        yield from self._trades[bisect_left(self._times, start_ms) : bisect_left(self._times, end_ms)]

    def backward(self, end_ms: int) -> Iterator[Trade]:
        """Yield the trades before `end_ms`, newest first."""
        yield from reversed(self._trades[: bisect_left(self._times, end_ms)])

    def time_of_trade(self, identity: int) -> int:
        """Return the time of the trade, or of the next one if it does not exist."""
        return self._time(bisect_left(self._trades, identity, key=lambda trade: trade.id))

    def time_of_aggregate(self, identity: int) -> int:
        """Return the time of the aggregate trade, or of the next one if it does not exist."""
        return self._time(bisect_left(self._trades, identity, key=lambda trade: trade.aggregate))

    def _time(self, place: int) -> int:
        return self._times[place] if place < len(self._times) else (self._times[-1] + 1 if self._times else 0)


def _kind(fill: Fill) -> tuple[int, str, bool]:
    return fill.time_ms, fill.price, fill.buyer_is_maker


def _best(side: dict[int, int], limit: int, *, bids: bool) -> list[Level]:
    return sorted(side.items(), reverse=bids)[:limit]


def _lay(side: dict[int, int], changes: dict[int, int]) -> None:
    for price, lots in changes.items():
        if lots:
            side[price] = lots
        else:
            side.pop(price, None)
