"""Orders and cancels over REST: what is answered, what is locked, what the other endpoints then show."""

from decimal import Decimal

import pytest

from binance_simulator.account import KeyRights
from binance_simulator.exchange import SimulatedExchange
from support.trader import Trader

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("unlimited")]

ACK = {"symbol", "orderId", "orderListId", "clientOrderId", "transactTime"}
RESULT = ACK | {
    "price",
    "origQty",
    "executedQty",
    "origQuoteOrderQty",
    "cummulativeQuoteQty",
    "status",
    "timeInForce",
    "type",
    "side",
    "workingTime",
    "selfTradePreventionMode",
}


async def test_a_resting_order_locks_what_it_may_cost_and_is_seen_everywhere(trader: Trader) -> None:
    before = (await trader.balances())["USDT"]

    placed = (await trader.place(newClientOrderId="one")).json()

    cost = Decimal(placed["price"]) * Decimal("0.01")
    assert (await trader.balances())["USDT"] == (before[0] - cost, before[1] + cost)
    assert placed["status"] == "NEW"
    asked = await trader.order("one")
    assert {name: asked[name] for name in RESULT - {"transactTime"}} == {
        name: placed[name] for name in RESULT - {"transactTime"}
    }
    for path in ("openOrders", "allOrders"):
        listed = (await trader.send("GET", path, {"symbol": "BTCUSDT"})).json()
        assert listed[-1] == asked


async def test_an_order_that_crosses_the_spread_is_filled_at_the_prices_it_meets(trader: Trader) -> None:
    before, ask = await trader.balances(), trader.ask()

    placed = (await trader.place(price=ask, quantity="0.01")).json()

    assert (placed["status"], placed["executedQty"]) == ("FILLED", "0.01000000")
    assert [fill["price"] for fill in placed["fills"]] == [str(ask)]
    spent = Decimal(placed["cummulativeQuoteQty"])
    fees = sum(Decimal(fill["commission"]) for fill in placed["fills"])
    after = await trader.balances()
    assert after["USDT"] == (before["USDT"][0] - spent, before["USDT"][1])
    assert after["BTC"] == (before["BTC"][0] + Decimal("0.01") - fees, before["BTC"][1])
    trades = (await trader.send("GET", "myTrades", {"symbol": "BTCUSDT", "orderId": placed["orderId"]})).json()
    assert [trade["id"] for trade in trades] == [fill["tradeId"] for fill in placed["fills"]]
    assert sum(Decimal(trade["quoteQty"]) for trade in trades) == spent


@pytest.mark.parametrize(
    ("response", "names"), [("ACK", ACK), ("RESULT", RESULT), ("FULL", RESULT | {"fills"}), (None, RESULT | {"fills"})]
)
async def test_the_answer_is_as_full_as_it_was_asked_for(trader: Trader, response: str, names: set[str]) -> None:
    assert (await trader.place(newOrderRespType=response)).json().keys() == names


async def test_an_order_that_rests_by_its_kind_is_only_acknowledged_unless_asked(trader: Trader) -> None:
    maker = await trader.place(type="LIMIT_MAKER", timeInForce=None)

    assert maker.json().keys() == ACK


async def test_a_cancel_gives_back_what_was_locked_under_an_id_of_its_own(trader: Trader) -> None:
    before = (await trader.balances())["USDT"]
    placed = (await trader.place(newClientOrderId="one")).json()

    cancelled = (await trader.cancel("one", newClientOrderId="one-c")).json()

    assert cancelled.keys() == (RESULT | {"origClientOrderId"}) - {"workingTime"}
    assert (cancelled["origClientOrderId"], cancelled["clientOrderId"]) == ("one", "one-c")
    assert (cancelled["orderId"], cancelled["status"]) == (placed["orderId"], "CANCELED")
    assert (await trader.balances())["USDT"] == before
    assert (await trader.order("one"))["status"] == "CANCELED"


async def test_an_order_is_cancelled_by_either_id_and_not_by_two_that_differ(trader: Trader) -> None:
    first = (await trader.place(newClientOrderId="one")).json()
    await trader.place(newClientOrderId="two")

    crossed = await trader.cancel("two", orderId=first["orderId"])
    by_number = await trader.cancel("one", orderId=first["orderId"], origClientOrderId=None)

    assert crossed.json() == {"code": -2011, "msg": "Unknown order sent."}
    assert by_number.json()["origClientOrderId"] == "one"


async def test_what_is_not_open_cannot_be_cancelled(trader: Trader) -> None:
    await trader.place(newClientOrderId="done", price=trader.ask())

    for name in ("done", "never"):
        answer = await trader.cancel(name)
        assert (answer.status_code, answer.json()) == (400, {"code": -2011, "msg": "Unknown order sent."})


async def test_an_order_the_account_came_with_can_be_cancelled(trader: Trader) -> None:
    before, order = await trader.balances(), await trader.order("demo-4")

    await trader.cancel("demo-4")

    freed = Decimal(order["price"]) * Decimal(order["origQty"])
    after = (await trader.balances())["USDT"]
    assert after == (before["USDT"][0] + freed, before["USDT"][1] - freed)
    assert (await trader.order("demo-4"))["status"] == "CANCELED"


async def test_an_id_is_free_again_once_its_order_is_filled(trader: Trader) -> None:
    filled = (await trader.place(newClientOrderId="same", price=trader.ask())).json()
    again = (await trader.place(newClientOrderId="same")).json()

    third = await trader.place(newClientOrderId="same")

    assert (filled["status"], again["status"]) == ("FILLED", "NEW")
    assert (await trader.order("same"))["orderId"] == again["orderId"]
    assert (third.status_code, third.json()) == (400, {"code": -2010, "msg": "Duplicate order sent."})
    assert [one.client_order_id for one in trader.exchange.orders.accepted] == ["same", "same"]


async def test_a_trial_order_is_checked_and_changes_nothing(trader: Trader) -> None:
    order = {"symbol": "BTCUSDT", "side": "BUY", "type": "LIMIT", "timeInForce": "GTC", "price": trader.ask()}
    before = await trader.balances()

    good = await trader.send("POST", "order/test", order | {"quantity": "0.01"})
    rates = await trader.send("POST", "order/test", order | {"quantity": "0.01", "computeCommissionRates": "true"})
    bad = await trader.send("POST", "order/test", order | {"quantity": "0.000001"})

    assert (good.status_code, good.json()) == (200, {})
    assert rates.json()["standardCommissionForOrder"] == {"maker": "0.00100000", "taker": "0.00100000"}
    assert bad.json() == {"code": -1013, "msg": "Filter failure: LOT_SIZE"}
    assert not any("order-count" in name for name in good.headers)
    assert await trader.balances() == before
    assert trader.exchange.orders.accepted == []


async def test_a_key_without_the_right_to_trade_writes_nothing(trader: Trader, exchange: SimulatedExchange) -> None:
    exchange.rights = KeyRights(trading=False)

    answers = [await trader.place(), await trader.cancel("demo-4"), await trader.send("POST", "order/test", {})]

    for answer in answers:
        assert (answer.status_code, answer.json()["code"]) == (401, -2015)
    assert exchange.orders.accepted == []
    assert (await trader.order("demo-4"))["status"] == "NEW"


async def test_a_successful_order_costs_no_weight_and_a_refused_one_its_own(trader: Trader) -> None:
    placed = await trader.place(newClientOrderId="one")
    refused = await trader.place(newClientOrderId="one")
    cancelled = await trader.cancel("one")

    used = [answer.headers["x-mbx-used-weight-1m"] for answer in (placed, refused, cancelled)]
    assert used == ["0", "1", "1"]


async def test_two_accounts_trade_with_each_other_and_see_only_their_own(trader: Trader, guest: Trader) -> None:
    # Better than the best bid, so that the guest's sale meets it first.
    price = trader.ask() - Decimal("0.01")
    price = max(trader.bid(), price)
    resting = (await trader.place(newClientOrderId="mine", price=price)).json()

    sold = (await guest.place(side="SELL", price=trader.bid(), quantity="0.5", newClientOrderId="theirs")).json()

    own = await trader.order("mine")
    assert own["executedQty"] == "0.01000000"
    assert resting["status"] == "NEW"
    assert (await guest.order("mine"))["code"] == -2013
    trades = (await trader.send("GET", "myTrades", {"symbol": "BTCUSDT", "orderId": own["orderId"]})).json()
    assert {trade["id"] for trade in trades} <= {fill["tradeId"] for fill in sold["fills"]}
    assert [trade["isMaker"] for trade in trades] == [True]
