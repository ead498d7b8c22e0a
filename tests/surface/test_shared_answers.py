"""Equal public questions of a crowd: one reading, one rendering, and each caller has its answer."""

from dataclasses import replace
from typing import Any

import anyio
import pytest
from mcp import Client, types

from binance_simulator.exchange import SimulatedExchange
from binance_simulator.faults import Fault
from mcp_binance_server.app import App
from mcp_binance_server.surface.arguments import Arguments
from mcp_binance_server.surface.catalogue import CATALOGUE, Catalogue
from mcp_binance_server.surface.context import Context
from mcp_binance_server.surface.spec import Answer, ToolAnswer, ToolSpec
from support.clock import FakeClock

CROWD = 50
MANY: dict[str, Any] = {"symbol": "BTCUSDT", "interval": "1m", "limit": 1_000}


async def crowd(app: App, **arguments: object) -> list[types.CallToolResult]:
    answers: list[types.CallToolResult] = []

    async def ask() -> None:
        answers.append(await app.dispatcher.call_tool(None, "get_klines", {**MANY, **arguments}))

    async with anyio.create_task_group() as callers:
        for _ in range(CROWD):
            callers.start_soon(ask)
    return answers


@pytest.mark.slow
async def test_fifty_who_ask_for_the_same_candles_cost_one_rendering(
    app: App, clock: FakeClock, exchange: SimulatedExchange
) -> None:
    cold, warm = await crowd(app), await crowd(app)
    asked = sum(request.path.endswith("/klines") for request in exchange.requests)
    clock.advance(1_000)
    (later, *_) = await crowd(app)

    assert {id(answer) for answer in (*cold, *warm)} == {id(cold[0])}
    assert asked == 1
    assert later is not cold[0]
    assert later.structured_content is not None
    assert cold[0].structured_content is not None
    assert later.structured_content["as_of"] > cold[0].structured_content["as_of"]


@pytest.mark.night
async def test_other_questions_have_other_answers(app: App) -> None:
    (one, *_), (other, *_) = await crowd(app), await crowd(app, limit=10)

    assert one.structured_content is not None
    assert other.structured_content is not None
    assert (one.structured_content["count"], other.structured_content["count"]) == (1_000, 10)


async def test_a_client_sees_the_same_however_the_answer_came_about(client: Client) -> None:
    first, second = [await client.call_tool("get_klines", MANY) for _ in range(2)]

    assert first.structured_content == second.structured_content
    assert first.content == second.content


async def test_a_failure_is_told_to_all_and_not_kept(app: App, exchange: SimulatedExchange) -> None:
    exchange.faults.add(Fault(path="/api/v3/klines", kind="status", status=400, code=-1102))

    failed, healed = await crowd(app, interval="5m"), await crowd(app, interval="5m")

    assert [answer.is_error for answer in failed] == [True] * CROWD
    assert [answer.is_error for answer in healed] == [False] * CROWD


async def test_whoever_leaves_takes_no_answer_from_the_others(app: App) -> None:
    answers: list[types.CallToolResult] = []

    async def stay() -> None:
        answers.append(await app.dispatcher.call_tool(None, "get_klines", MANY))

    async with anyio.create_task_group() as staying:
        with anyio.move_on_after(0):
            await app.dispatcher.call_tool(None, "get_klines", MANY)
        staying.start_soon(stay)

    assert [answer.is_error for answer in answers] == [False]


@pytest.mark.parametrize("spec", [each for each in CATALOGUE.tools if each.shared], ids=lambda each: each.name)
def test_only_what_everybody_may_read_is_shared(spec: Any) -> None:  # noqa: ANN401 - any tool
    assert (spec.scope, spec.read_only, spec.live) == ("market:read", True, False)
    assert "as_of" in spec.answer.model_fields


@pytest.mark.night
async def test_everybody_who_waits_for_a_shared_answer_hears_that_it_is_being_made(app: App) -> None:
    told: list[str] = []
    all_heard = anyio.Event()

    async def wait(_context: Context, _given: Arguments) -> ToolAnswer:
        await all_heard.wait()
        return ToolAnswer("done", Answer())

    spec = ToolSpec(
        name="wait",
        title="Wait",
        description="Not for anything.",
        arguments=Arguments,
        answer=Answer,
        run=wait,
        read_only=True,
        toolset="market",
        slow=True,
        shared=True,
    )
    dispatcher = replace(app.dispatcher, catalogue=Catalogue(tools=(spec,)))

    async def ask(who: str) -> None:
        async def report(_done: float, _total: float | None, _said: str | None) -> None:
            told.append(who)
            if {*told} == {"first", "second"}:
                all_heard.set()

        await dispatcher.call_tool(None, "wait", {}, report)

    with anyio.fail_after(30):
        async with anyio.create_task_group() as group:
            group.start_soon(ask, "first")
            group.start_soon(ask, "second")

    assert {*told} == {"first", "second"}
