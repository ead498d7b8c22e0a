"""Reference pages of tools, resources and prompts, generated from the server's catalogue."""

from collections.abc import Iterable
from textwrap import fill
from typing import Any, get_args

from mcp_binance_server.settings import Toolset
from mcp_binance_server.surface.arguments import plain_schema
from mcp_binance_server.surface.catalogue import CATALOGUE
from mcp_binance_server.surface.greeting import CALL_TOOL, ESSENTIAL, FIND_TOOL
from mcp_binance_server.surface.spec import PromptSpec, ToolSpec, scope_of
from mcp_binance_server.surface.tools.essential import LISTED, RUNNABLE, WITH_TRADING
from mcp_binance_server.surface.tools.trading.toolset import TRADE_TOOLS
from reference_pages.costs import COSTS
from reference_pages.markdown import code, page, table
from reference_pages.schemas import Field, fields_of

TOOLS = f"""{len(CATALOGUE.tools)} read-only tools, and {len(TRADE_TOOLS)} trading tools that are offered only with
`MCP_BINANCE_TRADING`. Arguments are flat; an unknown argument is refused. Money is decimal text.

**Cost** is the request weight of one cold call at Binance, without the table of symbols (20, once an hour). Binance
allows 6,000 a minute for each IP; the server stops at 90 %. Equal reads within a second share one request.

**Scope** is the permission that a caller's token needs over HTTP and gRPC
([scopes](../hosting.md#who-may-come-in)). `MCP_BINANCE_TOOLSETS` selects groups; **live** tools also need
`MCP_BINANCE_ORDERBOOK_ANALYTICS`. The profile [`essential`](#essential) lists few tools and finds the others.

Every answer has text, and the same facts as fields; fields without a type are text. Sentences without a field of
their own are in `notes`. A failure has `success: false` and the fields of [errors](errors.md)."""
PROFILE = """`MCP_BINANCE_TOOLSETS=essential` lists {listed} and the two tools below. With trading it also lists
{with_trading} and the trading tools. `essential,charts` lists all tools of the group `charts` as well. The list has no
titles and no schemas of answers.

`call_tool` runs only read-only tools of public data, of the groups {runnable}. A client's "always allow" for it never
covers an account, an order or a playbook: those tools are listed under their own names, or not offered. Limits, shares,
logs and traces are those of the tool that it runs."""
FOUND = "Answers with text: names of tools and how to call them, with the arguments of those for `call_tool`."
OF_INNER = "Answers as the tool that it runs."
OF_A_PAGE = "Answers with bars for that page; their shape can change with the page."
OWN_ANSWERS = {"get_chart_bars": [OF_A_PAGE], FIND_TOOL: [FOUND], CALL_TOOL: [OF_INNER]}
RESOURCES = """Pages that a client reads by address, as `text/markdown`. Two kinds are not listed: `chart://`
pictures, whose address is in the answer of `generate_chart_image` with `storage` and which are kept for an hour, and
the page of the [live chart](../how-to/live-chart.md), `ui://mcp-binance-server/chart-1.html`, which the tool's entry
names.

Clients can subscribe to `binance://market/{symbol}` with streamed markets, and to `binance://orders/open` and
`binance://orders/journal` with trading ([updates](../how-to/updates.md))."""
PROMPTS = """Guided analyses. A client fills in the arguments; the server computes the page from current data for the
model. Arguments of MCP prompts are text; numbers are parsed from it. [An example](../examples/order-flow.md)."""


def tools_page() -> str:
    tools = (*CATALOGUE.tools, *TRADE_TOOLS)
    own = [spec for spec in CATALOGUE.only({ESSENTIAL}).tools if spec.toolset == ESSENTIAL]
    groups = [name for name in get_args(Toolset) if any(spec.toolset == name for spec in tools)]
    listed = [(f"[{code(spec.name)}](#{spec.name})", spec.title) for spec in (*tools, *own)]
    parts = [TOOLS, table(("Tool", "Title"), listed)]
    for group in groups:
        parts += [f"## {group}", *(_tool(spec) for spec in tools if spec.toolset == group)]
    parts += [f"## {ESSENTIAL}", _profile(), *map(_tool, own)]
    return page("Tools", *parts)


def _profile() -> str:
    names = {"listed": LISTED, "with_trading": WITH_TRADING, "runnable": RUNNABLE}
    text = PROFILE.format(**{kind: ", ".join(map(code, sorted(each))) for kind, each in names.items()})
    return "\n\n".join(fill(each, 120, break_on_hyphens=False) for each in text.split("\n\n"))


def _tool(spec: ToolSpec[Any]) -> str:
    facts = [f"Scope {code(spec.scope)}"]
    facts += [f"Cost {COSTS[spec.name]}"] if spec.name in COSTS else []
    facts += [] if spec.read_only else ["changes something"]
    facts += ["live"] if spec.live else []
    facts += [] if spec.open_world else ["local only"]
    facts += ["reports progress"] if spec.slow else []
    facts += ["only for the page of the [live chart](../how-to/live-chart.md)"] if spec.for_view_only else []
    return "\n\n".join(
        (
            f"### {spec.name}",
            spec.description,
            f"*{' · '.join(facts)}*",
            _arguments(fields_of(spec.input_schema)),
            *(OWN_ANSWERS.get(spec.name) or _answer(spec.wire.output_schema)),
        )
    )


def _arguments(given: list[Field]) -> str:
    if not given:
        return "No arguments."
    rows = ((code(each.path), each.kind, _default(each), each.meaning) for each in given)
    return table(("Argument", "Type", "Default", "Meaning"), rows)


def _answer(schema: dict[str, Any] | None) -> Iterable[str]:
    """List fields without an explanation on one line, and all others in a table."""
    if schema is None:
        yield "Answers with a picture, and a text with its properties as JSON."
        return
    fields = [each for each in fields_of(schema) if each.path != "success"]
    plain = [each for each in fields if not each.meaning]
    if plain:
        yield f"Answers {', '.join(code(each.path) + _aside(each.kind) for each in plain)}."
    if explained := [(code(each.path), each.kind, each.meaning) for each in fields if each.meaning]:
        yield table(("Answer", "Type", "Meaning"), explained)


def _aside(kind: str) -> str:
    return "" if kind == "text" else f" ({kind})"


def _default(given: Field) -> str:
    return "**required**" if given.is_required else given.default


def resources_page() -> str:
    fixed = ((code(each.uri), each.description, code(scope_of(each.toolset))) for each in CATALOGUE.resources)
    families = (
        (code(each.uri_template), each.description, code(scope_of(each.toolset))) for each in CATALOGUE.templates
    )
    head = ("Address", "Page", "Scope")
    return page("Resources", RESOURCES, "## Fixed addresses", table(head, fixed), "## Templates", table(head, families))


def prompts_page() -> str:
    return page("Prompts", PROMPTS, *_prompts(CATALOGUE.prompts))


def _prompts(specs: Iterable[PromptSpec[Any]]) -> Iterable[str]:
    for spec in specs:
        live = " · live" if spec.live else ""
        yield f"## {spec.name}"
        yield spec.description
        yield f"*Scope {code(spec.scope)}{live}*"
        given = [each for each in fields_of(plain_schema(spec.arguments)) if each.path not in spec.tool_only]
        yield _arguments(given)
