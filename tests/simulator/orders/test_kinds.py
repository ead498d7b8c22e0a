"""Orders beyond a plain limit: amounts of quote, stops that take at market, icebergs, pegs and labels."""

from decimal import Decimal
from typing import Any

import httpx2
import pytest

from binance_simulator.exchange import SimulatedExchange
from support.clock import FakeClock
from support.trader import CENT, Trader

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("unlimited")]

STEP = Decimal("0.00001")
FLAGS = {
    "quoteOrderQtyMarketAllowed": "Quote order qty market orders are not support for this symbol.",
    "icebergAllowed": "Iceberg orders are not supported for this symbol.",
    "pegInstructionsAllowed": "Pegged orders are not supported for this symbol.",
}
AT_MARKET: dict[str, object] = {"type": "MARKET", "timeInForce": None, "price": None, "quantity": None}


def told(answer: httpx2.Response) -> tuple[int, str]:
    return answer.json()["code"], answer.json()["msg"]


async def printed(api: httpx2.AsyncClient, price: Decimal, *, sold: bool) -> None:
    """Let the crowd trade at a price."""
    order = {"symbol": "BTCUSDT", "price": str(price), "quantity": "0.001", "sold": sold}
    assert (await api.post("/control/orders/trade", json=order)).status_code == 200


@pytest.mark.parametrize("side", ["BUY", "SELL"])
async def test_an_amount_of_quote_trades_as_much_as_it_pays_for(trader: Trader, side: str) -> None:
    price = trader.ask() if side == "BUY" else trader.bid()

    placed = (await trader.place(**AT_MARKET, side=side, quoteOrderQty="500")).json()

    assert (placed["status"], placed["origQuoteOrderQty"]) == ("FILLED", "500.00000000")
    assert placed["origQty"] == placed["executedQty"]
    assert 500 - price * STEP < Decimal(placed["cummulativeQuoteQty"]) <= 500
    assert (await trader.order(placed["clientOrderId"]))["origQuoteOrderQty"] == "500.00000000"


@pytest.mark.parametrize(
    ("changes", "code", "msg"),
    [
        ({}, -1102, "Param 'quantity' or 'quoteOrderQty' must be sent, but both were empty/null!"),
        ({"quoteOrderQty": "500", "quantity": "0.1"}, -1106, "Parameter 'quoteOrderQty' sent when not required."),
        ({"quoteOrderQty": "3"}, -1013, "Filter failure: NOTIONAL"),
        (
            {"quoteOrderQty": "1"},
            -2010,
            "Order book liquidity is less than `LOT_SIZE` filter minimum quantity.",
        ),
        ({"quoteOrderQty": "20000"}, -2010, "Account has insufficient balance for requested action."),
    ],
)
async def test_an_amount_of_quote_has_rules(trader: Trader, changes: dict[str, str], code: int, msg: str) -> None:
    answer = await trader.place(**AT_MARKET | changes)

    assert told(answer) == (code, msg)


@pytest.mark.parametrize(("kind", "below"), [("STOP_LOSS", True), ("TAKE_PROFIT", False)])
async def test_a_stop_without_a_limit_takes_at_market_once_it_triggers(
    trader: Trader, api: httpx2.AsyncClient, kind: str, *, below: bool
) -> None:
    stop = (trader.bid() * Decimal("0.99" if below else "1.01")).quantize(CENT)
    order = {"type": kind, "side": "SELL", "stopPrice": stop, "price": None, "timeInForce": None}

    await trader.place(**order, newClientOrderId="one")
    waits, held = await trader.order("one"), await trader.balances()
    await printed(api, stop, sold=below)
    done = await trader.order("one")

    assert (waits["status"], waits["isWorking"], waits["price"]) == ("NEW", False, "0.00000000")
    assert held["BTC"][1] >= Decimal("0.01")
    assert (done["status"], done["executedQty"]) == ("FILLED", "0.01000000")


async def test_a_stop_that_buys_at_market_locks_its_stop_price_and_pays_what_it_costs(
    trader: Trader, api: httpx2.AsyncClient
) -> None:
    stop = (trader.ask() * Decimal("1.001")).quantize(CENT)
    before = await trader.balances()
    order = {"type": "STOP_LOSS", "stopPrice": stop, "price": None, "timeInForce": None, "newOrderRespType": "RESULT"}

    await trader.place(**order, newClientOrderId="one")
    held = await trader.balances()
    await printed(api, stop, sold=False)
    done, after = await trader.order("one"), await trader.balances()

    assert held["USDT"][1] - before["USDT"][1] == stop * Decimal("0.01")
    assert done["status"] == "FILLED"
    assert sum(after["USDT"]) == sum(before["USDT"]) - Decimal(done["cummulativeQuoteQty"])
    assert after["USDT"][1] == before["USDT"][1]


async def test_a_stop_whose_purchase_cannot_be_paid_any_more_expires(trader: Trader, api: httpx2.AsyncClient) -> None:
    free = (await trader.balances())["USDT"][0]
    stop = (trader.ask() * Decimal("1.001")).quantize(CENT)
    amount = (free / stop).quantize(STEP) - STEP
    order = {"type": "STOP_LOSS", "stopPrice": stop, "price": None, "timeInForce": None, "quantity": amount}
    await trader.place(**order, newClientOrderId="one")

    trader.exchange.orders.engine.book(trader.exchange.listing.symbols["BTCUSDT"])
    account = trader.exchange.order_account(trader.account.api_key)
    account.spend("USDT", account.free("USDT"))
    record = next(one for one in trader.exchange.orders.records.orders.values() if one.wanted.kind == "STOP_LOSS")
    record.locked //= 2
    await printed(api, stop, sold=False)

    assert (await trader.order("one"))["status"] == "EXPIRED"


async def test_an_iceberg_shows_its_peak_alone(trader: Trader, clock: FakeClock) -> None:
    await trader.place(quantity="0.05", icebergQty="0.01", newClientOrderId="one")
    clock.advance(200)

    symbol = trader.exchange.listing.symbols["BTCUSDT"]
    (shown,) = trader.exchange.orders.engine.shown.at(symbol, clock.now_ms()).values()
    order = await trader.order("one")

    assert Decimal(symbol.quantity(shown)) == Decimal("0.01")
    assert (order["icebergQty"], order["origQty"], order["status"]) == ("0.01000000", "0.05000000", "NEW")


async def test_an_iceberg_is_filled_whole_by_a_trade_through_its_price(trader: Trader, api: httpx2.AsyncClient) -> None:
    await trader.place(quantity="0.05", icebergQty="0.01", newClientOrderId="one")

    await printed(api, trader.far_below() - 1, sold=True)

    assert (await trader.order("one"))["status"] == "FILLED"


@pytest.mark.parametrize(
    ("changes", "code", "msg"),
    [
        ({"icebergQty": "0.02"}, -2010, "IcebergQty exceeds QTY."),
        ({"icebergQty": "0.00009"}, -1013, "Filter failure: ICEBERG_PARTS"),
        ({"icebergQty": "0.000001"}, -1013, "Filter failure: LOT_SIZE"),
        ({"icebergQty": "0.001", "timeInForce": "IOC"}, -2010, "Unsupported order combination"),
        ({"pegPriceType": "MIDDLE"}, -1210, "Invalid pegPriceType."),
        ({"pegPriceType": "MARKET_PEG", "pegOffsetType": "TICKS"}, -1211, "Invalid pegOffsetType."),
        (
            {"pegPriceType": "MARKET_PEG", "pegOffsetType": "PRICE_LEVEL"},
            -1128,
            "Combination of optional parameters invalid.",
        ),
        (
            {"type": "LIMIT_MAKER", "timeInForce": None, "pegPriceType": "MARKET_PEG"},
            -2010,
            "This price peg cannot be used with this order type.",
        ),
        (
            {"type": "MARKET", "timeInForce": None, "price": None, "pegPriceType": "MARKET_PEG"},
            -2010,
            "This order type may not use pegged price.",
        ),
        ({"strategyType": "999999"}, -1134, "`strategyType` was less than 1000000."),
    ],
)
async def test_icebergs_pegs_and_labels_have_rules(
    trader: Trader, changes: dict[str, Any], code: int, msg: str
) -> None:
    answer = await trader.place(**changes)

    assert told(answer) == (code, msg)


@pytest.mark.parametrize("side", ["BUY", "SELL"])
async def test_a_pegged_order_takes_its_price_from_its_own_side_of_the_book(trader: Trader, side: str) -> None:
    best = trader.bid() if side == "BUY" else trader.ask()

    placed = (await trader.place(side=side, price=None, pegPriceType="PRIMARY_PEG")).json()

    assert (placed["status"], placed["price"], placed["pegPriceType"]) == ("NEW", "0.00000000", "PRIMARY_PEG")
    assert Decimal(placed["peggedPrice"]) == best
    assert "pegOffsetValue" not in placed


async def test_a_peg_can_be_a_level_deeper_and_never_beyond_the_price_sent(
    trader: Trader, api: httpx2.AsyncClient
) -> None:
    asks = (await api.get("/api/v3/depth?symbol=BTCUSDT&limit=5")).json()["asks"]
    peg = {"pegPriceType": "MARKET_PEG", "pegOffsetType": "PRICE_LEVEL", "pegOffsetValue": 2, "timeInForce": "IOC"}

    deep = (await trader.place(**peg, price=None, quantity="0.001")).json()
    kept = (await trader.place(**peg, price=trader.far_below(), quantity="0.001")).json()

    assert (deep["peggedPrice"], deep["status"], deep["pegOffsetValue"]) == (asks[2][0], "FILLED", 2)
    assert (kept["status"], Decimal(kept["peggedPrice"])) == ("EXPIRED", trader.far_below())
    assert Decimal(kept["price"]) == trader.far_below()


async def test_a_pegged_stop_gets_its_price_when_it_triggers(trader: Trader, api: httpx2.AsyncClient) -> None:
    stop = (trader.bid() * Decimal("0.99")).quantize(CENT)
    order = {"type": "STOP_LOSS_LIMIT", "side": "SELL", "stopPrice": stop, "pegPriceType": "PRIMARY_PEG"}

    placed = (await trader.place(**order, price=None, newOrderRespType="RESULT", newClientOrderId="one")).json()
    await printed(api, stop, sold=True)
    done = await trader.order("one")

    assert "peggedPrice" not in placed
    assert Decimal(done["peggedPrice"]) == trader.ask()


async def test_a_label_is_shown_in_answers_and_events(trader: Trader, exchange: SimulatedExchange) -> None:
    placed = (await trader.place(strategyId=7, strategyType=1_000_001, newClientOrderId="one")).json()

    shown = await trader.order("one")

    assert [each["strategyId"] for each in (placed, shown)] == [7, 7]
    assert exchange.executions.all[-1].order.label == {"strategyId": 7, "strategyType": 1_000_001}


@pytest.mark.parametrize(("flag", "msg"), FLAGS.items())
async def test_what_a_symbol_does_not_allow_is_refused_by_its_name(
    trader: Trader, exchange: SimulatedExchange, flag: str, msg: str
) -> None:
    record = next(each for each in exchange.listing.records if each["symbol"] == "BTCUSDT")
    record[flag] = False
    uses: dict[str, dict[str, object]] = {
        "quoteOrderQtyMarketAllowed": AT_MARKET | {"quoteOrderQty": "500"},
        "icebergAllowed": {"icebergQty": "0.001"},
        "pegInstructionsAllowed": {"price": None, "pegPriceType": "PRIMARY_PEG"},
    }

    answer = await trader.place(**uses[flag])

    assert told(answer) == (-2010, msg)


async def test_all_open_orders_of_a_symbol_are_cancelled_at_once(trader: Trader) -> None:
    await trader.place(newClientOrderId="one")
    sale = {"symbol": "BTCUSDT", "side": "SELL", "quantity": "0.01", "price": trader.far_above()}
    stop = {"stopPrice": trader.far_below(), "listClientOrderId": "pair"}
    await trader.send("POST", "order/oco", sale | stop)

    gone = (await trader.send("DELETE", "openOrders", {"symbol": "BTCUSDT"})).json()
    again = await trader.send("DELETE", "openOrders", {"symbol": "BTCUSDT"})

    assert {"one", "demo-4", "demo-5"} <= {each.get("origClientOrderId") for each in gone}
    (pair,) = [each for each in gone if "orderReports" in each]
    assert (pair["listClientOrderId"], len(pair["orderReports"])) == ("pair", 2)
    assert (await trader.send("GET", "openOrders", {"symbol": "BTCUSDT"})).json() == []
    assert told(again) == (-2011, "Unknown order sent.")


@pytest.mark.parametrize(("side", "limited"), [("SELL", True), ("SELL", False), ("BUY", True)])
async def test_the_deprecated_pair_is_a_pair(trader: Trader, side: str, *, limited: bool) -> None:
    prices = (trader.far_above(), trader.far_below())
    price, stop = prices if side == "SELL" else prices[::-1]
    order: dict[str, object] = {"symbol": "BTCUSDT", "side": side, "quantity": "0.01", "price": price}
    if limited:
        order |= {"stopLimitPrice": stop, "stopLimitTimeInForce": "GTC"}

    placed = (await trader.send("POST", "order/oco", order | {"stopPrice": stop})).json()

    assert placed["contingencyType"] == "OCO"
    kinds = {each["type"] for each in placed["orderReports"]}
    assert kinds == {"LIMIT_MAKER", "STOP_LOSS_LIMIT" if limited else "STOP_LOSS"}
    listed = (await trader.send("GET", "allOrderList", {})).json()
    assert [each["orderListId"] for each in listed] == [placed["orderListId"]]


async def test_a_prevented_match_is_found_by_its_id_and_by_its_orders(trader: Trader) -> None:
    await trader.place(price=trader.ask() - CENT, newClientOrderId="one")
    sale = (await trader.place(side="SELL", price=trader.ask() - CENT, newClientOrderId="two")).json()
    number = (await trader.order("one"))["orderId"]

    named = {"symbol": "BTCUSDT"}
    by_order = (await trader.send("GET", "myPreventedMatches", named | {"orderId": number})).json()
    by_id = (await trader.send("GET", "myPreventedMatches", named | {"preventedMatchId": 1})).json()
    neither = await trader.send("GET", "myPreventedMatches", named)

    assert by_order == by_id
    (match,) = by_order
    assert (match["makerOrderId"], match["takerOrderId"]) == (number, sale["orderId"])
    assert match["makerPreventedQuantity"] == "0.01000000"
    assert neither.json()["code"] == -1128


async def test_an_account_has_no_allocations_and_the_filters_of_the_symbol(
    trader: Trader, api: httpx2.AsyncClient
) -> None:
    named = {"symbol": "BTCUSDT"}
    allocations = (await trader.send("GET", "myAllocations", named)).json()
    filters = (await trader.send("GET", "myFilters", named)).json()
    (listed,) = (await api.get("/api/v3/exchangeInfo?symbol=BTCUSDT")).json()["symbols"]

    assert allocations == []
    assert (filters["symbolFilters"], filters["assetFilters"]) == (listed["filters"], [])


@pytest.mark.parametrize(
    ("path", "params", "code"),
    [
        ("allOrderList", {"fromId": 1, "startTime": 1}, -1128),
        ("allOrderList", {"startTime": 1, "endTime": 100_000_000}, -1127),
        ("myAllocations", {"symbol": "BTCUSDT", "startTime": 1, "endTime": 100_000_000}, -1127),
        ("myPreventedMatches", {"symbol": "BTCUSDT", "preventedMatchId": 1, "fromPreventedMatchId": 1}, -1128),
        ("myFilters", {"symbol": "NOPE"}, -1121),
    ],
)
async def test_reads_refuse_what_cannot_be_combined(
    trader: Trader, path: str, params: dict[str, object], code: int
) -> None:
    assert (await trader.send("GET", path, params)).json()["code"] == code


async def test_lists_are_read_from_one_on_or_inside_a_day(trader: Trader, clock: FakeClock) -> None:
    pair = {"symbol": "BTCUSDT", "side": "SELL", "quantity": "0.01", "stopPrice": trader.far_below()}
    numbers: list[int] = []
    for _ in range(3):
        placed = await trader.send("POST", "order/oco", pair | {"price": trader.far_above()})
        numbers.append(placed.json()["orderListId"])
        clock.advance(1_000)

    newest, later = [
        [each["orderListId"] for each in (await trader.send("GET", "allOrderList", named)).json()]
        for named in ({"limit": 2}, {"fromId": numbers[1], "limit": 1})
    ]

    assert (newest, later) == (numbers[1:], numbers[1:2])
