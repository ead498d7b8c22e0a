"""Own pasts that outlive a process: who writes what, when, and what a shelf that fails costs."""

import logging
from array import array
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from math import nan
from pathlib import Path

import anyio
import pytest

from mcp_binance_server.domain.symbols import Symbol
from mcp_binance_server.errors import EngineUnavailable
from mcp_binance_server.feeds.past_keeper import EVERY_MS, ScorePersistence
from mcp_binance_server.feeds.score_record import KEPT_MS, RefusedRecord, ScoreRecord, Series, decode, encode
from mcp_binance_server.feeds.score_store import DiskScoreStore, EngineScoreStore, ScoreStore
from mcp_binance_server.state.memory import MemoryEngine
from support.stepped import SteppedClock, settled
from support.symbol_scores import BTC, MARKET, FailingShelf, LearningFeed


@asynccontextmanager
async def kept(
    shelf: ScoreStore, clock: SteppedClock, pasts: LearningFeed, leads: Callable[[Symbol], bool] = lambda _: True
) -> AsyncGenerator[ScorePersistence]:
    """Open a symbol in a process of its own, and end that in good order."""
    async with ScorePersistence(shelf, clock, leads).running() as keeper:
        keeper.opened(pasts)
        await settled()
        yield keeper
        keeper.closing(BTC)
    await settled()


async def learn(shelf: ScoreStore, clock: SteppedClock, *scores: float) -> None:
    """Let a process learn so much and end."""
    pasts = LearningFeed()
    async with kept(shelf, clock, pasts):
        pasts.learn(*scores)
    assert await stored(shelf, clock) == list(scores)


async def stored(shelf: ScoreStore, clock: SteppedClock) -> list[float]:
    data = await shelf.read(BTC)
    if data is None:
        return []
    record = decode(data, market=MARKET, symbol=BTC, now_ms=clock.now_ms())
    assert not isinstance(record, RefusedRecord), record
    return record.series["flood"].tolist()


async def passed(clock: SteppedClock, duration_ms: float = EVERY_MS) -> None:
    clock.advance(duration_ms)
    await settled()


@pytest.fixture
def clock() -> SteppedClock:
    return SteppedClock()


@pytest.fixture(params=["disk", "engine"])
def shelf(request: pytest.FixtureRequest, tmp_path: Path, clock: SteppedClock) -> ScoreStore:
    return (
        DiskScoreStore(tmp_path, MARKET, clock)
        if request.param == "disk"
        else EngineScoreStore(MemoryEngine(clock), MARKET)
    )


async def test_a_process_begins_with_what_the_one_before_had_learned(shelf: ScoreStore, clock: SteppedClock) -> None:
    await learn(shelf, clock)
    assert await shelf.read(BTC) is None
    await learn(shelf, clock, 1.0, 2.5)

    second = LearningFeed()
    async with kept(shelf, clock, second):
        assert second.scores == [1.0, 2.5]


async def test_a_past_is_written_every_five_minutes(shelf: ScoreStore, clock: SteppedClock) -> None:
    pasts = LearningFeed()
    async with kept(shelf, clock, pasts):
        pasts.learn(1.0)
        await passed(clock, EVERY_MS - 1)
        assert await stored(shelf, clock) == []

        await passed(clock, 1)
        assert await stored(shelf, clock) == [1.0]

        pasts.learn(2.0)
        await passed(clock)
        assert await stored(shelf, clock) == [1.0, 2.0]


async def test_a_past_older_than_a_week_is_not_brought_back(tmp_path: Path, clock: SteppedClock) -> None:
    shelf = DiskScoreStore(tmp_path, MARKET, clock)
    await learn(shelf, clock, 1.0)
    clock.advance(KEPT_MS)

    late = LearningFeed()
    async with kept(shelf, clock, late):
        assert late.scores == []


async def test_a_past_to_which_nothing_is_added_grows_old(shelf: ScoreStore, clock: SteppedClock) -> None:
    await learn(shelf, clock, 1.0, 2.0)
    written = await shelf.read(BTC)

    async with kept(shelf, clock, LearningFeed()):
        await passed(clock)
        await passed(clock)

    assert await shelf.read(BTC) == written


async def test_a_process_that_has_just_begun_takes_over_what_another_learned(
    shelf: ScoreStore, clock: SteppedClock
) -> None:
    long, short = LearningFeed(), LearningFeed()
    async with kept(shelf, clock, long):
        await passed(clock, EVERY_MS / 2)  # two processes do not begin in the same millisecond
        async with kept(shelf, clock, short):
            long.learn(1.0, 2.0, 3.0)
            short.learn(3.0)
            await passed(clock, EVERY_MS / 2)
            await passed(clock, EVERY_MS / 2)

            assert short.scores == [1.0, 2.0, 3.0]
        assert await stored(shelf, clock) == [1.0, 2.0, 3.0]


async def test_the_last_word_of_a_process_does_not_replace_a_longer_past(
    shelf: ScoreStore, clock: SteppedClock
) -> None:
    short = LearningFeed()
    async with kept(shelf, clock, short):
        await learn(shelf, clock, 1.0, 2.0, 3.0)
        short.learn(9.0)

    assert await stored(shelf, clock) == [1.0, 2.0, 3.0]


async def test_who_does_not_lead_a_symbol_reads_and_does_not_write(shelf: ScoreStore, clock: SteppedClock) -> None:
    leads = {"leader": True, "follower": False}
    leader, follower = LearningFeed(), LearningFeed()
    async with (
        kept(shelf, clock, leader, lambda _: leads["leader"]),
        kept(shelf, clock, follower, lambda _: leads["follower"]),
    ):
        follower.learn(7.0)
        await passed(clock)
        assert await stored(shelf, clock) == []

        leader.learn(1.0, 2.0)
        await passed(clock)
        await passed(clock)
        assert follower.scores == [1.0, 2.0]

        leads.update(leader=False, follower=True)
        follower.learn(3.0)
        await passed(clock)
        assert await stored(shelf, clock) == [1.0, 2.0, 3.0]


@pytest.mark.parametrize(
    "record",
    [
        b"",
        b"own past 1\n",
        b"\x00" * 5_000,
        encode(ScoreRecord(MARKET, Symbol("ETHUSDT"), SteppedClock().now_ms(), {"flood": array("d", [1.0])})),
    ],
)
async def test_a_record_that_is_none_is_written_over(shelf: ScoreStore, clock: SteppedClock, record: bytes) -> None:
    await shelf.write(BTC, record)

    pasts = LearningFeed()
    async with kept(shelf, clock, pasts):
        assert pasts.scores == []
        pasts.learn(1.0)

    assert await stored(shelf, clock) == [1.0]


@pytest.mark.parametrize(
    "wrong",
    [
        {"flood": array("d", [1.0, 2.0])},
        {**LearningFeed().pasts.series(), "flood": array("d", [1.0, 2.0])},
        {**LearningFeed().pasts.series(), "answers": array("d", [1.0])},
        {**LearningFeed().pasts.series(), "rates": array("d", [-1.0, 1.0])},
        {**LearningFeed().pasts.series(), "volumes": array("d", [1e19])},
        {**LearningFeed().pasts.series(), "stress_seconds": array("d", [-1.0, 101.0, 0.0])},
    ],
)
async def test_series_that_do_not_belong_together_change_nothing(
    shelf: ScoreStore, clock: SteppedClock, caplog: pytest.LogCaptureFixture, wrong: Series
) -> None:
    caplog.set_level(logging.INFO)
    await shelf.write(BTC, encode(ScoreRecord(MARKET, BTC, clock.now_ms(), {**wrong, "more": array("d", [1.0] * 999)})))

    pasts = LearningFeed()
    async with kept(shelf, clock, pasts):
        assert pasts.scores == []
        pasts.learn(5.0)
        await passed(clock)

        assert await stored(shelf, clock) == [5.0]
    assert "stored past values of BTCUSDT are not used" in caplog.text


async def test_scores_that_are_no_numbers_are_told_of_and_not_written(
    shelf: ScoreStore, clock: SteppedClock, caplog: pytest.LogCaptureFixture
) -> None:
    pasts = LearningFeed()
    async with kept(shelf, clock, pasts):
        pasts.learn(nan)
        await passed(clock)

    assert "the past values of BTCUSDT cannot be stored" in caplog.text
    assert await shelf.read(BTC) is None


@pytest.mark.parametrize(
    "error",
    [OSError(28, "No space left on device"), TimeoutError("the disk is away"), EngineUnavailable(operation="shelve")],
)
async def test_a_shelf_that_fails_is_told_of_once_and_used_again_when_it_works(
    error: Exception, clock: SteppedClock, caplog: pytest.LogCaptureFixture
) -> None:
    shelf, pasts = FailingShelf(error), LearningFeed()
    async with kept(shelf, clock, pasts):
        pasts.learn(1.0)
        await passed(clock)
        await passed(clock)

        shelf.error = None
        await passed(clock)
        assert await stored(shelf, clock) == [1.0]

    warnings = [each for each in caplog.records if each.levelno == logging.WARNING]
    assert len(warnings) == 1
    assert str(error) in warnings[0].getMessage()


async def test_a_folder_that_cannot_be_written_costs_a_warning_and_nothing_else(
    tmp_path: Path, clock: SteppedClock, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("where a folder should be")
    shelf, pasts = DiskScoreStore(tmp_path / "file", MARKET, clock), LearningFeed()

    async with kept(shelf, clock, pasts):
        pasts.learn(1.0)
        await passed(clock)
        await passed(clock)

    assert len([each for each in caplog.records if each.levelno == logging.WARNING]) == 1
    assert pasts.scores == [1.0]


@pytest.mark.night
async def test_a_shelf_that_hangs_does_not_keep_a_process_from_ending(clock: SteppedClock) -> None:
    class HangingShelf(FailingShelf):
        async def read(self, symbol: Symbol) -> bytes | None:
            self.records[symbol] = b"asked for"
            await anyio.sleep_forever()

    pasts = LearningFeed()
    with anyio.fail_after(10):
        async with kept(HangingShelf(OSError()), clock, pasts):
            pasts.learn(1.0)


async def test_a_process_that_is_told_to_end_writes_as_well(shelf: ScoreStore, clock: SteppedClock) -> None:
    pasts = LearningFeed()
    with anyio.CancelScope() as scope:
        async with ScorePersistence(shelf, clock).running() as keeper:
            keeper.opened(pasts)
            try:
                pasts.learn(1.0)
                scope.cancel()
                await anyio.sleep_forever()
            finally:
                keeper.closing(BTC)

    assert await stored(shelf, clock) == [1.0]


async def test_at_the_end_a_shelf_that_fails_is_not_asked_for_every_symbol(clock: SteppedClock) -> None:
    asked: list[Symbol] = []

    class CountingShelf(FailingShelf):
        async def read(self, symbol: Symbol) -> bytes | None:
            asked.append(symbol)
            return await super().read(symbol)

    shelf = CountingShelf(OSError("gone"))
    async with ScorePersistence(shelf, clock).running() as keeper:
        for each in range(5):
            keeper.opened(LearningFeed(Symbol(f"S{each}")))
        await settled()
        asked.clear()
        for each in range(5):
            keeper.closing(Symbol(f"S{each}"))

    assert set(asked) == {"S0"}
