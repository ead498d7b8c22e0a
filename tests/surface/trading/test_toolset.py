"""What is offered where orders can be placed, what it costs a client, and that nothing of it is there otherwise."""

import json
from hashlib import sha256
from pathlib import Path
from typing import Any, get_args

import pytest
from mcp import Client, MCPError

from mcp_binance_server.domain.access import Scope, Vault, Visitor
from mcp_binance_server.errors import InsufficientScope
from mcp_binance_server.exchange.signing import Principal
from mcp_binance_server.setting_types import Toolset
from mcp_binance_server.surface.caller import Caller
from mcp_binance_server.surface.catalogue import CATALOGUE, Catalogue
from mcp_binance_server.surface.greeting import instructions
from support.golden import Golden
from support.paper import RESTING, SYMBOL, paper_trader
from support.provider import provided

EVERYTHING = frozenset(get_args(Toolset))
OFF, ON = CATALOGUE.only(EVERYTHING), CATALOGUE.only(EVERYTHING, trading=True)
TRADE = ("place_order", "cancel_order", "cancel_all_orders", "get_trading_status", "stop_trading")
JOURNAL = "binance://orders/journal"
# Every list and the greeting as they were before anything could be placed. It changes with a golden file, not without.
BEFORE = "9a0d0519d3b3fc13226a79a249c307ac0bc04d8574042851a1feeb111cc32cc5"


def listed(catalogue: Catalogue) -> list[dict[str, Any]]:
    kinds = (catalogue.tools, catalogue.resources, catalogue.templates, catalogue.prompts)
    return [spec.wire.model_dump(by_alias=True, mode="json", exclude_none=True) for each in kinds for spec in each]


def size(catalogue: Catalogue, groups: frozenset[str] = EVERYTHING) -> int:
    tools = [spec for spec in catalogue.tools if spec.toolset in groups]
    told = [spec.wire.model_dump(by_alias=True, mode="json", exclude_none=True) for spec in tools]
    return len(json.dumps(told, separators=(",", ":"), ensure_ascii=False).encode())


def test_off_is_byte_for_byte_what_it_was() -> None:
    told = json.dumps([*listed(OFF), instructions(EVERYTHING, live=True)]).encode()

    assert sha256(told).hexdigest() == BEFORE


def test_trading_adds_little_to_the_list() -> None:
    added = size(ON) - size(OFF)

    assert 4_000 < added <= 6_500
    assert size(ON, frozenset({"market", "account", "orders", "trade"})) <= 31_000


def test_every_tool_that_trading_brings_is_listed_as_reviewed(golden: Golden) -> None:
    brought = [spec for spec in ON.tools if spec not in OFF.tools]

    assert {spec.name for spec in brought} == {*TRADE, "preview_order", "get_order"}
    for spec in brought:
        golden.check(
            f"tools/paper/{spec.name}.json", spec.wire.model_dump(by_alias=True, mode="json", exclude_none=True)
        )
        assert "Not for" in spec.description
        assert len(spec.description) < 400


def test_hints_say_what_a_tool_can_do() -> None:
    hints = {
        spec.name: (each.read_only_hint, each.destructive_hint, each.idempotent_hint, each.open_world_hint)
        for spec in ON.tools
        if spec.name in (*TRADE, "preview_order") and (each := spec.wire.annotations) is not None
    }

    assert hints == {
        "preview_order": (True, None, None, None),
        "place_order": (False, True, True, None),
        "cancel_order": (False, True, True, None),
        "cancel_all_orders": (False, True, True, None),
        "get_trading_status": (True, None, None, False),
        "stop_trading": (False, False, True, False),
    }


def test_what_writes_needs_the_scope_and_what_reads_does_not() -> None:
    scopes = {spec.name: spec.scope for spec in ON.tools if spec.name in TRADE}

    assert {name for name, scope in scopes.items() if scope == "trade"} == {*TRADE} - {"get_trading_status"}
    assert scopes["get_trading_status"] == "account:read"


@pytest.mark.parametrize("toolsets", [EVERYTHING, EVERYTHING - {"trade"}, frozenset({"trade"})])
def test_without_trading_or_its_toolset_nothing_trades(toolsets: frozenset[str]) -> None:
    off, on = CATALOGUE.only(toolsets), CATALOGUE.only(toolsets, trading=True)

    assert not {spec.name for spec in off.tools} & {*TRADE}
    assert JOURNAL not in {spec.uri for spec in off.resources}
    assert {spec.name for spec in on.tools} >= ({*TRADE} if "trade" in toolsets else set())
    if "trade" not in toolsets:
        assert listed(on) == listed(off)


async def test_off_knows_neither_the_tools_nor_the_journal(client: Client) -> None:
    for name in TRADE:
        with pytest.raises(MCPError, match="Unknown tool"):
            await client.call_tool(name, {"preview_id": "a" * 20})
    with pytest.raises(MCPError, match="Resource not found"):
        await client.read_resource(JOURNAL)
    tried = await client.call_tool("preview_order", {"symbol": SYMBOL, "side": "BUY", "quantity": "1", "price": "1"})
    assert "preview_id" not in (tried.structured_content or {})


def test_the_greeting_says_the_mode_and_names_only_what_is_offered() -> None:
    told = instructions(EVERYTHING, live=True, trading="paper")

    assert "PAPER trading" in told
    assert "no real money is moved" in told
    assert "read only" not in told
    assert "API key" not in told
    assert {"place_order", "preview_order", "get_trading_status"} <= {*told.replace(";", "").split()}
    assert len(told) < 1_400
    assert "place_order" not in instructions(EVERYTHING - {"trade"}, live=True, trading="paper")


@pytest.mark.parametrize(
    ("mode", "said", "not_said"),
    [
        ("practice", ("PRACTICE", "no real money"), ("LIVE", "PAPER")),
        ("live", ("LIVE", "REAL MONEY"), ("PAPER", "no real")),
    ],
)
def test_the_greeting_tells_play_money_from_money(mode: str, said: tuple[str, ...], not_said: tuple[str, ...]) -> None:
    told = instructions(EVERYTHING, live=True, trading=mode)

    assert all(each in told for each in said)
    assert not any(each in told for each in (*not_said, "read only"))
    assert len(told) < 1_400


@pytest.mark.slow
async def test_grpc_offers_nothing_that_trades_or_leads_to_it(tmp_path: Path) -> None:
    async with paper_trader(tmp_path) as trader, provided(trader.market.app.dispatcher) as provider:
        offered = {tool.name for tool in (await provider.capabilities()).tools}
        tried = await provider.invoke("preview_order", RESTING)

    assert not offered & {*TRADE}
    assert {"preview_order", "get_order"} <= offered
    assert "preview_id" not in json.loads(tried.structured_json)
    assert tried.text.startswith("PAPER: a paper account, no real money.")


def caller(name: str, *scopes: Scope) -> Caller:
    return Caller(Visitor(name, frozenset(scopes)), Vault[Principal]())


@pytest.mark.slow
async def test_a_token_without_the_scope_neither_places_nor_cancels_nor_stops(tmp_path: Path) -> None:
    async with paper_trader(tmp_path) as trader:
        ask = trader.market.app.dispatcher.call_tool
        reader = caller("reader", "market:read", "account:read")
        for name in TRADE[:3] + TRADE[4:]:
            with pytest.raises(InsufficientScope):
                await ask(reader, name, {})
        status = await ask(reader, "get_trading_status", {})

    assert not status.is_error


@pytest.mark.slow
async def test_what_one_visitor_previewed_and_holds_another_does_not_see(tmp_path: Path) -> None:
    async with paper_trader(tmp_path) as trader:
        ask, answered = trader.market.app.dispatcher.call_tool, trader.market.answered
        first, second = (caller(name, "market:read", "account:read", "trade") for name in ("one", "other"))
        shown = (await answered(lambda: ask(first, "preview_order", RESTING))).structured_content
        stolen = await answered(lambda: ask(second, "place_order", {"preview_id": shown["preview_id"]}))
        placed = await answered(lambda: ask(first, "place_order", {"preview_id": shown["preview_id"]}))
        asked_for = await answered(lambda: ask(second, "place_order", {"preview_id": shown["preview_id"]}))
        named = {"symbol": SYMBOL, "client_order_id": placed.structured_content["client_order_id"]}
        looked = await answered(lambda: ask(second, "get_order", named))
        cancelled = await answered(lambda: ask(second, "cancel_order", named))
        own = await answered(lambda: ask(first, "get_open_orders", {}))
        others = await answered(lambda: ask(second, "get_open_orders", {}))

    assert stolen.structured_content["error_type"] == asked_for.structured_content["error_type"] == "preview_not_found"
    assert stolen.structured_content["error"] == asked_for.structured_content["error"]
    assert looked.is_error
    assert cancelled.is_error
    assert (own.structured_content["count"], others.structured_content["count"]) == (1, 0)
