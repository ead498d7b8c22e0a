"""What an MCP client sees: tools, resources and prompts, from the catalogue that serves them."""

from collections.abc import Iterable
from typing import Any, get_args

from mcp_binance_server.settings import Toolset
from mcp_binance_server.surface.arguments import plain_schema
from mcp_binance_server.surface.catalogue import CATALOGUE
from mcp_binance_server.surface.spec import PromptSpec, ToolSpec, scope_of
from reference_pages.costs import COSTS
from reference_pages.markdown import code, page, table
from reference_pages.schemas import Field, fields_of

TOOLS = f"""{len(CATALOGUE.tools)} tools, all of them read-only: none places, changes or cancels an order, or moves
anything. Arguments are flat, and one that a tool does not know is refused. Money is decimal text.

**Cost** is the request weight of one call at Binance when nothing of it is known yet, the table of symbols aside (20,
once an hour). Binance allows 6,000 a minute for each IP; the server stops at 90 %. Equal reads within a second share
one request.

**Scope** is what a caller's token must allow over HTTP and gRPC ([who may come in](../hosting.md#who-may-come-in)). A
server offers the groups of `MCP_BINANCE_TOOLSETS`; **live** tools also need `MCP_BINANCE_ORDERBOOK_ANALYTICS`.

Every answer has text and, with the same facts, these fields, which are text where nothing else is said; sentences
of the text that no field says stand in `notes`. A failure has
`success: false` and the fields of [errors](errors.md)."""
OF_A_PAGE = "Answers with bars as that page reads them; what they hold may change with the page."
RESOURCES = """Pages that a client reads by their address, as `text/markdown`. `chart://` pictures are not listed: the
answer of `generate_chart_image` with `storage` names them, and they are kept for an hour. Nor is the page of the
[live chart](../how-to/live-chart.md), `ui://mcp-binance-server/chart-1.html`: the tool's own entry names it.

`binance://market/{symbol}` can be subscribed to where markets are streamed, `binance://orders/open` and
`binance://orders/journal` where orders are placed ([how](../how-to/updates.md)).
No other page tells when it changes."""
PROMPTS = """Guided analyses: a client fills in the arguments, the server computes the page from current data and hands
it to the model. Arguments of MCP prompts are text; numbers are read from it. What a page looks like:
[an example of order flow](../examples/order-flow.md)."""


def tools_page() -> str:
    groups = [name for name in get_args(Toolset) if any(spec.toolset == name for spec in CATALOGUE.tools)]
    listed = [(f"[{code(spec.name)}](#{spec.name})", spec.title) for spec in CATALOGUE.tools]
    parts = [TOOLS, table(("Tool", "What"), listed)]
    for group in groups:
        parts += [f"## {group}", *(_tool(spec) for spec in CATALOGUE.tools if spec.toolset == group)]
    return page("Tools", *parts)


def _tool(spec: ToolSpec[Any]) -> str:
    facts = [f"Scope {code(spec.scope)}", f"Cost {COSTS[spec.name]}"]
    facts += ["live"] if spec.live else []
    facts += [] if spec.open_world else ["asks nobody outside this machine"]
    facts += ["tells its progress"] if spec.slow else []
    facts += ["for the page of the [live chart](../how-to/live-chart.md) alone"] if spec.for_view_only else []
    return "\n\n".join(
        (
            f"### {spec.name}",
            spec.description,
            f"*{' · '.join(facts)}*",
            _arguments(fields_of(spec.input_schema)),
            *([OF_A_PAGE] if spec.for_view_only else _answer(spec.wire.output_schema)),
        )
    )


def _arguments(given: list[Field]) -> str:
    if not given:
        return "No arguments."
    rows = ((code(each.path), each.kind, _default(each), each.meaning) for each in given)
    return table(("Argument", "Type", "Default", "Meaning"), rows)


def _answer(schema: dict[str, Any] | None) -> Iterable[str]:
    """Fields whose names say it all stand in a line, the others in a table."""
    if schema is None:
        yield "Answers with a picture, and with a text that says in JSON what is known of it."
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
        yield _arguments(fields_of(plain_schema(spec.arguments)))
