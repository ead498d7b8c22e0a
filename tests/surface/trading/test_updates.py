"""Pages of orders that say when they change, to whose orders they are."""

from dataclasses import replace
from pathlib import Path

import pytest
from mcp import Client, MCPError

from mcp_binance_server.trading.journal.store import opened_store
from mcp_binance_server.trading.journal.watching import OrderWatch
from support.paper import AT_ONCE, RESTING, SYMBOL, PaperTrader, paper_trader
from support.requirement import requirement
from support.spot import spot_trader
from support.stepped import settled
from support.updates import BTC, hearing, subscribe, unsubscribe
from surface.test_subscriptions import asked
from surface.trading.test_followed import sold_to

OPEN, JOURNAL = "binance://orders/open", "binance://orders/journal"


def waiting(trader: PaperTrader) -> int:
    """Count for how many pages the journal is looked at."""
    trading = trader.market.app.context.trading
    assert trading is not None
    return trading.updates.waiting


@requirement("resources/subscriptions")
async def test_an_order_and_its_fill_are_each_told_of_once_by_both_pages(era: str, tmp_path: Path) -> None:
    async with spot_trader(tmp_path) as trader, hearing(trader.market.app.server, era, OPEN, JOURNAL) as heard:
        await trader.market.run(3)
        before = [*heard]
        placed = await trader.placed(**RESTING)
        await trader.market.run(3)
        told_of_order = sorted(set(heard))
        heard.clear()
        sold_to(trader, placed.data["client_order_id"])
        await trader.market.run(3)

        assert before == []
        assert told_of_order == [JOURNAL, OPEN]
        assert sorted(heard) == [JOURNAL, OPEN]
        assert "FILLED" in await trader.page(JOURNAL)
        heard.clear()
        await trader.market.run(3)
        assert heard == []


async def test_on_paper_an_order_and_its_cancel_are_told_of(era: str, tmp_path: Path) -> None:
    async with paper_trader(tmp_path) as trader, hearing(trader.market.app.server, era, OPEN, JOURNAL) as heard:
        placed = await trader.placed(**RESTING)
        await trader.market.run(3)
        told_of_order = set(heard)
        heard.clear()
        await trader.call("cancel_order", symbol=SYMBOL, client_order_id=placed.data["client_order_id"])
        await trader.market.run(3)

        assert told_of_order == {OPEN, JOURNAL}
        assert set(heard) == {OPEN, JOURNAL}


async def test_a_page_of_orders_is_told_of_at_most_once_a_second(era: str, tmp_path: Path) -> None:
    async with paper_trader(tmp_path) as trader, hearing(trader.market.app.server, era, JOURNAL) as heard:
        previews = [await trader.previewed(**{**RESTING, "price": f"1165{n:02}"}) for n in range(5)]
        await trader.market.run(2)
        began_ms = trader.market.clock.monotonic_ms()
        for preview_id in previews:
            await trader.call("place_order", preview_id=preview_id)
            await trader.market.run(0.3)
        seconds = (trader.market.clock.monotonic_ms() - began_ms) / 1000

        assert 1 <= len(heard) <= seconds + 1


async def test_what_another_process_writes_into_the_journal_is_told_of(era: str, tmp_path: Path) -> None:
    async with paper_trader(tmp_path) as trader, hearing(trader.market.app.server, era, JOURNAL) as heard:
        placed = await trader.placed(**RESTING)
        await trader.market.run(3)
        heard.clear()
        trading = trader.market.app.context.trading
        assert trading is not None
        intent = await trading.situation_reader.reader.of_any_account(placed.data["client_order_id"])
        assert intent is not None
        order = await trading.broker.ask(intent.terms.symbol, intent.client_order_id)
        assert order is not None
        async with opened_store(tmp_path / "trading") as elsewhere:
            filled = replace(order, status="FILLED", executed=order.quantity)
            await OrderWatch(elsewhere).learn(intent.preview_id, filled, trading.now_ms())
        await trader.market.run(2)

        assert heard == [JOURNAL]


async def test_nothing_is_looked_at_before_anybody_subscribes_and_after_the_last_has_left(tmp_path: Path) -> None:
    async with paper_trader(tmp_path) as trader, Client(trader.market.app.server, mode="legacy", cache=None) as client:
        counts = [waiting(trader)]
        await subscribe(client, OPEN)
        await subscribe(client, JOURNAL)
        counts.append(waiting(trader))
        await unsubscribe(client, OPEN)
        counts.append(waiting(trader))
        await unsubscribe(client, JOURNAL)
        await settled()

        assert [*counts, waiting(trader)] == [0, 1, 1, 0]


async def test_who_subscribes_after_an_order_can_read_it_and_is_told_nothing(era: str, tmp_path: Path) -> None:
    async with paper_trader(tmp_path) as trader:
        await trader.placed(**AT_ONCE)
        await trader.market.run(3)
        async with hearing(trader.market.app.server, era, OPEN, JOURNAL) as heard:
            await trader.market.run(3)

        assert heard == []


async def test_where_orders_are_placed_the_refusal_of_other_pages_names_theirs(era: str, tmp_path: Path) -> None:
    async with paper_trader(tmp_path) as trader, Client(trader.market.app.server, mode=era, cache=None) as client:
        for uri in ("binance://orders/history", "binance://orders", "binance://account/balances"):
            with pytest.raises(MCPError) as refused:
                await asked(client, era, uri)

            assert refused.value.code == -32602
            assert refused.value.message == (
                f"{uri} sends no updates: only binance://market/{{symbol}}, {OPEN} and {JOURNAL} can be subscribed to"
            )


async def test_a_market_and_orders_can_be_heard_of_on_one_stream(tmp_path: Path) -> None:
    async with paper_trader(tmp_path) as trader, hearing(trader.market.app.server, "auto", BTC, JOURNAL) as heard:
        await trader.placed(**RESTING)
        await trader.market.run(3)

        assert set(heard) == {BTC, JOURNAL}
