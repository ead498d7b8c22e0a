"""Additional cheap markets for load tests. Each repeats one of a few precomputed loops of events."""

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import accumulate

from binance_simulator.market.book import BUCKET_MS, Level, Top
from binance_simulator.market.candles import Trade
from binance_simulator.market.history import LISTED_MS
from binance_simulator.market.listing import Symbol
from binance_simulator.market.noise import Lru, draws
from binance_simulator.market.source import Changes, Depth, Event, Span, Stream

HALF = 300  # steps of 100 ms: the book changes for half a minute, then all changes are undone
STEPS = 2 * HALF
MIDDLE = 25_000  # start price of a loop in ticks
REACH = 1_200  # levels per side
WANDER = 40  # maximum distance of the price from the start, in ticks

Side = dict[int, int]

LOOPS = 8
# Bounds of the setting for changed levels per event. An event can change up to four more.
FEW_LEVELS, MOST_LEVELS = 8, 100
DRAWS, DRAWS_A_LEVEL = 80, 12


@dataclass(frozen=True, slots=True)
class Step:
    """One depth event: the new quantity of each changed level in lots, and the number of update IDs.

    A removed level has 0 lots.
    """

    bids: Side
    asks: Side
    ids: int


@dataclass(frozen=True, slots=True)
class Print:
    """One aggregate trade of the loop. It is `offset_ms` after the start of its step and has `pieces` trades."""

    step: int
    price: int
    lots: int
    offset_ms: int
    pieces: int
    buyer_is_maker: bool


@dataclass(frozen=True, slots=True)
class Loop:
    """A loop: the first book, the steps, the best prices after each step, and the trades.

    The last step restores the first book.
    """

    bids: Side
    asks: Side
    steps: tuple[Step, ...]
    tops: tuple[Top, ...]
    prints: tuple[Print, ...]

    def book_after(self, step: int) -> tuple[list[Level], list[Level]]:
        """Return both sides after a step, best first."""
        bids, asks = dict(self.bids), dict(self.asks)
        # The second half undoes the first half, so a late book equals an early one.
        for early in self.steps[: step + 1 if step < HALF else STEPS - 1 - step]:
            _lay(bids, early.bids)
            _lay(asks, early.asks)
        return sorted(bids.items(), reverse=True), sorted(asks.items())


def build_loop(seed: int, number: int, levels: int = FEW_LEVELS) -> Loop:
    """Build a random loop. Each step changes `levels` or up to four more, and the book is never crossed."""
    noise = draws(2 * REACH, seed, "crowd", number)
    bids = {MIDDLE - place: _size(noise[place]) for place in range(REACH)}
    asks = {MIDDLE + 1 + place: _size(noise[REACH + place]) for place in range(REACH)}
    first_bids, first_asks = dict(bids), dict(asks)
    steps, back = list[Step](), list[Step]()
    tops = [_top(bids, asks)]
    middle = MIDDLE
    for place in range(HALF):
        noise = draws(max(DRAWS, DRAWS_A_LEVEL * levels), seed, "crowd", number, place)
        step, middle = _step(bids, asks, middle, levels, noise)
        steps.append(step)
        before_bids = {price: bids.get(price, 0) for price in step.bids}
        back.append(Step(before_bids, {price: asks.get(price, 0) for price in step.asks}, step.ids))
        _lay(bids, step.bids)
        _lay(asks, step.asks)
        tops.append(_top(bids, asks))
    all_tops = (*tops[1:], *reversed(tops[:-1]))
    all_steps = (*steps, *reversed(back))
    return Loop(first_bids, first_asks, all_steps, all_tops, _prints(all_tops, draws(4 * STEPS, seed, "print", number)))


def _step(bids: Side, asks: Side, middle: int, levels: int, noise: tuple[int, ...]) -> tuple[Step, int]:
    new_bids, new_asks = Side(), Side()
    if noise[0] % 12 == 0 and middle < MIDDLE + WANDER:
        middle += 1
        new_bids[middle], new_asks[middle] = _size(noise[1]), 0
    elif noise[0] % 12 == 1 and middle > MIDDLE - WANDER:
        new_bids[middle], new_asks[middle] = 0, _size(noise[1])
        middle -= 1
    wanted = levels + noise[2] % 5
    for draw, size in zip(noise[4::2], noise[5::2], strict=True):
        distance = draw // 4 % 6 if draw % 4 < 2 else draw // 4 % 60
        lots = _size(size) if distance == 0 or size % 4 else 0
        side, new = (bids, new_bids) if draw % 2 else (asks, new_asks)
        price = middle - distance if draw % 2 else middle + 1 + distance
        if len(new_bids) + len(new_asks) < wanted and price not in new and side.get(price, 0) != lots:
            new[price] = lots
    touched = {price: lots for price, lots in new_asks.items() if lots != asks.get(price, 0)}
    return Step(new_bids, touched, len(new_bids) + len(touched) + noise[3] % 6), middle


def _prints(tops: tuple[Top, ...], noise: tuple[int, ...]) -> tuple[Print, ...]:
    prints: list[Print] = []
    for step in range(STEPS):
        chance, side, size, when = noise[4 * step : 4 * step + 4]
        if chance % 20 < 3:
            buyer_is_maker = side % 2 == 0
            price, lots = tops[step - 1].bid if buyer_is_maker else tops[step - 1].ask
            prints.append(Print(step, price, 2 + size % lots, when % 100, 1 + side // 2 % 2, buyer_is_maker))
    return tuple(prints)


def _lay(side: Side, changes: Side) -> None:
    for price, lots in changes.items():
        if lots:
            side[price] = lots
        else:
            side.pop(price, None)


def _top(bids: Side, asks: Side) -> Top:
    bid, ask = max(bids), min(asks)
    return Top((bid, bids[bid]), (ask, asks[ask]))


def _size(draw: int) -> int:
    return 40 + (draw >> 8) % 4_000 * (8 if draw & 0xF0 == 0 else 1)


class Reel:
    """A loop with formatted levels, and the number of update IDs used up to the end of each step."""

    def __init__(self, loop: Loop, unit: Symbol) -> None:
        self.loop = loop
        self.ids = tuple(accumulate(step.ids for step in loop.steps))
        self.aggregates = _counts(loop, [1] * len(loop.prints))
        self.trades = _counts(loop, [one.pieces for one in loop.prints])
        self.levels = tuple(
            f'"b":{_levels(unit, step.bids, reverse=True)},"a":{_levels(unit, step.asks)}}}' for step in loop.steps
        )
        self.prints_of = {step: [one for one in loop.prints if one.step == step] for step in range(STEPS)}
        steps = sorted({one.step for one in loop.prints})
        # For each step, the number of steps since the last one with a trade.
        self.quiet = tuple((step - steps[bisect_right(steps, step) - 1]) % STEPS for step in range(STEPS))
        self._books: Lru[int, tuple[list[Level], list[Level]]] = Lru(8)

    def book(self, step: int) -> tuple[list[Level], list[Level]]:
        """Return both sides after a step, best first."""
        return self._books.get(step, lambda: self.loop.book_after(step))


class Member:
    """One additional symbol. Like a full market, it depends only on time."""

    def __init__(self, symbol: Symbol, reel: Reel, phase: int) -> None:
        self.unit = symbol
        self.tape = MemberTape(reel, phase)
        self._reel = reel
        self._phase = phase

    def top(self, now_ms: int) -> Top:
        """Return the best bid and ask."""
        return self._reel.loop.tops[self._place(now_ms)[1]]

    def update_id(self, now_ms: int) -> int:
        """Return the ID of the newest change to the book."""
        turn, step = self._place(now_ms)
        return turn * self._reel.ids[-1] + self._reel.ids[step]

    def depth(self, limit: int, now_ms: int) -> Depth:
        """Return up to `limit` levels per side."""
        bids, asks = self._reel.book(self._place(now_ms)[1])
        return Depth(self.update_id(now_ms), bids[:limit], asks[:limit])

    def changes(self, start_ms: int, end_ms: int) -> Changes:
        """Return the changes after `start_ms`, up to and including `end_ms`."""
        bids, asks = dict[int, int](), dict[int, int]()
        for at_ms in range(start_ms + BUCKET_MS, end_ms + 1, BUCKET_MS):
            step = self._reel.loop.steps[self._place(at_ms)[1]]
            bids.update(step.bids)
            asks.update(step.asks)
        return Changes(self.update_id(start_ms) + 1, self.update_id(end_ms), bids, asks)

    def events(self, stream: Stream, span: Span) -> list[Event] | None:
        """Return the ticker or the depth event of one step from formatted parts.

        Return None for other streams and spans.
        """
        if stream.kind == "ticker":
            return [self._ticker(span.end_ms)]
        if stream.kind != "depth" or span.end_ms - span.start_ms != BUCKET_MS:
            return None
        first, last = self.update_id(span.start_ms) + 1, self.update_id(span.end_ms)
        levels = self._reel.levels[self._place(span.end_ms)[1]]
        head = f'{{"e":"depthUpdate","E":{span.end_ms},"s":"{self.unit.name}","U":{first},"u":{last},'
        return [Event(head + levels, last - first + 1)]

    def _ticker(self, now_ms: int) -> Event:
        """Return a ticker with correct prices and an otherwise empty day.

        Computing the real day of 400 symbols would take all of a core.
        """
        top, unit = self.top(now_ms), self.unit
        price, size = unit.price(top.bid[0]), unit.quantity(top.bid[1])
        zero, none = unit.price(0), unit.quantity(0)
        return Event(
            f'{{"e":"24hrTicker","E":{now_ms},"s":"{unit.name}","p":"{zero}","P":"0.000","w":"{price}","x":"{price}",'
            f'"c":"{price}","Q":"{size}","b":"{price}","B":"{size}","a":"{unit.price(top.ask[0])}",'
            f'"A":"{unit.quantity(top.ask[1])}","o":"{price}","h":"{price}","l":"{price}","v":"{none}","q":"{none}",'
            f'"O":{now_ms - 86_400_000},"C":{now_ms},"F":-1,"L":-1,"n":1}}',
            1,
        )

    def _place(self, now_ms: int) -> tuple[int, int]:
        return divmod(now_ms // BUCKET_MS + self._phase, STEPS)


class MemberTape:
    """The trades of an additional symbol. A step's trades are in the 100 ms before its depth event."""

    def __init__(self, reel: Reel, phase: int) -> None:
        self._reel = reel
        self._phase = phase

    def until(self, now_ms: int) -> int:
        """Return the time before which all trades are visible at `now_ms`."""
        return now_ms + 1

    def forward(self, start_ms: int, end_ms: int) -> Iterator[Trade]:
        """Yield the trades with start <= time < end, oldest first."""
        for bucket in range(start_ms // BUCKET_MS, end_ms // BUCKET_MS + 2):
            yield from (trade for trade in self._trades(bucket) if start_ms <= trade.time_ms < end_ms)

    def backward(self, end_ms: int) -> Iterator[Trade]:
        """Yield the trades before `end_ms`, newest first."""
        bucket = end_ms // BUCKET_MS + 1
        while (bucket := bucket - self._reel.quiet[(bucket + self._phase) % STEPS]) > LISTED_MS // BUCKET_MS:
            yield from (trade for trade in reversed(self._trades(bucket)) if trade.time_ms < end_ms)
            bucket -= 1

    def time_of_trade(self, identity: int) -> int:
        """Return the start of the step that contains the trade."""
        return self._time_of(identity, self._reel.trades)

    def time_of_aggregate(self, identity: int) -> int:
        """Return the start of the step that contains the aggregate trade."""
        return self._time_of(identity, self._reel.aggregates)

    def _time_of(self, identity: int, counts: tuple[int, ...]) -> int:
        turn, rest = divmod(identity, counts[-1])
        # `counts[step]` is the number of IDs before the step.
        bucket = turn * STEPS + bisect_right(counts, rest) - 1 - self._phase
        return (bucket - 1) * BUCKET_MS

    def _trades(self, bucket: int) -> list[Trade]:
        turn, step = divmod(bucket + self._phase, STEPS)
        prints = self._reel.prints_of[step]
        if not prints:
            return []
        aggregate = turn * self._reel.aggregates[-1] + self._reel.aggregates[step]
        identity = turn * self._reel.trades[-1] + self._reel.trades[step]
        trades: list[Trade] = []
        for place, one in enumerate(prints):
            time_ms = (bucket - 1) * BUCKET_MS + 1 + one.offset_ms
            for piece in range(one.pieces):
                lots = one.lots - one.pieces + 1 if piece == 0 else 1
                trades.append(Trade(identity, aggregate + place, one.price, lots, time_ms, one.buyer_is_maker))
                identity += 1
        return trades


def build_crowd(symbols: list[Symbol], seed: int, levels: int = FEW_LEVELS) -> dict[str, Member]:
    """Return the additional symbols by name. Adjacent symbols play different loops and start at different steps."""
    models = [replace(symbol, name="", base="") for symbol in symbols[:LOOPS]]
    reels = [_reel(seed, number, model, levels) for number, model in enumerate(models)]
    return {
        symbol.name: Member(symbol, reels[number % len(reels)], number * 37 % STEPS)
        for number, symbol in enumerate(symbols)
    }


@lru_cache(maxsize=4 * LOOPS)
def _reel(seed: int, number: int, model: Symbol, levels: int) -> Reel:
    # Cache the eight loops of a seed, because building one takes a tenth of a second.
    return Reel(build_loop(seed, number, levels), model)


def _counts(loop: Loop, weights: list[int]) -> tuple[int, ...]:
    used = [0] * STEPS
    for one, weight in zip(loop.prints, weights, strict=True):
        used[one.step] += weight
    return (0, *accumulate(used))


def _levels(unit: Symbol, side: dict[int, int], *, reverse: bool = False) -> str:
    levels = sorted(side.items(), reverse=reverse)
    return "[" + ",".join(f'["{unit.price(price)}","{unit.quantity(lots)}"]' for price, lots in levels) + "]"
