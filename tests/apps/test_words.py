"""What a view says: the server's numbers, character by character, to eyes, to a screen reader and to the model."""

import re
from typing import Any

import pytest

from apps.harness import CHART, Stage, View

CHINESE = "币安人生USDT"
DESCRIBED = "() => document.getElementById('chart').getAttribute('aria-describedby').split(' ')"


def written(row: dict[str, str]) -> str:
    return f"{row['name']} {row['values']}"


def told(row: dict[str, str]) -> str:
    return f"{row['name']}: {row['values']}"


def figures(name: str, values: str) -> tuple[str, list[str]]:
    """Return a row without the names of its values, which only the text has, in an order of their own."""
    return name, sorted(re.findall(r"[\u2212+-]?\d[\d,.]*%?", values))


def grouped(text: str) -> str:
    """Write digits as a legend does, by other means than the page's."""
    whole, dot, part = text.partition(".")
    return f"{int(whole):,}{dot}{part}".replace("-", "\N{MINUS SIGN}")


async def hidden_text(view: View, name: str) -> str:
    return await view.frame.evaluate("name => document.getElementById(name).textContent", name)


async def test_the_legend_is_the_same_in_the_text_the_tool_and_the_view(stage: Stage) -> None:
    tools = stage.tools()
    drawn = await tools.image(CHART)
    async with stage.view(tools=tools, result=drawn) as view:
        await view.drawn()
        shown = await view.legend()

    answered = view.answer["legend"]
    lines = drawn["content"][0]["text"].split("\n")
    assert shown == [written(row) for row in answered]
    said = [figures(*line.split(": ", 1)) for line in lines[: len(answered)]]
    assert said == [figures(row["name"], row["values"]) for row in answered]
    assert all(found for _, found in said)
    assert len(shown) == 4


async def test_a_closed_bar_has_the_values_of_get_indicators(stage: Stage) -> None:
    tools = stage.tools()
    asked = {"symbol": "BTCUSDT", "interval": "1m", "indicators": ["rsi", "bollinger(20,2)"], "last_n": 2}

    rows: list[dict[str, Any]] = (await tools.answer("get_indicators", asked))["structuredContent"]["rows"]
    bars = await tools.bars(CHART)

    final = next(row for row in reversed(rows) if row["is_final"])
    texts = {plot["label"] + plot["key"]: text for plot, text in zip(bars["plots"], bars["rows"][-2][5], strict=True)}
    computed = [float(value) for value in final["values"].values()]
    assert bars["rows"][-2][4] == final["close"]
    for name in ("BB 20 2Upper", "BB 20 2Median", "BB 20 2Lower", "RSI 14Plot"):
        assert min(abs(float(texts[name]) - value) for value in computed) < 0.0051, name


@pytest.mark.night
async def test_under_the_crosshair_stand_the_texts_of_that_bar(stage: Stage) -> None:
    async with stage.view() as view:
        await view.drawn()
        await view.frame.focus("#chart")
        await view.page.keyboard.press("End")
        await view.page.keyboard.press("ArrowLeft")
        await view.page.keyboard.press("ArrowLeft")
        shown, cursor = await view.legend(), await hidden_text(view, "cursor")
        await view.page.keyboard.press("Escape")
        rested = await view.legend()
        await view.page.mouse.move(450, 250)
        await view.until(
            "() => /\\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d O /.test(document.getElementById('legends').innerText)"
        )
        await view.page.mouse.move(450, 20)
        await view.until("rested => document.getElementById('legends').innerText.startsWith(rested)", rested[0])

    answer = view.answer
    row = answer["rows"][-3]
    prices = " ".join(f"{letter} {grouped(text)}" for letter, text in zip("OHLC", row[1:5], strict=True))
    assert shown[0].startswith(f"{answer['legend'][0]['name']} ")
    assert shown[0].endswith(f" {prices}")
    assert shown[1] == f"BB 20 2 {' '.join(grouped(text) for text in row[5][:3])}"
    assert shown[-1] == f"RSI 14 {row[5][-1]}"
    assert cursor.endswith(f": open {row[1]}, high {row[2]}, low {row[3]}, close {row[4]}")
    assert rested == [written(each) for each in answer["legend"]]


@pytest.mark.night
async def test_keys_move_the_crosshair_and_the_look(stage: Stage) -> None:
    async with stage.view() as view:
        await view.drawn()
        await view.frame.focus("#chart")
        before = await view.pixels()
        await view.page.keyboard.press("+")
        await view.painted()
        near = await view.pixels()
        await view.page.keyboard.press("-")
        await view.page.keyboard.press("Home")
        first = await hidden_text(view, "cursor")
        await view.page.keyboard.press("End")
        last = await hidden_text(view, "cursor")
        await view.page.keyboard.press("f")
        await view.until("() => document.body.dataset.mode === 'fullscreen'")
        await view.page.keyboard.press("Escape")  # leaves the crosshair
        await view.page.keyboard.press("Escape")
        await view.until("() => document.body.dataset.mode === 'inline'")

    rows = view.answer["rows"]
    assert before.differing(near) > 1_000
    assert first.endswith(f"close {rows[0][4]}")
    assert last.endswith(f"close {rows[-1][4]}")
    assert view.problems == []


@pytest.mark.night
async def test_a_screen_reader_hears_the_pair_the_bars_and_the_legend(stage: Stage) -> None:
    async with stage.view() as view:
        await view.drawn()
        label = await view.frame.evaluate("() => document.getElementById('chart').getAttribute('aria-label')")
        described = await view.frame.evaluate(DESCRIBED)
        words = await hidden_text(view, "words")
        roles = await view.frame.evaluate("() => [...document.querySelectorAll('[role=status]')].map(e => e.innerText)")

    answer = view.answer
    assert label == f"BTCUSDT 1m, {len(answer['rows'])} bars"
    assert described == ["words", "cursor"]
    assert words == f"{'. '.join(told(row) for row in answer['legend'])}. As of {answer['as_of']}."
    assert roles == ["Live"]  # the moment beside it changes every second, and is not read aloud


@pytest.mark.night
async def test_a_question_goes_to_the_chat_and_the_logo_to_tradingview(stage: Stage) -> None:
    async with stage.view() as view:
        await view.drawn()
        await view.frame.click("#ask")
        await view.frame.click("#chart a[href]")
        await view.painted()
        [message], [link] = await view.heard("message"), await view.heard("link")

    answer = view.answer
    said = message["content"][0]["text"]
    assert said.startswith(f"About the BTCUSDT 1m chart as of {answer['as_of']} (")
    assert all(told(row) in said for row in answer["legend"])
    assert link["url"].startswith("https://www.tradingview.com/")
    assert view.problems == []


@pytest.mark.night
async def test_a_symbol_in_chinese_is_shown(stage: Stage) -> None:
    async with stage.view({**CHART, "symbol": f"BINANCE:{CHINESE}"}) as view:
        await view.drawn()
        shown, pair = await view.legend(), await view.frame.input_value("#symbol")

    assert shown[0].startswith(f"{CHINESE} 1m")
    assert pair == CHINESE
    assert view.problems == []
