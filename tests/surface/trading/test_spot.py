"""Orders that leave: the tools against a simulated Binance, which counts what it accepted."""

from pathlib import Path

import pytest

from support.paper import AT_ONCE, RESTING, SYMBOL
from support.spot import spot_trader


@pytest.mark.slow
async def test_a_preview_is_placed_at_the_exchange_once_and_the_answer_names_it(tmp_path: Path, era: str) -> None:
    async with spot_trader(tmp_path, era=era) as trader:
        preview_id = await trader.previewed(**AT_ONCE)
        told = await trader.call("place_order", preview_id=preview_id)
        again = await trader.call("place_order", preview_id=preview_id)
        accepted = trader.market.exchange.orders.accepted

    assert told.text.startswith(f"PRACTICE (testnet): order mbt-{preview_id} is FILLED: ")
    assert (told.data["outcome"], again.data["outcome"]) == ("placed", "placed")
    assert told.data["fees"]
    assert [each.client_order_id for each in accepted] == [f"mbt-{preview_id}"]


@pytest.mark.slow
async def test_a_resting_order_is_cancelled_at_the_exchange(tmp_path: Path) -> None:
    async with spot_trader(tmp_path) as trader:
        placed = await trader.placed(**RESTING)
        name = placed.data["client_order_id"]
        shown = await trader.call("get_open_orders")
        past = await trader.call("get_order", symbol=SYMBOL, client_order_id=name)
        cancelled = await trader.call("cancel_order", symbol=SYMBOL, client_order_id=name)
        status = await trader.call("get_trading_status")

    assert placed.data["status"] == "NEW"
    assert name in shown.text
    assert "NEW, executed 0\n" in f"{past.text}\n"  # however many noughts the exchange wrote
    assert cancelled.data["outcome"] == "cancelled"
    assert status.data["open_orders"] == []
