"""A question of 2026-07-28 travels sealed: it belongs to one caller, one tool, one thing and one sentence."""

from pathlib import Path

import pytest
from mcp import Client, MCPError, types

from mcp_binance_server.app import App
from mcp_binance_server.surface.confirm import KEY
from support.asking import CHOSEN, ROUNDS, Connect, Effects, User, holding, willing
from support.clock import FakeClock
from support.holders import Holders
from support.webapp import served_http

SAID: types.InputResponses = {KEY: types.ElicitResult(action="accept", content=dict(CHOSEN))}
Ended = types.CallToolResult | types.InputRequiredResult
each = pytest.mark.parametrize("connect", [pytest.param(connect, id=name) for name, connect in ROUNDS.items()])


async def call(
    client: Client,
    state: str | None = None,
    said: types.InputResponses | None = None,
    *,
    thing: str = "one",
    tool: str = "place_thing",
) -> Ended:
    """Make one round of a call."""
    arguments = {"thing": thing}
    return await client.session.call_tool(
        tool, arguments, input_responses=said, request_state=state, allow_input_required=True
    )


async def begun(client: Client) -> str:
    """Make the first round and return its sealed state."""
    first = await call(client)
    assert isinstance(first, types.InputRequiredResult)
    assert first.request_state
    return first.request_state


def outcome(ended: Ended) -> str:
    assert isinstance(ended, types.CallToolResult)
    return ended.structured_content["outcome"]


async def is_refused(client: Client, state: str, *, thing: str = "one", tool: str = "place_thing") -> None:
    with pytest.raises(MCPError) as caught:
        await call(client, state, SAID, thing=thing, tool=tool)

    assert caught.value.code == types.INVALID_PARAMS
    assert caught.value.data == {"reason": "invalid_request_state"}


@pytest.fixture
def effects() -> Effects:
    return Effects()


@each
async def test_the_first_round_carries_the_question_and_nothing_that_a_client_can_read_or_write(
    app: App, effects: Effects, connect: Connect
) -> None:
    async with connect(effects.offered_by(app), User()) as client:
        first = await call(client)

    assert isinstance(first, types.InputRequiredResult)
    assert first.input_requests == {KEY: types.ElicitRequest(params=effects.question("one").form)}
    assert "BTCUSDT" not in (first.request_state or "BTCUSDT")
    assert effects.done == []


@each
async def test_a_round_that_is_replayed_has_one_effect(app: App, effects: Effects, connect: Connect) -> None:
    async with connect(effects.offered_by(app), User()) as client:
        state = await begun(client)
        ended = [outcome(await call(client, state, SAID)) for _ in range(5)]

    assert (ended, effects.done) == (["done"] * 5, ["one"])


@pytest.mark.parametrize("keys", [(b"k" * 32, b"k" * 32), (b"k" * 32, b"l" * 32), (b"k" * 32, None)])
async def test_a_question_of_one_server_is_finished_by_another_that_has_its_key(
    app: App, effects: Effects, keys: tuple[bytes, bytes | None]
) -> None:
    asking, answering = (effects.offered_by(app, round_key=key) for key in keys)
    connect = ROUNDS["memory, 2026-07-28"]
    async with connect(asking, User()) as first, connect(answering, User()) as second:
        state = await begun(first)
        if keys[0] == keys[1]:
            assert outcome(await call(second, state, SAID)) == "done"
        else:
            await is_refused(second, state)

    assert effects.done == (["one"] if keys[0] == keys[1] else [])


@each
async def test_an_answer_counts_only_with_its_question(app: App, effects: Effects, connect: Connect) -> None:
    async with connect(effects.offered_by(app), User()) as client:
        state = await begun(client)
        unasked, unanswered = await call(client, said=SAID), await call(client, state)
        elsewhere = await call(client, state, {"other": SAID[KEY]})

    assert {type(each) for each in (unasked, unanswered, elsewhere)} == {types.InputRequiredResult}
    assert effects.done == []


async def test_what_is_no_answer_to_a_form_is_a_no(app: App, effects: Effects) -> None:
    async with ROUNDS["memory, 2026-07-28"](effects.offered_by(app), User()) as client:
        state = await begun(client)
        ended = outcome(await call(client, state, {KEY: types.ListRootsResult(roots=[])}))

    assert (ended, effects.done) == ("declined", [])


async def test_a_yes_to_another_sentence_is_asked_for_again(app: App, effects: Effects) -> None:
    async with ROUNDS["memory, 2026-07-28"](effects.offered_by(app), User()) as client:
        state = await begun(client)
        effects.price = "99,000.00"
        again = await call(client, state, SAID)

    assert isinstance(again, types.InputRequiredResult)
    assert effects.done == []


@each
async def test_a_round_is_good_for_no_other_thing_and_no_other_tool(
    app: App, effects: Effects, connect: Connect
) -> None:
    async with connect(effects.offered_by(app), User()) as client:
        state = await begun(client)
        await is_refused(client, state, thing="two")
        await is_refused(client, state, tool="cancel_thing")

    assert effects.done == []


@pytest.mark.slow
async def test_no_byte_of_a_round_can_be_changed(app: App, effects: Effects) -> None:
    async with ROUNDS["memory, 2026-07-28"](effects.offered_by(app), User()) as client:
        state = await begun(client)
        for at, letter in enumerate(state):
            await is_refused(client, f"{state[:at]}{'A' if letter != 'A' else 'B'}{state[at + 1 :]}")
        for cut in ("", state[:-1], f"{state}A", effects.question("one").state):
            await is_refused(client, cut)

    assert effects.done == []


async def test_a_round_of_another_process_is_refused(app: App, effects: Effects) -> None:
    connect = ROUNDS["memory, 2026-07-28"]
    async with connect(effects.offered_by(app), User()) as client:
        state = await begun(client)

    async with connect(effects.offered_by(app), User()) as client:
        await is_refused(client, state)

    assert effects.done == []


async def test_a_round_that_is_over_is_refused(app: App, effects: Effects, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mcp_binance_server.surface.confirm.ROUND_SECS", 1e-6)

    async with ROUNDS["memory, 2026-07-28"](effects.offered_by(app), User()) as client:
        await is_refused(client, await begun(client))

    assert effects.done == []


async def test_a_stolen_round_is_refused_and_still_its_owners(
    app: App, effects: Effects, clock: FakeClock, tmp_path: Path
) -> None:
    holders = Holders(tmp_path / "tokens", "alice", "mallory")
    offered = effects.offered_by(app)

    async with (
        served_http(offered, authentication=holders.authentication(clock)) as url,
        holding(url, holders.bearer("alice"), User()) as alice,
        holding(url, holders.bearer("mallory"), User()) as mallory,
    ):
        state = await begun(alice)
        await is_refused(mallory, state)
        before = [*effects.done]
        ended = outcome(await call(alice, state, SAID))

    assert (before, ended, effects.done) == ([], "done", ["one"])


async def test_where_no_tool_asks_a_state_is_nothing(app: App) -> None:
    async with Client(app.server, cache=None) as client:
        told = await client.session.call_tool("get_ticker", {"symbol": "BTCUSDT"}, request_state="x")

    assert not told.is_error


async def test_a_user_is_shown_the_question_and_their_choice_ends_the_call(app: App, effects: Effects) -> None:
    user = willing()
    async with ROUNDS["http, 2026-07-28"](effects.offered_by(app), user) as client:
        ended = outcome(await client.call_tool("place_thing", {"thing": "one"}))

    assert (ended, len(user.read), effects.done) == ("done", 1, ["one"])
