"""Two hubs on one engine, and garbage from the exchange or in the journal: one symbol bears it, for a while."""

from contextlib import ExitStack

import pytest

from binance_simulator.faults import StreamFault
from feeds.test_fleet_interest import BTC, Pair, pair
from mcp_binance_server.domain.symbols import Symbol
from mcp_binance_server.feeds.feed import SymbolFeed
from mcp_binance_server.feeds.fleet.journal import JournalLine, JournalPage, SharedBook, encode

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

ETH = Symbol("ETHUSDT")


def read_by_both(both: Pair, held: ExitStack, symbol: Symbol) -> tuple[SymbolFeed, SymbolFeed]:
    first, second = (held.enter_context(each.hub.reading(symbol)) for each in (both.first, both.second))
    assert first is not None
    assert second is not None
    return first, second


@pytest.mark.night
async def test_garbage_that_a_leader_passes_on_costs_both_processes_that_symbol_and_no_other() -> None:
    async with pair() as both:
        with ExitStack() as held:
            bitcoin, ether = read_by_both(both, held, BTC), read_by_both(both, held, ETH)
            await both.run(3_000)
            assert [feed.is_live for feed in (*bitcoin, *ether)] == [True] * 4
            both.exchange.hub.faults.add(StreamFault(kind="bad_price", stream="btcusdt@depth@100ms", times=3))
            await both.run(6_000)

            assert [feed.is_live for feed in (*bitcoin, *ether)] == [True] * 4
            assert [feed.counts.malformed for feed in bitcoin] == [3, 3]
            assert [(feed.counts.joins, feed.counts.malformed, feed.counts.lost) for feed in ether] == [(1, 0, 0)] * 2
            assert bitcoin[0].book.top(50) == bitcoin[1].book.top(50)


@pytest.mark.night
@pytest.mark.parametrize(
    "page",
    [
        JournalPage(10**9, 1, 0, [JournalLine(99, 0, b"{}")]),
        JournalPage(10**9, 1, 0, [], SharedBook(10**12, [("NaN", "1")], [("1", "-1")], 1_000, 0)),
        JournalPage(10**9, 1, 0, [JournalLine(0, 0, b"\xff"), JournalLine(1, 0, b"[" * 9_000)]),
    ],
    ids=["a stream that there is not", "a book of no numbers", "bytes that are no events"],
)
async def test_a_page_that_makes_no_sense_costs_its_symbol_some_seconds_and_no_other_a_thing(page: JournalPage) -> None:
    async with pair() as both:
        with ExitStack() as held:
            bitcoin, ether = read_by_both(both, held, BTC), read_by_both(both, held, ETH)
            await both.run(3_000)
            engine = both.first.engine
            dated = JournalPage(page.token, page.number, engine.now_ms(), page.lines, page.book)
            await engine.publish(f"feeds:{both.first.hub.url}:{BTC}", encode(dated))
            await both.run(12_000)

            assert [feed.is_live for feed in (*bitcoin, *ether)] == [True] * 4
            assert [feed.counts.joins for feed in ether] == [1, 1]
            assert bitcoin[0].book.top(50) == bitcoin[1].book.top(50)
