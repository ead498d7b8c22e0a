"""The ordered list of everything a client can see; order here is order on the wire."""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Any

from mcp_binance_server.surface.prompts.liquidity import LIQUIDITY_MAPPING
from mcp_binance_server.surface.prompts.microstructure import MARKET_MICROSTRUCTURE_ANALYSIS
from mcp_binance_server.surface.prompts.order_flow import ORDER_FLOW_TRADING
from mcp_binance_server.surface.prompts.portfolio_risk import PORTFOLIO_RISK
from mcp_binance_server.surface.prompts.trading_analysis import TRADING_ANALYSIS
from mcp_binance_server.surface.resources import account as account_resources
from mcp_binance_server.surface.resources import charts as chart_resources
from mcp_binance_server.surface.resources import guide as guide_resources
from mcp_binance_server.surface.resources import market as market_resources
from mcp_binance_server.surface.resources import orders as order_resources
from mcp_binance_server.surface.spec import PageReader, PromptSpec, ResourceSpec, TemplateSpec, ToolSpec
from mcp_binance_server.surface.tools import account as account_tools
from mcp_binance_server.surface.tools import book as book_tools
from mcp_binance_server.surface.tools import chart_facts as chart_fact_tools
from mcp_binance_server.surface.tools import guides as guide_tools
from mcp_binance_server.surface.tools import market as market_tools
from mcp_binance_server.surface.tools import order_books as order_book_tools
from mcp_binance_server.surface.tools import orders as order_tools
from mcp_binance_server.surface.tools import symbols as symbol_tools
from mcp_binance_server.surface.tools.analysis import NAME as ANALYSIS
from mcp_binance_server.surface.tools.analysis import analysis_tool
from mcp_binance_server.surface.tools.candles import GET_KLINES
from mcp_binance_server.surface.tools.chart_construction import CONSTRUCT_CHART_CONFIG
from mcp_binance_server.surface.tools.chart_documentation import FETCH_CHART_DOCUMENTATION
from mcp_binance_server.surface.tools.chart_image import GENERATE_CHART_IMAGE
from mcp_binance_server.surface.tools.chart_validation import VALIDATE_CHART_CONFIG
from mcp_binance_server.surface.tools.indicators import GET_INDICATORS
from mcp_binance_server.surface.tools.microstructure import DETECT_MARKET_ANOMALIES, GET_MICROSTRUCTURE_HEALTH
from mcp_binance_server.surface.tools.order_flow import GET_ORDER_FLOW
from mcp_binance_server.surface.tools.portfolio import GET_PORTFOLIO
from mcp_binance_server.surface.tools.preview import PREVIEW_ORDER
from mcp_binance_server.surface.tools.profiles import GET_LIQUIDITY_VACUUMS, GET_VOLUME_PROFILE


@dataclass(frozen=True)
class Catalogue:
    """Tools, resources, templates and prompts, and who reads each category of addresses."""

    tools: tuple[ToolSpec[Any], ...] = ()
    resources: tuple[ResourceSpec, ...] = ()
    templates: tuple[TemplateSpec, ...] = ()
    prompts: tuple[PromptSpec[Any], ...] = ()
    readers: Mapping[str, PageReader] = field(default_factory=lambda: MappingProxyType({}))

    def only(self, toolsets: AbstractSet[str], *, live: bool = True) -> "Catalogue":
        """Return what belongs to these groups, with the live analyses or without; the rest cannot be called."""
        prompts = tuple(spec for spec in self.prompts if spec.toolset in toolsets and (live or not spec.live))
        tools = tuple(spec for spec in self.tools if spec.toolset in toolsets and (live or not spec.live))
        if prompts != self.prompts:  # the kinds of one tool are the prompts that there are
            analysis = (analysis_tool(prompts),) if prompts else ()
            tools = tuple(each for spec in tools for each in (analysis if spec.name == ANALYSIS else (spec,)))
        return Catalogue(
            tools=tools,
            resources=tuple(spec for spec in self.resources if spec.toolset in toolsets),
            templates=tuple(spec for spec in self.templates if spec.toolset in toolsets),
            prompts=prompts,
            readers=MappingProxyType({name: read for name, read in self.readers.items() if name in toolsets}),
        )

    @property
    def toolsets(self) -> frozenset[str]:
        return frozenset(spec.toolset for spec in self.tools)

    @property
    def has_guides(self) -> bool:
        """Tell whether a link to a playbook leads somewhere."""
        return "guide" in self.readers

    def tool(self, name: str) -> ToolSpec[Any] | None:
        return self._tools.get(name)

    def input_schema(self, name: str) -> dict[str, Any] | None:
        spec = self.tool(name)
        return None if spec is None else spec.input_schema

    def prepare(self) -> None:
        """Make every entry of the lists now, so that the first client that asks for one does not wait for it."""
        for spec in (*self.tools, *self.resources, *self.templates, *self.prompts):
            _ = spec.wire

    def prompt(self, name: str) -> PromptSpec[Any] | None:
        return next((spec for spec in self.prompts if spec.name == name), None)

    @cached_property
    def _tools(self) -> dict[str, ToolSpec[Any]]:
        return {spec.name: spec for spec in self.tools}


PROMPTS = (TRADING_ANALYSIS, PORTFOLIO_RISK, MARKET_MICROSTRUCTURE_ANALYSIS, ORDER_FLOW_TRADING, LIQUIDITY_MAPPING)
CATALOGUE = Catalogue(
    tools=(
        market_tools.GET_TICKER,
        symbol_tools.SEARCH_SYMBOLS,
        symbol_tools.GET_EXCHANGE_INFO,
        GET_KLINES,
        book_tools.GET_ORDER_BOOK,
        book_tools.GET_RECENT_TRADES,
        market_tools.GET_AVERAGE_PRICE,
        market_tools.GET_SERVER_TIME,
        GET_INDICATORS,
        analysis_tool(PROMPTS),
        order_book_tools.GET_ORDERBOOK_METRICS,
        order_book_tools.GET_ORDERBOOK_DEPTH,
        order_book_tools.GET_ORDERBOOK_HEALTH,
        order_book_tools.ESTIMATE_SLIPPAGE,
        GET_ORDER_FLOW,
        GET_VOLUME_PROFILE,
        GET_LIQUIDITY_VACUUMS,
        DETECT_MARKET_ANOMALIES,
        GET_MICROSTRUCTURE_HEALTH,
        account_tools.GET_ACCOUNT_INFO,
        GET_PORTFOLIO,
        order_tools.GET_ACCOUNT_TRADES,
        order_tools.GET_OPEN_ORDERS,
        order_tools.GET_ORDER,
        order_tools.GET_ALL_ORDERS,
        PREVIEW_ORDER,
        FETCH_CHART_DOCUMENTATION,
        chart_fact_tools.GET_EXCHANGES,
        chart_fact_tools.GET_SYMBOLS,
        CONSTRUCT_CHART_CONFIG,
        VALIDATE_CHART_CONFIG,
        GENERATE_CHART_IMAGE,
        guide_tools.SEARCH_GUIDES,
        guide_tools.LIST_GUIDES,
        guide_tools.GET_CONTENT,
        guide_tools.GET_CATEGORY_CONTENT,
        guide_tools.GET_COLLECTION_CONTENT,
    ),
    resources=(
        market_resources.BTCUSDT,
        market_resources.ETHUSDT,
        account_resources.BALANCES,
        order_resources.OPEN,
        account_resources.POSITIONS,
        order_resources.HISTORY,
        guide_resources.HELP,
        market_resources.INDEX,
        account_resources.INDEX,
        order_resources.INDEX,
    ),
    templates=(
        market_resources.ANY_SYMBOL,
        guide_resources.COLLECTION,
        guide_resources.CATEGORY,
        guide_resources.CATEGORY_DOCUMENT,
        guide_resources.DOCUMENT,
        market_resources.ORDER_BOOK,
    ),
    prompts=PROMPTS,
    readers=MappingProxyType(
        {
            "market": market_resources.read_market,
            "account": account_resources.read_account,
            "orders": order_resources.read_orders,
            "guide": guide_resources.read_guide,
            "charts": chart_resources.read_picture,
        }
    ),
)
