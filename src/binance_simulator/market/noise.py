"""Reproducible random numbers, an LRU cache, and the settings of a market."""

import hashlib
import struct
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

FULL = 1 << 32

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


def draws(count: int, *key: str | int) -> tuple[int, ...]:
    """Return `count` integers below 2**32 that depend only on the key."""
    name = "|".join(map(str, key)).encode()
    return struct.unpack(f"<{count}I", hashlib.shake_128(name).digest(4 * count))


def signed_unit(draw: int) -> float:
    """Map a random integer to [-1, 1)."""
    return draw / (FULL >> 1) - 1.0


def shares(total: int, weights: list[int], least: int) -> list[int]:
    """Split a whole number in proportion to weights. The parts add up exactly, and each is at least `least`."""
    spare = total - least * len(weights)
    scale = sum(weights)
    parts = [least + spare * weight // scale for weight in weights]
    parts[-1] += total - sum(parts)
    return parts


class Lru(Generic[K, V]):
    """LRU cache with at most `size` entries."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._items: OrderedDict[K, V] = OrderedDict()

    def get(self, key: K, make: Callable[[], V]) -> V:
        """Return the cached value. If there is none, compute and cache it."""
        found = self._items.get(key)
        if found is not None:
            self._items.move_to_end(key)
            return found
        made = make()
        self._items[key] = made
        if len(self._items) > self._size:
            self._items.popitem(last=False)
        return made

    def __len__(self) -> int:
        return len(self._items)


@dataclass(frozen=True, slots=True)
class Temper:
    """Settings of a market. The defaults are those of an ordinary day.

    `least_bought` is the smallest share of a day's volume that takers buy, in per cent. `bought_span` is the size of
    the range above it. `aggregates` is the number of aggregate trades per minute, at least ten. `reach` is in slots of
    the book.
    """

    least_bought: int = 40
    bought_span: int = 20
    aggregates: int = 16
    volume_percent: int = 100
    least_spread_bps: int = 0
    reach: int = 9_000

    @property
    def aggregates_a_day(self) -> int:
        return self.aggregates * 1440

    @property
    def extra_trades_a_day(self) -> int:
        return self.aggregates_a_day * 9 // 16


ORDINARY = Temper()
BUSY = Temper(least_bought=48, bought_span=5, aggregates=320, reach=2_000)
ONE_SIDED = Temper(least_bought=72, bought_span=7, aggregates=160, reach=2_000)
THIN = Temper(aggregates=12, volume_percent=2, least_spread_bps=5, reach=128)
