"""The page loads nothing, calls nobody, and hears its host alone; ten minutes of it leave no memory behind."""

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from playwright.async_api import CDPSession, Error

from apps.harness import Answer, Stage, View

POLLS = 600
MOST_GROWN = 2_000_000
POLL_MS = 2_000
STEP_MS = 60_000


async def test_nothing_is_loaded_and_nobody_is_called(stage: Stage) -> None:
    async with stage.view() as view:
        await view.drawn()
        quiet = [*view.problems]
        outcome = await view.frame.evaluate(
            "() => fetch('https://example.com/').then(() => 'answered', () => 'refused')"
        )

    assert quiet == []
    assert outcome == "refused"
    assert any("Content Security Policy" in each for each in view.problems)  # the alarm works


async def test_a_message_from_anybody_but_the_host_is_not_heard(stage: Stage) -> None:
    async with stage.view() as view:
        await view.drawn()
        cancelled = {"jsonrpc": "2.0", "method": "ui/notifications/tool-cancelled", "params": {"reason": "by nobody"}}
        await view.frame.evaluate("message => window.postMessage(message, '*')", cancelled)
        await view.painted()
        state = await view.text("#state")

    assert state.startswith("Live")


async def test_ten_minutes_of_questions_leave_no_memory_behind(stage: Stage) -> None:
    async with stage.view(is_timed=True) as view:
        await view.begun()
        view.tools.instead = market_of(view.answer)
        session = await session_of(view)
        await polled(view, 60)
        before = await heap(session)
        await polled(view, POLLS)
        grown = await heap(session) - before
        state = await view.text("#state")
        label = await view.frame.get_attribute("#chart", "aria-label")

    assert grown <= MOST_GROWN
    assert state.startswith("Live")
    assert label == f"BTCUSDT 1m, {len(view.answer['rows']) + (60 + POLLS) // 30} bars"
    assert view.problems == []


def market_of(whole: Answer) -> Any:  # noqa: ANN401 - what a test answers
    """Return a market that goes on from an answer: thirty questions a bar."""
    asked = 0

    async def instead(_name: str, _arguments: Mapping[str, Any]) -> Answer:
        nonlocal asked
        asked += 1
        rows: list[list[Any]] = []
        for bar in (asked // 30 - 1, asked // 30):
            row = deepcopy(whole["rows"][-1])
            row[0] += bar * STEP_MS
            row[4] = f"{float(row[4]) * (1 + 0.0001 * (asked % 7)):.2f}"
            rows.append(row)
        kept = ("success", "contract", "symbol", "interval", "legend", "step_ms", "as_of")
        answer = {name: whole[name] for name in kept}
        answer |= {"as_of_ms": whole["as_of_ms"] + asked * POLL_MS, "last_bar_closed": False, "rows": rows}
        tints = {plot: tints[-2:] for plot, tints in whole.get("tints", {}).items()}
        return {"content": [], "structuredContent": {**answer, "tints": tints}}

    return instead


async def polled(view: View, count: int) -> None:
    """Let a view ask that often."""
    aim = view.tools.asked + count
    while view.tools.asked < aim:
        await view.page.clock.run_for(POLL_MS)
    await view.pass_ms(100)


async def session_of(view: View) -> CDPSession:
    try:
        return await view.page.context.new_cdp_session(view.frame)
    except Error:  # a browser that gives the frame no process of its own
        return await view.page.context.new_cdp_session(view.page)


async def heap(session: CDPSession) -> float:
    await session.send("HeapProfiler.collectGarbage")
    return float((await session.send("Runtime.getHeapUsage"))["usedSize"])
