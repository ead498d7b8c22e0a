"""Trailing stops through the tools, on paper and at a simulated Binance: alone, in a pair, and as an exit of a buy."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from mcp_binance_server.domain.money import Price, Quantity
from mcp_binance_server.domain.symbols import Symbol, SymbolRules
from mcp_binance_server.surface.views.trading.question import order_question
from mcp_binance_server.trading.judgement.exits import Exits
from support.channels import Structure, Text
from support.paper import AT_ONCE, SYMBOL, PaperTrader, Told, paper_trader
from support.spot import spot_trader
from support.terms import terms

pytestmark = pytest.mark.anyio

Opened = Callable[[Path, str], AbstractAsyncContextManager[PaperTrader]]
WAYS: list[Opened] = [paper_trader, spot_trader]
MANY = "[limits]\norders_per_minute = 50\n"
STOP: dict[str, Any] = {"symbol": SYMBOL, "side": "SELL", "quantity": "0.002", "trailing": "2"}
PROFIT = "130000"


def differences(told: Told) -> list[str]:
    """Return what only one of both channels says."""
    return [*Text(told.text).missing(told.data), *Structure(told.data).missing(told.text)]


def first_trigger(told: Told) -> Decimal:
    return Decimal(told.data["order"]["stop_price"])


async def bought(trader: PaperTrader) -> None:
    await trader.placed(**AT_ONCE)


@pytest.mark.slow
@pytest.mark.parametrize("opened", WAYS)
async def test_a_trailing_stop_is_placed_listed_reduced_and_moved(tmp_path: Path, opened: Opened) -> None:
    async with opened(tmp_path, MANY) as trader:
        await bought(trader)
        shown = await trader.call("preview_order", **STOP)
        placed = await trader.call("place_order", preview_id=shown.data["preview_id"])
        name = placed.data["client_order_id"]
        listed = await trader.call("get_open_orders", symbol=SYMBOL)
        status = await trader.call("get_trading_status")
        smaller = await trader.placed(**STOP | {"quantity": "0.001"}, replaces=name)
        found = await trader.call("get_order", symbol=SYMBOL, client_order_id=name)
        moved = await trader.placed(**STOP | {"quantity": "0.001", "trailing": "1.5%"}, replaces=name)
        journal = await trader.page("binance://orders/journal")

    order = shown.data["order"]
    assert (order["type"], order["trailing"]) == ("STOP_LOSS_LIMIT", "2")
    assert shown.data["counts"].startswith("exit: ")
    assert Decimal(order["price"]) >= first_trigger(shown) * Decimal("0.98")
    for told in (shown, placed):
        assert "2.00% below the trigger at first, 10.91% after a rise of 10%" in told.text
        assert any("after a rise of 10%" in each for each in told.data["notes"])
        assert "preview the same stop with replaces" in told.text
    assert placed.data["order"].startswith("SELL 0.002 BTC STOP_LOSS_LIMIT at ")
    assert ", trailing 2% (first trigger " in placed.data["order"]
    (row,) = (each for each in listed.data["orders"] if each["client_order_id"] == name)
    assert (row["trailing"], Decimal(row["stop_price"])) == ("2%", 0)
    assert "(trailing 2%" in listed.text
    assert [each for told in (shown, placed, status, moved) for each in differences(told)] == []
    assert " trailing 2%, NEW" in status.text
    assert smaller.data["status"] == "AMENDED"
    assert Decimal(found.data["order"]["price"]) == Decimal(order["price"])
    assert moved.data["status"] == "NEW"
    assert "trailing 1.5%" in moved.data["order"]
    assert "trailing 2%" in journal


@pytest.mark.slow
@pytest.mark.parametrize("opened", WAYS)
@pytest.mark.parametrize("kind", ["pair", "entry", "stop alone"])
async def test_a_stop_of_a_list_trails(tmp_path: Path, opened: Opened, kind: str) -> None:
    entry = {"symbol": SYMBOL, "side": "BUY", "type": "MARKET", "quantity": "0.002", "trailing": "3"}
    orders: dict[str, dict[str, Any]] = {
        "pair": {
            "symbol": SYMBOL,
            "side": "SELL",
            "type": "OCO",
            "quantity": "0.004",
            "price": PROFIT,
            "trailing": "3",
        },
        "entry": entry | {"take_profit": PROFIT},
        "stop alone": entry,
    }
    async with opened(tmp_path, MANY) as trader:
        await bought(trader)
        shown = await trader.call("preview_order", **orders[kind])
        placed = await trader.call("place_order", preview_id=shown.data["preview_id"])
        listed = await trader.call("get_open_orders", symbol=SYMBOL)

    assert shown.data["order"]["trailing"] == "3"
    assert "stop-loss trailing 3% (first trigger " in shown.text
    assert "cancel it and preview it again" in placed.text
    assert "If the price gaps below the limit of a stop" not in shown.text
    assert placed.data["legs"]["Stop"].endswith("-b NEW")
    trailing = [each for each in listed.data["orders"] if "trailing" in each]
    assert [(each["trailing"], each["client_order_id"][-2:]) for each in trailing] == [("3%", "-b")]


@pytest.mark.slow
async def test_the_exchange_gets_basis_points_and_no_stop_price(tmp_path: Path) -> None:
    async with spot_trader(tmp_path, MANY) as trader:
        await bought(trader)
        placed = await trader.placed(**{**STOP, "trailing": "1.25"})
        records = trader.market.exchange.orders.records
        (order,) = (each for each in records.orders.values() if each.wanted.trailing)

    assert placed.data["outcome"] == "placed"
    assert (order.wanted.kind, order.wanted.trailing, order.wanted.stop) == ("STOP_LOSS_LIMIT", 125, 0)
    assert order.wanted.price > 0


@pytest.mark.night
@pytest.mark.parametrize("opened", WAYS)
async def test_a_stop_that_the_market_turns_from_sells(tmp_path: Path, opened: Opened) -> None:
    """The nearest distance meets the noise of the simulated market sooner or later."""
    async with opened(tmp_path, MANY) as trader:
        await bought(trader)
        placed = await trader.placed(**STOP | {"trailing": "0.1"})
        name = placed.data["client_order_id"]
        order: dict[str, Any] = {}
        for _ in range(60):
            await trader.market.run(60)
            order = (await trader.call("get_order", symbol=SYMBOL, client_order_id=name)).data["order"]
            if order["status"] == "FILLED":
                break

    assert order["status"] == "FILLED"
    assert Decimal(order["average_price"]) >= Decimal(order["price"])
    assert order["trailing_since"] >= order["time"]


REFUSED: tuple[tuple[dict[str, Any], str], ...] = (
    ({"type": "LIMIT", "price": "120000"}, "a trailing SELL has type STOP_LOSS_LIMIT or OCO"),
    ({"price": "110000"}, "takes no price: its limit is computed"),
    ({"stop_price": "110000"}, "has no stop price: it starts at the market"),
    ({"type": "OCO", "price": PROFIT, "stop_price": "110000"}, "has no stop price"),
    ({"side": "BUY", "type": "STOP_LOSS_LIMIT"}, "a trailing stop sells"),
    ({"side": "BUY", "type": "MARKET", "stop_loss": "110000"}, "has no stop price"),
    ({"trailing_delta": 300}, "are the same distance: give one of them"),
    ({"trailing": "0.09"}, "trailing 0.09, allowed is at least 0.1"),
    ({"trailing": "20.01"}, "trailing 20.01, allowed is at most 20"),
    ({"side": "BUY", "type": "MARKET", "trailing": "0.09"}, "trailing: trailing 0.09, allowed is at least 0.1"),
    ({"trailing": "250"}, "trailing 250, allowed is at most 20"),
    ({"trailing": "0"}, "must be greater than zero"),
)


@pytest.mark.slow
async def test_a_distance_that_cannot_be_is_refused_in_words(tmp_path: Path) -> None:
    async with paper_trader(tmp_path, MANY) as trader:
        await bought(trader)
        for arguments, words in REFUSED:
            told = await trader.call("preview_order", **STOP | arguments)

            assert told.is_error, arguments
            assert words in told.text
            assert "Nearest order that passes: trailing" in told.text or "Nearest" not in told.text


@pytest.mark.slow
async def test_a_symbol_without_trailing_stops_says_so_and_the_policy_names_its_type(tmp_path: Path) -> None:
    async with paper_trader(tmp_path, '[limits]\ntypes = ["MARKET", "STOP_LOSS_LIMIT"]\n') as trader:
        await bought(trader)
        allowed = await trader.call("preview_order", **STOP)
        pair = await trader.call("preview_order", **STOP | {"type": "OCO", "price": PROFIT})
        shown = await trader.call("preview_order", **STOP | {"trailing": None, "trailingDelta": 200})

        (record,) = (each for each in trader.market.exchange.listing.records if each["symbol"] == SYMBOL)
        record["allowTrailingStop"] = False
        trader.market.clock.advance(3_600_000)  # the list of symbols is an hour old
        refused = [
            await trader.call("preview_order", **STOP),
            await trader.call("preview_order", **STOP | {"type": "OCO", "price": PROFIT}),
            await trader.call("preview_order", **STOP | {"side": "BUY", "type": "MARKET"}),
        ]
        record["allowTrailingStop"] = True

    assert [each.data["rule"] for each in refused] == ["allowTrailingStop"] * 3
    assert allowed.data["preview_id"]
    assert pair.data["refused_by"] == ["type: OCO; allowed: MARKET, STOP_LOSS_LIMIT"]
    assert shown.data["order"]["trailing"] == "2"


@pytest.mark.parametrize("is_pair", [False, True])
def test_the_question_says_the_distance_the_first_trigger_and_how_far_below_the_limit_can_lie(*, is_pair: bool) -> None:
    step = Quantity(Decimal("0.00001"))
    rules = SymbolRules(Symbol("BTCUSDT"), "BTC", "USDT", "TRADING", Price(Decimal("0.01")), step, step)
    trigger, limit = Price(Decimal(98)), Price(Decimal("96.04"))
    made = terms(side="SELL", kind="STOP_LOSS_LIMIT", stop_price=trigger, price=limit, trailing_bps=200)
    if is_pair:
        exits = Exits("OCO", made.quantity, Price(Decimal(110)), trigger, limit, 200)
        made = terms(side="SELL", kind="OCO", stop_price=trigger, price=Price(Decimal(110)), exits=exits)

    asked = order_question(made, rules, "LIVE", "USDT", None)

    assert "trailing 2% (first trigger 98.00" in asked
    assert "the limit 96.04 does not: it is 2.00% below the trigger at first, 10.91% after a rise of 10%" in asked
    assert "96.04" in asked.splitlines()[2]
