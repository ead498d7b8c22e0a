"""Tools that read orders: limits that keep the newest, periods, and arguments that do not fit."""

from dataclasses import replace
from typing import Any

import pytest
from mcp import Client

from binance_simulator.exchange import SimulatedExchange
from binance_simulator.faults import Fault
from binance_simulator.market.portfolio import Order
from support.clock import FakeClock
from support.served import Place, text_of

FIRST_MS = 1_784_500_000_000


@pytest.fixture
def place(clock: FakeClock, exchange: SimulatedExchange, era: str) -> Place:
    return Place(clock, exchange, era)


def order(number: int, symbol: str = "BTCUSDT") -> Order:
    return Order(
        symbol=symbol,
        order_id=41_200_880_000 + number,
        client_order_id=f"test-{number}",
        side="SELL",
        price="108741.24000000",
        quantity="0.02000000",
        executed="0.01000000",
        executed_value="1087.41240000",
        status="PARTIALLY_FILLED",
        placed_ms=FIRST_MS + number * 1000,
        updated_ms=FIRST_MS + number * 1000,
        kind="STOP_LOSS_LIMIT",
        stop_price="109923.21000000",
    )


def place_orders(exchange: SimulatedExchange, *orders: Order) -> None:
    exchange.stage = replace(exchange.stage, portfolio=replace(exchange.stage.portfolio, orders=orders))


def ids(answer: dict[str, Any]) -> list[int]:
    return [each["order_id"] - 41_200_880_000 for each in answer["orders"]]


@pytest.mark.parametrize(
    ("name", "arguments", "limit"),
    [("get_open_orders", {}, 40), ("get_open_orders", {"symbol": "btcusdt"}, 40),
     ("get_all_orders", {"symbol": "btcusdt"}, 50)],
)  # fmt: skip
async def test_the_newest_orders_survive_the_limit_and_come_last(
    client: Client, exchange: SimulatedExchange, name: str, arguments: dict[str, Any], limit: int
) -> None:
    place_orders(exchange, *(order(number) for number in range(120)))

    result = await client.call_tool(name, arguments)

    answer = result.structured_content
    assert (answer["count"], answer["limit"]) == (limit, limit)
    assert ids(answer) == [*range(120 - limit, 120)]
    assert text_of(result).count("| 4120088") == limit
    assert text_of(result).endswith(f"More: {answer['more']}")
    assert len(text_of(result).encode()) <= 10_000


async def test_open_orders_tell_their_number_value_and_the_call_for_the_rest(
    client: Client, exchange: SimulatedExchange
) -> None:
    place_orders(exchange, *(order(number) for number in range(100)))

    answer = (await client.call_tool("get_open_orders", {})).structured_content
    named = (await client.call_tool("get_open_orders", {"symbol": "BTCUSDT"})).structured_content

    assert answer["total"] == 100
    assert answer["value_by_quote"] == {"USDT": "108741.24"}
    assert answer["more"] == 'get_open_orders {"limit": 100}'
    assert named["more"] == 'get_open_orders {"symbol": "BTCUSDT", "limit": 100}'


async def test_nothing_open_is_said_in_words(client: Client) -> None:
    result = await client.call_tool("get_open_orders", {"symbol": "SOLUSDT"})

    assert "No open orders found." in text_of(result)
    assert (result.structured_content["count"], result.structured_content["more"]) == (0, None)


async def test_no_orders_of_a_symbol_is_said_in_words(client: Client) -> None:
    result = await client.call_tool("get_all_orders", {"symbol": "SOLUSDT"})

    assert "No orders found on SOLUSDT." in text_of(result)


async def test_the_page_before_is_one_call_away(client: Client, exchange: SimulatedExchange) -> None:
    place_orders(exchange, *(order(number) for number in range(10)))

    newest = (await client.call_tool("get_all_orders", {"symbol": "BTCUSDT", "limit": 4})).structured_content
    older = (
        await client.call_tool("get_all_orders", {"symbol": "BTCUSDT", "limit": 4, "end": "2026-07-19T22:26:45.999Z"})
    ).structured_content

    assert ids(newest) == [6, 7, 8, 9]
    assert newest["more"] == (
        'get_all_orders {"symbol": "BTCUSDT", "limit": 4, "end": "2026-07-19T22:26:45.999Z"} (older)'
    )
    assert ids(older) == [2, 3, 4, 5]


@pytest.mark.parametrize("start", ["2026-07-19T22:26:42Z", FIRST_MS + 2_000, str(FIRST_MS + 2_000)])
async def test_with_a_start_the_newest_since_then_are_kept(
    client: Client, exchange: SimulatedExchange, start: str | int
) -> None:
    place_orders(exchange, *(order(number) for number in range(10)))

    answer = (
        await client.call_tool("get_all_orders", {"symbol": "BTCUSDT", "limit": 3, "start": start})
    ).structured_content

    assert ids(answer) == [7, 8, 9]
    assert exchange.requests[-1].params["startTime"] == str(FIRST_MS + 2_000)


async def test_a_start_with_more_orders_than_one_call_gives_tells_where_to_go_on(
    client: Client, exchange: SimulatedExchange
) -> None:
    place_orders(exchange, *(order(number) for number in range(1_100)))

    answer = (
        await client.call_tool("get_all_orders", {"symbol": "BTCUSDT", "limit": 2, "start": FIRST_MS})
    ).structured_content

    assert ids(answer) == [998, 999]
    assert answer["more"].startswith(
        'get_all_orders {"symbol": "BTCUSDT", "limit": 2, "start": "2026-07-19T22:43:19.001Z"} (newer) or '
    )


@pytest.mark.slow
async def test_at_the_most_that_one_call_gives_older_ones_are_taken_for_granted(
    client: Client, exchange: SimulatedExchange
) -> None:
    place_orders(exchange, *(order(number) for number in range(1_000)))

    answer = (await client.call_tool("get_all_orders", {"symbol": "BTCUSDT", "limit": 1000})).structured_content

    assert answer["count"] == 1000
    assert answer["more"].endswith("(older)")


async def test_a_day_between_start_and_end_is_allowed(client: Client, exchange: SimulatedExchange) -> None:
    place_orders(exchange, order(1))

    result = await client.call_tool(
        "get_all_orders", {"symbol": "BTCUSDT", "start": "2026-07-19T00:00Z", "end": "2026-07-20T00:00Z"}
    )

    assert ids(result.structured_content) == [1]


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("get_all_orders", {"start": "2026-07-01", "end": "2026-07-03"}, "more than 24 hours"),
        ("get_all_orders", {"start": "2026-07-03", "end": "2026-07-01"}, "start"),
        ("get_all_orders", {"start": "soon"}, "start"),
        ("get_all_orders", {"limit": 0}, "limit"),
        ("get_all_orders", {"limit": 1001}, "limit"),
        ("get_order", {}, "exactly one of order_id and client_order_id"),
        ("get_order", {"order_id": 1, "client_order_id": "a"}, "exactly one of order_id and client_order_id"),
        ("get_order", {"order_id": 0}, "order_id"),
        ("get_order", {"order_id": 2**63}, "order_id"),
        ("get_order", {"client_order_id": "a b"}, "client_order_id"),
        ("get_account_trades", {"limit": 1001}, "limit"),
    ],
)
async def test_arguments_that_do_not_fit_cost_no_request(
    client: Client, exchange: SimulatedExchange, name: str, arguments: dict[str, Any], said: str
) -> None:
    result = await client.call_tool(name, {"symbol": "BTCUSDT", **arguments})

    assert result.is_error is True
    assert result.structured_content["code"] == -32602
    assert said in text_of(result)
    assert exchange.requests == []


@pytest.mark.parametrize(
    "arguments", [{"order_id": 41_200_880_002}, {"client_order_id": "demo-2"}], ids=["number", "client id"]
)
async def test_an_order_is_found_by_either_id(client: Client, arguments: dict[str, Any]) -> None:
    result = await client.call_tool("get_order", {"symbol": "btcusdt", **arguments})

    assert result.structured_content["order"]["status"] == "FILLED"
    assert result.structured_content["average_price"] is not None
    assert "**Client Order ID**: demo-2" in text_of(result)


async def test_an_order_that_was_never_filled_has_no_average(client: Client) -> None:
    result = await client.call_tool("get_order", {"symbol": "btcusdt", "order_id": 41_200_880_001})

    assert result.structured_content["average_price"] is None
    assert "**Average Price**: n/a" in text_of(result)


@pytest.mark.parametrize("arguments", [{"order_id": 5}, {"client_order_id": "nobody"}])
async def test_an_order_that_does_not_exist_is_a_definite_answer(
    client: Client, exchange: SimulatedExchange, arguments: dict[str, Any]
) -> None:
    result = await client.call_tool("get_order", {"symbol": "BTCUSDT", **arguments})

    answer = result.structured_content
    assert result.is_error is True
    assert (answer["error_type"], answer["exchange_code"], answer["retryable"]) == ("exchange_rejected", -2013, False)
    assert answer["error"] == "Binance refused the request: Order does not exist."
    assert [request.path for request in exchange.requests].count("/api/v3/order") == 1


@pytest.mark.parametrize("name", ["get_open_orders", "get_all_orders", "get_account_trades"])
async def test_a_near_miss_of_a_symbol_tells_what_to_ask_for(client: Client, name: str) -> None:
    result = await client.call_tool(name, {"symbol": "BTC/USD"})

    assert result.structured_content["code"] == -32003
    assert result.structured_content["provided_symbol"] == "BTC/USD"


async def test_a_symbol_that_vanished_since_the_table_was_fetched_is_invalid(
    place: Place, exchange: SimulatedExchange, clock: FakeClock
) -> None:
    exchange.faults.add(Fault(kind="status", path="*/openOrders", status=400, code=-1121, msg="Invalid symbol."))

    async with place.served() as client:
        result = await client.call_tool("get_open_orders", {"symbol": "ETHUSDT"})
        clock.advance(1)
        await client.call_tool("get_open_orders", {"symbol": "ETHUSDT"})

    assert result.structured_content["code"] == -32003


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        (
            "EXECUTION_RULE_PRICE_RANGE_EXCEEDED",
            "\n**Reason**: the next trade would have been outside Binance's price range\n",
        ),
        ("REASON_OF_TOMORROW", "\n"),
    ],
)
async def test_an_expired_order_says_why(client: Client, exchange: SimulatedExchange, reason: str, words: str) -> None:
    place_orders(exchange, replace(order(1), status="EXPIRED", expiry_reason=reason), order(2))

    expired, open_one = [
        await client.call_tool("get_order", {"symbol": "BTCUSDT", "client_order_id": f"test-{number}"})
        for number in (1, 2)
    ]

    assert expired.structured_content["order"]["expiry_reason"] == reason
    assert f"**Status**: EXPIRED ({reason}){words}" in text_of(expired)
    assert "expiry_reason" not in open_one.structured_content["order"]
