"""Orders that leave: the tools against a simulated Binance, which counts what it accepted."""

from pathlib import Path

import pytest

from mcp_binance_server.domain.orders import EXPIRY_WORDS, OUT_OF_RANGE
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


@pytest.mark.slow
async def test_an_order_that_expires_at_the_price_range_says_so(tmp_path: Path) -> None:
    async with spot_trader(tmp_path) as trader:
        ask = (await trader.call("preview_order", **AT_ONCE)).data["best_ask"]
        preview_id = await trader.previewed(symbol=SYMBOL, side="BUY", price=ask, quantity="0.0005")
        trader.market.exchange.orders.engine.references.fixed[SYMBOL] = 5_000_000_000_000
        told = await trader.call("place_order", preview_id=preview_id)

    assert (told.data["outcome"], told.data["status"]) == ("placed", "EXPIRED")
    assert f"**Reason**: {EXPIRY_WORDS[OUT_OF_RANGE]}" in told.text


@pytest.mark.slow
@pytest.mark.parametrize("status", ["CANCEL_ONLY", "A_STATUS_OF_TOMORROW"])
async def test_a_symbol_that_only_cancels_takes_no_order_and_every_cancel(tmp_path: Path, status: str) -> None:
    async with spot_trader(tmp_path) as trader:
        exchange = trader.market.exchange
        placed = await trader.placed(**RESTING)
        record = next(each for each in exchange.listing.records if each["symbol"] == SYMBOL)
        record["status"] = status
        trader.market.clock.advance(3_600_000)  # the list of symbols is an hour old
        refused = await trader.call("preview_order", **RESTING)
        name = placed.data["client_order_id"]
        cancelled = await trader.call("cancel_order", symbol=SYMBOL, client_order_id=name)
        record["status"] = "TRADING"

    assert (refused.data["rule"], refused.data["received"]) == ("SYMBOL_STATUS", status)
    assert cancelled.data["outcome"] == "cancelled"
