"""Catalogue of all tools, resources and prompts in listed order, and completion of their arguments."""

from collections.abc import Awaitable, Callable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any, get_args

from mcp import types

from mcp_binance_server.analytics.market.microstructure import AnalysisDepth
from mcp_binance_server.analytics.thresholds import RiskTolerance, Strategy
from mcp_binance_server.domain.periods import INTERVALS
from mcp_binance_server.domain.symbols import Symbol
from mcp_binance_server.errors import AppError
from mcp_binance_server.services.guide import Names
from mcp_binance_server.surface.apps.chart import read_view
from mcp_binance_server.surface.context import Context
from mcp_binance_server.surface.greeting import ESSENTIAL, Lists, brief
from mcp_binance_server.surface.prompts import (
    LIQUIDITY_MAPPING,
    MARKET_MICROSTRUCTURE_ANALYSIS,
    MARKET_OVERVIEW,
    ORDER_FLOW_TRADING,
    PORTFOLIO_RISK,
    TRADING_ANALYSIS,
)
from mcp_binance_server.surface.resources import (
    ACCOUNT_INDEX,
    ANY_SYMBOL,
    BALANCES,
    BTCUSDT,
    CATEGORY,
    CATEGORY_DOCUMENT,
    COLLECTION,
    DERIVATIVES,
    DOCUMENT,
    ETHUSDT,
    HELP,
    JOURNAL,
    MARKET_INDEX,
    OPEN_ORDERS,
    ORDER_BOOK,
    ORDER_HISTORY,
    ORDER_INDEX,
    POSITIONS,
    read_account,
    read_derivatives,
    read_guide,
    read_market,
    read_orders,
    read_picture,
)
from mcp_binance_server.surface.spec import (
    TRADE,
    Page,
    PageReader,
    Picture,
    PromptSpec,
    ResourceSpec,
    TemplateSpec,
    ToolSpec,
)
from mcp_binance_server.surface.tools import guide as guide_tools
from mcp_binance_server.surface.tools import portfolio as account_tools
from mcp_binance_server.surface.tools.book import levels as book_tools
from mcp_binance_server.surface.tools.book import metrics as order_book_tools
from mcp_binance_server.surface.tools.charts import facts as chart_fact_tools
from mcp_binance_server.surface.tools.charts.bars import GET_CHART_BARS
from mcp_binance_server.surface.tools.charts.configuration import CONSTRUCT_CHART_CONFIG, VALIDATE_CHART_CONFIG
from mcp_binance_server.surface.tools.charts.documentation import FETCH_CHART_DOCUMENTATION
from mcp_binance_server.surface.tools.charts.image import GENERATE_CHART_IMAGE
from mcp_binance_server.surface.tools.derivatives import GET_DERIVATIVES
from mcp_binance_server.surface.tools.essential import (
    KINDS,
    LISTED,
    RUN_TOOL,
    RUNNABLE,
    WITH_TRADING,
    find_tool,
    not_runnable,
)
from mcp_binance_server.surface.tools.flow import GET_ORDER_FLOW
from mcp_binance_server.surface.tools.liquidity import GET_LIQUIDITY_VACUUMS, GET_VOLUME_PROFILE
from mcp_binance_server.surface.tools.market import prices as market_tools
from mcp_binance_server.surface.tools.market import symbols as symbol_tools
from mcp_binance_server.surface.tools.market.candles import GET_INDICATORS, GET_KLINES
from mcp_binance_server.surface.tools.market.health import DETECT_MARKET_ANOMALIES, GET_MICROSTRUCTURE_HEALTH
from mcp_binance_server.surface.tools.market.scan import SCAN_MARKET
from mcp_binance_server.surface.tools.orders import history as order_tools
from mcp_binance_server.surface.tools.orders.preview import PREVIEW_ORDER
from mcp_binance_server.surface.tools.portfolio import GET_PORTFOLIO
from mcp_binance_server.surface.tools.trend import NAME as ANALYSIS
from mcp_binance_server.surface.tools.trend import analysis_tool
from mcp_binance_server.surface.uris import CHARTS, GUIDE, GUIDE_SCHEME, UI_SCHEME, as_written

MOST = 100
CHOICES: dict[str, tuple[str, ...]] = {
    "strategy": get_args(Strategy),
    "risk_tolerance": get_args(RiskTolerance),
    "interval": INTERVALS,
    "analysis_depth": get_args(AnalysisDepth),
}
GUIDE_NAMES: dict[str, Names] = {"id": "collections", "name": "categories", "context": "contexts"}


@dataclass(frozen=True)
class Catalogue:
    """All tools, resources, templates and prompts of a server. `readers` reads resources by category of URI."""

    tools: tuple[ToolSpec[Any], ...] = ()
    resources: tuple[ResourceSpec, ...] = ()
    templates: tuple[TemplateSpec, ...] = ()
    prompts: tuple[PromptSpec[Any], ...] = ()
    readers: Mapping[str, PageReader] = field(default_factory=lambda: MappingProxyType({}))
    profile: AbstractSet[str] = frozenset()
    """Chosen toolsets if `essential` is one of them."""
    runnable: tuple[ToolSpec[Any], ...] = ()
    """Tools that `call_tool` runs in the profile `essential`."""

    def only(
        self, toolsets: AbstractSet[str], *, live: bool = True, chart_app: bool = True, trading: bool = False
    ) -> "Catalogue":
        """Return the part of the catalogue in the given toolsets.

        Other entries can be neither listed nor called. `live` adds live analyses. `chart_app` adds the page and the
        tool of the live chart. `trading` adds the tools that place orders. The profile `essential` lists a few tools of
        all toolsets, and runs other tools of public data through `call_tool`.
        """
        if ESSENTIAL in toolsets:
            return self._essential(toolsets, live=live, chart_app=chart_app, trading=trading)
        if not chart_app:
            return self._without_views.only(toolsets, live=live, trading=trading)
        if trading and TRADE in toolsets:
            return self._with_trading.only(toolsets, live=live)
        prompts = tuple(spec for spec in self.prompts if spec.toolset in toolsets and (live or not spec.live))
        tools = tuple(spec for spec in self.tools if spec.toolset in toolsets and (live or not spec.live))
        if prompts != self.prompts:  # each prompt is a kind of this tool, so remove the kinds of removed prompts
            analysis = (analysis_tool(prompts),) if prompts else ()
            tools = tuple(each for spec in tools for each in (analysis if spec.name == ANALYSIS else (spec,)))
        return Catalogue(
            tools=tools,
            resources=tuple(spec for spec in self.resources if spec.toolset in toolsets),
            templates=tuple(spec for spec in self.templates if spec.toolset in toolsets),
            prompts=prompts,
            readers=MappingProxyType({name: read for name, read in self.readers.items() if name in toolsets}),
        )

    def _essential(self, toolsets: AbstractSet[str], *, live: bool, chart_app: bool, trading: bool) -> "Catalogue":
        groups = {*self.toolsets, TRADE} - ({GUIDE} - toolsets)
        whole = self.only(groups, live=live, chart_app=chart_app and CHARTS in toolsets, trading=trading)
        names = LISTED | WITH_TRADING if trading else LISTED
        listed = tuple(
            spec for spec in whole.tools if spec.name in names or spec.toolset == TRADE or spec.toolset in toolsets
        )
        if "analysis" not in toolsets:
            few = analysis_tool([spec for spec in whole.prompts if spec.name in KINDS])
            listed = tuple(few if spec.name == ANALYSIS else spec for spec in listed)
        runnable = tuple(spec for spec in whole.tools if spec.toolset in RUNNABLE and not spec.for_view_only)
        find = find_tool(whole.tools, listed={spec.name for spec in listed}, runnable={spec.name for spec in runnable})
        tools = (*listed, find, RUN_TOOL)
        return replace(whole, tools=tools, profile=toolsets, runnable=runnable)

    @property
    def toolsets(self) -> AbstractSet[str]:
        return self.profile or frozenset(spec.toolset for spec in self.tools)

    @property
    def has_views(self) -> bool:
        """Whether a host can show a page (MCP App) next to an answer."""
        return any(spec.view for spec in self.tools)

    @property
    def asks(self) -> bool:
        """Whether any tool can ask the user a question."""
        return any(spec.asks for spec in self.tools)

    @property
    def has_guides(self) -> bool:
        """Whether playbooks can be read, so that links to them work."""
        return "guide" in self.readers

    def tool(self, name: str) -> ToolSpec[Any] | None:
        return self._tools.get(name)

    def inner_tool(self, name: str) -> ToolSpec[Any]:
        """Return a tool for `call_tool`.

        Raises:
            InvalidArguments: the tool does not exist, or `call_tool` does not run it.
        """
        if (spec := next((each for each in self.runnable if each.name == name), None)) is None:
            raise not_runnable(name, is_listed=name in self._tools)
        return spec

    def input_schema(self, name: str) -> dict[str, Any] | None:
        spec = self.tool(name)
        return None if spec is None else spec.input_schema

    @cached_property
    def lists(self) -> Lists:
        """Lists of the entries as clients get them."""
        tools = [spec.wire for spec in self.tools]
        return Lists(
            tools=brief(tools) if self.profile else tools,
            resources=[spec.wire for spec in self.resources],
            templates=[spec.wire for spec in self.templates],
            prompts=[spec.wire for spec in self.prompts],
        )

    def prepare(self) -> None:
        """Build the lists now, so that the first client does not wait."""
        _ = self.lists

    def prompt(self, name: str) -> PromptSpec[Any] | None:
        return next((spec for spec in self.prompts if spec.name == name), None)

    @property
    def _without_views(self) -> "Catalogue":
        tools = tuple(replace(spec, view=None) if spec.view else spec for spec in self.tools if not spec.for_view_only)
        return replace(self, tools=tools, readers=MappingProxyType({**self.readers, CHARTS: read_picture}))

    def without_trading(self) -> "Catalogue":
        """Return the catalogue without order tools, for a transport that cannot ask users.

        Extended tools are replaced by plain variants, which do not mention orders.
        """
        kept = [spec for spec in self.tools if spec.toolset != TRADE]
        if len(kept) == len(self.tools):
            return self
        from mcp_binance_server.surface.tools.trading.toolset import EXTENDED_TOOLS  # noqa: PLC0415 - as below

        tools = tuple(CATALOGUE.tool(spec.name) or spec if spec in EXTENDED_TOOLS else spec for spec in kept)
        return replace(self, tools=tools)

    @property
    def _with_trading(self) -> "Catalogue":
        from mcp_binance_server.surface.tools.trading.toolset import EXTENDED_TOOLS, TRADE_TOOLS  # noqa: PLC0415 - for trading only

        grown = {spec.name: spec for spec in EXTENDED_TOOLS}
        tools = (*(grown.get(spec.name, spec) for spec in self.tools), *TRADE_TOOLS)
        return replace(self, tools=tools, resources=(*self.resources, JOURNAL))

    @cached_property
    def _tools(self) -> dict[str, ToolSpec[Any]]:
        return {spec.name: spec for spec in self.tools}


async def read_chart(context: Context, uri: str) -> Page | Picture:
    """Return the page of the live chart or a stored picture, depending on the URI."""
    return await (read_view if uri.startswith(UI_SCHEME) else read_picture)(context, uri)


PROMPTS = (
    TRADING_ANALYSIS,
    PORTFOLIO_RISK,
    MARKET_MICROSTRUCTURE_ANALYSIS,
    ORDER_FLOW_TRADING,
    LIQUIDITY_MAPPING,
    MARKET_OVERVIEW,
)
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
        SCAN_MARKET,
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
        GET_DERIVATIVES,
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
        GET_CHART_BARS,
        guide_tools.SEARCH_GUIDES,
        guide_tools.LIST_GUIDES,
        guide_tools.GET_CONTENT,
        guide_tools.GET_CATEGORY_CONTENT,
        guide_tools.GET_COLLECTION_CONTENT,
    ),
    resources=(
        BTCUSDT,
        ETHUSDT,
        BALANCES,
        OPEN_ORDERS,
        POSITIONS,
        ORDER_HISTORY,
        HELP,
        MARKET_INDEX,
        ACCOUNT_INDEX,
        ORDER_INDEX,
    ),
    templates=(
        ANY_SYMBOL,
        COLLECTION,
        CATEGORY,
        CATEGORY_DOCUMENT,
        DOCUMENT,
        ORDER_BOOK,
        DERIVATIVES,
    ),
    prompts=PROMPTS,
    readers=MappingProxyType(
        {
            "market": read_market,
            "account": read_account,
            "orders": read_orders,
            "guide": read_guide,
            "charts": read_chart,
            "derivatives": read_derivatives,
        }
    ),
)


async def complete(context: Context, params: types.CompleteRequestParams) -> types.Completion:
    """Return completions of an argument. For an unknown argument the result is empty. Errors are never raised."""
    typed = params.argument.value
    if isinstance(params.ref, types.ResourceTemplateReference) and params.ref.uri.startswith(GUIDE_SCHEME):
        found = [choice for choice in await _guides(context, params) if choice.startswith(typed)]
    elif params.argument.name == "symbol":
        of = params.ref.uri if isinstance(params.ref, types.ResourceTemplateReference) else None
        is_contract = of == DERIVATIVES.uri_template
        found = await _symbols(context.derivatives.symbols if is_contract else context.market.symbols, typed)
        if of is not None:
            found = [as_written(symbol) for symbol in found]
    else:
        choices = CHOICES.get(params.argument.name, ())
        found = [choice for choice in choices if choice.startswith(typed)]
    return types.Completion(values=found[:MOST], total=len(found), has_more=len(found) > MOST)


async def _symbols(listed: Callable[[str], Awaitable[list[Symbol]]], typed: str) -> list[str]:
    try:
        return [*await listed(typed)]
    except AppError:  # the user is still typing: an empty list is more useful than an error
        return []


async def _guides(context: Context, params: types.CompleteRequestParams) -> list[str]:
    if kind := GUIDE_NAMES.get(params.argument.name):
        return await context.guides.names(kind)
    chosen = (params.context.arguments if params.context else None) or {}
    place = chosen.get("name") or chosen.get("context")
    return await context.guides.doc_ids(place) if params.argument.name == "docId" and place else []
