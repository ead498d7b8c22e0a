"""A chart that lives: it moves with the market, asks at its pace, and rests while nobody looks."""

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import anyio
import pytest
from mcp import Client, StdioServerParameters

from apps.harness import CHART, Answer, Stage, View
from apps.programs import page_of
from support.process import COMMAND, clean_environment

SECONDS: Mapping[str, Any] = {**CHART, "interval": "1s"}
BARE: Mapping[str, Any] = {**CHART, "studies": []}
IDLE_MS = 15 * 60_000
OUT_OF_SIGHT = "() => { frame.style.marginTop = '5000px' }"
HIDE = """isHidden => {
  Object.defineProperty(document, 'hidden', { value: isHidden, configurable: true });
  document.dispatchEvent(new Event('visibilitychange'));
}"""
IN_SIGHT = "() => { frame.style.marginTop = '0' }"


async def pass_both(view: View, stage: Stage, duration_ms: int) -> None:
    """Let time pass for the market and for the page, and wait until what it asked for is shown."""
    stage.clock.advance(duration_ms)
    await view.pass_ms(duration_ms)
    await view.followed()


def written(answer: Answer) -> list[str]:
    return [f"{row['name']} {row['values']}" for row in answer["legend"]]


async def test_it_moves_and_new_bars_follow_the_last(stage: Stage) -> None:
    async with stage.view(SECONDS, is_timed=True) as view:
        await view.begun()
        first, before = await view.legend(), await view.pixels()
        newest = view.answer["rows"][-1][0]
        for _ in range(8):
            await pass_both(view, stage, 1_000)
        await view.pass_ms(100)
        last, after = await view.legend(), await view.pixels()
        bars = await view.tools.bars(SECONDS)

    polls = view.tools.calls[1:]
    assert first != last
    assert last == written(bars)
    assert [call.rows[-1][0] for call in polls] == [newest + 1_000 * place for place in range(1, 9)]
    assert [call.arguments["since"] for call in polls] == [newest + 1_000 * place for place in range(-1, 7)]
    assert all(len(call.rows) == 3 for call in polls)
    assert all(len(json.dumps(call.answer["structuredContent"])) <= 2_000 for call in polls)
    assert before.within((300, 60, 800, 360)).differing(after.within((300, 60, 800, 360))) > 500
    assert view.problems == []


@pytest.mark.night
async def test_several_bars_may_end_between_two_questions(stage: Stage) -> None:
    async with stage.view(SECONDS, is_timed=True) as view:
        await view.begun()
        stage.clock.advance(6_000)
        await view.pass_ms(1_000)
        await view.followed()
        await view.pass_ms(100)
        shown, bars = await view.legend(), await view.tools.bars(SECONDS)
        label, state = await view.frame.get_attribute("#chart", "aria-label"), await view.text("#state")

    assert [len(call.rows) for call in view.tools.calls] == [len(view.answer["rows"]), 8]
    assert shown == written(bars)
    assert label == f"BTCUSDT 1s, {len(view.answer['rows']) + 6} bars"
    assert state.startswith("Live")
    assert view.problems == []


@pytest.mark.night
@pytest.mark.parametrize(
    ("interval", "every_ms"), [("1s", 1_000), ("1m", 2_000), ("1h", 2_000), ("4h", 5_000), ("1D", 15_000)]
)
async def test_it_asks_as_often_as_its_bars_are_worth(stage: Stage, interval: str, every_ms: int) -> None:
    async with stage.view({**BARE, "interval": interval}, is_timed=True) as view:
        await view.begun()
        await view.pass_ms(every_ms - 200)
        before = view.tools.asked
        await view.pass_ms(200)

    assert (before, view.tools.asked) == (1, 2)


@pytest.mark.night
async def test_a_slow_host_is_asked_less_often(stage: Stage) -> None:
    release = anyio.Event()
    tools = stage.tools()

    async def held(_name: str, _arguments: Mapping[str, Any]) -> None:
        await release.wait()

    tools.instead = held
    async with stage.view(BARE, tools=tools, is_timed=True) as view:
        await view.state("Loading BTCUSDT 1m")
        await view.pass_ms(4_000)
        release.set()
        await view.begun()
        await view.pass_ms(11_000)
        before = tools.asked
        await view.pass_ms(1_500)

    assert (before, tools.asked) == (1, 2)


@pytest.mark.night
async def test_out_of_sight_it_does_not_ask(stage: Stage) -> None:
    async with stage.view(BARE, is_timed=True) as view:
        await view.begun()
        await view.host(OUT_OF_SIGHT)
        await unseen(view)
        asked = view.tools.asked
        await view.pass_ms(60_000)
        silent = view.tools.asked
        await view.host(IN_SIGHT)
        await asked_more(view, silent)

    assert silent == asked
    assert view.problems == []


@pytest.mark.night
async def test_in_a_hidden_window_it_does_not_ask(stage: Stage) -> None:
    async with stage.view(BARE, is_timed=True) as view:
        await view.begun()
        await view.frame.evaluate(HIDE, True)  # noqa: FBT003 - given to a script
        await view.pass_ms(60_000)
        silent, state = view.tools.asked, await view.text("#state")
        await view.frame.evaluate(HIDE, False)  # noqa: FBT003 - likewise
        await view.pass_ms(100)

    assert (silent, view.tools.asked) == (1, 2)
    assert state.startswith("Paused while hidden")


async def unseen(view: View) -> None:
    """Let the page learn, as browsers tell it, that nobody sees it."""
    for _ in range(40):
        await view.pass_ms(2_000)
        if (await view.text("#state")).startswith("Paused while hidden"):
            return
    raise AssertionError(f"it goes on: {await view.text('#state')}, {view.tools.asked} questions")


async def asked_more(view: View, than: int) -> None:
    for _ in range(40):
        await view.pass_ms(100)
        if view.tools.asked > than:
            return
    raise AssertionError(f"it rests: {await view.text('#state')}")


@pytest.mark.night
async def test_after_a_quarter_of_an_hour_alone_it_waits_for_somebody(stage: Stage) -> None:
    async with stage.view({**BARE, "interval": "1D"}, is_timed=True) as view:
        await view.begun()
        for _ in range((IDLE_MS - 15_000) // 15_000):  # all at once, and the page gives up on answers under way
            await view.pass_ms(15_000)
            await view.followed()
        lively = await view.text("#state")
        for _ in range(4):
            await view.pass_ms(15_000)
            await view.followed()
        asked = view.tools.asked
        await view.pass_ms(IDLE_MS)
        paused, silent = await view.text("#state"), view.tools.asked
        await view.frame.click("#resume")
        await view.pass_ms(100)
        await view.followed()
        await view.state("Live")
        is_hidden = await view.frame.evaluate("() => document.getElementById('resume').hidden")

    assert lively.startswith("Live")
    assert paused.startswith("Paused at")
    assert (silent, view.tools.asked) == (asked, asked + 1)
    assert is_hidden


@pytest.mark.night
async def test_a_range_that_has_ended_is_asked_for_once(stage: Stage) -> None:
    past = {**CHART, "range": {"from": "2026-07-10T06:00:00Z", "to": "2026-07-10T08:00:00Z"}}
    async with stage.view(past, is_timed=True) as view:
        await view.begun()
        await view.pass_ms(120_000)
        state = await view.text("#state")

    assert view.tools.asked == 1
    assert state.startswith("Past range, as of")


@pytest.mark.night
async def test_missed_bars_are_loaded_anew_instead_of_a_hole(stage: Stage) -> None:
    async with stage.view(SECONDS, is_timed=True) as view:
        await view.begun()
        since = view.answer["rows"][-2][0]

        async def late(name: str, arguments: Mapping[str, Any]) -> Answer | None:
            if "since" not in arguments:
                return None
            answer = await view.tools.answer(name, arguments)
            body = answer["structuredContent"]
            body["rows"] = [row for row in body["rows"] if row[0] > since + 5_000]
            return answer

        view.tools.instead = late
        await pass_both(view, stage, 20_000)
        bars = await view.tools.bars(SECONDS)
        shown = await view.legend()

    assert [("since" in call.arguments) for call in view.tools.calls[:3]] == [False, True, False]
    assert shown == written(bars)


@pytest.mark.night
async def test_what_repaints_is_loaded_anew_at_each_bar_into_the_same_chart(stage: Stage) -> None:
    cloud = {**SECONDS, "studies": [{"name": "Ichimoku Cloud"}]}
    async with stage.view(cloud, is_timed=True) as view:
        await view.begun()
        await view.frame.evaluate("() => { document.querySelector('#chart table').dataset.kept = 'yes' }")
        for _ in range(2):
            await pass_both(view, stage, 1_000)
        await view.pass_ms(100)
        kept = await view.frame.get_attribute("#chart table", "data-kept")
        shown, bars = await view.legend(), await view.tools.bars(cloud)

    assert [("since" in call.arguments) for call in view.tools.calls] == [False, True, False, True, False]
    assert kept == "yes"
    assert shown == written(bars)
    assert view.problems == []


@pytest.mark.night
async def test_an_answer_that_was_overtaken_is_dropped(stage: Stage) -> None:
    async with stage.view(BARE, is_timed=True) as view:
        await view.begun()
        before = await view.legend()

        async def late(name: str, arguments: Mapping[str, Any]) -> Answer:
            answer = await view.tools.answer(name, arguments)
            answer["structuredContent"]["as_of_ms"] = view.answer["as_of_ms"] - 1
            answer["structuredContent"]["legend"] = [{"name": "of a moment ago", "values": "1"}]
            return answer

        view.tools.instead = late
        await view.pass_ms(2_000)
        await view.pass_ms(2_000)
        shown, state = await view.legend(), await view.text("#state")

    assert view.tools.asked == 3
    assert shown == before
    assert state.startswith("Live")


@pytest.mark.night
async def test_a_chart_that_has_grown_long_lets_the_oldest_bars_go(stage: Stage) -> None:
    labels: list[str | None] = []
    async with stage.view(SECONDS, is_timed=True) as view:
        await view.begun()
        whole, tints = view.answer, view.answer["tints"]

        async def long(_name: str, arguments: Mapping[str, Any]) -> Answer:
            first, last = arguments["since"], whole["rows"][-1]
            rows = [[first + place * 1_000, *last[1:]] for place in range(702)]
            answer = {**whole, "rows": rows, "tints": {plot: [tints[plot][-1]] * 702 for plot in tints}}
            as_of_ms = rows[-1][0] + 1
            as_of = datetime.fromtimestamp(as_of_ms / 1_000, tz=UTC).isoformat()
            return {"content": [], "structuredContent": {**answer, "as_of": as_of, "as_of_ms": as_of_ms}}

        view.tools.instead = long
        for _ in range(2):
            await view.pass_ms(1_000)
            await view.followed()
            labels.append(await view.frame.get_attribute("#chart", "aria-label"))
        state = await view.text("#state")

    assert len(whole["rows"]) == 200
    assert labels == ["BTCUSDT 1s, 900 bars", "BTCUSDT 1s, 1000 bars"]
    assert state.startswith("Live")
    assert view.problems == []


@pytest.mark.night
async def test_an_answer_to_a_pair_no_longer_chosen_is_dropped(stage: Stage) -> None:
    release = anyio.Event()
    async with stage.view(BARE) as view:
        await view.drawn()

        async def slow_for_eth(name: str, arguments: Mapping[str, Any]) -> Answer | None:
            if "ETH" not in arguments["config"]["symbol"]:
                return None
            await release.wait()
            return await view.tools.answer(name, arguments)

        view.tools.instead = slow_for_eth
        await view.enter_pair("ETHUSDT")
        await view.state("Loading ETHUSDT")
        await view.enter_pair("BNBUSDT")
        await view.until("() => document.getElementById('legends').innerText.startsWith('BNBUSDT')")
        release.set()
        await view.page.evaluate("() => roundTrip()")
        await view.state("Live")
        shown = await view.legend()

    assert shown[0].startswith("BNBUSDT 1m")
    assert view.problems == []


@pytest.mark.night
async def test_another_interval_and_another_pair_are_drawn(stage: Stage) -> None:
    level = {"name": "Horizontal Line", "input": {"price": 118_000, "text": "mine"}}
    async with stage.view({**CHART, "drawings": [level], "range": "2D"}) as view:
        await view.drawn()
        await view.frame.select_option("#interval", "4h")
        await view.until("() => document.getElementById('legends').innerText.startsWith('BTCUSDT 4h')")
        first = view.tools.calls[-1].arguments["config"]
        await view.enter_pair("ethusdt")
        await view.until("() => document.getElementById('legends').innerText.startsWith('ETHUSDT 4h')")
        second = view.tools.calls[-1].arguments["config"]
        pair = await view.frame.input_value("#symbol")

    assert ("range" in first, "drawings" in first) == (False, True)
    assert ("drawings" in second, second["interval"], second["studies"]) == (False, "4h", CHART["studies"])
    assert pair == "ETHUSDT"
    assert view.problems == []


@pytest.mark.night
async def test_torn_down_it_asks_no_more(stage: Stage) -> None:
    async with stage.view(BARE, is_timed=True) as view:
        await view.begun()
        await view.host("() => bridge.teardownResource({})")
        asked = view.tools.asked
        await view.pass_ms(60_000)
        left = await view.frame.evaluate("() => document.querySelectorAll('#chart canvas').length")

    assert (view.tools.asked, left) == (asked, 0)
    assert view.problems == []


@pytest.mark.slow
async def test_one_call_of_the_demo_opens_a_chart_that_moves(stage: Stage) -> None:
    demo = StdioServerParameters(command=COMMAND[0], args=[*COMMAND[1:], "demo"], env=clean_environment({}))
    async with Client(demo, cache=None) as client:
        there = replace(stage, client=client, view_page=await page_of(client))
        tools = there.tools()
        drawn = await tools.image(SECONDS)
        async with there.view(SECONDS, tools=tools, result=drawn) as view:
            await view.drawn()
            first, rows = await view.legend(), view.answer["rows"]
            await view.until(
                "first => document.getElementById('legends').innerText.split('\\n')[0] !== first", first[0]
            )
            last = tools.calls[-1]

    assert last.arguments["since"] >= rows[-2][0]
    assert len(last.rows) < len(rows)
    assert view.problems == []
