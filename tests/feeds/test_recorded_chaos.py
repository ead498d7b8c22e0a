"""Recorded minutes with lines deleted, doubled and swapped: a book that is shown is the true one."""

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from random import Random

import pytest

from feeds.recorded import Pair, book_of, recording
from mcp_binance_server.domain.market import BookDelta, BookSnapshot, WrittenLevel
from mcp_binance_server.domain.symbols import Symbol
from mcp_binance_server.feeds.book import Joined
from mcp_binance_server.feeds.feed import FeedMemoryLimit, SymbolFeed
from mcp_binance_server.feeds.snapshots import SNAPSHOT_LEVELS
from support.fixtures import RECORDED_MARKET, needs

pytestmark = [needs(RECORDED_MARKET), pytest.mark.flood]

# With --scale 3 the whole claim of two hundred.
RUNS = 80
EVENTS = 200
SHOWN = 50
PAIRS: tuple[Pair, ...] = ("btcusdt", "ethusdt")


class Reference:
    """The same book by the simplest means: two dictionaries, sorted whenever somebody looks."""

    def __init__(self, bids: dict[str, str], asks: dict[str, str], last_id: int) -> None:
        self.bids, self.asks, self.last_id = bids, asks, last_id

    def take(self, delta: BookDelta) -> None:
        if delta.last_update_id <= self.last_id:
            return
        for side, changes in ((self.bids, delta.bids), (self.asks, delta.asks)):
            for price, size in changes:
                if Decimal(size):
                    side[price] = size
                else:
                    side.pop(price, None)
        self.last_id = delta.last_update_id

    def best(self, count: int) -> tuple[list[WrittenLevel], list[WrittenLevel]]:
        bids, asks = (sorted(side, key=float) for side in (self.bids, self.asks))
        return [(price, self.bids[price]) for price in bids[: -count - 1 : -1]], [
            (p, self.asks[p]) for p in asks[:count]
        ]

    def snapshot(self) -> BookSnapshot:
        return book_of(self.last_id, *self.best(SNAPSHOT_LEVELS))

    def copy(self) -> "Reference":
        return Reference(dict(self.bids), dict(self.asks), self.last_id)


@dataclass(frozen=True)
class Scene:
    start: Reference
    deltas: tuple[BookDelta, ...]


@cache
def scenes(pair: Pair) -> tuple[Scene, ...]:
    """Return stretches of the recording, each with the true book before it."""
    played = recording(pair)
    book = Reference(
        {f"{level.price:f}": f"{level.quantity:f}" for level in played.snapshot.bids},
        {f"{level.price:f}": f"{level.quantity:f}" for level in played.snapshot.asks},
        played.snapshot.last_update_id,
    )
    found = list[Scene]()
    for place, delta in enumerate(played.deltas):
        if place % EVENTS == 0 and place + EVENTS <= len(played.deltas):
            found.append(Scene(book.copy(), played.deltas[place : place + EVENTS]))
        book.take(delta)
    return tuple(found)


def mangled(deltas: tuple[BookDelta, ...], random: Random) -> Iterator[tuple[int, BookDelta]]:
    """Yield what arrives: now and then nothing, the same again, or the next before this one."""
    rate = random.choice([0.002, 0.01, 0.05])
    held: tuple[int, BookDelta] | None = None
    for place, delta in enumerate(deltas):
        kind = random.choice(["drop", "double", "swap"]) if random.random() < rate else "keep"
        if kind == "swap" and held is None:
            held = (place, delta)
            continue
        if kind != "drop":
            yield place, delta
        if kind == "double":
            yield place, delta
        if held is not None:
            yield held
            held = None


@dataclass
class Request:
    """A snapshot on its way: it arrives at a place, and is good when nothing was lost since it was asked for."""

    arrives: int
    answer: BookSnapshot
    is_good: bool


class Run:
    """One mangled stretch: the feed, the truth at what was last told, and the truth at what the feed has taken over."""

    def __init__(self, pair: Pair, seed: int) -> None:
        self.random = Random(seed)
        self.scene = self.random.choice(scenes(pair))
        self.feed = SymbolFeed(Symbol(pair.upper()), FeedMemoryLimit.shared_by(20))
        self.truth, self.told = self.scene.start.copy(), 0
        self.taken, self.place = self.scene.start.copy(), 0
        self.request: Request | None = None
        self.last_place = -1
        self.shown = self.broken = self.joined = self.refused = 0

    def play(self) -> None:
        was_live = False
        for place, delta in mangled(self.scene.deltas, self.random):
            if self.request is not None and place != self.last_place + 1:
                self.request.is_good = False
            self.last_place = place
            while self.told <= place:
                self.truth.take(self.scene.deltas[self.told])
                self.told += 1
            self.feed.on_depth(delta, delta.event_ms)
            self.ask(place, delta)
            self.broken += was_live and not self.feed.is_live
            was_live = self.feed.is_live
            if was_live:
                self.look(place)

    def ask(self, place: int, delta: BookDelta) -> None:
        if self.request is not None and place >= self.request.arrives:
            outcome = self.feed.on_snapshot(self.request.answer, asked=SNAPSHOT_LEVELS, time_ms=delta.event_ms)
            if self.request.is_good:
                assert isinstance(outcome, Joined)
            self.joined += isinstance(outcome, Joined)
            self.refused += not isinstance(outcome, Joined)
            self.request = None
        elif self.request is None and self.feed.needs_snapshot:
            # Now and then the answer is older than the first event.
            is_old = self.random.random() < 0.2
            book = self.scene.start if is_old else self.truth
            self.request = Request(place + self.random.randrange(1, 12), book.snapshot(), is_good=not is_old)

    def look(self, place: int) -> None:
        self.shown += 1
        assert not self.feed.book.is_crossed
        if place % 20 and self.random.random() > 0.05:
            return
        while self.taken.last_id < self.feed.book.last_update_id:
            self.taken.take(self.scene.deltas[self.place])
            self.place += 1
        assert self.taken.last_id == self.feed.book.last_update_id
        assert self.feed.book.written_top(SHOWN) == self.taken.best(SHOWN)


@pytest.mark.parametrize("pair", PAIRS)
def test_every_book_that_is_shown_equals_the_rebuilt_one(pair: Pair, scale: int) -> None:
    runs = [Run(pair, seed) for seed in range(RUNS // len(PAIRS) * scale)]
    for run in runs:
        run.play()

    # None of the checks above was empty: books were shown, taken away, refused and given back.
    assert sum(run.shown for run in runs) > len(runs) * EVENTS / 2
    assert sum(run.broken for run in runs) > len(runs)
    assert sum(run.joined for run in runs) > len(runs)
    assert sum(run.refused for run in runs) > len(runs) / 4
