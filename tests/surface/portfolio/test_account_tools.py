"""get_account_info and get_account_trades: the same facts as text and as data."""

from dataclasses import replace
from typing import Any

import pytest
from jsonschema import validate
from mcp import Client

from binance_simulator.exchange import SimulatedExchange
from binance_simulator.faults import Fault
from binance_simulator.market.portfolio import ZERO, Balance, Fill
from mcp_binance_server.surface.catalogue import CATALOGUE
from support.clock import FakeClock
from support.golden import Golden
from support.served import Place, text_of

TOOLS = ("get_account_info", "get_account_trades", "get_open_orders", "get_order", "get_all_orders")


@pytest.fixture
def place(clock: FakeClock, exchange: SimulatedExchange, era: str) -> Place:
    return Place(clock, exchange, era)


def fill(number: int) -> Fill:
    return Fill(
        symbol="BTCUSDT",
        trade_id=900_000_000 + number,
        order_id=41_200_880_000 + number,
        price="108741.24000000",
        quantity="0.02000000",
        value="2174.82480000",
        commission="0.00002000",
        commission_asset="BTC",
        time_ms=1_784_500_000_000 + number * 1000,
        buyer=number % 2 == 0,
        maker=number % 3 == 0,
    )


def trade(exchange: SimulatedExchange, count: int) -> None:
    fills = tuple(fill(number) for number in range(count))
    exchange.stage = replace(exchange.stage, portfolio=replace(exchange.stage.portfolio, fills=fills))


async def test_the_tools_are_listed_as_reviewed(client: Client, golden: Golden) -> None:
    listed = {tool.name: tool for tool in (await client.list_tools()).tools}

    for name in TOOLS:
        dumped = listed[name].model_dump(by_alias=True, mode="json", exclude_none=True)
        assert dumped["annotations"]["readOnlyHint"] is True
        golden.check(f"tools/{name}.json", dumped)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("get_account_info", {}),
        ("get_account_trades", {"symbol": "btcusdt"}),
        ("get_open_orders", {}),
        ("get_order", {"symbol": "btcusdt", "client_order_id": "demo-2"}),
        ("get_all_orders", {"symbol": "btcusdt"}),
    ],
)
async def test_an_answer_is_the_same_in_text_and_structure(
    client: Client, golden: Golden, name: str, arguments: dict[str, Any]
) -> None:
    result = await client.call_tool(name, arguments)

    spec = CATALOGUE.tool(name)
    assert spec is not None
    assert result.is_error is False
    validate(result.structured_content, spec.wire.output_schema or {})
    assert (result.structured_content["network"], result.structured_content["host"]) == ("testnet", "exchange.test")
    assert text_of(result).split("\n")[-1] == "*Network: testnet; answered by exchange.test*"
    golden.check(f"tools/{name}.answer.json", result.structured_content)
    golden.check(f"tools/{name}.answer.md", text_of(result))


@pytest.mark.parametrize(
    ("name", "arguments", "calls"),
    [
        ("get_account_info", {}, [("account", 20)]),
        ("get_account_trades", {"symbol": "BTCUSDT"}, [("myTrades", 20)]),
        ("get_account_trades", {"symbol": "BTCUSDT", "order_id": 41_200_880_002}, [("myTrades", 5)]),
        ("get_open_orders", {}, [("openOrders", 80)]),
        ("get_open_orders", {"symbol": "BTCUSDT"}, [("openOrders", 6)]),
        ("get_order", {"symbol": "BTCUSDT", "order_id": 41_200_880_002}, [("order", 4)]),
        ("get_all_orders", {"symbol": "BTCUSDT"}, [("allOrders", 20)]),
    ],
)
async def test_a_call_costs_one_request_once_symbols_and_clock_are_known(
    place: Place, name: str, arguments: dict[str, Any], calls: list[tuple[str, int]]
) -> None:
    async with place.served() as client:
        await client.call_tool("get_open_orders", {})
        place.asked()

        result = await client.call_tool(name, arguments)

    assert result.is_error is False
    assert [(each.path.removeprefix("/api/v3/"), each.weight) for each in place.exchange.requests] == calls


async def test_many_assets_are_cut_at_the_limit_and_the_next_call_is_told(
    client: Client, exchange: SimulatedExchange
) -> None:
    balances = tuple(Balance(f"COIN{number:03}", "123456.00000000", ZERO) for number in range(450))
    exchange.stage = replace(exchange.stage, portfolio=replace(exchange.stage.portfolio, balances=balances))

    result = await client.call_tool("get_account_info", {})
    rest = await client.call_tool("get_account_info", {"limit": 450})

    cut = result.structured_content
    assert (cut["count"], cut["limit"], cut["more"]) == (100, 100, 'get_account_info {"limit": 450}')
    assert text_of(result).endswith('More: get_account_info {"limit": 450}')
    assert len(text_of(result).encode()) <= 8_000
    assert (rest.structured_content["count"], rest.structured_content["more"]) == (450, None)


@pytest.mark.slow
async def test_an_account_without_fees_or_permissions_says_so(client: Client, exchange: SimulatedExchange) -> None:
    bare = '{"canTrade":true,"canWithdraw":true,"canDeposit":true,"updateTime":1,"balances":[]}'
    exchange.faults.add(Fault(kind="status", path="*/account", status=200, body=bare))

    result = await client.call_tool("get_account_info", {})

    assert "**Permissions**: none reported" in text_of(result)
    assert "**Commission**: not reported" in text_of(result)
    assert "No holdings" in text_of(result)
    assert result.structured_content["maker_commission"] is None


async def test_the_newest_trades_survive_the_limit(client: Client, exchange: SimulatedExchange) -> None:
    trade(exchange, 120)

    result = await client.call_tool("get_account_trades", {"symbol": "BTCUSDT"})

    answer = result.structured_content
    assert answer["count"] == 50
    assert [each["trade_id"] for each in answer["trades"]][-1] == 900_000_119
    assert answer["more"].startswith('get_account_trades {"symbol": "BTCUSDT", "limit": 50, "end": "')
    assert len(text_of(result).encode()) <= 8_000


async def test_the_trades_of_one_order_are_all_its_own(client: Client, exchange: SimulatedExchange) -> None:
    trade(exchange, 20)

    result = await client.call_tool("get_account_trades", {"symbol": "BTCUSDT", "order_id": 41_200_880_007})

    (row,) = result.structured_content["trades"]
    assert (row["trade_id"], row["side"], row["is_maker"]) == (900_000_007, "SELL", False)
    assert result.structured_content["more"] is None


async def test_without_trades_the_text_says_so(client: Client) -> None:
    result = await client.call_tool("get_account_trades", {"symbol": "SOLUSDT"})

    assert "No trades found." in text_of(result)
    assert result.structured_content["count"] == 0
