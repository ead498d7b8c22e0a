"""A view follows its host: theme, size and mode; and it makes do with what a host does not give."""

from typing import Any

import anyio
import pytest

from apps.harness import CAPABILITIES, CHART, PICTURELESS, Answer, Stage, View
from apps.pixels import rgb

PAPER = {"dark": rgb("#131722"), "light": rgb("#ffffff")}
META = "mcp-binance-server/chart"
POSTER = "() => { const poster = document.getElementById('poster'); return !poster.hidden && poster.naturalWidth }"
IS_HIDDEN = "id => document.getElementById(id).offsetParent === null"
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


async def is_hidden(view: View, name: str) -> bool:
    return await view.frame.evaluate(IS_HIDDEN, name)


async def test_theme_and_width_follow_the_host(whole_stage: Stage) -> None:
    async with whole_stage.view(theme="light", size=(1280, 520)) as view:
        await view.drawn()
        light = await view.pixels()
        await view.host("() => bridge.setHostContext({theme: 'dark'})")
        await view.until("() => getComputedStyle(document.body).backgroundColor === 'rgb(19, 23, 34)'")
        await view.painted()
        dark = await view.pixels()
        for width in (420, 760):
            await view.host("width => { frame.style.width = `${width}px` }", width)
            await view.until("width => Math.abs(document.querySelector('#chart table').clientWidth - width) < 3", width)

    assert light.share(PAPER["light"]) > 0.6
    assert dark.share(PAPER["dark"]) > 0.6
    assert view.problems == []


@pytest.mark.night
async def test_without_a_theme_the_browsers_is_taken(whole_stage: Stage) -> None:
    async with whole_stage.view(theme="") as view:
        await view.drawn()
        seen = await view.pixels()

    assert seen.share(PAPER["dark"]) > 0.6


@pytest.mark.night
async def test_full_screen_is_asked_for_and_left(whole_stage: Stage) -> None:
    async with whole_stage.view(is_fixed=False) as view:
        await view.drawn()
        await view.frame.click("#full")
        await view.until("() => document.body.dataset.mode === 'fullscreen'")
        words = await view.text("#full")
        await view.painted()
        fills = await view.until("() => document.body.clientHeight === innerHeight && innerHeight === 520")
        await view.frame.click("#full")
        await view.until("() => document.body.dataset.mode === 'inline'")
        modes, sizes = await view.heard("mode"), await view.heard("size")

    assert (words, fills) == ("Close", True)
    assert modes == ["fullscreen", "inline"]
    assert 1 <= len(sizes) < 6  # a height must not chase the frame
    assert view.problems == []


@pytest.mark.night
async def test_a_host_is_not_offered_what_it_cannot_do(whole_stage: Stage) -> None:
    async with whole_stage.view(capabilities={"serverTools": {}}) as view:
        await view.drawn()
        has_question = not await is_hidden(view, "ask")
        await view.host("() => bridge.setHostContext({theme: 'dark', availableDisplayModes: ['inline']})")
        await view.until("() => document.getElementById('full').hidden")
        await view.frame.focus("#chart")
        await view.page.keyboard.press("f")
        await view.page.evaluate("() => roundTrip()")
        modes = await view.heard("mode")

    assert (has_question, modes) == (False, [])


@pytest.mark.night
@pytest.mark.parametrize(("width", "height"), [(420, 360), (760, 420)])
async def test_a_host_without_a_height_is_told_one_that_stays(whole_stage: Stage, width: int, height: int) -> None:
    async with whole_stage.view(size=(width, 300), is_fixed=False) as view:
        await view.drawn()
        await view.painted()
        sizes: list[dict[str, Any]] = await view.heard("size")
        await view.host("height => { frame.style.height = `${height}px` }", sizes[-1]["height"])
        await view.painted()
        again = await view.heard("size")
        chart = await view.frame.evaluate("() => document.getElementById('stage').clientHeight")

    assert chart == height
    assert height < sizes[-1]["height"] < height + 120
    assert again == sizes


@pytest.mark.night
async def test_the_picture_is_there_before_the_bars(whole_stage: Stage) -> None:
    release = anyio.Event()
    tools = whole_stage.tools()
    drawn = await tools.image(CHART)

    async def held(_name: str, _arguments: object) -> None:
        await release.wait()

    tools.instead = held
    async with whole_stage.view(tools=tools, result=drawn) as view:
        width = await view.until(POSTER)
        words = await view.frame.evaluate("() => document.getElementById('words').textContent")
        release.set()
        await view.drawn()
        is_gone = await is_hidden(view, "poster")

    assert width == 1200
    assert words.startswith("BTCUSDT 1m")
    assert is_gone
    assert view.problems == []


async def test_where_calls_are_not_passed_on_the_picture_stays(whole_stage: Stage) -> None:
    capabilities = {name: value for name, value in CAPABILITIES.items() if name != "serverTools"}
    drawn = await whole_stage.tools().image(CHART)
    async with whole_stage.view(result=drawn, capabilities=capabilities) as view:
        await view.state("This host shows the picture only: it forwards no calls")
        await view.until(POSTER)
        hidden = [await is_hidden(view, name) for name in ("symbol", "interval", "fit", "ask")]
        seen = await view.pixels()

    assert view.tools.asked == 0
    assert hidden == [True] * 4
    assert min(seen.count(rgb("#089981"), near=60), seen.count(rgb("#f23645"), near=60)) > 100  # it is scaled
    assert view.problems == []


@pytest.mark.night
async def test_a_picture_by_chart_img_stays_a_picture(whole_stage: Stage) -> None:
    picture = {"type": "image", "mimeType": "image/png", "data": PIXEL}
    result: Answer = {"content": [picture], "_meta": {META: {"renderer": "chart-img", "legend": [], "as_of_ms": 0}}}
    async with whole_stage.view({"symbol": "NASDAQ:AAPL", "interval": "1D"}, result=result, is_timed=True) as view:
        await view.state("A picture by chart-img.com; only Binance spot pairs are live")
        await view.until(POSTER)
        await view.pass_ms(60_000)

    assert view.tools.asked == 0
    assert view.problems == []


@pytest.mark.night
async def test_what_is_no_picture_is_not_shown_as_one(whole_stage: Stage) -> None:
    picture = {"type": "image", "mimeType": "image/svg+xml", "data": "PHN2Zy8+"}
    async with whole_stage.view(result={"content": [picture]}) as view:
        await view.drawn()
        source = await view.frame.get_attribute("#poster", "src")

    assert source is None


@pytest.mark.night
async def test_a_host_that_sends_no_result_is_served_by_the_input(whole_stage: Stage) -> None:
    async with whole_stage.view(result=None, is_timed=True) as view:
        await view.pass_ms(10_000)
        before = view.tools.asked
        await view.pass_ms(5_100)
        await view.begun()

    assert (before, view.tools.asked) == (0, 1)


@pytest.mark.night
async def test_a_host_that_sends_no_input_is_served_by_the_result(whole_stage: Stage) -> None:
    tools = whole_stage.tools()
    drawn = await tools.image(CHART)
    async with whole_stage.view(tools=tools, result=drawn, has_input=False) as view:
        await view.drawn()
        asked = view.tools.calls[0].arguments["config"]

    assert asked["symbol"] == CHART["symbol"]
    assert drawn["_meta"][META]["config"] == CHART


@pytest.mark.night
async def test_what_a_host_asks_that_no_view_knows_is_refused(whole_stage: Stage) -> None:
    async with whole_stage.view(result=PICTURELESS) as view:
        await view.drawn()
        code = await view.page.evaluate("() => unknownRequest()")

    assert code == -32601
    assert view.problems == []
