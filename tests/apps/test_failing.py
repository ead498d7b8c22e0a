"""What a view says when something goes wrong, and how long it waits before it asks again."""

from collections.abc import Mapping
from typing import Any

import pytest

from apps.harness import CHART, Answer, Stage, Tools

BARE: Mapping[str, Any] = {**CHART, "studies": []}
MARKUP = "Too many requests <b>now</b> <img src=x onerror=alert(1)>"
ELEMENTS = "() => document.querySelectorAll('#notes b, #notes img, #legends img, #said img').length"


def refusing(**members: object) -> Answer:
    """Return a tool's error as the server words one."""
    structure = {"success": False, "error": "Rate limit exceeded.", "retryable": True, **members}
    text = str(structure["error"])
    return {"isError": True, "content": [{"type": "text", "text": text}], "structuredContent": structure}


def refuse(tools: Tools, answer: Answer) -> None:
    async def instead(_name: str, _arguments: Mapping[str, Any]) -> Answer:
        return answer

    tools.instead = instead


@pytest.mark.night
@pytest.mark.parametrize(("member", "secs"), [("retry_after_secs", 7), ("retryAfter", 90)])
async def test_after_a_rate_limit_it_waits_as_long_as_it_was_told(stage: Stage, member: str, secs: int) -> None:
    async with stage.view(BARE, is_timed=True) as view:
        await view.begun()
        refuse(view.tools, refusing(**{member: secs}))
        await view.pass_ms(2_000)
        await view.state(f"No new data; next try in {secs} s")
        notes = await view.text("#notes")
        view.tools.instead = None
        await view.pass_ms(secs * 1_000 - 100)
        before = view.tools.asked
        await view.pass_ms(200)
        await view.state("Live")
        after = await view.text("#notes")

    assert notes.startswith("Rate limit exceeded. The picture is from ")
    assert (before, view.tools.asked) == (2, 3)
    assert after == ""
    assert view.problems == []


@pytest.mark.night
async def test_without_a_told_wait_it_waits_longer_each_time_and_at_most_a_minute(stage: Stage) -> None:
    waited: list[str] = []
    async with stage.view(BARE, is_timed=True) as view:
        await view.begun()
        refuse(view.tools, refusing(error="The exchange is away"))
        await view.pass_ms(2_000)
        for secs in (2, 4, 8, 16, 32, 60, 60):
            await view.state(f"No new data; next try in {secs} s")
            waited.append(await view.text("#said"))
            asked = view.tools.asked
            await view.pass_ms(secs * 1_000 - 100)
            assert view.tools.asked == asked
            await view.pass_ms(200)
            assert view.tools.asked == asked + 1

    assert len(waited) == 7


@pytest.mark.night
async def test_an_unknown_pair_is_answered_with_likely_ones_and_the_chart_stays(stage: Stage) -> None:
    async with stage.view(BARE, is_timed=True) as view:
        await view.begun()
        await view.enter_pair("BTCUSTD")
        await view.state("Not drawn")
        notes = await view.text("#notes")
        is_invalid = await view.frame.get_attribute("#symbol", "aria-invalid")
        await view.pass_ms(2_000)
        await view.state("Live")
        shown, kept = await view.legend(), view.tools.calls[-1].arguments["config"]["symbol"]

    assert "BTCUSTD" in notes
    assert "Did you mean " in notes
    assert "BTCUSDT" in notes
    assert is_invalid == "true"
    assert shown[0].startswith("BTCUSDT 1m")
    assert kept == CHART["symbol"]
    assert view.problems == []


async def test_markup_is_shown_as_text(stage: Stage) -> None:
    async with stage.view(BARE, is_timed=True) as view:
        await view.begun()
        refuse(view.tools, refusing(error=MARKUP, retryAfter=5))
        await view.pass_ms(2_000)
        await view.state("No new data")
        notes, elements = await view.text("#notes"), await view.frame.evaluate(ELEMENTS)
        view.tools.instead = None
        await view.enter_pair("<img src=x>")
        await view.state("Not drawn")
        echoed, echoed_elements = await view.text("#notes"), await view.frame.evaluate(ELEMENTS)

    assert notes.startswith(MARKUP)
    assert "<img src=x>" in echoed.lower()
    assert (elements, echoed_elements) == (0, 0)
    assert view.problems == []


@pytest.mark.night
async def test_a_contract_it_does_not_know_asks_for_a_reload(stage: Stage) -> None:
    async with stage.view(BARE, is_timed=True) as view:
        await view.begun()

        async def newer(name: str, arguments: Mapping[str, Any]) -> Answer:
            answer = await view.tools.answer(name, arguments)
            answer["structuredContent"]["contract"] = 2
            return answer

        view.tools.instead = newer
        await view.pass_ms(2_000)
        await view.state("Reload this conversation")
        notes, asked = await view.text("#notes"), view.tools.asked
        await view.pass_ms(120_000)

    assert "version 2 of this chart, the page version 1: reload this conversation." in notes
    assert view.tools.asked == asked


@pytest.mark.night
async def test_bars_that_do_not_come_at_first_come_later(stage: Stage) -> None:
    tools = stage.tools()
    refuse(tools, refusing(retry_after_secs=3))
    async with stage.view(BARE, tools=tools, is_timed=True) as view:
        await view.state("No new data; next try in 3 s")
        tools.instead = None
        await view.pass_ms(3_000)
        await view.state("Live")

    assert tools.asked == 2


@pytest.mark.night
async def test_a_host_that_never_answers_is_asked_again(stage: Stage) -> None:
    async with stage.view(BARE, is_timed=True) as view:
        await view.begun()
        await view.host("() => { bridge.oncalltool = () => new Promise(() => {}) }")
        await view.pass_ms(2_000)
        await view.pass_ms(30_000)
        await view.state("No new data; next try in 2 s")
        notes = await view.text("#notes")

    assert notes.startswith("No answer within 30 s. The picture is from ")


@pytest.mark.parametrize(
    ("result", "said"),
    [
        ({"isError": True, "content": [{"type": "text", "text": "No such <i>pair</i>"}]}, "No such <i>pair</i>"),
        ({"isError": True, "content": []}, "The chart could not be drawn."),
    ],
)
async def test_a_chart_that_failed_says_why(stage: Stage, result: Answer, said: str) -> None:
    async with stage.view(result=result) as view:
        await view.state("Not drawn")
        notes = await view.text("#notes")

    assert notes == said
    assert view.tools.asked == 0


@pytest.mark.night
async def test_a_cancelled_call_is_said(stage: Stage) -> None:
    async with stage.view(result=None, is_timed=True) as view:
        await view.pass_ms(100)
        await view.host("() => bridge.sendToolCancelled({reason: 'stopped by the user'})")
        await view.state("Cancelled: stopped by the user")
        await view.pass_ms(60_000)

    assert view.tools.asked == 0
