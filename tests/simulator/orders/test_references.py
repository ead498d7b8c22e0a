"""Reference prices, and the price range that ends an order which would trade beyond it."""

from decimal import Decimal

import httpx2
import pytest

from binance_simulator.account import DemoAccount, KeyRights
from binance_simulator.exchange import Guest, SimulatedExchange
from binance_simulator.market.portfolio import Balance, Portfolio
from binance_simulator.orders.references import PriceRange
from support.clock import FakeClock
from support.trader import Trader

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("unlimited")]

OUT_OF_RANGE = "EXECUTION_RULE_PRICE_RANGE_EXCEEDED"
NONE = {"code": -2043, "msg": "This symbol doesn't have a reference price."}


def set_range(exchange: SimulatedExchange, price: Decimal, **multiples: str) -> None:
    references = exchange.orders.engine.references
    references.fixed["BTCUSDT"] = int(price * 10**8)
    references.rules["BTCUSDT"] = PriceRange(**multiples)


async def test_the_reference_price_is_the_average_of_the_last_minutes(api: httpx2.AsyncClient) -> None:
    told = (await api.get("/api/v3/referencePrice?symbol=BTCUSDT")).json()
    average = (await api.get("/api/v3/avgPrice?symbol=BTCUSDT")).json()

    assert told.keys() == {"symbol", "referencePrice", "timestamp"}
    assert abs(Decimal(told["referencePrice"]) - Decimal(average["price"])) < Decimal("0.01")


async def test_a_symbol_can_have_none_now_or_never_have_had_one(
    api: httpx2.AsyncClient, exchange: SimulatedExchange, clock: FakeClock
) -> None:
    exchange.orders.engine.references.fixed["ETHUSDT"] = None

    now, never = [await api.get(f"/api/v3/referencePrice?symbol={name}") for name in ("ETHUSDT", "BNBUSDT")]

    assert now.json() == {"symbol": "ETHUSDT", "referencePrice": None, "timestamp": clock.now_ms()}
    assert (never.status_code, never.json()) == (400, NONE)


async def test_the_calculation_says_where_a_price_comes_from(
    api: httpx2.AsyncClient, exchange: SimulatedExchange
) -> None:
    exchange.orders.engine.references.fixed["ETHUSDT"] = 10**8

    btc, eth, bnb = [
        (await api.get(f"/api/v3/referencePrice/calculation?symbol={name}")).json()
        for name in ("BTCUSDT", "ETHUSDT", "BNBUSDT")
    ]

    assert (btc["calculationType"], btc["bucketCount"] * btc["bucketWidthMs"]) == ("ARITHMETIC_MEAN", 300_000)
    assert (eth["calculationType"], eth["externalCalculationId"]) == ("EXTERNAL", 0)
    assert bnb == NONE


@pytest.mark.parametrize(
    ("query", "symbols", "weight"),
    [
        ("?symbol=BTCUSDT", ["BTCUSDT"], 2),
        ("?symbols=[%22BNBUSDT%22,%22ETHUSDT%22]", ["BNBUSDT", "ETHUSDT"], 4),
        ("?symbolStatus=TRADING", ["BTCUSDT", "ETHUSDT"], 40),
        ("", ["BTCUSDT", "ETHUSDT"], 40),
    ],
)
async def test_execution_rules_are_listed_by_symbol(
    api: httpx2.AsyncClient, exchange: SimulatedExchange, query: str, symbols: list[str], weight: int
) -> None:
    told = (await api.get(f"/api/v3/executionRules{query}")).json()["symbolRules"]

    assert [each["symbol"] for each in told] == symbols
    assert exchange.requests[-1].weight == weight
    assert [len(each["rules"]) for each in told] == [int(each["symbol"] != "BNBUSDT") for each in told]


async def test_the_three_parameters_of_execution_rules_exclude_each_other(api: httpx2.AsyncClient) -> None:
    answer = await api.get("/api/v3/executionRules?symbol=BTCUSDT&symbolStatus=TRADING")

    assert answer.json()["code"] == -1128


@pytest.mark.parametrize("order", [{}, {"timeInForce": "IOC"}, {"type": "MARKET", "price": None, "timeInForce": None}])
async def test_an_order_that_would_trade_beyond_the_range_expires_with_that_reason(
    trader: Trader, exchange: SimulatedExchange, order: dict[str, str]
) -> None:
    ask, before = trader.ask(), await trader.balances()
    set_range(exchange, ask / 2, bid_limit_mult_up="1.9")

    placed = (await trader.place(**{"price": ask, "newClientOrderId": "one"} | order)).json()

    assert (placed["status"], placed["executedQty"]) == ("EXPIRED", "0.00000000")
    assert placed["expiryReason"] == (await trader.order("one"))["expiryReason"] == OUT_OF_RANGE
    assert await trader.balances() == before


async def test_what_is_inside_the_range_trades_and_the_rest_expires(
    api: httpx2.AsyncClient, exchange: SimulatedExchange
) -> None:
    exchange.rights = KeyRights(trading=True)
    rich = Guest(DemoAccount(1_000), Portfolio((Balance("USDT", "900000000.00000000", "0.00000000"),)))
    exchange.guests.append(rich)
    trader = Trader(api, exchange, rich.account)
    asks = (await api.get("/api/v3/depth?symbol=BTCUSDT&limit=5")).json()["asks"]
    set_range(exchange, Decimal(asks[0][0]), bid_limit_mult_up="1")
    wanted = sum((Decimal(quantity) for _, quantity in asks[:2]), Decimal(0))

    placed = (await trader.place(price=asks[2][0], quantity=wanted, timeInForce="GTC")).json()

    assert (placed["status"], placed["expiryReason"]) == ("EXPIRED", OUT_OF_RANGE)
    assert Decimal(placed["executedQty"]) == Decimal(asks[0][1])


async def test_an_order_that_only_rests_is_not_bound_by_the_range(trader: Trader, exchange: SimulatedExchange) -> None:
    set_range(exchange, trader.ask() / 2, bid_limit_mult_up="1.1")

    placed = (await trader.place()).json()

    assert placed["status"] == "NEW"


async def test_the_filters_compare_with_the_reference_price(trader: Trader, exchange: SimulatedExchange) -> None:
    set_range(exchange, trader.ask() * 10)

    low = await trader.place(price=trader.ask())

    assert low.json() == {"code": -1013, "msg": "Filter failure: PERCENT_PRICE_BY_SIDE"}


async def test_the_reference_price_is_set_over_the_control_endpoint(api: httpx2.AsyncClient) -> None:
    told: list[object] = []
    for order in ({"price": "100"}, {"price": None}, {"ever": False}, {"rule": {"askLimitMultDown": "0.9"}}):
        await api.post("/control/orders/reference", json={"symbol": "BTCUSDT", **order})
        told.append((await api.get("/api/v3/referencePrice?symbol=BTCUSDT")).json().get("referencePrice", "never"))
    rules = (await api.get("/api/v3/executionRules?symbol=BTCUSDT")).json()["symbolRules"][0]["rules"]

    assert told[:3] == ["100.00000000", None, "never"]
    assert Decimal(str(told[3])) > 1000
    assert rules == [{"ruleType": "PRICE_RANGE", "askLimitMultDown": "0.9"}]
