"""Text and structure of an answer, each complete alone: some clients show a model only the one, some only the other."""

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest
from mcp import Client, types

from binance_simulator.exchange import SimulatedExchange
from binance_simulator.faults import Fault
from mcp_binance_server.surface.catalogue import CATALOGUE
from support.answers import EXAMPLES, FAILURES
from support.channels import Structure, Text
from support.clock import FakeClock
from support.futures import FUTURES, LIQUIDATED
from support.requirement import requirement
from support.served import Place, text_of
from support.stepped import STREAMED, SteppedClock, live_market

pytestmark = pytest.mark.flood  # every tool once more; the tests of each count its lines

TOOLS = [spec.name for spec in CATALOGUE.tools]
LARGEST = 25_000
# The contract has this one answer whole, with every indicator and its inputs.
LARGER = {"fetch_chart_documentation": 45_000}


@pytest.fixture
async def still(clock: FakeClock, exchange: SimulatedExchange) -> AsyncIterator[Client]:
    """Serve the same without streams."""
    async with Place(clock, exchange, "auto").served(network=FUTURES) as client:
        yield client


def differences(result: types.CallToolResult) -> dict[str, list[str]]:
    """Return what only one of both channels says."""
    text, structure = text_of(result), result.structured_content
    found = {
        "not in the text": Text(text).missing(structure),
        "not in the structure": Structure(structure).missing(text),
    }
    return {where: facts for where, facts in found.items() if facts}


def unsaid_legend(result: types.CallToolResult) -> dict[str, list[str]]:
    """Return what the text lacks of an answer for a page: the bars are the page's alone, the legend is everybody's."""
    structure = result.structured_content
    lines = [f"{row['name']}: {row['values']}" for row in structure["legend"]]
    lacking = [line for line in (*lines, structure["as_of"]) if line not in text_of(result)]
    return {"not in the text": lacking} if lacking else {}


async def compared(client: Client, tool: str) -> list[tuple[dict[str, Any], dict[str, list[str]]]]:
    """Return the calls of a tool whose channels differ, and in what."""
    results = [(arguments, await client.call_tool(tool, arguments)) for arguments in EXAMPLES[tool]]
    assert [text_of(result) for _, result in results if result.is_error] == []
    spec = CATALOGUE.tool(tool)
    if spec is not None and spec.for_view_only:
        return [(arguments, found) for arguments, result in results if (found := unsaid_legend(result))]
    if spec is not None and spec.answer is None:
        assert [result.structured_content for _, result in results] == [None] * len(results)
        return []
    return [(arguments, found) for arguments, result in results if (found := differences(result))]


@requirement("ruling/39")
def test_every_tool_has_an_example() -> None:
    assert sorted(EXAMPLES) == sorted(TOOLS), "a tool without an example is a tool whose channels nobody compared"


@requirement("ruling/39")
async def test_both_channels_say_the_same_of_a_live_market_that_is_called_simulated() -> None:
    account = SimulatedExchange(SteppedClock(), seed=7).account
    environment = {"BINANCE_API_KEY": account.api_key, "BINANCE_SECRET_KEY": account.secret_key}

    network = replace(LIQUIDATED, stream_url=STREAMED.stream_url, simulated=True)
    async with live_market(environment=environment, network=network) as market:
        await market.watch("BTCUSDT", 70)
        found = {tool: await compared(market.client, tool) for tool in TOOLS}

    assert {tool: each for tool, each in found.items() if each} == {}


@requirement("ruling/39")
@pytest.mark.parametrize("tool", TOOLS)
async def test_both_channels_say_the_same_without_streams_and_no_more_than_was_asked_for(
    still: Client, tool: str
) -> None:
    assert await compared(still, tool) == []

    result = await still.call_tool(tool, EXAMPLES[tool][0])
    texts = [block.text for block in result.content if isinstance(block, types.TextContent)]
    structured = json.dumps(result.structured_content, ensure_ascii=False, separators=(",", ":"))
    assert len("\n".join(texts).encode()) <= LARGEST
    assert len(structured.encode()) <= LARGER.get(tool, LARGEST)


@requirement("ruling/39")
@pytest.mark.parametrize(("tool", "arguments"), FAILURES)
async def test_both_channels_say_the_same_of_a_failure(still: Client, tool: str, arguments: dict[str, Any]) -> None:
    result = await still.call_tool(tool, arguments)

    assert result.is_error is True
    assert differences(result) == {}, text_of(result)


@requirement("ruling/39")
@pytest.mark.parametrize("status", [429, 418, 500, 401])
async def test_both_channels_say_the_same_when_the_exchange_refuses(
    still: Client, exchange: SimulatedExchange, status: int
) -> None:
    exchange.faults.add(Fault(kind="status", status=status, headers={"Retry-After": "12"}, times=None))

    results = [await still.call_tool(tool, EXAMPLES[tool][0]) for tool in ("get_ticker", "get_account_info")]

    assert [result.is_error for result in results] == [True, True]
    assert [differences(result) for result in results] == [{}, {}]


@pytest.mark.night
@pytest.mark.parametrize("tool", ["get_volume_profile", "get_account_info", "get_open_orders", "get_all_orders"])
async def test_a_row_left_out_of_the_text_is_noticed(still: Client, tool: str) -> None:
    result = await still.call_tool(tool, EXAMPLES[tool][0])
    lines = text_of(result).splitlines()[1:]  # what sums up says some of it twice
    missing = Text("\n".join(lines)).missing(result.structured_content)
    rows = [
        place for place, line in enumerate(lines) if line.startswith("| ") and place and lines[place - 1][:1] == "|"
    ]

    unnoticed = [
        lines[place]
        for place in rows
        if Text("\n".join(lines[:place] + lines[place + 1 :])).missing(result.structured_content) == missing
    ]

    assert len(rows) >= 2
    assert unnoticed == []


async def test_a_number_without_its_name_is_noticed(still: Client) -> None:
    result = await still.call_tool("get_order_flow", {"symbol": "BTCUSDT"})
    nameless = text_of(result).replace("Imbalance ratio", "").replace("imbalance ratio", "")

    missing = Text(nameless).missing(result.structured_content)

    assert any(each.startswith("metrics.imbalance_ratio.value") for each in missing)


@pytest.mark.parametrize(
    ("tool", "members"),
    [
        ("get_ticker", ("last_price", "volume", "as_of", "source")),
        ("get_klines", ("rows", "notes")),
        ("get_order_book", ("asks", "bid_total", "last_update_id")),
        ("get_orderbook_metrics", ("metrics", "context", "summary")),
        ("get_account_info", ("balances", "host", "as_of")),
        ("preview_order", ("notes", "fee", "balances")),
        ("list_guides", ("documents", "collections")),
    ],
)
async def test_a_member_left_out_of_the_structure_is_noticed(
    still: Client, tool: str, members: tuple[str, ...]
) -> None:
    result = await still.call_tool(tool, EXAMPLES[tool][0])
    text, structure = text_of(result), result.structured_content

    unnoticed = [
        member
        for member in members
        if not Structure({name: each for name, each in structure.items() if name != member}).missing(text)
    ]

    assert unnoticed == []


async def test_a_sentence_that_only_the_text_has_is_noticed(still: Client) -> None:
    result = await still.call_tool("get_ticker", {"symbol": "BTCUSDT"})

    missing = Structure(result.structured_content).missing(f"{text_of(result)}\nWithdrawals are suspended for 37 days")

    assert missing == ["37", "Withdrawals", "days", "suspended"]
