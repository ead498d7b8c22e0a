"""Only a user's own choice in a form is a yes, whatever their client does, in both eras and on every transport."""

from typing import Any

import anyio
import pytest

from mcp_binance_server.app import App
from support.asking import CHOSEN, EVERYWHERE, HANDSHAKE, NO, YES, Action, Connect, Effects, User, outcome_of, willing

FEW = {name: EVERYWHERE[name] for name in EVERYWHERE if name.startswith(("memory", "http"))}


def each(ways: dict[str, Connect]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("connect", [pytest.param(connect, id=name) for name, connect in ways.items()])


@pytest.fixture
def effects() -> Effects:
    return Effects()


@each(EVERYWHERE)
async def test_a_users_choice_is_a_yes_and_the_question_is_what_was_composed(
    app: App, effects: Effects, connect: Connect
) -> None:
    user = willing()

    async with connect(effects.offered_by(app), user) as client:
        outcome = await outcome_of(client)

    (form,) = user.read
    assert (outcome, effects.done) == ("done", ["one"])
    assert form.message == "PAPER: BUY 0.01 BTCUSDT (one), never above 61,900.00 USDT."
    assert form.requested_schema == {
        "type": "object",
        "properties": {"decision": {"type": "string", "title": "Your decision", "enum": [NO, YES]}},
        "required": ["decision"],
    }


REFUSALS: list[tuple[Action, Any]] = [
    ("accept", {}),
    ("accept", None),
    ("accept", {"decision": NO}),
    ("accept", {"decision": "yes"}),
    ("accept", {"decision": "Place this order"}),
    ("accept", {"decision": f"{YES} "}),
    ("accept", {"decision": [YES]}),
    ("accept", {"decision": True}),
    ("accept", {"confirm": True}),
    ("accept", {"decision": YES, "quantity": "1"}),
    ("accept", {"Decision": YES}),
    ("decline", None),
    ("decline", CHOSEN),
    ("cancel", None),
    ("cancel", CHOSEN),
]


@each(FEW)
@pytest.mark.parametrize(("action", "content"), REFUSALS)
async def test_everything_else_is_a_no(
    app: App, effects: Effects, connect: Connect, action: Action, content: dict[str, Any] | None
) -> None:
    user = User(action, content)

    async with connect(effects.offered_by(app), user) as client:
        first, second = await outcome_of(client), await outcome_of(client)

    assert (first, second, effects.done) == ("declined", "declined", [])
    assert len(user.read) == 1


@each(FEW)
async def test_a_model_cannot_say_yes_by_an_argument(app: App, effects: Effects, connect: Connect) -> None:
    user = willing()

    async with connect(effects.offered_by(app), user) as client:
        extras: list[dict[str, Any]] = [
            {"confirmed": True},
            {"decision": YES},
            {"input_responses": CHOSEN},
            {"quantity": "9"},
        ]
        outcomes = [await outcome_of(client, **extra) for extra in extras]

    assert (outcomes, effects.done, user.read) == (["refused"] * 4, [], [])


@each(EVERYWHERE)
async def test_a_client_without_forms_is_asked_nothing(app: App, effects: Effects, connect: Connect) -> None:
    async with connect(effects.offered_by(app), None) as client:
        outcome = await outcome_of(client)

    assert (outcome, effects.done) == ("impossible", [])


@each(HANDSHAKE)
async def test_a_late_yes_counts_for_nothing_and_the_next_call_asks_anew(
    app: App, effects: Effects, connect: Connect
) -> None:
    may = anyio.Event()
    user = willing(may=may)

    async with connect(effects.offered_by(app, ask_secs=0.5), user) as client:
        late = await outcome_of(client)
        may.set()
        await client.list_tools()  # by now what was said late has come
        before = [*effects.done]
    async with connect(effects.offered_by(app), user) as client:
        again = await outcome_of(client)

    assert (late, before) == ("unanswered", [])
    assert (again, effects.done, len(user.read)) == ("done", ["one"], 2)
