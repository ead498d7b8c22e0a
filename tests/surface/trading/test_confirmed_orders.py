"""Orders on paper where a person decides each: one yes is one order, and whatever else happens is none."""

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, MCPError, types

from mcp_binance_server.domain.access import SCOPES
from mcp_binance_server.surface.confirm import KEY
from support.asking import CHOSEN, NO, Action, User, willing
from support.holders import Holders
from support.stepped import LiveMarket, live_market, settled
from support.webapp import ENVELOPE, MODERN, assembled, http_client, request

# A thousand with `--scale 4`.
MANY, SESSIONS = 250, 4
SAID: types.InputResponses = {KEY: types.ElicitResult(action="accept", content=dict(CHOSEN))}
WRITTEN = {KEY: {"action": "accept", "content": CHOSEN}}
ORDER = {"symbol": "BTCUSDT", "side": "BUY", "type": "LIMIT", "quantity": "0.01", "price": "60000"}
Told = dict[str, Any]


@asynccontextmanager
async def asking_market(folder: Path) -> AsyncGenerator[LiveMarket]:
    """Serve a market on paper, whose policy has a person decide every order."""
    policy = folder / "trading.toml"
    policy.write_text('[confirm]\nask = "always"\n')
    policy.chmod(0o600)
    environment = {
        "MCP_BINANCE_TRADING": "paper",
        "MCP_BINANCE_TRADING_DIR": str(folder / "journal"),
        "MCP_BINANCE_TRADING_POLICY": str(policy),
    }
    async with live_market(environment=environment) as market:
        await market.run(0.5)
        yield market


def client_of(market: LiveMarket, user: User | None, era: str) -> Client:
    return Client(market.app.server, mode=era, cache=None, elicitation_callback=user and user.answer)


async def previewed(market: LiveMarket) -> str:
    """Return the id of a preview that may be placed."""
    told = await market.answered(lambda: market.client.call_tool("preview_order", ORDER))
    structured: Told = told.structured_content or {}
    return structured["preview_id"]


async def placed(client: Client, preview_id: str) -> Told:
    """Place it, as a client of either era does, and return what it is told."""
    return (await client.call_tool("place_order", {"preview_id": preview_id})).structured_content or {}


async def orders(market: LiveMarket) -> int:
    """Count the orders that stand in the journal, and make sure that the account has as many."""
    told = await market.answered(lambda: market.client.call_tool("get_open_orders", {}))
    structured: Told = told.structured_content or {}
    context = market.app.dispatcher.context_for(None, "trade")
    assert context.trading is not None
    journal = await context.trading.journal(100)
    assert len(journal.intents) == structured["count"]
    return structured["count"]


@pytest.mark.parametrize("sessions", [1, SESSIONS])
async def test_any_number_of_calls_of_one_preview_is_one_order(
    tmp_path: Path, era: str, sessions: int, scale: int
) -> None:
    user, told, many = willing(), list[Told](), MANY * scale
    async with asking_market(tmp_path) as market, AsyncExitStack() as stack:
        clients = [await stack.enter_async_context(client_of(market, user, era)) for _ in range(sessions)]
        preview_id = await previewed(market)

        async def one(client: Client) -> None:
            told.append(await placed(client, preview_id))

        async def all_of_them() -> None:
            async with anyio.create_task_group() as crowd:
                for number in range(many):
                    crowd.start_soon(one, clients[number % sessions])

        await market.answered(all_of_them)
        found = await orders(market)

    assert (found, len(told)) == (1, many)
    assert {(each["outcome"], each["client_order_id"]) for each in told} == {("placed", f"mbp-{preview_id}")}
    assert {each.message for each in user.read} == {user.read[0].message}


@pytest.mark.parametrize(
    ("action", "content"), [("accept", {}), ("accept", {"decision": NO}), ("decline", None), ("cancel", None)]
)
async def test_without_the_exact_choice_there_is_no_order_and_no_second_question(
    tmp_path: Path, era: str, action: Action, content: dict[str, Any] | None
) -> None:
    user = User(action, content)
    async with asking_market(tmp_path) as market, client_of(market, user, era) as client:
        preview_id = await previewed(market)
        first = await market.answered(lambda: placed(client, preview_id))
        user.action, user.content = "accept", dict(CHOSEN)
        second = await market.answered(lambda: placed(client, preview_id))
        found = await orders(market)

    assert [each["error_type"] for each in (first, second)] == ["declined"] * 2
    assert (found, len(user.read)) == (0, 1)


async def test_equal_calls_that_hear_one_no_are_one_no(tmp_path: Path) -> None:
    user, told = User("decline", may=anyio.Event()), list[Told]()
    async with asking_market(tmp_path) as market, client_of(market, user, "legacy") as client:
        preview_id, another = await previewed(market), await previewed(market)

        async def one() -> None:
            told.append(await placed(client, preview_id))

        async with anyio.create_task_group() as crowd:
            for _ in range(5):
                crowd.start_soon(one)
            await user.sees.wait()
            await settled()
            assert user.may is not None
            user.may.set()
        user.action, user.content = "accept", dict(CHOSEN)
        after = await market.answered(lambda: placed(client, another))

    assert ({each["error_type"] for each in told}, len(user.read)) == ({"declined"}, 2)
    assert after["outcome"] == "placed"


async def test_a_no_in_one_session_ends_what_another_is_asked(tmp_path: Path) -> None:
    willing_user, told = willing(may=anyio.Event()), list[Told]()
    async with (
        asking_market(tmp_path) as market,
        client_of(market, willing_user, "legacy") as one,
        client_of(market, User("decline"), "legacy") as other,
    ):
        preview_id = await previewed(market)

        async def asked() -> None:
            told.append(await placed(one, preview_id))

        async with anyio.create_task_group() as group:
            group.start_soon(asked)
            await willing_user.sees.wait()
            told.append(await market.answered(lambda: placed(other, preview_id)))
            assert willing_user.may is not None
            willing_user.may.set()
        found = await orders(market)

    assert [each["error_type"] for each in told] == ["declined"] * 2
    assert found == 0


async def test_a_yes_to_a_preview_that_is_over_by_then_places_nothing(tmp_path: Path) -> None:
    user, told = willing(may=anyio.Event()), list[Told]()
    async with asking_market(tmp_path) as market, client_of(market, user, "legacy") as client:
        preview_id = await previewed(market)

        async def asked() -> None:
            told.append(await placed(client, preview_id))

        async with anyio.create_task_group() as group:
            group.start_soon(asked)
            await user.sees.wait()
            market.clock.advance(121_000)
            assert user.may is not None
            user.may.set()
        found = await orders(market)

    assert ([each["error_type"] for each in told], found) == (["preview_not_found"], 0)


async def test_a_call_that_is_cancelled_while_the_form_is_open_places_nothing(tmp_path: Path) -> None:
    user = willing(may=anyio.Event())
    async with asking_market(tmp_path) as market, client_of(market, user, "legacy") as client:
        preview_id = await previewed(market)
        async with anyio.create_task_group() as group:
            group.start_soon(placed, client, preview_id)
            await user.sees.wait()
            group.cancel_scope.cancel()
        assert user.may is not None
        user.may.set()
        before = await orders(market)
        again = await market.answered(lambda: placed(client, preview_id))
        after = await orders(market)

    assert (before, again["outcome"], after) == (0, "placed", 1)


async def test_a_replayed_round_is_the_same_order_and_another_orders_is_refused(tmp_path: Path) -> None:
    async with asking_market(tmp_path) as market, client_of(market, User(), "auto") as client:
        preview_id, another = await previewed(market), await previewed(market)
        first = await market.answered(lambda: client.session.call_tool(*call(preview_id), allow_input_required=True))
        assert isinstance(first, types.InputRequiredResult)
        state = first.request_state or ""

        async def answered(about: str, state: str) -> Told:
            told = await client.session.call_tool(*call(about), input_responses=SAID, request_state=state)
            return told.structured_content or {}

        for wrong in ((another, state), (preview_id, f"{state[:-2]}AA")):
            with pytest.raises(MCPError) as caught:
                await answered(*wrong)
            assert caught.value.code == types.INVALID_PARAMS
        before = await orders(market)
        told = [await market.answered(lambda: answered(preview_id, state)) for _ in range(5)]
        after = await orders(market)

    assert (before, after) == (0, 1)
    assert {each["client_order_id"] for each in told} == {f"mbp-{preview_id}"}


def call(preview_id: str) -> tuple[str, dict[str, str]]:
    return "place_order", {"preview_id": preview_id}


async def test_a_client_that_cannot_ask_places_nothing(tmp_path: Path, era: str) -> None:
    async with asking_market(tmp_path) as market, client_of(market, None, era) as client:
        preview_id = await previewed(market)
        told = await market.answered(lambda: placed(client, preview_id))
        found = await orders(market)

    assert (told["error_type"], found) == ("approval_impossible", 0)


async def test_what_one_holder_previewed_and_was_asked_is_no_others(tmp_path: Path) -> None:
    holders = Holders(tmp_path / "tokens", "alice", "mallory", scopes=SCOPES)
    async with (
        asking_market(tmp_path) as market,
        assembled(market.app, authentication=holders.authentication(market.clock)) as http,
        http_client(http) as client,
    ):

        async def asked(holder: str, name: str, arguments: Told, **rounds: object) -> Told:
            meta: Told = {**ENVELOPE, "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}}}
            message = request("tools/call", {"name": name, "arguments": arguments, "_meta": meta, **rounds})
            headers = {"mcp-protocol-version": MODERN, "mcp-method": "tools/call", "mcp-name": name}
            answer = await market.answered(
                lambda: client.post("/mcp", json=message, headers={**headers, **holders.bearer(holder)})
            )
            return answer.json()

        mine = (await asked("alice", "preview_order", ORDER))["result"]["structuredContent"]["preview_id"]
        first = await asked("alice", *call(mine))
        rounds = {"inputResponses": WRITTEN, "requestState": first["result"]["requestState"]}
        unknown, stolen = await asked("mallory", *call(mine)), await asked("mallory", *call(mine), **rounds)
        owned = await asked("alice", *call(mine), **rounds)

    assert unknown["result"]["structuredContent"]["error_type"] == "preview_not_found"
    assert stolen["error"]["code"] == types.INVALID_PARAMS
    assert owned["result"]["structuredContent"]["outcome"] == "placed"
