"""Identity, instructions and lists of a server, which can be sent before the tools are loaded.

So this module must not import a tool. Tests compare its names with the catalogue, and the stored lists with the output
of `scripts/lists`.
"""

from base64 import b64encode
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from mcp import types
from pydantic_core import from_json

NAME = "mcp-binance-server"
TITLE = "Binance"
DESCRIPTION = "Live Binance markets, account, analyses and charts. Market data needs no key."
WEBSITE = "https://mcp-binance-server.github.io/mcp-binance-server/"
ICON_SIZE = "32x32"
LISTS = "lists.json"
ESSENTIAL, FIND_TOOL, CALL_TOOL = "essential", "find_tool", "call_tool"
"""Names of the profile with few tools, and of its two tools that find and run the others."""

# Extension and media type of MCP Apps. Hosts with this extension show pages next to answers.
APPS = "io.modelcontextprotocol/ui"
APP_TYPE = "text/html;profile=mcp-app"

_SYMBOLS_IN = frozenset({"market", "orders", "analysis"})
_PRIVATE = frozenset({"account", "orders"})


LIVE_DATA = "Live Binance spot data"
SIMULATED_DATA = "SIMULATED Binance spot data, not the real market"
READ_ONLY = "{data}, read only: this server places no orders."
PAPER = (
    "{data}, and PAPER trading: this server matches orders at these prices in a simulated account; no real money is "
    "moved."
)
PRACTICE = (
    "Spot data of Binance's testnet or demo, and PRACTICE trading: that exchange executes the orders, with play "
    "money; no real money is moved."
)
LIVE = "{data}, and LIVE trading with the user's REAL MONEY: orders from place_order execute at Binance."
TRADING = {"paper": PAPER, "practice": PRACTICE, "live": LIVE}
PLACING = (
    " place_order places a preview by its preview_id, only when the user asks for it; get_trading_status lists "
    "what can be traded."
)


def icon() -> types.Icon:
    """Return the icon as a data URL of half a kilobyte, so that clients need no request for it."""
    drawn = files(__package__ or "").joinpath("icon.png").read_bytes()
    return types.Icon(
        src=f"data:image/png;base64,{b64encode(drawn).decode('ascii')}", mime_type="image/png", sizes=[ICON_SIZE]
    )


def instructions(toolsets: AbstractSet[str], *, live: bool, trading: str = "off", simulated: bool = False) -> str:
    """Return the instructions for a client: which tool to start with, by the user's question."""
    is_essential = ESSENTIAL in toolsets
    trades = trading != "off" and bool(toolsets & {"trade", ESSENTIAL})
    data = SIMULATED_DATA if simulated else LIVE_DATA
    told = [(TRADING[trading] if trades else READ_ONLY).format(data=data)]
    if is_essential:
        told.append(
            f"Call get_ticker for a price and get_analysis for a judgement. For a question beyond the listed tools, "
            f"call {FIND_TOOL}, then {CALL_TOOL}. For a chart run construct_chart_config with the user's words, and "
            f"pass its config to generate_chart_image."
        )
    elif "market" in toolsets:
        told.append(
            "Read binance://market/{symbol} for a page on one trading pair, or call get_ticker for the same numbers as "
            "data; search_symbols finds a pair by name."
        )
    if toolsets & {*_PRIVATE, ESSENTIAL} and trading == "off":
        told.append("Account and order data need the user's API key.")
    if toolsets & {"account", ESSENTIAL}:
        told.append("get_portfolio shows the value and the risk of the account.")
    if "orders" in toolsets or (is_essential and trades):
        told.append(f"Check every order with preview_order before proposing it.{PLACING if trades else ''}")
    if "analysis" in toolsets and not is_essential:
        told.append("For a judgement call get_analysis.")
        if live:
            told.append("For the order book and order flow: get_orderbook_metrics and get_order_flow first.")
    if "charts" in toolsets and not is_essential:
        told.append(
            "For a chart pass the user's words to construct_chart_config and its config to generate_chart_image."
        )
    if toolsets & {*_SYMBOLS_IN, ESSENTIAL}:
        told.append("Symbols have no separator: BTCUSDT, not BTC/USDT.")
    told.append("Every answer has the time of its data.")
    if "guide" in toolsets:
        told.append(
            "Playbooks on markets, risk, orders and errors: guide://help or list_guides; an error's `guide` names the "
            "page to read."
        )
    return " ".join(told)


@dataclass(frozen=True, slots=True)
class Lists:
    """The lists of tools, resources, templates and prompts."""

    tools: list[types.Tool]
    resources: list[types.Resource]
    templates: list[types.ResourceTemplate]
    prompts: list[types.Prompt]


def brief(tools: Sequence[types.Tool]) -> list[types.Tool]:
    """Return each tool once, without members that models do not read, such as the schemas of answers."""
    once: dict[str, types.Tool] = {}
    for tool in tools:
        taken = {name: each for name, each in tool.input_schema.items() if name != "additionalProperties"}
        shorter = {"title": None, "input_schema": taken, "output_schema": None}
        once.setdefault(tool.name, tool.model_copy(update=shorter))
    return [*once.values()]


def read_lists(toolsets: AbstractSet[str], *, live: bool, chart_app: bool, trading: bool) -> Lists:
    """Return the lists of a server with these toolsets. The options are those of `Catalogue.only`."""
    is_essential = ESSENTIAL in toolsets
    chosen = {"live": live, "chart_app": chart_app, "trading": trading}
    written: dict[str, list[dict[str, Any]]] = from_json(files(__package__ or "").joinpath(LISTS).read_bytes())

    def wires(kind: str) -> list[dict[str, Any]]:
        return [
            entry["wire"]
            for entry in written[kind]
            if (entry["toolset"] in toolsets or (is_essential and entry.get(ESSENTIAL)))
            and all(entry.get(name, value) == value for name, value in chosen.items())
        ]

    tools = [types.Tool.model_validate(wire) for wire in wires("tools")]
    return Lists(
        brief(tools) if is_essential else tools,
        [types.Resource.model_validate(wire) for wire in wires("resources")],
        [types.ResourceTemplate.model_validate(wire) for wire in wires("templates")],
        [types.Prompt.model_validate(wire) for wire in wires("prompts")],
    )
