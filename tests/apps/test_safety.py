"""The page loads nothing, calls nobody, and hears its host alone; ten minutes of it leave no memory behind."""

from typing import Any

import pytest
from playwright.async_api import CDPSession, Error

from apps.harness import Stage, View

WARM_UP, POLLS, POLLS_A_BAR = 60, 600, 30
SPEED = 400  # every two seconds become every five milliseconds
MOST_GROWN = 2_000_000
# A market that goes on from an answer, in the host itself: six hundred questions shall not cost a test a minute.
MARKET = """whole => {
  window.asked = 0;
  window.callTool = async () => {
    window.asked += 1;
    const newest = Math.floor(window.asked / 30);
    const rows = [newest - 1, newest].map(bar => {
      const row = structuredClone(whole.rows.at(-1));
      row[0] += bar * whole.step_ms;
      row[4] = (Number(row[4]) * (1 + 0.0001 * (window.asked % 7))).toFixed(whole.decimals);
      return row;
    });
    const {plots, drawings, themes, warnings, ...kept} = whole;
    const tints = Object.fromEntries(Object.entries(whole.tints).map(([plot, all]) => [plot, all.slice(-2)]));
    const answer = {...kept, rows, tints, as_of_ms: whole.as_of_ms + window.asked * 2000};
    return JSON.stringify({content: [], structuredContent: answer});
  };
}"""


async def test_nothing_is_loaded_and_nobody_is_called(whole_stage: Stage) -> None:
    async with whole_stage.view() as view:
        await view.drawn()
        quiet = [*view.problems]
        outcome = await view.frame.evaluate(
            "() => fetch('https://example.com/').then(() => 'answered', () => 'refused')"
        )

    assert quiet == []
    assert outcome == "refused"
    assert any("Content Security Policy" in each for each in view.problems)  # the alarm works


async def test_a_message_from_anybody_but_the_host_is_not_heard(whole_stage: Stage) -> None:
    async with whole_stage.view() as view:
        await view.drawn()
        cancelled = {"jsonrpc": "2.0", "method": "ui/notifications/tool-cancelled", "params": {"reason": "by nobody"}}
        await view.frame.evaluate("message => window.postMessage(message, '*')", cancelled)
        await view.painted()
        state = await view.text("#state")

    assert state.startswith("Live")


@pytest.mark.night
@pytest.mark.slow
async def test_ten_minutes_of_questions_leave_no_memory_behind(whole_stage: Stage) -> None:
    async with whole_stage.view(speed=SPEED) as view:
        await view.drawn()
        await view.host(MARKET, view.answer)
        session = await session_of(view)
        await polled(view, WARM_UP)
        before = await heap(session)
        await polled(view, WARM_UP + POLLS)
        grown = await heap(session) - before
        state = await view.text("#state")
        bars = await view.until("() => Number(document.getElementById('chart').ariaLabel.split(' ')[2])")

    assert grown <= MOST_GROWN
    assert state.startswith("Live")
    assert bars > len(view.answer["rows"]) + POLLS // POLLS_A_BAR
    assert view.problems == []


async def polled(view: View, count: int) -> None:
    """Wait until a view has asked that often."""
    await view.until_host("count => window.asked >= count", count)


async def session_of(view: View) -> CDPSession:
    try:
        return await view.page.context.new_cdp_session(view.frame)
    except Error:  # a browser that gives the frame no process of its own
        return await view.page.context.new_cdp_session(view.page)


async def heap(session: CDPSession) -> float:
    await told(session, "HeapProfiler.collectGarbage")
    return float((await told(session, "Runtime.getHeapUsage"))["usedSize"])


async def told(session: CDPSession, method: str) -> dict[str, Any]:
    # JSON, which the driver types as a bare Dict.
    return await session.send(method)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
