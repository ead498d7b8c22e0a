"""Every prompt is a kind of one tool, with its own arguments, rules and scope: models cannot ask for prompts."""

from typing import Any

import pytest
from jsonschema import validate
from mcp import Client, types
from pydantic import Field

from binance_simulator.exchange import SimulatedExchange
from mcp_binance_server.app import App, running_app
from mcp_binance_server.domain.access import Vault, Visitor
from mcp_binance_server.errors import InsufficientScope
from mcp_binance_server.settings import read_settings
from mcp_binance_server.surface.arguments import Arguments
from mcp_binance_server.surface.caller import Caller
from mcp_binance_server.surface.catalogue import CATALOGUE, Catalogue
from mcp_binance_server.surface.context import Context
from mcp_binance_server.surface.dispatch import Dispatcher
from mcp_binance_server.surface.server import build_server
from mcp_binance_server.surface.spec import PromptSpec
from mcp_binance_server.surface.tools.trend import analysis_tool
from mcp_binance_server.transports.http.app import Authentication
from support.clock import FakeClock
from support.desk import NETWORK, Loop
from support.requirement import requirement
from support.served import text_of
from support.webapp import assembled, http_client

BTC: dict[str, Any] = {"symbol": "BTCUSDT"}
ASKED: dict[str, dict[str, Any]] = {
    "trading_analysis": {**BTC, "strategy": "aggressive", "risk_tolerance": "high"},
    "portfolio_risk": {},
    "market_microstructure_analysis": {**BTC, "profile_hours": "12", "analysis_depth": "quick"},
    "order_flow_trading": {**BTC, "window_minutes": "10"},
    "liquidity_mapping": {**BTC, "lookback_minutes": "60"},
    "market_overview": {"quote": "usdt"},
}
PUBLIC = Visitor("somebody", frozenset({"market:read"}))


def page_of(result: types.GetPromptResult) -> str:
    (message,) = result.messages
    assert isinstance(message.content, types.TextContent)
    return message.content.text


@pytest.mark.slow
@requirement("ruling/44")
@pytest.mark.parametrize("kind", [spec.name for spec in CATALOGUE.prompts])
async def test_every_prompt_is_a_kind_with_the_same_page_in_both_channels(client: Client, kind: str) -> None:
    prompted = await client.get_prompt(kind, ASKED[kind])
    answered = await client.call_tool("get_analysis", {"kind": kind, **ASKED[kind]})

    assert text_of(answered) == page_of(prompted)
    assert answered.structured_content == {"success": True, "kind": kind, "page": page_of(prompted)}
    spec = CATALOGUE.tool("get_analysis")
    assert spec is not None
    validate(answered.structured_content, spec.wire.output_schema or {})
    validate({"kind": kind, **BTC}, spec.input_schema)


class WavesArguments(Arguments):
    symbol: str
    height: int = Field(3, description="How high")


async def waves(_context: Context, arguments: WavesArguments) -> str:
    return f"{arguments.symbol} waves {arguments.height} high"


@requirement("ruling/44")
async def test_a_later_prompt_becomes_a_kind_by_itself(app: App, era: str) -> None:
    later = PromptSpec("waves", "Watches waves", WavesArguments, waves)
    prompts = (*CATALOGUE.prompts, later)
    dispatcher = Dispatcher(Catalogue(tools=(analysis_tool(prompts),), prompts=prompts), app.context)

    async with Client(build_server(dispatcher), mode=era, cache=None) as client:
        (listed,) = (await client.list_tools()).tools
        answered = await client.call_tool("get_analysis", {"kind": "Waves", **BTC, "height": "5"})

    assert listed.input_schema["properties"]["kind"]["enum"][-1] == "waves"
    height = {"type": "integer", "nullable": True, "description": "waves only. How high"}
    assert listed.input_schema["properties"]["height"] == height
    assert text_of(answered) == "BTCUSDT waves 5 high"


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"kind": "trading_analysis"}, "get_analysis of kind trading_analysis: symbol: Field required"),
        ({"kind": "liquidity_mapping", **BTC, "strategy": "balanced"}, "kind liquidity_mapping: strategy: "),
        ({"kind": "order_flow_trading", **BTC, "window_minutes": 61}, "window_minutes: "),
        ({"kind": "waves", **BTC}, "kind: "),
        (BTC, "kind: Field required"),
    ],
)
async def test_what_a_kind_does_not_take_is_refused_by_name(
    client: Client, arguments: dict[str, Any], problem: str
) -> None:
    result = await client.call_tool("get_analysis", arguments)

    assert result.is_error is True
    assert problem in text_of(result)


async def test_kinds_that_are_turned_off_are_no_kinds(clock: FakeClock, exchange: SimulatedExchange, era: str) -> None:
    settings = read_settings({"MCP_BINANCE_ORDERBOOK_ANALYTICS": "false", "MCP_BINANCE_TOOLSETS": "analysis"})
    async with (
        running_app(settings, clock=clock, network=NETWORK, transport=Loop(exchange)) as app,
        Client(app.server, mode=era, cache=None) as client,
    ):
        listed = {tool.name: tool for tool in (await client.list_tools()).tools}
        refused = await client.call_tool("get_analysis", {"kind": "liquidity_mapping", **BTC})

    schema = listed["get_analysis"].input_schema
    assert schema["properties"]["kind"]["enum"] == ["trading_analysis", "portfolio_risk", "market_overview"]
    assert "lookback_minutes" not in schema["properties"]
    assert "kind: " in text_of(refused)


def test_without_a_prompt_there_is_no_such_tool() -> None:
    live_only = Catalogue(tools=CATALOGUE.tools, prompts=tuple(spec for spec in CATALOGUE.prompts if spec.live))

    assert live_only.only({"analysis"}, live=False).tool("get_analysis") is None
    assert live_only.only({"analysis"}).tool("get_indicators") is not None


@pytest.mark.parametrize("kind", ["portfolio_risk", " Portfolio_Risk"])
async def test_a_kind_needs_the_scope_of_its_prompt(app: App, kind: str) -> None:
    caller = Caller(PUBLIC, Vault(app.dispatcher.owner))

    open_to_all = await app.dispatcher.call_tool(caller, "get_analysis", {"kind": "trading_analysis", **BTC})
    with pytest.raises(InsufficientScope) as refused:
        await app.dispatcher.call_tool(caller, "get_analysis", {"kind": kind})

    assert open_to_all.is_error is False
    assert refused.value.needed_scopes == ("account:read",)
    assert app.dispatcher.scope_needed("tools/call", "get_analysis", {"kind": kind}) == "account:read"
    assert app.dispatcher.scope_needed("tools/call", "get_analysis", {"kind": "trading_analysis"}) == "market:read"


class OnlyMarkets:
    """An application that lets everybody in to public data."""

    async def visitor(self, headers: object, query: object) -> Visitor:  # noqa: ARG002 - a protocol's names
        return PUBLIC


async def test_over_http_a_private_kind_is_403_with_the_scope_to_ask_for(app: App) -> None:

    async with assembled(app, authentication=Authentication(OnlyMarkets())) as running, http_client(running) as http:
        session = await http.initialize()
        private = {"name": "get_analysis", "arguments": {"kind": "portfolio_risk"}}
        public = {"name": "get_analysis", "arguments": {"kind": "trading_analysis", **BTC}}
        refused = await http.ask("tools/call", session, private)
        answered = await http.ask("tools/call", session, public)

    assert refused.status_code == 403
    assert "account:read" in refused.headers["www-authenticate"]
    assert answered.status_code == 200
