"""Orders of the account that were placed elsewhere: left alone, or cancelled where the operator allows it."""

from pathlib import Path

import pytest

from binance_simulator.exchange import SimulatedExchange
from binance_simulator.faults import Fault
from mcp_binance_server.trading.journal.integrity import examine
from mcp_binance_server.trading.journal.store import read_store
from support.paper import SMALL, SYMBOL
from support.spot import spot_trader
from surface.trading.test_pages import differences
from trading.spot_floor import by_hand, writes

ALL = '[limits]\ncancel = "all"\n'
BY_HAND = "web_0123456789abcdef0123456789abcdef"


def open_names(exchange: SimulatedExchange) -> set[str]:
    told = [each.told() for each in exchange.orders.records.orders.values()]
    return {each.client_order_id for each in told if each.status == "NEW"}


@pytest.mark.slow
async def test_an_order_placed_by_hand_is_not_cancelled_unless_the_operator_allows_it(tmp_path: Path) -> None:
    async with spot_trader(tmp_path) as trader:
        await by_hand(trader.market.exchange, BY_HAND)
        told = await trader.call("cancel_order", symbol=SYMBOL, client_order_id=BY_HAND)
        left = await trader.call("cancel_all_orders", symbol=SYMBOL)

        assert (told.is_error, told.data["error_type"]) == (True, "order_not_found")
        assert "was placed here" in told.text
        assert left.data["cancelled"] == {}
        assert open_names(trader.market.exchange) == {BY_HAND}
        assert writes(trader.market.exchange) == []


@pytest.mark.slow
async def test_where_the_operator_allows_it_it_is_cancelled_once_and_written_down(tmp_path: Path) -> None:
    async with spot_trader(tmp_path, ALL) as trader:
        await by_hand(trader.market.exchange, BY_HAND)
        told = await trader.call("cancel_order", symbol=SYMBOL, client_order_id=BY_HAND)
        again = await trader.call("cancel_order", symbol=SYMBOL, client_order_id=BY_HAND)

        assert (told.data["outcome"], told.data["status"]) == ("cancelled", "CANCELED")
        assert told.text.startswith(f"PRACTICE (testnet): order {BY_HAND} is cancelled: nothing was bought.")
        assert differences(told) == []
        assert (again.is_error, again.data["outcome"]) == (False, "already_over")
        assert open_names(trader.market.exchange) == set()
        assert writes(trader.market.exchange) == ["DELETE"]
    async with read_store(tmp_path / "trading") as store:
        rows = await store.read(
            lambda rows: rows.execute("SELECT state FROM event WHERE about=? ORDER BY seq", (BY_HAND,)).fetchall()
        )
        assert [each for (each,) in rows] == ["CANCEL_ASKED", "CANCELLED"]
        assert (await examine(store)).problems == ()


@pytest.mark.slow
async def test_a_cancel_of_it_without_an_answer_is_not_sent_again(tmp_path: Path) -> None:
    async with spot_trader(tmp_path, ALL) as trader:
        exchange = trader.market.exchange
        await by_hand(exchange, BY_HAND)
        exchange.faults.add(Fault(kind="status", status=503, path="/api/v3/order", method="DELETE", executed=False))
        told = await trader.call("cancel_order", symbol=SYMBOL, client_order_id=BY_HAND)
        await trader.market.run(20)

        assert (told.data["outcome"], told.data["status"]) == ("unknown", "NEW")
        assert writes(exchange) == ["DELETE"]


@pytest.mark.slow
async def test_a_stop_placed_by_hand_is_cancelled_only_after_its_user_said_so(tmp_path: Path) -> None:
    async with spot_trader(tmp_path, f'{ALL}[confirm]\nask = "always"\n') as trader:
        exchange = trader.market.exchange
        stop = {"type": "STOP_LOSS_LIMIT", "side": "SELL", "quantity": SMALL, "price": "60000", "stop_price": "60100"}
        await by_hand(exchange, BY_HAND, "new", **stop)
        told = await trader.call("cancel_order", symbol=SYMBOL, client_order_id=BY_HAND)

        assert told.data["outcome"] == "waiting_for_approval"
        assert "cancel it yourself at Binance" in told.text
        assert writes(exchange) == []
