"""Coins that open orders reserve are sold, or protected otherwise, in one preview whose steps are all named."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from support.asking import EVERYWHERE, HANDSHAKE, User
from support.paper import ASKS_ALWAYS, SYMBOL, PaperTrader, paper_trader
from support.spot import spot_trader

pytestmark = pytest.mark.anyio

Opened = Callable[[Path, str], AbstractAsyncContextManager[PaperTrader]]
WAYS: list[Opened] = [paper_trader, spot_trader]
MANY = "[limits]\norders_per_minute = 50\n"
PROFIT, STOP = "130000", "110000"
ENTRY: dict[str, Any] = {"symbol": SYMBOL, "side": "BUY", "type": "MARKET", "quantity": "0.004"}
PAIR: dict[str, Any] = {
    "symbol": SYMBOL, "side": "SELL", "type": "OCO", "quantity": "all", "price": PROFIT, "stop_price": STOP,
}  # fmt: skip
STOP_ALONE: dict[str, Any] = {
    "symbol": SYMBOL, "side": "SELL", "type": "STOP_LOSS_LIMIT", "quantity": "all", "stop_price": "111000",
    "price": "110000",
}  # fmt: skip
SALE: dict[str, Any] = {"symbol": SYMBOL, "side": "SELL", "type": "MARKET", "quantity": "0.001"}


async def open_sales(trader: PaperTrader) -> dict[str, Decimal]:
    """Return the open sales placed here: their prices, with what they sell."""
    told = await trader.call("get_open_orders", symbol=SYMBOL)
    own = [each for each in told.data["orders"] if each["client_order_id"].startswith("mb")]
    return {f"{each['type']} {each['price']} {each['stop_price']}": Decimal(each["quantity"]) for each in own}


async def protected(trader: PaperTrader, **order: Any) -> str:  # noqa: ANN401 - any member of an order
    """Buy, protect everything that is held with one order, a pair unless told otherwise, and return its ID."""
    await trader.placed(**ENTRY)
    return (await trader.placed(**PAIR | order)).data["client_order_id"]


def what(stands: dict[str, Decimal]) -> set[str]:
    return {*stands}


@pytest.mark.slow
@pytest.mark.parametrize("opened", WAYS)
async def test_a_part_of_what_a_bracket_holds_is_sold_in_one_preview(tmp_path: Path, opened: Opened) -> None:
    async with opened(tmp_path, MANY) as trader:
        pair = await protected(trader)
        before = await open_sales(trader)
        shown = await trader.call("preview_order", **SALE)
        placed = await trader.call("place_order", preview_id=shown.data["preview_id"])
        again = await trader.call("place_order", preview_id=shown.data["preview_id"])
        after = await open_sales(trader)
        status = await trader.call("get_trading_status")

    cancels, sells, rest, fallback = shown.data["steps"]
    assert cancels.startswith(f"cancel {pair}: SELL ")
    assert sells.startswith("SELL 0.001 BTC MARKET at ")
    assert rest.startswith("place again SELL ")
    assert "placed once more for what is still held" in fallback
    assert all(each in shown.text for each in shown.data["steps"])
    assert " free after the cancel -> " in shown.text
    assert shown.data["counts"].startswith("exit: ")
    assert (placed.data["status"], placed.data["executed"]) == ("FILLED", "0.001")
    assert "have their exits again" in placed.data["summary"]
    assert again.data["client_order_id"] == placed.data["client_order_id"]
    assert what(before) == what(after)
    assert {before[each] - after[each] for each in before} == {Decimal("0.001")}
    assert "warnings" not in status.data
    assert "| orders_per_minute | 1 |" in status.text


@pytest.mark.slow
@pytest.mark.parametrize("opened", WAYS)
async def test_a_sale_is_refused_once_the_order_that_it_would_cancel_has_changed(
    tmp_path: Path, opened: Opened
) -> None:
    async with opened(tmp_path, MANY) as trader:
        await protected(trader)
        later = await trader.previewed(**{**SALE, "quantity": "0.0005"})
        await trader.placed(**SALE)
        before = await open_sales(trader)
        denied = await trader.call("place_order", preview_id=later)
        after = await open_sales(trader)

    assert denied.data["guard"] == "released"
    assert "would be cancelled first has changed" in denied.text
    assert before == after


@pytest.mark.slow
@pytest.mark.parametrize("opened", WAYS)
async def test_everything_is_sold_although_a_bracket_reserves_it(tmp_path: Path, opened: Opened) -> None:
    async with opened(tmp_path, MANY) as trader:
        await protected(trader)
        shown = await trader.call("preview_order", **SALE | {"quantity": "all"})
        placed = await trader.call("place_order", preview_id=shown.data["preview_id"])
        after = await open_sales(trader)
        status = await trader.call("get_trading_status")

    assert shown.data["steps"][2] == "nothing remains to be protected"
    assert placed.data["status"] == "FILLED"
    assert after == {}
    assert "warnings" not in status.data


@pytest.mark.slow
@pytest.mark.parametrize("opened", WAYS)
async def test_a_bracket_is_moved_and_a_stop_becomes_a_pair(tmp_path: Path, opened: Opened) -> None:
    async with opened(tmp_path, MANY) as trader:
        await protected(trader)
        nearer = await trader.call("preview_order", **PAIR | {"stop_price": "111000"})
        moved = await trader.call("place_order", preview_id=nearer.data["preview_id"])
        farther = await trader.call("preview_order", **PAIR | {"stop_price": "109000"})
        pair = moved.data["client_order_id"]
        single = await trader.placed(**STOP_ALONE, replaces=pair)
        stands = await open_sales(trader)
        again = await trader.placed(**PAIR | {"stop_price": "112000"}, replaces=single.data["client_order_id"])
        paired = await open_sales(trader)
        status = await trader.call("get_trading_status")

    assert nearer.data["counts"].startswith("exit: ")
    assert not farther.data["counts"].startswith("exit: ")
    assert moved.data["outcome"] == single.data["outcome"] == again.data["outcome"] == "placed"
    assert [each.split()[0] for each in stands] == ["STOP_LOSS_LIMIT"]
    assert len(paired) == 2
    assert "warnings" not in status.data


@pytest.mark.slow
async def test_a_plain_stop_gives_way_to_a_sale_and_is_placed_again_for_the_rest(tmp_path: Path) -> None:
    async with paper_trader(tmp_path, MANY) as trader:
        await protected(trader, **STOP_ALONE)
        placed = await trader.placed(**SALE)
        after = await open_sales(trader)

    assert placed.data["status"] == "FILLED"
    assert [*after.values()] == [Decimal("0.00299")]


@pytest.mark.slow
async def test_a_bracket_of_an_entry_gives_way_to_a_sale(tmp_path: Path) -> None:
    async with paper_trader(tmp_path, MANY) as trader:
        await trader.placed(**ENTRY, take_profit=PROFIT, stop_loss=STOP)
        placed = await trader.placed(**SALE | {"quantity": "0.002"})
        after = await open_sales(trader)
        status = await trader.call("get_trading_status")

    assert placed.data["status"] == "FILLED"
    assert {*after.values()} == {Decimal("0.00199")}
    assert "warnings" not in status.data


@pytest.mark.slow
async def test_a_rest_too_small_for_an_exit_is_refused_and_all_is_offered(tmp_path: Path) -> None:
    async with paper_trader(tmp_path, MANY) as trader:
        await protected(trader)
        told = await trader.call("preview_order", **SALE | {"quantity": "0.00398"})

    assert told.is_error
    assert "the rest would stay without an exit" in told.text
    assert "Nearest order that passes: quantity 0.00399 (all of it)" in told.text


@pytest.mark.slow
async def test_orders_placed_elsewhere_that_reserve_coins_are_named(tmp_path: Path) -> None:
    async with spot_trader(tmp_path, MANY) as trader:
        await protected(trader)
        told = await trader.call("preview_order", **SALE | {"quantity": "0.505"})
        rest = await trader.call("preview_order", **SALE | {"quantity": "all"})
        await trader.call("place_order", preview_id=rest.data["preview_id"])
        nothing = await trader.call("preview_order", **SALE | {"quantity": "all"})

    for each in (told, nothing):
        assert each.is_error
        assert "are reserved by open orders, placed elsewhere: " in each.text
        assert "deposit" not in each.text.lower()
        assert "nothing to sell" not in each.text.lower()


@pytest.mark.slow
@pytest.mark.parametrize("way", ["memory, handshake", "memory, 2026-07-28"])
async def test_the_form_names_every_step_and_a_no_leaves_the_bracket(tmp_path: Path, way: str) -> None:
    user = User("accept", {"decision": "place this order"})
    connect = EVERYWHERE[way]
    async with paper_trader(tmp_path, MANY + ASKS_ALWAYS, connect=connect, user=user) as trader:
        pair = await protected(trader)
        shown = await trader.call("preview_order", **SALE)
        user.content = {"decision": "do not place it"}
        declined = await trader.call("place_order", preview_id=shown.data["preview_id"])
        kept = await open_sales(trader)
        asked = user.read[-1].message
        user.content = {"decision": "place this order"}
        placed = await trader.placed(**SALE)

    assert declined.is_error
    assert {*kept.values()} == {Decimal("0.00399")}
    assert all(f"Step {number}: " in asked for number in range(1, 5))
    assert pair in asked
    assert placed.data["status"] == "FILLED"


@pytest.mark.slow
async def test_while_trading_is_stopped_the_whole_plan_needs_a_persons_yes(tmp_path: Path) -> None:
    user = User("accept", {"decision": "place this order"})
    async with paper_trader(tmp_path, MANY, connect=HANDSHAKE["memory, handshake"], user=user) as trader:
        await protected(trader)
        await trader.call("stop_trading", reason="user asked")
        shown = await trader.call("preview_order", **SALE)
        placed = await trader.call("place_order", preview_id=shown.data["preview_id"])
        after = await open_sales(trader)

    assert shown.data["confirmation"] == "client"
    assert placed.data["status"] == "FILLED"
    assert {*after.values()} == {Decimal("0.00299")}
