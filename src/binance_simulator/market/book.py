"""A simulated order book without state. It depends only on the last trade and the 100 ms bucket."""

from collections.abc import Iterator
from dataclasses import dataclass

from binance_simulator.market.listing import Symbol
from binance_simulator.market.noise import ORDINARY, Lru, Temper, draws

BUCKET_MS = 100
SLOTS = 1 << 16  # orders are only on slots: every tick of a low price, every 2, 4, 8 ... ticks of a higher one
BLOCK = 4  # adjacent slots of a block are redrawn together
CHUNK = 16 * BLOCK  # the price range of the book moves in steps of this many slots
TOP_BUCKETS = 2  # buckets until the best quantity changes
SCHEDULED_BUCKETS = 256  # buckets for which the schedule of redraws is computed together

Level = tuple[int, int]  # price in ticks, lots
Turn = tuple[int, int, int]  # block, pace and phase: the schedule of a block's redraws

Reach = tuple[int, int]  # first slot of the book, and the slot after the last
Schedule = dict[int, list[int]]  # blocks that are redrawn in each bucket, in order; other buckets have no entry
Held = dict[int, tuple[int, ...]]  # content of blocks at one moment


@dataclass(frozen=True, slots=True)
class Top:
    """The best bid and ask."""

    bid: Level
    ask: Level


@dataclass(frozen=True, slots=True)
class Moment:
    """Input of the book: the best prices and the bucket."""

    top: Top
    bucket: int


class Book:
    """Both sides of one symbol's book around the newest trade."""

    def __init__(self, symbol: Symbol, seed: int, usual_lots: int, temper: Temper = ORDINARY) -> None:
        self._symbol = symbol
        # Three of five slots have an order. The deepest snapshot is therefore always full in an ordinary market.
        self._reach_slots = temper.reach
        self._least_spread_bps = temper.least_spread_bps
        self._seed = seed
        self._usual_lots = max(2, usual_lots)
        self._blocks: Lru[tuple[int, int], tuple[int, ...]] = Lru(15_000)
        self._turns: Lru[int, tuple[Turn, ...]] = Lru(2_000)
        self._schedules: Lru[tuple[int, int, int], Schedule] = Lru(8)

    def update_id(self, trade_id: int, now_ms: int) -> int:
        """Return an update ID that is higher whenever the book may have changed."""
        return now_ms // BUCKET_MS + 3 * trade_id

    def best(self, price: int, trade_id: int, now_ms: int, *, buyer_is_maker: bool) -> Top:
        """Return the best bid and ask.

        The last trade was at the bid if the taker sold, and at the ask if the taker bought.
        """
        (draw,) = draws(1, self._seed, "spread", self._symbol.name, trade_id)
        spread = price * self._least_spread_bps // 10_000 + (1 if draw % 8 else 2 + draw // 8 % 3)
        bid = price if buyer_is_maker else price - spread
        ask = price + spread if buyer_is_maker else price
        epoch = now_ms // BUCKET_MS // TOP_BUCKETS
        bid_lots, ask_lots = (
            self._size(draw) for draw in draws(2, self._seed, "top", self._symbol.name, trade_id, epoch)
        )
        return Top((bid, bid_lots), (ask, ask_lots))

    def side(self, moment: Moment, direction: int) -> Iterator[Level]:
        """Yield the levels from the best price outwards. `direction` is -1 for bids and 1 for asks."""
        best = moment.top.bid if direction < 0 else moment.top.ask
        yield best
        low, high = self._reach(moment)
        slot = _slot(best[0])
        if direction > 0 or _price(slot) == best[0]:
            slot += direction
        slots = range(slot, low - 1, -1) if direction < 0 else range(slot, high)
        held_block, held = -1, tuple[int, ...]()
        for slot in slots:
            if slot // BLOCK != held_block:
                held_block = slot // BLOCK
                held = self._block(held_block, moment.bucket)
            lots = held[slot % BLOCK]
            if lots:
                yield _price(slot), lots

    def at(self, price: int, moment: Moment) -> tuple[int, int]:
        """Return the bid and ask quantities at a price, in lots."""
        return self._at(price, moment, self._reach(moment), Held())

    def changes(self, before: Moment, after: Moment) -> tuple[list[Level], list[Level]]:
        """Return the bids and asks that differ between two moments. A removed level has 0 lots.

        The moments must be at most one bucket apart.
        """
        old_reach, reach = self._reach(before), self._reach(after)
        prices = {top[0] for moment in (before, after) for top in (moment.top.bid, moment.top.ask)}
        prices.update(map(_price, self._touched(before, after, old_reach, reach)))
        bids: list[Level] = []
        asks: list[Level] = []
        old_held, held = Held(), Held()
        for price in prices:
            old_bid, old_ask = self._at(price, before, old_reach, old_held)
            bid, ask = self._at(price, after, reach, held)
            if bid != old_bid:
                bids.append((price, bid))
            if ask != old_ask:
                asks.append((price, ask))
        return bids, asks

    def _touched(self, before: Moment, after: Moment, old_reach: Reach, reach: Reach) -> Iterator[int]:
        (old_low, old_high), (low, high) = old_reach, reach
        if before.bucket != after.bucket:
            first, last = min(low, old_low) // CHUNK, -(-max(high, old_high) // CHUNK)
            for block in self._redrawn(first, last, after.bucket):
                yield from range(block * BLOCK, block * BLOCK + BLOCK)
        lowest = min(before.top.bid[0], after.top.bid[0])
        highest = max(before.top.ask[0], after.top.ask[0])
        yield from range(_slot(lowest), _slot(highest) + 2)
        yield from range(min(low, old_low), max(low, old_low))
        yield from range(min(high, old_high), max(high, old_high))

    def _redrawn(self, first_chunk: int, last_chunk: int, bucket: int) -> list[int]:
        """Return the blocks in these chunks that are redrawn in a bucket. They are a handful of thousands."""
        part = bucket // SCHEDULED_BUCKETS
        schedule = self._schedules.get(
            (first_chunk, last_chunk, part), lambda: self._draw_schedule(range(first_chunk, last_chunk), part)
        )
        return schedule.get(bucket, [])

    def _draw_schedule(self, chunks: range, part: int) -> Schedule:
        schedule: Schedule = {}
        begin, end = part * SCHEDULED_BUCKETS, (part + 1) * SCHEDULED_BUCKETS
        for chunk in chunks:
            for block, pace, phase in self._turns_of(chunk):
                for bucket in range(begin + -(begin + phase) % pace, end, pace):
                    schedule.setdefault(bucket, []).append(block)
        return schedule

    def _at(self, price: int, moment: Moment, reach: Reach, held: Held) -> tuple[int, int]:
        (bid, bid_lots), (ask, ask_lots) = moment.top.bid, moment.top.ask
        if price == bid:
            return bid_lots, 0
        if price == ask:
            return 0, ask_lots
        slot = _slot(price)
        if bid < price < ask or not reach[0] <= slot < reach[1] or _price(slot) != price:
            return 0, 0
        block, place = divmod(slot, BLOCK)
        found = held.get(block)
        if found is None:
            found = held[block] = self._block(block, moment.bucket)
        return (found[place], 0) if price < bid else (0, found[place])

    def _reach(self, moment: Moment) -> Reach:
        middle = _slot(moment.top.bid[0]) // CHUNK * CHUNK
        lowest, highest = self._symbol.lowest_tick, self._symbol.highest_tick
        low = _slot(lowest) if _price(_slot(lowest)) == lowest else _slot(lowest) + 1
        return max(low, middle - self._reach_slots), min(_slot(highest) + 1, middle + CHUNK + self._reach_slots)

    def _block(self, block: int, bucket: int) -> tuple[int, ...]:
        chunk, place = divmod(block, CHUNK // BLOCK)
        _, pace, phase = self._turns_of(chunk)[place]
        epoch = (bucket + phase) // pace
        return self._blocks.get((block, epoch), lambda: self._draw(block, epoch))

    def _turns_of(self, chunk: int) -> tuple[Turn, ...]:
        return self._turns.get(chunk, lambda: self._draw_turns(chunk))

    def _draw_turns(self, chunk: int) -> tuple[Turn, ...]:
        blocks = range(chunk * CHUNK // BLOCK, (chunk + 1) * CHUNK // BLOCK)
        noise = draws(2 * len(blocks), self._seed, "pace", self._symbol.name, chunk)
        # Most orders stay for a minute or two. One block in 64 is redrawn within about a second.
        paces = [300 + draw // 64 % 1500 if draw % 64 else 3 + draw // 64 % 10 for draw in noise[::2]]
        return tuple(zip(blocks, paces, noise[1::2], strict=True))

    def _draw(self, block: int, epoch: int) -> tuple[int, ...]:
        noise = draws(BLOCK, self._seed, "book", self._symbol.name, block, epoch)
        return tuple(0 if draw % 5 < 2 else self._size(draw) for draw in noise)  # two of five slots are empty

    def _size(self, draw: int) -> int:
        return 1 + (draw >> 8) % self._usual_lots * (12 if draw & 0xF0 == 0 else 1)  # one of sixteen orders is large


def _slot(price: int) -> int:
    """Return the slot at or below a price in ticks."""
    zone = max(0, price.bit_length() - SLOTS.bit_length())
    return (price >> zone) + zone * SLOTS


def _price(slot: int) -> int:
    zone = max(0, slot // SLOTS - 1)
    return (slot - zone * SLOTS) << zone
