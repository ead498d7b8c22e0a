"""Harmful sequences of orders that only seem to reduce a risk: each meets a question, a limit or a refusal."""

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from binance_simulator.faults import Fault
from support.paper import SYMBOL, PaperTrader, paper_trader
from surface.trading.test_exits import ENTRY, PAIR, SALE, STOP, USED_UP, refused, used_up
from surface.trading.test_modes import Answering, placed, trader_in

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

AUTOMATIC = 'auto_per_order = "100000"\nauto_per_day = "100000"\nclient_per_order = "100000"'
BUY: dict[str, Any] = {"symbol": SYMBOL, "side": "BUY", "type": "MARKET", "quantity": "0.002"}


async def asked_about(trader: PaperTrader, **order: Any) -> str:  # noqa: ANN401 - any member of an order
    shown = await trader.call("preview_order", **order)
    assert shown.data["preview_id"], shown.text
    return shown.data["confirmation"]


async def test_coins_that_were_never_bought_here_are_not_sold_without_a_person(tmp_path: Path) -> None:
    async with trader_in("live", tmp_path, AUTOMATIC) as trader:
        before = await asked_about(trader, **SALE)
        await trader.placed(**BUY)
        bought = await asked_about(trader, **SALE)
        more = await asked_about(trader, **SALE | {"quantity": "0.003"})

    assert (before, bought, more) == ("client", "none", "client")


async def test_slices_below_the_automatic_limit_add_up(tmp_path: Path) -> None:
    limits = 'auto_per_order = "600"\nauto_per_day = "800"\nclient_per_order = "1000"'
    async with trader_in("live", tmp_path, limits) as trader:
        await trader.placed(**BUY | {"quantity": "0.004"})
        asked = [await asked_about(trader, **SALE)]
        for number in range(2):
            await placed(trader, await trader.previewed(**SALE | {"quantity": f"0.0011{number}"}), Answering("yes"))
            asked.append(await asked_about(trader, **SALE))

    assert asked == ["none", "none", "client"]


async def test_a_sale_into_another_coin_is_limited_as_an_entry(tmp_path: Path) -> None:
    async with paper_trader(tmp_path, USED_UP + '\n[paper]\nbalances = { USDT = "10000", ETH = "5" }\n') as trader:
        await used_up(trader)
        told = await refused(trader, symbol="ETHBTC", side="SELL", type="MARKET", quantity="1")

    assert [each.partition(":")[0] for each in told.data["refused_by"]] == ["per_order", "orders_per_minute"]


async def test_a_sale_far_below_the_price_of_the_last_minutes_needs_a_person(tmp_path: Path) -> None:
    async with trader_in("live", tmp_path, AUTOMATIC) as trader:
        await trader.placed(**BUY)
        at_market = await asked_about(trader, **SALE)
        far = await asked_about(trader, **STOP)

    assert (at_market, far) == ("none", "client")


async def test_without_recent_candles_a_person_decides_and_no_exit_fails(tmp_path: Path) -> None:
    async with trader_in("live", tmp_path, AUTOMATIC) as trader:
        await trader.placed(**BUY)
        trader.market.exchange.faults.add(Fault(kind="html", path="*/klines", times=None))
        sale = await asked_about(trader, **SALE)
        stop = await asked_about(trader, **STOP)

    assert (sale, stop) == ("client", "client")


async def test_a_stop_that_any_minute_can_trigger_is_judged_as_a_market_sale(tmp_path: Path) -> None:
    async with paper_trader(tmp_path) as trader:
        await trader.placed(**ENTRY, quote_quantity="500")
        bid = Decimal((await trader.call("preview_order", **SALE)).data["best_bid"])
        near = {"stop_price": f"{bid - 1:.2f}", "price": f"{(bid - 1) * Decimal('0.980002'):.2f}"}
        told = await refused(trader, **STOP | near)

    assert told.data["refused_by"][0].startswith("collar: ")


async def test_small_exits_leave_one_stop_of_a_symbol_free(tmp_path: Path) -> None:
    async with paper_trader(tmp_path) as trader:
        await trader.placed(**ENTRY, quote_quantity="2000")
        told = None
        for number in range(12):
            told = await trader.call("preview_order", **STOP | {"stop_price": f"{110_000 + number}"})
            if told.data["preview_id"] is None:
                break
            await trader.call("place_order", preview_id=told.data["preview_id"])

    assert told is not None
    assert told.data["refused_by"][0].startswith("open_exits: 5 open stops of BTCUSDT")


async def test_buying_and_selling_in_turns_ends_at_the_limit_of_buys(tmp_path: Path) -> None:
    async with paper_trader(tmp_path, '[limits]\norders_per_minute = 100\nper_day = "500"\n') as trader:
        bought = 0
        for number in range(20):
            shown = await trader.call("preview_order", **ENTRY, quote_quantity=f"{100 + number}")
            if shown.data["preview_id"] is None:
                break
            await trader.call("place_order", preview_id=shown.data["preview_id"])
            bought += 1
            await trader.placed(**SALE | {"quantity": f"0.0008{number}"})

    assert bought == 4


async def test_of_two_exits_for_the_same_coins_one_is_limited_as_an_entry(tmp_path: Path) -> None:
    async with paper_trader(tmp_path, USED_UP) as trader:
        await used_up(trader)
        held = (await trader.call("get_account_info")).data
        coins = next(each["free"] for each in held["balances"] if each["asset"] == "BTC")
        first = await trader.previewed(**SALE | {"type": "LIMIT", "price": "121000", "quantity": coins[:7]})
        second = await trader.previewed(**STOP | {"quantity": coins[:7]})
        one = await trader.call("place_order", preview_id=first)
        other = await trader.call("place_order", preview_id=second)

    assert one.data["outcome"] == "placed"
    assert other.is_error
    assert "orders_per_minute" in other.text


async def test_refused_questions_about_sales_end_questions_about_sales_alone(tmp_path: Path) -> None:
    async with trader_in("live", tmp_path, 'client_per_order = "100000"') as trader:
        no = Answering("no")
        for number in range(3):
            await placed(trader, await trader.previewed(**SALE | {"quantity": f"0.001{number + 1}"}), no)
        tired = await placed(trader, await trader.previewed(**SALE), no)
        entry = await placed(trader, await trader.previewed(**BUY), Answering("yes"))

    assert tired["error_type"] == "asked_too_often"
    assert len(no.shown) == 3
    assert entry["outcome"] == "placed"


async def test_a_pair_sells_its_coins_once(tmp_path: Path) -> None:
    async with paper_trader(tmp_path, USED_UP) as trader:
        await used_up(trader)
        pair = await trader.placed(**PAIR | {"quantity": "0.004"})
        told = await trader.call("preview_order", **STOP | {"quantity": "0.004"})

    assert pair.data["outcome"] == "placed"
    assert told.data["steps"][0].startswith(f"cancel {pair.data['client_order_id']}")
