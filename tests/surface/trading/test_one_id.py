"""IDs of orders, as the exchange has them: after a change, for an order that does not exist, and for all at once."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from support.asking import EVERYWHERE
from support.paper import ASKS_ALWAYS, AT_ONCE, LOW, RESTING, SYMBOL, PaperTrader, Told, paper_trader
from support.requirement import requirement
from support.spot import spot_trader
from surface.trading.test_brackets import ENTRY, PAIR
from surface.trading.test_placing import STOP, willing

pytestmark = pytest.mark.anyio

Opened = Callable[[Path], AbstractAsyncContextManager[PaperTrader]]
WAYS: list[Opened] = [paper_trader, spot_trader]
ETHER: dict[str, Any] = {"symbol": "ETHUSDT", "side": "BUY", "price": "3600", "quantity": "0.02"}


async def changed(trader: PaperTrader) -> tuple[str, str]:
    """Reduce an open order; return its ID, and the ID of the change."""
    name = (await trader.placed(**RESTING)).data["client_order_id"]
    preview_id = await trader.previewed(**RESTING | {"quantity": "0.0003"}, replaces=name)
    told = await trader.call("place_order", preview_id=preview_id)
    assert told.data["client_order_id"] == name
    assert f"**Client order ID**: {name}\n" in told.text
    return name, f"{name[:4]}{preview_id}"


@pytest.mark.slow
@pytest.mark.parametrize("opened", WAYS)
async def test_the_id_of_a_change_leads_to_its_order(tmp_path: Path, opened: Opened) -> None:
    async with opened(tmp_path) as trader:
        name, change = await changed(trader)
        journal = (
            await trader.market.answered(lambda: trader.client.read_resource("binance://orders/journal"))
        ).contents
        found = await trader.call("get_order", symbol=SYMBOL, client_order_id=change)
        cancelled = await trader.call("cancel_order", symbol=SYMBOL, client_order_id=change)
        again = await trader.call("cancel_order", symbol=SYMBOL, client_order_id=change)
        left = await trader.call("get_open_orders", symbol=SYMBOL)

    assert name not in left.text
    assert (found.data["order"]["client_order_id"], found.data["order"]["status"]) == (name, "NEW")
    assert Decimal(found.data["order"]["quantity"]) == Decimal("0.0003")
    assert found.data["journal"]["change"] == f"reduce {name} to 0.0003 BTCUSDT: AMENDED"
    assert change not in str(journal)
    assert (cancelled.data["outcome"], cancelled.data["client_order_id"]) == ("cancelled", name)
    assert cancelled.data["order"].startswith("BUY 0.0003 BTC")
    assert (again.data["outcome"], again.is_error) == ("already_over", False)


@pytest.mark.slow
async def test_a_changed_order_is_replaced_by_the_id_of_the_change_too(tmp_path: Path) -> None:
    async with paper_trader(tmp_path) as trader:
        name, change = await changed(trader)
        other = await trader.placed(**RESTING | {"price": "116000"}, replaces=change)
        old = await trader.call("get_order", symbol=SYMBOL, client_order_id=name)

    assert other.data["order"].endswith(f"replacing {name} (BTCUSDT)")
    assert old.data["order"]["status"] == "CANCELED"


@pytest.mark.slow
@pytest.mark.parametrize("opened", WAYS)
async def test_an_unknown_id_is_called_unknown_and_open_orders_are_listed(tmp_path: Path, opened: Opened) -> None:
    async with opened(tmp_path) as trader:
        none = await trader.call("cancel_order", symbol=SYMBOL, client_order_id="doesnotexist")
        name, _ = await changed(trader)
        cancel = await trader.call("cancel_order", symbol=SYMBOL, client_order_id="doesnotexist")
        replacing = await trader.call("preview_order", **RESTING, replaces="doesnotexist")

    assert "No open order with that ID was placed here. None is open." in none.text
    for told in (cancel, replacing):
        assert (told.is_error, told.data["error_type"]) == (True, "order_not_found")
        assert told.data["open_orders"] == [f"{name} (BUY 0.0003 BTCUSDT at {LOW})"]
        assert f"No open order with that ID was placed here. Open: {name}" in told.text


@pytest.mark.slow
async def test_a_cancel_of_all_reports_each_order_as_it_was_open(tmp_path: Path) -> None:
    async with paper_trader(tmp_path) as trader:
        name, _ = await changed(trader)
        other = (await trader.placed(**ETHER)).data["client_order_id"]
        bracket = (await trader.placed(type="MARKET", **ENTRY)).data["client_order_id"]
        done = await trader.call("cancel_all_orders")
        again = await trader.call("cancel_all_orders")

    assert {*done.data["cancelled"]} == {name, other, bracket}
    exits = "take-profit 130,000.00 or stop-loss 110,000.00 (limit 107,800.00)"
    assert done.data["cancelled"][bracket] == {
        "order": f"exits of 0.002 BTC bought: {exits} (BTCUSDT)",
        "executed": "0",
    }
    assert done.data["cancelled"][name]["order"] == "BUY 0.0003 BTC LIMIT at 116,500.00, GTC (BTCUSDT)"
    assert done.text.startswith("PAPER: 3 orders cancelled, none left open.")
    assert again.text.startswith("PAPER: nothing to cancel. No open order was placed by this server.")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("answer", "outcome"), [("cancel all of them", "2 orders cancelled"), ("leave them as they are", "declined")]
)
async def test_a_cancel_of_all_symbols_is_asked_about_where_orders_are(
    tmp_path: Path, answer: str, outcome: str
) -> None:
    user = willing()
    async with paper_trader(tmp_path, ASKS_ALWAYS, connect=EVERYWHERE["memory, handshake"], user=user) as trader:
        await trader.placed(**AT_ONCE)
        stop = (await trader.placed(**STOP)).data["client_order_id"]
        other = (await trader.placed(**ETHER)).data["client_order_id"]
        user.content = {"decision": answer}
        told = await trader.call("cancel_all_orders")
        left = await trader.call("get_open_orders")

    asked = user.read[-1].message
    assert asked.startswith("PAPER: cancel all 2 open orders? No real money is moved.\nStops among them: 1;")
    assert f"order {stop}" in asked
    assert f"order {other}" in asked
    assert outcome in told.text
    assert len(left.data["orders"]) == (0 if "cancelled" in outcome else 2)


@pytest.mark.slow
async def test_where_nobody_can_be_asked_a_cancel_of_all_leaves_the_stops(tmp_path: Path) -> None:
    async with paper_trader(tmp_path, ASKS_ALWAYS, connect=EVERYWHERE["memory, handshake"], user=willing()) as trader:
        await trader.placed(**AT_ONCE)
        stop = (await trader.placed(**STOP)).data["client_order_id"]
        other = (await trader.placed(**ETHER)).data["client_order_id"]
        told = await PaperTrader(trader.market, trader.market.client).call("cancel_all_orders")

    assert ([*told.data["cancelled"]], [*told.data["left"]]) == ([other], [stop])


@pytest.mark.slow
@pytest.mark.parametrize("opened", WAYS)
async def test_a_market_order_is_listed_as_one_with_the_price_that_was_paid(tmp_path: Path, opened: Opened) -> None:
    async with opened(tmp_path) as trader:
        placed = await trader.placed(**AT_ONCE)
        name, average = placed.data["client_order_id"], placed.data["average_price"]
        all_of_them = await trader.call("get_all_orders", symbol=SYMBOL)
        one = await trader.call("get_order", symbol=SYMBOL, client_order_id=name)
        history = await trader.page("binance://orders/history")

    (row,) = (each for each in all_of_them.data["orders"] if each["client_order_id"] == name)
    assert row | {"type": "MARKET", "price": "0", "average_price": average} == row
    assert (one.data["order"]["type"], one.data["average_price"]) == ("MARKET", average)
    assert "Average Price" in all_of_them.text
    assert f"| MARKET | market | {placed.data['executed']}" in all_of_them.text
    assert "| MARKET | market (avg " in history


@pytest.mark.slow
@pytest.mark.parametrize("opened", WAYS)
async def test_the_value_of_open_orders_counts_a_pair_once_and_sells_apart(tmp_path: Path, opened: Opened) -> None:
    async with opened(tmp_path) as trader:
        before = await trader.call("get_open_orders")
        await trader.placed(**AT_ONCE)
        await trader.placed(**PAIR)
        await trader.placed(**RESTING)
        after = await trader.call("get_open_orders")

    def grown(side: str) -> Decimal:
        return Decimal(after.data[side]["USDT"]) - Decimal(before.data[side].get("USDT", "0"))

    assert grown("sells") == Decimal("0.004") * Decimal(130_000)
    assert grown("buys") == Decimal("0.0005") * Decimal(LOW)
    assert after.data["total"] == before.data["total"] + 3
    assert "**Total Value of Buys**: ~$" in after.text
    assert "**Total Value of Sells**: ~$" in after.text


@pytest.mark.slow
async def test_the_status_on_paper_shows_the_opening_the_value_and_the_profit(tmp_path: Path) -> None:
    async with paper_trader(tmp_path) as trader:
        before = await trader.call("get_trading_status")
        await trader.placed(**AT_ONCE)
        held = await trader.call("get_trading_status")
        await trader.placed(symbol=SYMBOL, side="SELL", type="MARKET", quantity="all")
        sold = await trader.call("get_trading_status")

    def amounts(told: Told) -> list[Decimal]:
        names = ("value_now", "realised_profit", "unrealised_profit", "fees")
        return [Decimal(told.data["result"][name].removesuffix(" USDT")) for name in names]

    assert before.data["result"]["opening_balance"] == "10000 USDT"
    assert amounts(before) == [10_000, 0, 0, 0]
    value, realised, unrealised, fees = amounts(held)
    assert (realised, fees) == (0, Decimal("0.50"))
    assert abs(value - 10_000 - unrealised) <= Decimal("0.01")
    value, realised, unrealised, fees = amounts(sold)
    assert realised < 0 < fees
    assert abs(value - 10_000 - realised - unrealised) <= Decimal("0.01")
    assert "## Result\n**Opening balance**: 10000 USDT\n**Value now**: " in sold.text


@requirement("ruling/53")
async def test_a_preview_says_what_it_took_and_a_cancel_takes_the_exact_pair(tmp_path: Path) -> None:
    async with paper_trader(tmp_path) as trader:
        shown = await trader.call("preview_order", **RESTING | {"symbol": "bitcoin"})
        placed = await trader.placed(**RESTING)
        named = {"symbol": "bitcoin", "client_order_id": placed.data["client_order_id"]}
        found = await trader.call("get_order", **named)
        refused = await trader.call("cancel_order", **named)

    first, second, *_ = shown.text.splitlines()
    assert first.startswith("PAPER: preview, nothing sent.")
    assert second == "Read bitcoin as BTCUSDT."
    assert found.text.splitlines()[1] == second
    assert shown.data["symbol"] == "BTCUSDT"
    assert refused.is_error
    assert refused.data["did_you_mean"][0] == "BTCUSDT"
