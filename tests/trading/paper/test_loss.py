"""Accounts on paper that were lost with the engine's memory: every page and every refusal says so in one sentence."""

from collections.abc import AsyncGenerator
from dataclasses import replace

import pytest

from mcp_binance_server.domain.access import LOCAL
from mcp_binance_server.domain.account import AccountView
from mcp_binance_server.domain.money import Quantity
from mcp_binance_server.domain.order_requests import Amendment, Replacement, Target
from mcp_binance_server.domain.symbols import Symbol
from mcp_binance_server.errors import ExchangeRejected
from mcp_binance_server.state.memory import MemoryEngine
from mcp_binance_server.surface.tools.portfolio import account_answer
from mcp_binance_server.surface.views.portfolio.holdings import account_page, balances_page, source
from mcp_binance_server.trading.paper.account import Pair
from mcp_binance_server.trading.paper.broker import PaperBroker
from mcp_binance_server.trading.paper.reads import PaperReads
from mcp_binance_server.trading.paper.shared import SharedTables, opened_shared_tables
from support.clock import FakeClock
from trading.paper.generated import PAIR, SYMBOL
from trading.paper.shared_floor import exchange_of, order

pytestmark = pytest.mark.anyio

SAID = "paper accounts started again on 2026-07-21 at 00:02 UTC"


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
async def tables(clock: FakeClock) -> AsyncGenerator[SharedTables]:
    async with opened_shared_tables(MemoryEngine(clock)) as opened:
        await exchange_of(opened).accept("paper", order("a"), PAIR)
        yield opened


def reads_of(tables: SharedTables) -> PaperReads:
    exchange = replace(exchange_of(tables), loss=lambda: tables.loss)
    return PaperReads(exchange, "mainnet").of_visitor(LOCAL)


async def pages(reads: PaperReads) -> list[str]:
    found = await reads.account()
    view = AccountView(found.value, reads.venue(found.host), found.at_ms)
    notes = account_answer(view, None, 9).notes or []
    return [balances_page(view), account_page(view, None, 9, None), "\n".join(source(view.venue, 0)), "\n".join(notes)]


async def test_every_page_of_the_account_says_it_once(tables: SharedTables, clock: FakeClock) -> None:
    reads = reads_of(tables)
    assert not any("anew" in page for page in await pages(reads))

    tables.engine = MemoryEngine(clock)

    assert [page.count(SAID) for page in await pages(reads)] == [1, 1, 1, 1]


async def test_an_order_that_is_not_found_says_why(tables: SharedTables, clock: FakeClock) -> None:
    reads, target = reads_of(tables), Target(SYMBOL, "a")

    async def pair_of(_symbol: Symbol) -> Pair:
        return PAIR

    async def gate() -> None:
        """Let it leave."""

    broker = PaperBroker("paper", reads.exchange, pair_of, reads.venue(""), clock)
    tables.engine = MemoryEngine(clock)

    with pytest.raises(ExchangeRejected, match=SAID):
        await reads.order(SYMBOL, "a")
    for outcome in (
        await broker.cancel(target, gate),
        await broker.cancel(replace(target, is_list=True), gate),
        await broker.place(Amendment(target, Quantity(order("a").quantity - 1)), gate),
        await broker.place(Replacement(target, order("b")), gate),
    ):
        assert SAID in outcome.reason
