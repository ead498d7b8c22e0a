"""A form that is open while a call waits: who leaves, cancels or cannot show it has agreed to nothing."""

import json
from typing import Any

import anyio
import httpx2
import pytest
from mcp import Client, MCPError, types

from mcp_binance_server.app import App
from support.asking import HANDSHAKE, Connect, Effects, User, outcome_of, willing
from support.provider import provided
from support.webapp import ENVELOPE, MODERN, HttpClient, assembled, http_client, initialize, request

# More than a pipe takes in hand while nothing is asked.
MANY = 50
CALL: dict[str, Any] = {"name": "place_thing", "arguments": {"thing": "one"}}
each = pytest.mark.parametrize("connect", [pytest.param(connect, id=name) for name, connect in HANDSHAKE.items()])


@pytest.fixture
def effects() -> Effects:
    return Effects()


@each
async def test_a_call_that_is_cancelled_while_the_form_is_open_does_nothing(
    app: App, effects: Effects, connect: Connect
) -> None:
    may = anyio.Event()
    user = willing(may=may)

    async with connect(effects.offered_by(app), user) as client:
        async with anyio.create_task_group() as group:
            group.start_soon(outcome_of, client)
            await user.sees.wait()
            group.cancel_scope.cancel()
        may.set()
        await client.list_tools()
        before = [*effects.done]
        again = await outcome_of(client)

    assert (before, again, effects.done) == ([], "done", ["one"])


@pytest.mark.parametrize("way", ["memory, handshake", "http, handshake", "stdio, handshake"])
async def test_a_client_that_leaves_while_the_form_is_open_has_agreed_to_nothing(
    app: App, effects: Effects, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcp_binance_server.transports.stdio.DRAIN_SECS", 0.1)
    user = willing(may=anyio.Event())

    with anyio.fail_after(20):
        async with anyio.create_task_group() as group, HANDSHAKE[way](effects.offered_by(app), user) as client:
            group.start_soon(in_vain, client)
            await user.sees.wait()

    assert effects.done == []


async def in_vain(client: Client) -> None:
    with pytest.raises(MCPError):
        await outcome_of(client)


@each
async def test_a_client_that_cannot_show_the_form_after_all_has_answered_nothing(
    app: App, effects: Effects, connect: Connect
) -> None:
    async with connect(effects.offered_by(app), Broken()) as client:
        outcome = await outcome_of(client)

    assert (outcome, effects.done) == ("impossible", [])


class Broken(User):
    """A client that declares forms and has none."""

    async def answer(self, context: object, params: types.ElicitRequestParams) -> types.ElicitResult:
        await super().answer(context, params)
        raise MCPError(types.METHOD_NOT_FOUND, "Method not found")


@each
async def test_equal_calls_of_a_connection_show_one_form(app: App, effects: Effects, connect: Connect) -> None:
    user = willing(may=anyio.Event())
    outcomes: list[str] = []

    async def one(client: Client) -> None:
        outcomes.append(await outcome_of(client))

    async with connect(effects.offered_by(app), user) as client, anyio.create_task_group() as crowd:
        for _ in range(MANY):
            crowd.start_soon(one, client)
        await user.sees.wait()
        await client.list_tools()  # by now all of them wait
        assert user.may is not None
        user.may.set()

    assert (outcomes, effects.done, len(user.read)) == (["done"] * MANY, ["one"], 1)


async def test_when_the_call_that_showed_the_form_is_cancelled_the_others_have_no_answer(
    app: App, effects: Effects
) -> None:
    user = willing(may=anyio.Event())
    outcomes: list[str] = []

    async def other(client: Client) -> None:
        outcomes.append(await outcome_of(client))

    connected = HANDSHAKE["memory, handshake"](effects.offered_by(app), user)
    async with connected as client, anyio.create_task_group() as waiting, anyio.create_task_group() as first:
        first.start_soon(outcome_of, client)
        await user.sees.wait()
        waiting.start_soon(other, client)
        await client.list_tools()
        first.cancel_scope.cancel()

    assert (outcomes, effects.done) == (["unanswered"], [])


async def test_while_the_form_is_open_the_client_hears_that_the_call_goes_on(
    app: App, effects: Effects, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcp_binance_server.surface.caller.BEAT_SECS", 0.01)
    may = anyio.Event()
    heard: list[tuple[float, float | None, str | None]] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        heard.append((progress, total, message))
        may.set()

    async with HANDSHAKE["http, handshake"](effects.offered_by(app), willing(may=may)) as client:
        await client.call_tool("place_thing", {"thing": "one"}, progress_callback=hear)

    assert heard[0] == (1, None, "Waiting for the user's decision")
    assert effects.done == ["one"]


DECLARED: list[tuple[dict[str, Any], bool]] = [
    ({}, False),
    ({"elicitation": {}}, True),
    ({"elicitation": {"form": {}}}, True),
    ({"elicitation": {"url": {}}}, False),
    ({"elicitation": {"form": {}, "url": {}}}, True),
]


async def opened(client: HttpClient, declared: dict[str, Any]) -> str:
    """Open a session of a client that declares this."""
    hello = initialize()
    hello["params"]["capabilities"] = declared
    session_id = (await client.post("/mcp", json=hello)).headers["mcp-session-id"]
    await client.ask("notifications/initialized", session_id, request_id=None)
    return session_id


async def alone(client: HttpClient, declared: dict[str, Any]) -> httpx2.Response:
    """Make a call that belongs to no session, of a client that declares this."""
    meta = {**ENVELOPE, "io.modelcontextprotocol/clientCapabilities": declared}
    headers = {"mcp-protocol-version": MODERN, "mcp-method": "tools/call", "mcp-name": CALL["name"]}
    return await client.post("/mcp", json=request("tools/call", {**CALL, "_meta": meta}), headers=headers)


@pytest.mark.parametrize(("declared", "is_asked"), DECLARED)
async def test_only_who_declares_forms_is_asked(
    app: App, effects: Effects, declared: dict[str, Any], *, is_asked: bool
) -> None:
    async with assembled(effects.offered_by(app, ask_secs=0.2)) as http, http_client(http) as client:
        session_id = await opened(client, declared)
        handshake = await client.ask("tools/call", session_id, CALL)
        modern = await alone(client, declared)

    assert ("elicitation/create" in handshake.text) == is_asked
    assert (modern.json()["result"].get("resultType") == "input_required") == is_asked
    assert effects.done == []


async def test_who_takes_no_events_is_asked_nothing(app: App, effects: Effects) -> None:
    async with assembled(effects.offered_by(app)) as http, http_client(http) as client:
        session_id = await opened(client, {"elicitation": {}})
        told = await client.ask("tools/call", session_id, CALL, accept="application/json")

    assert told.json()["result"]["structuredContent"]["outcome"] == "impossible"


async def test_over_grpc_nobody_is_asked(app: App, effects: Effects) -> None:
    async with provided(effects.offered_by(app).dispatcher) as provider:
        told = await provider.invoke("place_thing", {"thing": "one"})

    assert json.loads(told.structured_json)["outcome"] == "impossible"
