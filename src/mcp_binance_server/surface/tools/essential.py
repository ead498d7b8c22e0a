"""The profile `essential`: a short list of tools, and two tools that find and run the others."""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Annotated, Any, cast

from pydantic import Field

from mcp_binance_server.errors import InvalidArguments, echo
from mcp_binance_server.guide.search import TextIndex
from mcp_binance_server.surface.arguments import Arguments
from mcp_binance_server.surface.context import Context
from mcp_binance_server.surface.greeting import CALL_TOOL, ESSENTIAL, FIND_TOOL
from mcp_binance_server.surface.spec import ToolAnswer, ToolSpec

LISTED = frozenset({
    "get_ticker", "scan_market", "get_indicators", "get_analysis", "get_orderbook_metrics", "estimate_slippage",
    "get_derivatives", "get_portfolio", "get_open_orders", "generate_chart_image",
})  # fmt: skip
WITH_TRADING = frozenset({"preview_order", "get_order"})
"""Tools listed next to the trading tools."""
KINDS = frozenset({"trading_analysis", "portfolio_risk", "market_overview"})
"""Kinds of get_analysis that the profile lists. `call_tool` runs every public kind."""
RUNNABLE = frozenset({"market", "analysis", "charts", "derivatives"})
"""Toolsets whose tools `call_tool` can run. Playbooks are excluded, because an operator can add private playbooks."""

MOST_BYTES = 1_500
MOST_FOUND = 5
NOTHING = "No tool fits these words. Try others: candles, trades, order book, order flow, funding, chart, symbols."
# Words of questions that are missing from the texts of these tools.
SYNONYMS = {
    "get_klines": "candlesticks ohlc ohlcv history past closes",
    "get_recent_trades": "prints tape last",
    "get_order_flow": "buyers sellers pressure taker delta cvd",
    "get_volume_profile": "poc value area vpvr",
    "get_liquidity_vacuums": "thin gaps support resistance",
    "get_derivatives": "futures perpetual perp open interest oi liquidations long short ratio",
    "get_orderbook_depth": "levels bids asks walls",
    "get_exchange_info": "rules filters lot tick step minimum notional",
    "search_symbols": "pairs coins tokens listed",
    "construct_chart_config": "draw plot fibonacci trend line",
    "generate_chart_image": "draw plot picture",
    "detect_market_anomalies": "manipulation spoofing iceberg",
}


class FindTool(Arguments):
    question: Annotated[str, Field(max_length=500)] = Field(description="In English words")


class CallTool(Arguments):
    name: Annotated[str, Field(max_length=64)]
    arguments: dict[str, Any] = Field(default={}, description="Its arguments")


def find_tool(
    specs: Sequence[ToolSpec[Any]], *, listed: AbstractSet[str], runnable: AbstractSet[str]
) -> ToolSpec[FindTool]:
    """Return the tool that finds other tools and says how to call them.

    Its text names the listed and the runnable tools.
    """
    index = TextIndex([_searched(spec) for spec in specs])

    def way(spec: ToolSpec[Any]) -> str:
        if spec.name in listed:
            return "listed, call it by its own name"
        if spec.name in runnable:
            return f"run it with {CALL_TOOL}"
        return f"not offered here; the operator can add it with MCP_BINANCE_TOOLSETS={ESSENTIAL},{spec.toolset}"

    async def run(_context: Context, arguments: FindTool) -> ToolAnswer:
        found = [specs[place] for place in index.search(arguments.question, MOST_FOUND)]
        heads = [f"{spec.name} ({spec.title}): {way(spec)}" for spec in found]
        unlisted = runnable - listed
        return ToolAnswer(_page(heads, [_details(spec) if spec.name in unlisted else "" for spec in found]))

    return ToolSpec(
        name=FIND_TOOL,
        title="Find a tool",
        description=(
            "Find another tool: candles, trades, order flow, volume profile, charts, symbols, exchange rules. Returns "
            f"names and arguments for {CALL_TOOL}. Not for market data itself."
        ),
        arguments=FindTool,
        answer=None,
        run=run,
        read_only=True,
        toolset=ESSENTIAL,
        open_world=False,
    )


async def _refuse(_context: Context, arguments: CallTool) -> ToolAnswer:
    raise not_runnable(arguments.name)  # the dispatcher runs the inner tool


RUN_TOOL = ToolSpec(
    name=CALL_TOOL,
    title="Run a found tool",
    description=(
        f"Run a read-only tool of public market data that {FIND_TOOL} named. Not for listed tools, accounts or orders."
    ),
    arguments=CallTool,
    answer=None,
    run=_refuse,
    read_only=True,
    toolset=ESSENTIAL,
    slow=True,
)


def not_runnable(name: str, *, is_listed: bool = False) -> InvalidArguments:
    """Return the error for a tool that `call_tool` does not run."""
    told = f"{CALL_TOOL} does not run {echo(name)}: it runs read-only tools of public market data"
    way = "call this tool by its own name" if is_listed else f"{FIND_TOOL} finds them"
    return InvalidArguments(summary=f"{told}; {way}")


def _searched(spec: ToolSpec[Any]) -> tuple[str, str]:
    useful, _, _ = spec.description.partition("Not for")
    told = [f"{name} {each.get('description', '')}" for name, each in _properties(spec).items()]
    return f"{spec.name.replace('_', ' ')} {spec.title} {SYNONYMS.get(spec.name, '')}", "\n".join([useful, *told])


def _page(heads: Sequence[str], details: Sequence[str]) -> str:
    """Return the found tools, best first, with as many details as the byte limit allows."""
    page, room = [*heads], MOST_BYTES - len("\n".join(heads).encode())
    for place, told in enumerate(details):
        if told and len(told.encode()) <= room:
            page[place] += told
            room -= len(told.encode())
    return "\n".join(page) or NOTHING


def _details(spec: ToolSpec[Any]) -> str:
    useful, _, _ = spec.description.partition(" Not for")
    needed = spec.input_schema.get("required", ())
    lines = [f"- {name}: {_meaning(each, is_needed=name in needed)}" for name, each in _properties(spec).items()]
    return "\n".join([f". {useful}", *lines])


def _meaning(schema: Mapping[str, Any], *, is_needed: bool) -> str:
    parts = ["|".join(map(str, schema["enum"])) if "enum" in schema else str(schema.get("type", "value"))]
    parts += [f"of {each['type']}" for each in [schema.get("items", {})] if "type" in each]
    parts += [f"{schema.get('minimum', '')}..{schema['maximum']}"] if "maximum" in schema else []
    parts += [f"default {schema['default']}"] if "default" in schema else ["required"] if is_needed else []
    parts += [f"({schema['description']})"] if "description" in schema else []
    return " ".join(parts)


def _properties(spec: ToolSpec[Any]) -> dict[str, dict[str, Any]]:
    return cast("dict[str, dict[str, Any]]", spec.input_schema.get("properties", {}))
