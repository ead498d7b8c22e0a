"""Amounts in a person's spelling, through the tools: percentages, shares, and the quantity for a risk."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from support.paper import AT_ONCE, SYMBOL, PaperTrader, Told, paper_trader
from support.spot import spot_trader

pytestmark = pytest.mark.anyio

Opened = Callable[[Path, str], AbstractAsyncContextManager[PaperTrader]]
BUY: dict[str, Any] = {"symbol": SYMBOL, "side": "BUY"}
SELL: dict[str, Any] = {"symbol": SYMBOL, "side": "SELL"}
MANY = "[limits]\norders_per_minute = 50\n"
CENT = Decimal("0.01")


def read(told: Told) -> dict[str, dict[str, str]]:
    return {each["argument"]: each for each in told.data["read"]}


def number(told: Told, name: str) -> Decimal:
    return Decimal(told.data["order"][name])


@pytest.mark.slow
@pytest.mark.parametrize("opened", [paper_trader, spot_trader])
async def test_exits_in_percent_are_of_the_entry_and_say_what_they_lose_and_gain(
    tmp_path: Path, opened: Opened
) -> None:
    async with opened(tmp_path, MANY) as trader:
        market = await trader.call(
            "preview_order", **BUY, type="MARKET", quote_quantity="1,000", take_profit="+4%", stop_loss="2%"
        )
        resting = await trader.call("preview_order", **BUY, price="-1%", quantity="0.01", stop_loss="entry-2%")
        placed = await trader.call("place_order", preview_id=market.data["preview_id"])

    entry, bid = Decimal(market.data["fill"]["average_price"]), Decimal(resting.data["best_bid"])
    assert 0 <= number(market, "take_profit") - entry * Decimal("1.04") < CENT
    assert 0 <= number(market, "stop") - entry * Decimal("0.98") < CENT
    assert 0 <= bid * Decimal("0.99") - number(resting, "price") < CENT
    assert 0 <= number(resting, "stop") - number(resting, "price") * Decimal("0.98") < CENT
    assert read(market)["take_profit"]["basis"] == "4% above the average price of the expected fill"
    assert read(resting)["stop_loss"]["basis"] == "2% below the entry's limit price"
    assert read(market)["quote_quantity"]["used"] == "1000"
    assert 'quote_quantity "1,000" as 1000: commas separate thousands' in market.text
    assert f"**Loss at the stop**: ${Decimal(market.data['result']['loss_at_stop']):,.2f} if sold" in market.text
    assert f"**Gain at the target**: ${Decimal(market.data['result']['gain_at_target']):,.2f}" in market.text
    assert f"**Break-even**: {Decimal(market.data['result']['break_even']):,.2f} USDT" in market.text
    assert "gain_at_target" not in resting.data["result"]
    assert placed.data["outcome"] == "placed"


@pytest.mark.slow
async def test_a_share_is_of_what_the_order_spends(tmp_path: Path) -> None:
    async with paper_trader(tmp_path, MANY) as trader:
        too_much = await trader.call("preview_order", **BUY, type="MARKET", quote_quantity="9,990")
        everything = await trader.placed(**BUY, type="MARKET", quote_quantity="all")
        half = await trader.call("preview_order", **SELL, type="MARKET", quantity="Half")
        quarter = await trader.call("preview_order", **SELL, type="OCO", quantity="25 %", price="+4%", stop_price="-2%")
        wrong = [
            await trader.call("preview_order", **BUY, type="MARKET", quantity="50%"),
            await trader.call("preview_order", **SELL, type="MARKET", quote_quantity="50%"),
        ]

    assert "needed, 10000 available" in too_much.text
    assert everything.data["status"] == "FILLED"
    held = Decimal(half.data["balances"][0]["free"])
    assert 0 <= held / 2 - number(half, "quantity") < Decimal("0.00001")
    assert 0 <= held / 4 - number(quarter, "quantity") < Decimal("0.00001")
    assert f"50% of the held BTC, {held}" in half.text
    assert "1" not in str(quarter.data["changes"])
    assert ["use quote_quantity" in wrong[0].text, "use quantity" in wrong[1].text] == [True, True]


@pytest.mark.slow
async def test_a_share_that_leaves_too_little_to_sell_says_so(tmp_path: Path) -> None:
    async with paper_trader(tmp_path, MANY) as trader:
        await trader.placed(**BUY, type="MARKET", quantity="0.00008")
        told = await trader.call("preview_order", **SELL, type="MARKET", quantity="half")
        most = await trader.call("preview_order", **SELL, type="MARKET", quantity="80%")

    assert told.is_error  # 0.00003 BTC are worth less than an order may be
    assert "is worth less than the minimum order of 5 USDT" in read(most)["quantity"]["note"]
    assert "is worth less than the minimum order of 5 USDT" in most.text


@pytest.mark.slow
async def test_the_entry_of_coins_that_are_held_is_their_average_cost(tmp_path: Path) -> None:
    async with paper_trader(tmp_path, MANY) as trader:
        early = await trader.call("preview_order", **SELL, quantity="0.001", price="entry+1%")
        bought = await trader.placed(**AT_ONCE)
        pair = await trader.call(
            "preview_order", **SELL, type="OCO", quantity="all", price="entry+4%", stop_price="-2%"
        )
        stop = await trader.call(
            "preview_order", **SELL, type="STOP_LOSS_LIMIT", quantity="all", stop_price="-1%", price="-1.5%"
        )

    cost = Decimal(bought.data["average_price"]) / Decimal("0.999")  # the fee is taken from the coins
    assert 'write "1,234.5" or "+1%"' in early.text
    assert abs(number(pair, "price") - cost * Decimal("1.04")) < 1
    assert pair.data["result"]["measured_from"] == stop.data["result"]["measured_from"] == "average cost"
    assert abs(Decimal(pair.data["result"]["break_even"]) - cost / Decimal("0.999")) < 1
    quantity, limit = number(stop, "quantity"), number(stop, "price")
    assert abs(Decimal(stop.data["result"]["loss_at_stop"]) - quantity * (cost - limit * Decimal("0.999"))) < CENT


@pytest.mark.slow
async def test_a_risk_needs_a_stop_and_nothing_that_contradicts_it(tmp_path: Path) -> None:
    async with paper_trader(tmp_path, MANY) as trader:
        sized = await trader.call("preview_order", **BUY, type="MARKET", risk="0.5%", stop_loss="-2%")
        refused = {
            words: await trader.call("preview_order", **wish)
            for words, wish in {
                "risk: needs stop_loss": {**BUY, "type": "MARKET", "risk": "1%"},
                "risk: give either risk or a quantity": {
                    **BUY,
                    "price": "-1%",
                    "quantity": "1",
                    "risk": "1",
                    "stop_loss": "-2%",
                },
                "risk: only for a BUY": {**SELL, "price": "-1%", "risk": "1%"},
                "risk: is less than one step": {**BUY, "price": "-1%", "risk": "0.001", "stop_loss": "-2%"},
                "stop_loss: must be below the entry": {**BUY, "price": "-1%", "risk": "1%", "stop_loss": "+2%"},
                "a LIMIT order needs a price": {**BUY, "risk": "1%", "stop_loss": "-2%"},
                'stop_price: needs a sign: write "+2%"': {
                    **SELL,
                    "type": "OCO",
                    "quantity": "1",
                    "price": "2%",
                    "stop_price": "1%",
                },
                "stop_loss: needs a sign": {**BUY, "price": "-1%", "quantity": "1", "stop_loss": "98%"},
                "stop_loss: gives no price": {**BUY, "price": "-1%", "quantity": "1", "stop_loss": "-100%"},
                'quantity: has a comma that separates no thousands: write "1234.5"': {
                    **BUY,
                    "price": "1",
                    "quantity": "0,5",
                },
            }.items()
        }

    assert Decimal("49.5") < Decimal(sized.data["result"]["loss_at_stop"]) <= 50
    assert read(sized)["risk"] | {"used": "50", "base": "10000"} == read(sized)["risk"]
    assert [words for words, told in refused.items() if words not in told.text or not told.is_error] == []
    assert not any("pattern" in told.text or "[0-9]" in told.text for told in refused.values())


@pytest.mark.slow
async def test_a_portfolio_has_the_break_even_price_and_the_loss_at_its_stops(tmp_path: Path) -> None:
    async with paper_trader(tmp_path, MANY) as trader:
        bought = await trader.placed(**AT_ONCE, take_profit="+4%", stop_loss="-2%")
        await trader.placed(**BUY, price="-1%", quantity="0.001", stop_loss="-2%")  # its stop waits for the entry
        told = await trader.call("get_portfolio", profit=True)
        plain = await trader.call("get_portfolio")

    cost = Decimal(bought.data["average_price"]) / Decimal("0.999")
    (asset,) = told.data["profit"]["assets"]
    (stop,) = told.data["profit"]["open_stops"]
    kept = Decimal(stop["limit"]) * Decimal("0.999")
    assert abs(Decimal(asset["break_even"]) - cost / Decimal("0.999")) < 1
    assert abs(Decimal(stop["loss"]) - Decimal(stop["quantity"]) * (cost - kept)) < CENT
    assert f"| {SYMBOL} | {stop['quantity']}" in told.text
    assert f"${Decimal(asset['break_even']):,.2f}" in told.text
    assert f"${Decimal(stop['loss']):,.2f}" in told.text
    assert "open_stops" not in str(plain.data)
