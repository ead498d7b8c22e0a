"""Whatever the stream says, the book is what a plain dictionary of prices would be."""

from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from typing import ClassVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from feeds.recorded import book_of, delta_of
from mcp_binance_server.domain.market import BookDelta, WrittenLevel
from mcp_binance_server.feeds.book import Applied, JoinBuffer, Joined, LevelCounts, LocalBook, MissedUpdates, Stale

pytestmark = pytest.mark.flood

ZEROS = ("0", "0.00", "0.00000000")


def rows(drawn: bytes) -> list[WrittenLevel]:
    """Read two bytes as a level: few prices, so that levels meet, and some written in two ways, as the exchange may."""
    return [
        (
            f"{Decimal(9_980 + at % 41) / 100:.{2 if at < 128 else 8}f}",
            ZEROS[units % 3] if units < 90 else f"0.{units}00",
        )
        for at, units in zip(drawn[::2], drawn[1::2], strict=False)
    ]


def standing_rows(drawn: bytes) -> list[WrittenLevel]:
    return [row for row in rows(drawn) if Decimal(row[1])]


# Bytes are drawn many times faster than lists of texts.
changes = st.binary(max_size=16).map(rows)
standing = st.binary(max_size=40).map(standing_rows)


@dataclass
class Naive:
    """Both sides as dictionaries by exact price, sorted when read."""

    bids: dict[Decimal, WrittenLevel] = field(default_factory=dict[Decimal, WrittenLevel])
    asks: dict[Decimal, WrittenLevel] = field(default_factory=dict[Decimal, WrittenLevel])

    def take(self, bids: list[WrittenLevel], asks: list[WrittenLevel]) -> None:
        for side, rows in ((self.bids, bids), (self.asks, asks)):
            for row in rows:
                side.pop(Decimal(row[0]), None)
                if Decimal(row[1]):
                    side[Decimal(row[0])] = row

    @property
    def ordered(self) -> tuple[list[WrittenLevel], list[WrittenLevel]]:
        return [row for _, row in sorted(self.bids.items(), reverse=True)], [
            row for _, row in sorted(self.asks.items())
        ]

    @property
    def is_crossed(self) -> bool:
        return bool(self.bids) and bool(self.asks) and max(self.bids) >= min(self.asks)


@st.composite
def streams(draw: st.DrawFn) -> tuple[int, list[BookDelta]]:
    """Return the id of a snapshot and deltas without a hole; the first may reach back before the snapshot."""
    last = draw(st.integers(1, 10**12))
    deltas: list[BookDelta] = []
    first, at = max(1, last - 3), last
    for drawn in draw(st.lists(st.tuples(st.integers(1, 6), changes, changes), min_size=1, max_size=10)):
        at += drawn[0]
        deltas.append(delta_of(first, at, bids=drawn[1], asks=drawn[2]))
        first = at + 1
    return last, deltas


def loaded(last: int, bids: list[WrittenLevel], asks: list[WrittenLevel]) -> tuple[LocalBook, Naive]:
    naive = Naive()
    naive.take(bids, asks)
    book = LocalBook()
    book.load(book_of(last, *naive.ordered))
    return book, naive


@pytest.mark.night
@given(stream=streams(), bids=standing, asks=standing)
def test_after_every_delta_the_book_equals_a_plain_dictionary(
    stream: tuple[int, list[BookDelta]], bids: list[WrittenLevel], asks: list[WrittenLevel]
) -> None:
    last, deltas = stream
    book, naive = loaded(last, bids, asks)

    for delta in deltas:
        outcome = book.apply(delta)
        naive.take(list(delta.bids), list(delta.asks))

        assert isinstance(outcome, Applied)
        assert outcome.is_crossed == naive.is_crossed
        assert book.last_update_id == delta.last_update_id
        assert book.level_counts == LevelCounts(len(naive.bids), len(naive.asks))
        assert book.written_top(100) == naive.ordered
        assert (book.best_bid.price if book.best_bid else None) == max(naive.bids, default=None)
        assert (book.best_ask.price if book.best_ask else None) == min(naive.asks, default=None)


@pytest.mark.night
@given(stream=streams(), bids=standing, asks=standing, low=st.integers(9_970, 10_030), width=st.integers(0, 40))
def test_a_band_holds_exactly_the_levels_between_its_edges(
    stream: tuple[int, list[BookDelta]], bids: list[WrittenLevel], asks: list[WrittenLevel], low: int, width: int
) -> None:
    last, deltas = stream
    book, naive = loaded(last, bids, asks)
    for delta in deltas:
        book.apply(delta)
        naive.take(list(delta.bids), list(delta.asks))
    bottom, top = Decimal(low) / 100, Decimal(low + width) / 100

    near_bids, near_asks = book.near(float(bottom), float(top), 0, 1_000)

    assert near_bids == sorted((float(p) for p in naive.bids if p >= bottom), reverse=True)
    assert near_asks == sorted(float(p) for p in naive.asks if p <= top)


@pytest.mark.night
@given(stream=streams(), bids=standing, asks=standing, choice=st.integers(0, 11))
def test_one_dropped_delta_is_one_gap_and_the_next_snapshot_heals_it(
    stream: tuple[int, list[BookDelta]],
    bids: list[WrittenLevel],
    asks: list[WrittenLevel],
    choice: int,
) -> None:
    last, deltas = stream
    book, naive = loaded(last, bids, asks)
    dropped = choice % len(deltas)
    gaps = 0

    for place, delta in enumerate(deltas):
        naive.take(list(delta.bids), list(delta.asks))
        if place == dropped:
            continue
        before = book.written_top(100), book.last_update_id
        outcome = book.apply(delta)
        if isinstance(outcome, MissedUpdates):
            gaps += 1
            assert (book.written_top(100), book.last_update_id) == before
            book.load(book_of(delta.last_update_id, *naive.ordered))

    assert gaps == (dropped < len(deltas) - 1)
    if gaps:
        assert book.written_top(100) == naive.ordered


@pytest.mark.night
@given(stream=streams(), bids=standing, asks=standing, back=st.lists(st.integers(0, 11), max_size=12))
def test_a_delta_that_comes_again_is_stale_and_changes_nothing(
    stream: tuple[int, list[BookDelta]], bids: list[WrittenLevel], asks: list[WrittenLevel], back: list[int]
) -> None:
    last, deltas = stream
    book, _ = loaded(last, bids, asks)
    for delta in deltas:
        book.apply(delta)
    before = book.written_top(100)

    again = [book.apply(deltas[place % len(deltas)]) for place in back]

    assert all(isinstance(outcome, Stale) for outcome in again)
    assert book.written_top(100) == before
    assert book.last_update_id == deltas[-1].last_update_id


@given(stream=streams(), bids=standing, asks=standing, place=st.integers(0, 11))
def test_wherever_the_snapshot_falls_into_the_stream_the_joined_book_is_the_same(
    stream: tuple[int, list[BookDelta]], bids: list[WrittenLevel], asks: list[WrittenLevel], place: int
) -> None:
    last, deltas = stream
    direct, naive = loaded(last, bids, asks)
    buffer = JoinBuffer()
    for delta in deltas:
        direct.apply(delta)
        buffer.add(delta)
    taken = place % len(deltas) + 1
    for delta in deltas[:taken]:
        naive.take(list(delta.bids), list(delta.asks))
    joined = LocalBook()

    outcome = buffer.join(book_of(deltas[taken - 1].last_update_id, *naive.ordered), joined)

    assert outcome == Joined(applied=len(deltas) - taken, stale=taken)
    assert joined.written_top(100) == direct.written_top(100)


class BookMachine(RuleBasedStateMachine):
    """The book and the dictionary live through the same snapshots, deltas, repeats and holes."""

    steps: ClassVar[int] = 0

    def __init__(self) -> None:
        super().__init__()
        self.book, self.naive, self.last_id = LocalBook(), Naive(), 0

    @initialize(bids=standing, asks=standing)
    def begin(self, bids: list[WrittenLevel], asks: list[WrittenLevel]) -> None:
        self.load(bids, asks)

    @rule(bids=standing, asks=standing)
    def load(self, bids: list[WrittenLevel], asks: list[WrittenLevel]) -> None:
        self.last_id += 1
        self.naive = Naive()
        self.naive.take(bids, asks)
        self.book.load(book_of(self.last_id, *self.naive.ordered))

    @rule(bids=changes, asks=changes, ids=st.integers(1, 5), overlap=st.integers(0, 3))
    def follow(self, bids: list[WrittenLevel], asks: list[WrittenLevel], ids: int, overlap: int) -> None:
        delta = delta_of(max(1, self.last_id + 1 - overlap), self.last_id + ids, bids=bids, asks=asks)
        outcome = self.book.apply(delta)
        self.naive.take(bids, asks)
        self.last_id += ids
        assert isinstance(outcome, Applied)
        assert outcome.is_crossed == self.naive.is_crossed

    @rule(bids=changes, back=st.integers(0, 4))
    def repeat(self, bids: list[WrittenLevel], back: int) -> None:
        assert isinstance(self.book.apply(delta_of(1, max(1, self.last_id - back), bids=bids)), Stale)

    @rule(bids=changes, hole=st.integers(1, 4))
    def miss(self, bids: list[WrittenLevel], hole: int) -> None:
        outcome = self.book.apply(delta_of(self.last_id + 1 + hole, self.last_id + 9, bids=bids))
        assert isinstance(outcome, MissedUpdates)
        assert outcome.missing == hole

    @invariant()
    def the_book_is_the_dictionary(self) -> None:
        BookMachine.steps += 1
        bids, asks = self.naive.ordered
        assert self.book.written_top(99) == (bids, asks)
        assert self.book.level_counts == LevelCounts(len(bids), len(asks))
        assert self.book.is_crossed == self.naive.is_crossed
        assert self.book.last_update_id == self.last_id


@pytest.mark.night
def test_five_thousand_steps_and_the_book_is_still_the_dictionary(sized: Callable[[int, int], int]) -> None:
    # One story of that length is more than hypothesis draws for an example, so it is told in chapters.
    BookMachine.steps = 0
    run_state_machine_as_test(BookMachine, settings=settings(max_examples=sized(150, 30), stateful_step_count=60))

    assert BookMachine.steps >= sized(5_000, 1_000)
