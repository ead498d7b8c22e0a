"""Who the server says it is, and what it tells a model to begin with: only what it offers."""

import base64
import json
import re
from itertools import chain, combinations

import pytest
from mcp import Client

from mcp_binance_server import __version__
from mcp_binance_server.surface.catalogue import CATALOGUE, Catalogue
from mcp_binance_server.surface.greeting import DESCRIPTION, WEBSITE, instructions
from support.process import Process
from support.requirement import requirement

GROUPS = ("market", "account", "orders", "analysis", "charts", "guide")
CHOICES = [frozenset(each) for each in chain.from_iterable(combinations(GROUPS, n) for n in range(1, 7))]


def named(text: str) -> tuple[set[str], set[str]]:
    """Return the tools and prompts, and the addresses, that a text names."""
    return set(re.findall(r"\b[a-z]+(?:_[a-z]+)+\b", text)), set(re.findall(r"(?:binance|guide)://[\w{}/]+", text))


def offered(catalogue: Catalogue) -> tuple[set[str], set[str]]:
    names = {spec.name for spec in (*catalogue.tools, *catalogue.prompts)}
    return names, {
        *(spec.uri for spec in catalogue.resources),
        *(spec.uri_template for spec in catalogue.templates),
    }


@pytest.mark.parametrize("live", [True, False])
@pytest.mark.parametrize("toolsets", CHOICES, ids=lambda chosen: "+".join(sorted(chosen)))
def test_the_instructions_name_only_what_is_offered(toolsets: frozenset[str], *, live: bool) -> None:
    names, addresses = offered(CATALOGUE.only(toolsets, live=live))

    told_names, told_addresses = named(instructions(toolsets, live=live))

    assert told_names <= names
    assert told_addresses <= addresses
    assert told_names | told_addresses


async def test_a_client_hears_the_instructions_of_all_toolsets(client: Client) -> None:
    assert client.instructions == instructions(frozenset(GROUPS), live=True)
    assert len(client.instructions or "") < 1_100


@requirement("ruling/03")
async def test_a_client_can_show_who_the_server_is(client: Client) -> None:
    info = client.server_info
    assert info is not None
    assert (info.title, info.description, info.website_url) == ("Binance", DESCRIPTION, WEBSITE)
    (shown,) = info.icons or []
    drawn = base64.b64decode(shown.src.removeprefix("data:image/png;base64,"), validate=True)
    assert drawn.startswith(b"\x89PNG\r\n\x1a\n")
    assert (shown.mime_type, shown.sizes) == ("image/png", ["32x32"])


def test_an_answer_names_its_server_without_the_icon() -> None:
    with Process("demo", warm=True) as server:
        discovered = server.ask(1, "server/discover", {}, modern=True)["result"]["_meta"]
        answered = server.ask(2, "tools/call", {"name": "get_server_time", "arguments": {}}, modern=True)["result"]
        server.close_input()

    stamp = "io.modelcontextprotocol/serverInfo"
    assert discovered[stamp]["icons"]
    assert answered["_meta"][stamp] == {"name": "mcp-binance-server", "version": __version__}


def test_a_demo_offers_the_toolsets_it_is_told_and_says_no_more() -> None:
    with Process("demo", "--quiet", environment={"MCP_BINANCE_TOOLSETS": "market,charts"}, warm=True) as demo:
        told = demo.shake_hands()["result"]["instructions"]
        listed = demo.ask(2, "tools/list", {})["result"]["tools"]

    assert {tool["name"] for tool in listed} == {
        spec.name for spec in CATALOGUE.tools if spec.toolset in {"market", "charts"}
    }
    assert told == instructions(frozenset({"market", "charts"}), live=True, simulated=True)
    assert told.startswith("SIMULATED Binance spot data, not the real market, ")


def test_on_a_pipe_the_greeting_is_small_and_says_what_the_settings_offer() -> None:
    settings = {"MCP_BINANCE_TOOLSETS": "analysis,guide", "MCP_BINANCE_ORDERBOOK_ANALYTICS": "false"}
    with Process(environment=settings, warm=True) as server:
        few = server.shake_hands()["result"]["instructions"]
    with Process(warm=True) as server:
        everything = server.shake_hands()["result"]

    assert few == instructions(frozenset({"analysis", "guide"}), live=False)
    assert everything["instructions"] == instructions(frozenset(GROUPS), live=True)
    assert len(json.dumps(everything)) < 2_500
