"""get_account_trades over several pairs and any span of time: page by page, each trade once."""

import json
from dataclasses import replace
from random import Random
from typing import Any

import pytest
from mcp import Client

from binance_simulator.exchange import SimulatedExchange
from binance_simulator.faults import Fault
from binance_simulator.market.portfolio import Fill
from mcp_binance_server.surface.spec import NEXT_PAGE
from support.channels import Structure, Text
from support.served import text_of

FIRST_MS = 1_784_500_000_000
PAIRS = ("BTCUSDT", "ETHBTC", "BNBUSDT")


def fill(number: int, symbol: str, time_ms: int) -> Fill:
    return Fill(
        symbol=symbol,
        trade_id=900_000_000 + number,
        order_id=41_200_880_000 + number // 3,
        price="50000.10000000",
        quantity="0.00200000",
        value="100.00020000",
        commission="0.00001500",
        commission_asset="BNB",
        time_ms=time_ms,
        buyer=number % 2 == 0,
        maker=number % 3 == 0,
    )


def trade(exchange: SimulatedExchange, *fills: Fill) -> None:
    exchange.stage = replace(exchange.stage, portfolio=replace(exchange.stage.portfolio, fills=fills))


def generated(seed: int, count: int) -> list[Fill]:
    """Return trades that often share a millisecond, on one pair and between pairs."""
    random = Random(seed)
    now_ms, made = FIRST_MS, list[Fill]()
    for number in range(count):
        now_ms += random.choice((0, 0, 1, 7, 400_000))
        made.append(fill(number, random.choice(PAIRS), now_ms))
    return made


async def walked(client: Client, **arguments: Any) -> list[dict[str, Any]]:  # noqa: ANN401 - JSON
    """Return the pages from this call on, each got by the call that the page before it names."""
    pages: list[dict[str, Any]] = []
    following: dict[str, Any] | None = arguments
    while following is not None:
        result = await client.call_tool("get_account_trades", following)
        assert not result.is_error, text_of(result)
        pages.append(result.structured_content)
        more = result.structured_content["more"]
        following = None if more is None else json.loads(more.removeprefix("get_account_trades "))
        if "start" in arguments:
            assert (result.meta or {}).get(NEXT_PAGE) == following
        assert len(pages) < 200
    return pages


def ids(pages: list[dict[str, Any]]) -> list[tuple[str, int]]:
    return [(row["symbol"], row["trade_id"]) for page in pages for row in page["trades"]]


@pytest.mark.parametrize("seed", range(2))
async def test_walking_forward_tells_every_trade_once_in_the_order_of_time(
    client: Client, exchange: SimulatedExchange, seed: int
) -> None:
    made = generated(seed, 70)
    trade(exchange, *made)

    pages = await walked(client, symbols=[*PAIRS], start=FIRST_MS, limit=9)

    expected = sorted(made, key=lambda each: (each.time_ms, each.symbol, each.trade_id))
    assert ids(pages) == [(each.symbol, each.trade_id) for each in expected]
    assert len(pages) > 7


async def test_walking_back_from_the_newest_tells_every_trade_once(client: Client, exchange: SimulatedExchange) -> None:
    made = generated(9, 60)
    trade(exchange, *made)

    pages = await walked(client, symbols=[*PAIRS], limit=20)

    assert pages[0]["trades"][-1]["trade_id"] == made[-1].trade_id
    expected = sorted(made, key=lambda each: (each.time_ms, each.symbol, each.trade_id))
    assert ids(pages[::-1]) == [(each.symbol, each.trade_id) for each in expected]


@pytest.mark.slow
async def test_more_than_one_answer_of_the_exchange_holds_is_walked_whole(
    client: Client, exchange: SimulatedExchange
) -> None:
    many = [fill(number, "BTCUSDT", FIRST_MS + number // 4) for number in range(1_150)]
    few = [fill(5_000 + number, "BNBUSDT", FIRST_MS + number * 70) for number in range(9)]
    trade(exchange, *many, *few)

    pages = await walked(client, symbols=["BTCUSDT", "BNBUSDT"], start=FIRST_MS, limit=1000)

    assert sorted(number for _, number in ids(pages)) == sorted(each.trade_id for each in (*many, *few))
    assert [len(page["trades"]) <= 1000 for page in pages] == [True] * len(pages)


async def test_a_span_of_months_is_one_call_a_pair(client: Client, exchange: SimulatedExchange) -> None:
    day_ms = 86_400_000
    trade(exchange, *(fill(number, "BTCUSDT", FIRST_MS - number * 10 * day_ms) for number in range(12)))
    await client.call_tool("get_account_trades", {"symbol": "BTCUSDT"})
    exchange.requests.clear()

    arguments = {"symbols": ["BTCUSDT", "ETHBTC"], "start": FIRST_MS - 60 * day_ms, "end": FIRST_MS - 20 * day_ms}
    answer = (await client.call_tool("get_account_trades", arguments)).structured_content

    assert [row["trade_id"] - 900_000_000 for row in answer["trades"]] == [6, 5, 4, 3, 2]
    assert (answer["symbols"], answer["more"]) == (["BTCUSDT", "ETHBTC"], None)
    assert [request.path for request in exchange.requests] == ["/api/v3/myTrades"] * 2
    assert sum(request.weight for request in exchange.requests) == 40


async def test_a_millisecond_with_more_trades_than_the_limit_is_told_whole(
    client: Client, exchange: SimulatedExchange
) -> None:
    trade(exchange, *(fill(number, "BTCUSDT", FIRST_MS + number // 7) for number in range(14)))

    pages = await walked(client, symbol="BTCUSDT", start=FIRST_MS, limit=3)

    assert [page["count"] for page in pages] == [7, 7]


async def test_both_channels_say_the_same_of_several_pairs(client: Client, exchange: SimulatedExchange) -> None:
    trade(exchange, *generated(4, 30))

    result = await client.call_tool("get_account_trades", {"symbols": [*PAIRS], "limit": 9})

    text, structure = text_of(result), result.structured_content
    assert Text(text).missing(structure) == []
    assert Structure(structure).missing(text) == []
    assert "**Symbols**: BTCUSDT, ETHBTC, BNBUSDT" in text


async def test_a_pair_that_does_not_answer_leaves_no_history_with_a_hole(
    client: Client, exchange: SimulatedExchange
) -> None:
    trade(exchange, *generated(4, 30))
    exchange.faults.add(Fault(kind="status", path="*/myTrades", status=400, code=-1100, msg="Illegal characters."))

    result = await client.call_tool("get_account_trades", {"symbols": [*PAIRS]})

    assert result.is_error is True


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({}, "give symbol or symbols"),
        ({"symbol": "BTCUSDT", "symbols": ["ETHBTC"]}, "give symbol or symbols"),
        ({"symbols": ["BTCUSDT"] * 21}, "symbols"),
        ({"symbols": ["BTCUSDT", "ETHBTC"], "order_id": 7}, "order_id needs one symbol"),
        ({"symbol": "BTCUSDT", "order_id": 7, "start": "yesterday"}, "order_id needs one symbol"),
        ({"symbol": "BTCUSDT", "start": "2026-07-03", "end": "2026-07-01"}, "start"),
    ],
)
async def test_arguments_that_do_not_go_together_cost_no_request(
    client: Client, exchange: SimulatedExchange, arguments: dict[str, Any], said: str
) -> None:
    result = await client.call_tool("get_account_trades", arguments)

    assert result.is_error is True
    assert said in text_of(result)
    assert exchange.requests == []
