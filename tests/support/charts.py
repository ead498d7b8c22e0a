"""What tests of charts share: a server that has a key, answers that fit their schema, and a client taken apart."""

import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from random import Random
from typing import Any

import httpx2
from jsonschema import validate
from mcp import Client, types

from binance_simulator.exchange import SimulatedExchange
from mcp_binance_server.channel import Channel
from mcp_binance_server.charts.chartimg.caller import ChartImgCaller
from mcp_binance_server.charts.chartimg.client import ChartImgClient
from mcp_binance_server.charts.chartimg.docs import DocumentationSource
from mcp_binance_server.charts.chartimg.limiter import Limiter, plan_pace
from mcp_binance_server.charts.chartimg.listings import Listings
from mcp_binance_server.charts.chartimg.plan_memory import PlanMemory
from mcp_binance_server.charts.plans import PLANS
from mcp_binance_server.state.memory import MemoryEngine
from mcp_binance_server.surface.catalogue import CATALOGUE
from support.clock import FakeClock
from support.desk import Loop

ADDRESS = "http://charts.test"
DOCS_ADDRESS = f"{ADDRESS}/chart-docs"
ENVIRONMENT = {"CHART_IMG_URL": ADDRESS, "CHART_IMG_DOCS_URL": DOCS_ADDRESS}


def with_a_key(exchange: SimulatedExchange, plan: str) -> dict[str, str]:
    """Return the environment of a server that has a key of the simulated service."""
    return {**ENVIRONMENT, "CHART_IMG_API_KEY": exchange.charts.api_key, "CHART_IMG_PLAN": plan}


async def fitting(client: Client, tool: str, arguments: Mapping[str, object]) -> types.CallToolResult:
    """Return a tool's whole answer, whose structure must fit its schema."""
    result = await client.call_tool(tool, {**arguments})
    spec = CATALOGUE.tool(tool)
    assert spec is not None
    if spec.wire.output_schema is not None:
        validate(result.structured_content, spec.wire.output_schema)
    assert result.is_error is not answer_of(result)["success"]
    return result


def answer_of(result: types.CallToolResult) -> dict[str, Any]:
    """Return the members of an answer; those of a picture stand in the last line of its text."""
    if result.structured_content is not None:
        return result.structured_content
    (text,) = (each.text for each in result.content if isinstance(each, types.TextContent))
    return json.loads(text.splitlines()[-1])


class ChartDesk:
    """One client of chart-img, taken apart."""

    def __init__(self, engine: MemoryEngine, channel: Channel, clock: FakeClock, key: str | None, plan: str) -> None:
        self.plans = PlanMemory(clock, PLANS.get(plan))
        self.limiter = Limiter(clock, engine, lambda: plan_pace(self.plans))
        self.caller = ChartImgCaller(ADDRESS, key, channel, self.limiter, clock, Random(7))
        self.client = ChartImgClient(self.caller, self.plans)
        self.docs = DocumentationSource(DOCS_ADDRESS, channel, engine, clock)
        self.listings = Listings(self.client, engine, clock)


@asynccontextmanager
async def chart_desk(
    exchange: SimulatedExchange,
    clock: FakeClock,
    *,
    key: str | None = "the simulator's own",
    plan: str = "PRO",
    transport: httpx2.AsyncBaseTransport | None = None,
    deadline_secs: float = 3,
) -> AsyncGenerator[ChartDesk]:
    """Open a desk with the simulator's own key, unless another key is given. An unknown plan is not configured."""
    engine = MemoryEngine(clock)
    await engine.start()
    channel = Channel(deadline_secs=deadline_secs, transport=transport or Loop(exchange))
    own = exchange.charts.api_key if key == "the simulator's own" else key
    try:
        yield ChartDesk(engine, channel, clock, own, plan)
    finally:
        await channel.close()
        await engine.close()


def paths(exchange: SimulatedExchange) -> list[str]:
    """Return where the requests since last time went."""
    found = [request.path for request in exchange.requests]
    exchange.requests.clear()
    return found
