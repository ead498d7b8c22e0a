"""Symbols for everybody: a party that reads as many as there are gives some to those who read few."""

from collections.abc import Generator
from contextlib import ExitStack, contextmanager

import anyio
import pytest

from feeds.conftest import Floor, OpenFloor
from mcp_binance_server.domain.access import PARTY, acting_for
from mcp_binance_server.domain.market import BookSnapshot
from mcp_binance_server.domain.symbols import Symbol
from mcp_binance_server.feeds.feed import SymbolFeed
from mcp_binance_server.feeds.readers import MOST_REPLACED

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

BTC, ETH, BNB, SOL = (Symbol(f"{base}USDT") for base in ("BTC", "ETH", "BNB", "SOL"))
MANY = tuple(Symbol(f"{base}USDT") for base in ("SOL", "BNB", "XRP", "ADA", "DOGE", "LINK"))
HOG, ANN, BOB = "hog", "ann", "bob"


@contextmanager
def reading(floor: Floor, party: str, *symbols: Symbol) -> Generator[list[SymbolFeed | None]]:
    with ExitStack() as held:
        with acting_for(party):
            feeds = [held.enter_context(floor.hub.reading(symbol)) for symbol in symbols]
        yield feeds


def streamed(floor: Floor) -> list[Symbol]:
    return [each.feed.symbol for each in floor.hub.watched()]


async def test_who_reads_all_there_are_gives_one_to_who_reads_none(open_floor: OpenFloor) -> None:
    told: list[str] = []
    async with open_floor(most=3) as floor:
        with acting_for(HOG), floor.hub.following(BTC, lambda: told.append("btc")) as oldest:
            assert oldest is not None
            with reading(floor, HOG, ETH, BNB) as others:
                await floor.run(2_000)
                told.clear()
                with reading(floor, BOB, SOL) as (sol,):
                    assert sol is not None
                    assert told == ["btc"]
                    assert (oldest.state, oldest.is_live) == ("closed", False)
                    assert streamed(floor) == [BNB, ETH, SOL]
                    with reading(floor, HOG, BTC) as again, reading(floor, ANN, BTC) as of_ann:
                        assert again == [None]
                        assert of_ann != [None]
                    await floor.run(2_000)
                    assert sol.is_live
                assert others[0] is not None


async def test_what_somebody_with_few_reads_too_stays(open_floor: OpenFloor) -> None:
    async with open_floor(most=3) as floor:
        with reading(floor, HOG, BTC, ETH, BNB), reading(floor, ANN, BTC), reading(floor, BOB, SOL) as (sol,):
            assert sol is not None
            assert streamed(floor) == [BNB, BTC, SOL]


@pytest.mark.night
async def test_a_symbol_does_not_go_back_and_forth(open_floor: OpenFloor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mcp_binance_server.feeds.readers.KEPT_MS", 5_000)
    async with open_floor(most=2) as floor:
        with reading(floor, HOG, BTC, ETH):
            await floor.run(1_000)
            for _ in range(5):
                with reading(floor, BOB, SOL) as of_bob:
                    assert of_bob != [None]
                    await floor.run(1_000)
                with reading(floor, HOG, BNB) as more:
                    assert more == [None]
            assert floor.snapshots() == 3
            await floor.run(5_000)
            with reading(floor, HOG, BNB) as more:
                assert more != [None]


@pytest.mark.night
async def test_who_reads_one_symbol_after_another_leaves_snapshots_to_others(open_floor: OpenFloor) -> None:
    opened = 0
    async with open_floor(most=2) as floor:
        with reading(floor, ANN, BNB):
            for number in range(3 * MOST_REPLACED):
                with reading(floor, HOG, (BTC, ETH)[number % 2]) as (feed,):
                    opened += feed is not None
                    await floor.run(100)
            with reading(floor, BOB, SOL) as (sol,):
                await floor.run(2_000)
                assert sol is not None
                assert sol.is_live

    # The first one, those it made room for, and then each second time the one that was left.
    assert opened == 1 + MOST_REPLACED + (2 * MOST_REPLACED - 1) // 2
    assert floor.snapshots() <= MOST_REPLACED + 3


@pytest.mark.night
async def test_the_books_of_one_party_do_not_keep_those_of_another_waiting(open_floor: OpenFloor) -> None:
    async with open_floor() as floor:
        fetch = floor.hub._snapshots.fetch  # pyright: ignore[reportPrivateUsage] - where requests leave the hub
        fetched: list[Symbol] = []
        go = anyio.Event()

        async def held(symbol: Symbol) -> BookSnapshot | None:
            fetched.append(symbol)
            await go.wait()
            return await fetch(symbol)

        floor.hub._snapshots.fetch = held  # pyright: ignore[reportPrivateUsage]
        with reading(floor, ANN, BTC):
            await floor.run(1_000)
            with reading(floor, HOG, *MANY), reading(floor, BOB, ETH, MANY[-1]):
                await floor.run(1_000)
                first = fetched[:]
                go.set()
                await floor.run(2_000)

    # One turn was left free by the party that had one; then bob's come, the one that the other wants too among them.
    assert first[0] == BTC
    assert len(first) == 2
    assert max(fetched.index(ETH), fetched.index(MANY[-1])) <= 4
    assert len(fetched) == len(set(fetched)) == 2 + len(MANY)


async def test_what_is_streamed_is_fetched_for_nobody_in_particular(open_floor: OpenFloor) -> None:
    parties: list[str] = []
    async with open_floor(most=3) as floor:
        fetch = floor.hub._snapshots.fetch  # pyright: ignore[reportPrivateUsage] - where requests leave the hub

        async def noting(symbol: Symbol) -> BookSnapshot | None:
            parties.append(PARTY.get())
            return await fetch(symbol)

        floor.hub._snapshots.fetch = noting  # pyright: ignore[reportPrivateUsage]
        with reading(floor, HOG, BTC), reading(floor, BOB, ETH):
            await floor.run(2_000)

    assert parties == ["", ""]
