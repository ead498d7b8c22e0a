"""The order book as a pure function of the last trade and the 100 ms bucket: nothing is kept, nothing drifts."""

from collections.abc import Iterator
from dataclasses import dataclass

from mcp_binance_server.simulator.listing import Symbol
from mcp_binance_server.simulator.lru import Lru
from mcp_binance_server.simulator.noise import draws

BUCKET_MS = 100
BLOCK = 16  # neighbouring prices are redrawn together
SLOWEST = 40  # buckets a block keeps its quantities at most

Level = tuple[int, int]  # price in ticks, lots


@dataclass(frozen=True, slots=True)
class Top:
    """The best price of both sides."""

    bid: Level
    ask: Level


class Book:
    """Both sides of one symbol, around the newest trade."""

    def __init__(self, symbol: Symbol, seed: int, usual_lots: int) -> None:
        self._symbol = symbol
        self._seed = seed
        self._usual_lots = max(2, usual_lots)
        self._blocks: Lru[tuple[int, int], tuple[int, ...]] = Lru(5_000)
        self._paces: Lru[int, tuple[int, int]] = Lru(5_000)

    def update_id(self, trade_id: int, now_ms: int) -> int:
        """Return an id that grows whenever the book may have changed."""
        return now_ms // BUCKET_MS + 3 * trade_id

    def best(self, price: int, trade_id: int, now_ms: int, *, buyer_is_maker: bool) -> Top:
        """Return the top: a taker's sale printed the bid, a purchase the ask."""
        (draw,) = draws(1, self._seed, "spread", self._symbol.name, trade_id)
        spread = 1 if draw % 8 else 2 + draw // 8 % 3
        bid = price if buyer_is_maker else price - spread
        ask = price + spread if buyer_is_maker else price
        bucket = now_ms // BUCKET_MS
        return Top(
            (bid, self._lots(bid, bucket) or self._usual_lots), (ask, self._lots(ask, bucket) or self._usual_lots)
        )

    def side(self, best: Level, direction: int, now_ms: int) -> Iterator[Level]:
        """Yield the levels from the best price outwards; direction is -1 for bids, 1 for asks."""
        yield best
        bucket = now_ms // BUCKET_MS
        price = best[0] + direction
        while self._symbol.lowest_tick <= price <= self._symbol.highest_tick:
            lots = self._lots(price, bucket)
            if lots:
                yield price, lots
            price += direction

    def _lots(self, price: int, bucket: int) -> int:
        block, place = divmod(price, BLOCK)
        pace, phase = self._paces.get(block, lambda: self._pace(block))
        epoch = (bucket + phase) // pace
        return self._blocks.get((block, epoch), lambda: self._draw(block, epoch))[place]

    def _pace(self, block: int) -> tuple[int, int]:
        pace, phase = draws(2, self._seed, "pace", self._symbol.name, block)
        return 5 + pace % SLOWEST, phase % SLOWEST

    def _draw(self, block: int, epoch: int) -> tuple[int, ...]:
        noise = draws(BLOCK, self._seed, "book", self._symbol.name, block, epoch)
        # Two prices in five are empty; one in sixteen is large.
        return tuple(
            0 if draw % 5 < 2 else 1 + (draw >> 8) % self._usual_lots * (12 if draw & 0xF0 == 0 else 1)
            for draw in noise
        )
