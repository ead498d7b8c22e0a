"""What an order costs: how often the journal is read and written and the exchange asked, however much is in it."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mcp_binance_server.services.trading.service import TradingService
from mcp_binance_server.trading.journal.store import Store
from support.paper import RESTING, SYMBOL, PaperTrader
from support.spot import spot_trader

pytestmark = pytest.mark.anyio


def counted(monkeypatch: pytest.MonkeyPatch, trader: PaperTrader) -> Callable[[], Counter[str]]:
    """Count what is done from now on; what is returned says it, and begins anew."""
    done: Counter[str] = Counter()
    trader.market.exchange.requests.clear()

    def count(name: str) -> None:
        real: Any = getattr(Store, name)

        async def work(store: Store, *given: object) -> object:
            done[name] += 1
            return await real(store, *given)

        monkeypatch.setattr(Store, name, work)

    count("read")
    count("write")

    def since() -> Counter[str]:
        asked = Counter(f"{each.method} {each.path}" for each in trader.market.exchange.requests)
        found = done + asked
        done.clear()
        trader.market.exchange.requests.clear()
        return found

    return since


def needed(trader: PaperTrader) -> TradingService:
    trading = trader.market.app.context.trading
    assert trading is not None
    return trading


@pytest.mark.slow
async def test_an_order_is_read_for_once_agreed_to_once_and_written_three_times(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with spot_trader(tmp_path) as trader:
        # What follows an account begins with its first order, and reads on its own.
        await trader.placed(**{**RESTING, "price": "116400"})
        trading = needed(trader)
        while trading.desk.following() != "streamed":
            await trader.call("get_trading_status")
        since = counted(monkeypatch, trader)
        preview_id = await trader.previewed(**RESTING)
        preview = since()
        placed = await trader.call("place_order", preview_id=preview_id)
        place = since()
        name = placed.data["client_order_id"]
        cancelled = await trader.call("cancel_order", symbol=SYMBOL, client_order_id=name)
        cancel = since()

    assert cancelled.data["outcome"] == "cancelled"
    # What the stream tells of the order is looked up in between.
    assert preview["read"] <= 2
    assert place["read"] <= 3
    assert place["write"] == 3
    assert place["POST /api/v3/order"] == 1
    assert cancel["read"] <= 4
    assert cancel["write"] == 2
    assert (cancel["DELETE /api/v3/order"], cancel["GET /api/v3/openOrders"]) == (1, 0)


@pytest.mark.slow
async def test_nothing_on_the_way_of_an_order_goes_through_the_whole_journal(tmp_path: Path) -> None:
    said: list[str] = []
    async with spot_trader(tmp_path) as trader:
        db = needed(trader).desk.ledger.store.db
        db.set_trace_callback(said.append)
        placed = await trader.placed(**RESTING)
        name = placed.data["client_order_id"]
        await trader.call("cancel_order", symbol=SYMBOL, client_order_id=name)
        await trader.call("get_trading_status")
        db.set_trace_callback(None)
        queries = sorted({each for each in said if each.startswith(("SELECT", "UPDATE"))})
        plans = {each: [row[3] for row in db.execute(f"EXPLAIN QUERY PLAN {each}")] for each in queries}

    assert len(queries) > 10
    newest = "ORDER BY seq DESC LIMIT 1"
    through = {
        query: step
        for query, plan in plans.items()
        for step in plan
        if step.startswith(("SCAN intent", "SCAN event")) and "intent_not_over" not in step and newest not in query
    }
    assert through == {}
