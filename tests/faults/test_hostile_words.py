"""Words from outside, planted in every string of every upstream payload: clean in every channel of every answer."""

import re
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from typing import NoReturn

import pytest
from mcp import Client, MCPError

from binance_simulator.exchange import SimulatedExchange
from binance_simulator.faults import Fault
from mcp_binance_server.app import running_app
from mcp_binance_server.charts.config import is_list, is_object
from mcp_binance_server.settings import read_settings
from mcp_binance_server.surface.catalogue import CATALOGUE
from mcp_binance_server.words import shown
from support.calls import arguments_of, prompt_arguments
from support.charts import with_a_key
from support.clock import FakeClock
from support.planting import (
    HIDDEN,
    ORDER,
    Planter,
    PlantingLoop,
    PlantingLoopback,
    hidden_everywhere,
    order_where_words_are,
)
from support.requirement import requirement
from support.stepped import STREAMED, live_market

# Line feeds are ours on a page; everything else that hides is nobody's.
HIDES = re.compile(f"[{re.escape(HIDDEN.replace(chr(10), ''))}]")
OBEYS = re.compile(r"^[\s\\]*# System", re.MULTILINE)
# What these ask for depends on where the guides are, not on an upstream.
OTHERS = {"guide"}
# A row of a board whose name hides something is left out: here that is every row. Futures are not offered here.
OF_ALL_PAIRS = {"scan_market", "market_overview", "binance://market", "get_derivatives"}
MORE_CALLS = (
    ("get_symbols", {"exchange": "NASDAQ"}),
    ("get_order_book", {"symbol": "BTCUSDT"}),
    ("get_analysis", {"kind": "portfolio_risk"}),
)


@asynccontextmanager
async def served(
    exchange: SimulatedExchange, clock: FakeClock, plant: Planter
) -> AsyncGenerator[tuple[Client, PlantingLoop]]:
    account, loop = exchange.account, PlantingLoop(exchange, plant)
    environment = {"BINANCE_API_KEY": account.api_key, "BINANCE_SECRET_KEY": account.secret_key}
    settings = read_settings(environment | with_a_key(exchange, "PRO"))
    async with (
        running_app(settings, clock=clock, network=STREAMED, transport=loop, dialer=Silent()) as app,
        Client(app.server, cache=None) as client,
    ):
        yield client, loop


class Silent:
    """Streams that cannot be had: this file is about what is asked for."""

    async def connect(self, url: str) -> NoReturn:
        raise ConnectionRefusedError(url)


def strings(node: object) -> Iterator[str]:
    if isinstance(node, str):
        yield node
    elif is_object(node):
        for key, value in node.items():
            yield key
            yield from strings(value)
    elif is_list(node):
        for each in node:
            yield from strings(each)


async def answers(client: Client) -> AsyncGenerator[tuple[str, object]]:
    """Ask for everything a client can ask for, and give what comes, as it is on the wire."""
    calls = [(spec.name, arguments_of(spec.name)) for spec in CATALOGUE.tools if spec.toolset not in OTHERS]
    for name, arguments in (*calls, *MORE_CALLS):
        yield name, (await client.call_tool(name, arguments)).model_dump(mode="json")
    for spec in CATALOGUE.prompts:
        try:
            result = await client.get_prompt(spec.name, prompt_arguments(spec.name))
            yield spec.name, result.model_dump(mode="json")
        except MCPError as error:
            yield spec.name, [error.message, error.data]
    for resource in CATALOGUE.resources:
        if resource.toolset not in OTHERS:
            try:
                yield resource.uri, (await client.read_resource(resource.uri)).model_dump(mode="json")
            except MCPError as error:
                yield resource.uri, [error.message, error.data]


@pytest.mark.night
@requirement("ruling/05")
@pytest.mark.parametrize("plant", [hidden_everywhere, order_where_words_are])
async def test_nothing_that_hides_or_breaks_a_line_comes_through_any_tool_page_or_prompt(
    exchange: SimulatedExchange, clock: FakeClock, plant: Planter
) -> None:
    found: dict[str, str] = {}
    failed: list[str] = []
    async with served(exchange, clock, plant) as (client, loop):
        async for name, answer in answers(client):
            failed += [name] if is_list(answer) or "'is_error': True" in str(answer) else []
            for text in strings(answer):
                if HIDES.search(text) or OBEYS.search(text):
                    found[name] = text[:200]

    assert found == {}
    assert len(loop.paths) >= 15
    if plant is hidden_everywhere:
        assert set(failed) == OF_ALL_PAIRS


async def test_the_words_of_a_refusal_are_as_clean(exchange: SimulatedExchange, clock: FakeClock) -> None:
    async with served(exchange, clock, hidden_everywhere) as (client, _):
        await client.call_tool("get_ticker", {"symbol": "BTCUSDT"})
        exchange.faults.add(Fault(kind="status", status=400, code=-1100, msg=f"no{HIDDEN}{ORDER}", times=None))
        clock.advance(2_000)
        result = await client.call_tool("get_average_price", {"symbol": "BTCUSDT"})

    assert result.is_error
    assert not [text for text in strings(result.model_dump(mode="json")) if HIDES.search(text) or OBEYS.search(text)]


async def test_a_stream_with_hidden_text_in_it_is_not_used_and_the_book_is_asked_for() -> None:
    async with live_market(dialer=lambda exchange: PlantingLoopback(exchange, hidden_everywhere)) as market:
        await market.watch("BTCUSDT", 3)
        result = await market.client.call_tool("get_orderbook_metrics", {"symbol": "BTCUSDT"})
        hub = market.app.context.live.hub

        assert not result.is_error
        assert not [text for text in strings(result.model_dump(mode="json")) if HIDES.search(text)]
        assert hub is not None
        assert hub.troubles.totals.refused > 0


def test_what_can_be_seen_stays() -> None:
    assert shown("币安人生USDT é ñ 🙂") == "币安人生USDT é ñ 🙂"
    assert shown(f"BTC{HIDDEN}USDT") == "BTCUSDT"
