"""Exits with an entry, pairs, and orders in another's place: through the tools, on paper and at a simulated Binance."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from decimal import Decimal
from pathlib import Path
from typing import Any

import anyio
import pytest

from support.paper import AT_ONCE, LOW, SYMBOL, PaperTrader, Told, paper_trader
from support.spot import spot_trader

pytestmark = pytest.mark.anyio

Opened = Callable[[Path, str], AbstractAsyncContextManager[PaperTrader]]
WAYS: list[Opened] = [paper_trader, spot_trader]
PROFIT, STOP, LEAST = "130000", "110000", "107800"
ENTRY: dict[str, Any] = {"symbol": SYMBOL, "side": "BUY", "quantity": "0.002", "take_profit": PROFIT, "stop_loss": STOP}
PAIR = {"symbol": SYMBOL, "side": "SELL", "type": "OCO", "quantity": "0.004", "price": PROFIT, "stop_price": STOP}
MANY = "[limits]\norders_per_minute = 50\n"


def statuses(told: Told) -> dict[str, str]:
    return {name: words.split()[1].rstrip(",") for name, words in told.data["legs"].items()}


@pytest.mark.slow
@pytest.mark.parametrize("opened", WAYS)
async def test_an_entry_that_is_filled_starts_its_exits_and_one_request_was_all(tmp_path: Path, opened: Opened) -> None:
    async with opened(tmp_path, MANY) as trader:
        shown = await trader.call("preview_order", type="MARKET", **ENTRY)
        placed = await trader.call("place_order", preview_id=shown.data["preview_id"])
        again = await trader.call("place_order", preview_id=shown.data["preview_id"])
        status = await trader.call("get_trading_status")

    assert shown.data["order"] | {"take_profit": PROFIT, "stop": STOP, "stop_limit": LEAST} == shown.data["order"]
    for words in ("A partly filled entry is unprotected", "If the price gaps below"):
        assert words in shown.text
        assert any(words in each for each in shown.data["notes"])
    assert statuses(placed) == statuses(again) == {"Entry": "FILLED", "Take profit": "NEW", "Stop": "NEW"}
    assert "unprotected" not in placed.data
    assert "NO exit in place" not in status.text
    assert len(status.data["open_orders"]) == 1


@pytest.mark.slow
@pytest.mark.parametrize("opened", WAYS)
async def test_a_pair_is_one_order_that_its_user_can_take_back_by_any_of_its_names(
    tmp_path: Path, opened: Opened
) -> None:
    async with opened(tmp_path, MANY) as trader:
        await trader.placed(**AT_ONCE)
        placed = await trader.placed(**PAIR)
        name = placed.data["client_order_id"]
        found = await trader.call("get_order", symbol=SYMBOL, client_order_id=name)
        cancelled = await trader.call("cancel_order", symbol=SYMBOL, client_order_id=f"{name}-b")
        balances = await trader.call("get_trading_status")

    assert statuses(placed) == {"Take profit": "NEW", "Stop": "NEW"}
    assert "take profit NEW; stop NEW" in found.text
    assert "take profit NEW; stop NEW" in found.data["summary"]
    assert cancelled.data["outcome"] == "cancelled"
    assert statuses(cancelled) == {"Take profit": "CANCELED", "Stop": "CANCELED"}
    assert balances.data["open_orders"] == []


@pytest.mark.slow
@pytest.mark.parametrize("opened", WAYS)
async def test_a_smaller_order_keeps_its_name_and_another_price_takes_its_place(tmp_path: Path, opened: Opened) -> None:
    order = {"symbol": SYMBOL, "side": "BUY", "price": LOW, "quantity": "0.0005"}
    async with opened(tmp_path, MANY) as trader:
        name = (await trader.placed(**order)).data["client_order_id"]
        smaller = await trader.placed(**order | {"quantity": "0.0003"}, replaces=name)
        other = await trader.placed(**order | {"price": "116000"}, replaces=name)
        status = await trader.call("get_trading_status")
        old = await trader.call("get_order", symbol=SYMBOL, client_order_id=name)

    assert smaller.data["summary"].endswith(f"order {name} reduced to 0.0003 BTC.")
    assert (smaller.data["status"], other.data["status"]) == ("AMENDED", "NEW")
    (stands,) = status.data["open_orders"]
    assert f"replacing {name}, NEW" in str(stands)
    assert old.data["order"]["status"] == "CANCELED"
    assert Decimal(old.data["order"]["quantity"]) == Decimal("0.0003")


@pytest.mark.slow
async def test_an_order_that_is_gone_for_one_that_is_refused_is_told_first_and_can_be_placed_again(
    tmp_path: Path,
) -> None:
    order = {"symbol": SYMBOL, "side": "BUY", "price": LOW, "quantity": "0.0005"}
    async with spot_trader(tmp_path, MANY) as trader:
        name = (await trader.placed(**order)).data["client_order_id"]
        preview_id = await trader.previewed(**order | {"quantity": "0.01"}, replaces=name)
        await trader.market.run(11)  # the same order again is taken for a mistake for so long
        records = trader.market.exchange.orders.records
        account = records.account_of(next(iter(records.orders.values())).holder)
        account.spend("USDT", account.free("USDT"))  # by another program on the same account
        told = await trader.call("place_order", preview_id=preview_id)
        again = await trader.call("place_order", preview_id=preview_id)
        back = await trader.call("place_order", preview_id=told.data["next_step"].split('"')[3])

    gone = f"PRACTICE (testnet): ORDER {name} WAS CANCELLED and no order is open."
    assert told.text.startswith(gone)
    assert told.data["summary"].startswith(gone)
    assert (told.data["outcome"], again.data["outcome"], told.is_error) == ("rejected", "rejected", True)
    assert told.data["gone"] == "BUY 0.0005 BTC LIMIT at 116,500.00, GTC (BTCUSDT)"
    assert (back.data["outcome"], back.data["order"]) == ("placed", told.data["gone"])


@pytest.mark.slow
async def test_a_list_called_for_by_many_at_once_is_one_list(tmp_path: Path) -> None:
    told: list[object] = []
    async with spot_trader(tmp_path, MANY) as trader:
        preview_id = await trader.previewed(price=LOW, **ENTRY)

        async def place() -> None:
            result = await trader.client.call_tool("place_order", {"preview_id": preview_id})
            found: dict[str, Any] = result.structured_content or {}
            told.append(found.get("outcome"))

        async def all_at_once() -> None:
            async with anyio.create_task_group() as tasks:
                for _ in range(40):
                    tasks.start_soon(place)

        await trader.market.answered(all_at_once)
        accepted = [each.client_order_id for each in trader.market.exchange.orders.accepted]

    assert told == ["placed"] * 40
    assert sorted(accepted) == [f"mbt-{preview_id}-{leg}" for leg in "abw"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({**PAIR, "side": "BUY"}, "an OCO sells a held asset"),
        ({**ENTRY, "price": LOW, "side": "SELL"}, "must be BUY: take_profit"),
        (
            {**ENTRY, "price": LOW, "stop_loss": "116500"},
            "must be below the best bid at the entry, 116500: the stop would trigger at once",
        ),
        ({**ENTRY, "price": LOW, "take_profit": "116500"}, "must be above the entry price"),
        ({**ENTRY, "price": LOW, "replaces": "mbp-aaaaaaaaaaaaaaaaaaaa"}, "only for a single order"),
        ({**PAIR, "take_profit": PROFIT}, "OCO takes only quantity, price, and stop_price or trailing"),
        ({**PAIR, "time_in_force": "GTC"}, "OCO has no time in force"),
        ({"symbol": SYMBOL, "side": "SELL", "type": "OCO", "quantity": "1"}, "OCO needs quantity, price"),
        (
            {"symbol": SYMBOL, "side": "BUY", "price": LOW, "quantity": "1", "replaces": "mbp-aaaaaaaaaaaaaaaaaaaa"},
            "No open order with that ID was placed here",
        ),
    ],
)
async def test_what_does_not_go_together_is_refused_in_words(
    tmp_path: Path, arguments: dict[str, Any], words: str
) -> None:
    async with paper_trader(tmp_path) as trader:
        told = await trader.call("preview_order", **arguments)

    assert told.is_error
    assert words in told.text
    assert words in str(told.data)
