"""What becomes of a resting order at the exchange is known here before anybody asks."""

from pathlib import Path

import pytest

from binance_simulator.faults import StreamFault
from binance_simulator.orders.crowd_view import Print
from support.paper import RESTING, PaperTrader
from support.spot import spot_trader

QUESTIONS = ("/api/v3/order", "/api/v3/openOrders")


def sold_to(trader: PaperTrader, name: str) -> None:
    """Let somebody sell to an order all that it wants."""
    exchange = trader.market.exchange
    order = next(each for each in exchange.orders.records.orders.values() if each.wanted.client_order_id == name)
    wanted = order.wanted
    exchange.orders.engine.strike(
        wanted.symbol, Print(exchange.now_ms(), wanted.price, 10 * wanted.quantity, sold=True)
    )


def questions(trader: PaperTrader) -> int:
    """Count how often the exchange was asked for orders."""
    return sum(each.method == "GET" and each.path in QUESTIONS for each in trader.market.exchange.requests)


@pytest.mark.slow
async def test_a_fill_is_told_and_written_down_without_a_question(tmp_path: Path) -> None:
    async with spot_trader(tmp_path) as trader:
        placed = await trader.placed(**RESTING)
        await trader.market.run(4)
        asked = questions(trader)
        sold_to(trader, placed.data["client_order_id"])
        await trader.market.run(0.5)
        journal = await trader.page("binance://orders/journal")

        assert "FILLED" in journal
        assert questions(trader) == asked
        assert trader.market.exchange.hub.streams()["user"] == 1


@pytest.mark.slow
@pytest.mark.parametrize("later_secs", [0, 1])
async def test_the_stream_is_opened_as_the_order_is_sent(later_secs: float, tmp_path: Path) -> None:
    # Looks at the journal are two seconds apart: of two orders a second apart at most one could be found by them.
    async with spot_trader(tmp_path) as trader:
        await trader.market.run(later_secs)
        preview_id = await trader.previewed(**RESTING)
        before = trader.market.exchange.hub.streams().get("user", 0)
        await trader.call("place_order", preview_id=preview_id)
        await trader.market.run(0.2)

        assert (before, trader.market.exchange.hub.streams().get("user", 0)) == (0, 1)


@pytest.mark.slow
async def test_a_fill_whose_event_is_lost_is_found_within_a_minute(tmp_path: Path) -> None:
    async with spot_trader(tmp_path) as trader:
        placed = await trader.placed(**RESTING)
        await trader.market.run(4)
        trader.market.exchange.hub.faults.add(StreamFault(kind="drop", stream="user@executionReport"))
        sold_to(trader, placed.data["client_order_id"])
        await trader.market.run(62)

        assert "FILLED" in await trader.page("binance://orders/journal")
