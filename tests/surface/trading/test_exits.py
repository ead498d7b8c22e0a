"""Exits that limits never refuse: after every limit is used up, while trading is stopped, and after a failure."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mcp_binance_server.domain.access import LOCAL, Scope, Vault, Visitor
from mcp_binance_server.domain.symbols import Symbol
from mcp_binance_server.surface.caller import Caller
from mcp_binance_server.trading.judgement.charges import EXITS_PER_MINUTE
from support.asking import HANDSHAKE, User
from support.paper import SYMBOL, PaperTrader, Told, paper_trader
from support.spot import spot_trader
from trading.spot_floor import by_hand

pytestmark = pytest.mark.anyio

ENTRY: dict[str, Any] = {"symbol": SYMBOL, "side": "BUY", "type": "MARKET"}
STOP: dict[str, Any] = {
    "symbol": SYMBOL, "side": "SELL", "type": "STOP_LOSS_LIMIT", "quantity": "0.001", "stop_price": "110000",
    "price": "109000",
}  # fmt: skip
PAIR: dict[str, Any] = {
    "symbol": SYMBOL, "side": "SELL", "type": "OCO", "quantity": "0.001", "price": "130000", "stop_price": "110000",
}  # fmt: skip
SALE: dict[str, Any] = {"symbol": SYMBOL, "side": "SELL", "type": "MARKET", "quantity": "0.001"}
RESTING: dict[str, Any] = {"symbol": SYMBOL, "side": "BUY", "type": "LIMIT", "price": "116500"}
USED_UP = '[limits]\norders_per_minute = 2\norders_per_day = 2\nopen_orders = 1\nper_order = "700"\nper_day = "1300"\n'


async def used_up(trader: PaperTrader) -> str:
    """Use up every limit of entries, and return the ID of an entry that rests."""
    await trader.placed(**ENTRY, quote_quantity="600")
    rests = await trader.placed(**RESTING, quantity="0.005")
    return rests.data["client_order_id"]


async def refused(trader: PaperTrader, **order: Any) -> Told:  # noqa: ANN401 - any member of an order
    told = await trader.call("preview_order", **order)
    assert told.data["preview_id"] is None, told.text
    return told


@pytest.mark.slow
@pytest.mark.parametrize("exit_", [STOP, PAIR, SALE], ids=["stop", "pair", "sale"])
async def test_an_exit_is_placed_after_every_limit_is_used_up(tmp_path: Path, exit_: dict[str, Any]) -> None:
    async with paper_trader(tmp_path, USED_UP) as trader:
        await used_up(trader)
        await refused(trader, **ENTRY, quote_quantity="10")
        placed = await trader.placed(**exit_)

    assert placed.data["outcome"] == "placed"
    assert placed.data["status"] in {"NEW", "FILLED"}


@pytest.mark.slow
async def test_an_entry_is_made_smaller_after_every_limit_is_used_up_and_still_counts(tmp_path: Path) -> None:
    async with paper_trader(tmp_path, USED_UP) as trader:
        resting = await used_up(trader)
        smaller = await trader.placed(**RESTING, quantity="0.003", replaces=resting)
        larger = await refused(trader, **RESTING | {"price": "116400"}, quantity="0.004", replaces=resting)
        status = await trader.call("get_trading_status")

    assert smaller.data["outcome"] == "placed"
    assert any(each.startswith("orders_per_minute") for each in larger.data["refused_by"])
    assert "| open_orders | 1 | 1 | 0 |" in status.text


@pytest.mark.slow
async def test_an_exit_says_what_it_is_and_a_refused_entry_when_it_is_possible_again(tmp_path: Path) -> None:
    async with paper_trader(tmp_path, USED_UP) as trader:
        await used_up(trader)
        shown = await trader.call("preview_order", **SALE)
        told = await refused(trader, **ENTRY, quote_quantity="10")

    assert "does not raise your largest loss" in shown.text
    assert shown.data["counts"].startswith("exit: ")
    assert "exits_per_minute" in shown.data["limits_left"]
    assert "it has room again in" in told.text
    assert "only the operator" not in told.data["refused_by"][0]


@pytest.mark.slow
async def test_exits_have_a_limit_of_their_own(tmp_path: Path) -> None:
    async with paper_trader(tmp_path) as trader:
        await trader.placed(**ENTRY, quote_quantity="5000")
        for number in range(EXITS_PER_MINUTE):
            await trader.placed(**SALE | {"quantity": f"0.001{number:02}"})
        told = await refused(trader, **SALE)

    assert told.data["refused_by"][0].startswith("exits_per_minute: limit reached, 20 exits a minute")


@pytest.mark.slow
@pytest.mark.parametrize("says", ["yes", "no"])
async def test_while_trading_is_stopped_an_exit_needs_a_persons_yes(tmp_path: Path, says: str) -> None:
    user = User("accept", {"decision": "place this order" if says == "yes" else "do not place it"})
    async with paper_trader(tmp_path, connect=HANDSHAKE["memory, handshake"], user=user) as trader:
        await trader.placed(**ENTRY, quote_quantity="500")
        await trader.call("stop_trading", reason="user asked")
        entry = await refused(trader, **ENTRY, quote_quantity="20")
        shown = await trader.call("preview_order", **SALE)
        told = await trader.call("place_order", preview_id=shown.data["preview_id"])

    assert "stop: " in entry.data["refused_by"][0]
    assert shown.data["confirmation"] == "client"
    assert (told.data.get("status") == "FILLED") == (says == "yes"), told.text


@pytest.mark.slow
async def test_without_a_way_to_ask_a_stopped_exit_names_the_ways_that_are_left(tmp_path: Path) -> None:
    async with paper_trader(tmp_path) as trader:
        await trader.placed(**ENTRY, quote_quantity="500")
        await trader.call("stop_trading", reason="user asked")
        told = await trader.placed(**SALE)

    assert told.is_error
    assert "mcp-binance-server resume" in told.text


async def expired(trader: PaperTrader, name: str) -> None:
    """Let an exit end without a sale: it is gone at the exchange, and the journal learns that it expired."""
    service = trader.market.app.context.acting_for(None, visitor=LOCAL, is_lent=True).trading
    assert service is not None
    trading = await service.opened()
    found = await trading.desk.ledger.named(trading.trader.account, name)
    order = await trading.broker.ask(Symbol(SYMBOL), name)
    assert found is not None
    assert order is not None
    ended = replace(order, status="EXPIRED", updated_ms=trading.now_ms())
    await by_hand(trader.market.exchange, name, "cancel")
    await trading.desk.watch.learn(found.preview_id, ended, trading.now_ms())


@pytest.mark.slow
async def test_a_failed_exit_is_a_warning_in_every_answer_until_there_is_another(tmp_path: Path) -> None:
    async with spot_trader(tmp_path) as trader:
        await trader.placed(**ENTRY, quote_quantity="500")
        before = await trader.call("get_trading_status")
        stop = await trader.placed(**STOP)
        await expired(trader, stop.data["client_order_id"])
        status = await trader.call("get_trading_status")
        orders = await trader.call("get_open_orders")
        page = await trader.page("binance://orders/open")
        market = await trader.call("get_ticker", symbol=SYMBOL)
        again = await trader.placed(**STOP | {"stop_price": "110500"})
        after = await trader.call("get_trading_status")

    warning = status.data["warnings"][0]
    assert warning.startswith("WARNING: 0.001 BTC, worth $")
    assert "has NO exit: the exit of order mbt-" in warning
    assert (
        'preview_order {"symbol": "BTCUSDT", "side": "SELL", "type": "STOP_LOSS_LIMIT", "quantity": "0.001"}' in warning
    )
    for text in (status.text, orders.text, page):
        assert any(line.startswith("*WARNING: 0.001 BTC") for line in text.split("\n")[:4])
    for told in (before, market, again, after):
        assert "WARNING" not in told.text
        assert "warnings" not in told.data


@pytest.mark.slow
async def test_the_warning_ends_when_the_coins_are_sold(tmp_path: Path) -> None:
    async with spot_trader(tmp_path) as trader:
        await trader.placed(**ENTRY, quote_quantity="500")
        stop = await trader.placed(**STOP)
        await expired(trader, stop.data["client_order_id"])
        sold = await trader.placed(**SALE)
        status = await trader.call("get_trading_status")

    assert sold.data["status"] == "FILLED"
    assert "warnings" not in status.data


@pytest.mark.slow
async def test_the_check_of_failed_exits_is_for_callers_who_may_trade(tmp_path: Path) -> None:
    async with spot_trader(tmp_path) as trader:
        await trader.placed(**ENTRY, quote_quantity="500")
        await expired(trader, (await trader.placed(**STOP)).data["client_order_id"])
        ask, key = trader.market.app.dispatcher.call_tool, trader.market.app.dispatcher.owner
        told: list[str] = []
        rights: tuple[frozenset[Scope], ...] = (frozenset({"account:read"}), frozenset({"account:read", "trade"}))
        for scopes in rights:
            caller = Caller(Visitor("reader", scopes), Vault(key))
            found = await trader.market.answered(lambda caller=caller: ask(caller, "get_open_orders", {}, None, None))
            told.append(str(found))

    assert ["WARNING" in each for each in told] == [False, True]
