"""What is seen of a chart, by pixel: candles, volume, bands and studies in their places, at every width and theme."""

from collections.abc import Mapping
from itertools import combinations
from typing import Any

import pytest

from apps.harness import CHART, Answer, Stage, View
from apps.pixels import Box, Pixels, rgb

THEMES = ("dark", "light")
WIDTHS = (420, 760, 1280)
HEIGHT = 520
RECTANGLES = """selector => [...document.querySelectorAll(selector)].map(each => {
  const {left, top, right, bottom} = each.getBoundingClientRect();
  return [left, top, right, bottom].map(Math.round);
})"""
# The canvas on which a pane is painted, without its axis.
PANES = "#chart table tr td:nth-child(2) canvas:first-of-type"


async def boxes(view: View, selector: str) -> list[Box]:
    found: list[list[int]] = await view.frame.evaluate(RECTANGLES, selector)
    return [(left, top, right, bottom) for left, top, right, bottom in found if right > left and bottom > top]


async def panes(view: View) -> list[Box]:
    """Return where the panes are, from above; the last canvas is the time axis."""
    found = await boxes(view, PANES)
    assert len(found) > 1, "the page has no width"
    return found[:-1]


def meet(one: Box, other: Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def holds(outer: Box, inner: Box) -> bool:
    return outer[0] <= inner[0] and outer[1] <= inner[1] and inner[2] <= outer[2] and inner[3] <= outer[3]


def blended(written: str, paper: str) -> tuple[int, int, int]:
    """Return what a translucent colour looks like on the paper."""
    part = int(written[7:9], 16) / 255 if len(written) == 9 else 1
    red, green, blue = (
        round(ink * part + below * (1 - part)) for ink, below in zip(rgb(written), rgb(paper), strict=True)
    )
    return red, green, blue


def plot_of(answer: dict[str, Any], label: str, key: str) -> dict[str, Any]:
    return next(each for each in answer["plots"] if each["label"].startswith(label) and each["key"] == key)


async def looked_at(view: View) -> tuple[dict[str, Any], list[Box], Pixels]:
    """Return what was answered, where the panes are, and the picture."""
    await view.drawn()
    return view.answer, await panes(view), await view.pixels()


@pytest.mark.night
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("theme", THEMES)
async def test_everything_is_in_its_place_and_no_word_over_another(each_stage: Stage, theme: str, width: int) -> None:
    async with each_stage.view(theme=theme, size=(width, HEIGHT)) as view:
        answer, (price, study), seen = await looked_at(view)
        legends, buttons = await boxes(view, ".legend"), await boxes(view, "#bar > *")
        wide = await view.frame.evaluate("() => document.documentElement.scrollWidth")

    colours, paper = answer["themes"][theme], answer["themes"][theme]["paper"]
    left, top, right, bottom = price
    floor = (left, bottom - (bottom - top) // 5, right, bottom)  # where volumes stand
    assert right - left > width * 0.7
    assert bottom - top > 180
    assert 0.5 < seen.share(rgb(paper)) < 0.98
    assert seen.within((left, top, right, floor[1])).count(rgb(colours["up"])) > 80
    assert seen.within((left, top, right, floor[1])).count(rgb(colours["down"])) > 80
    for ink in plot_of(answer, "Vol", "Volume")["colours"]:
        assert seen.within(floor).count(blended(ink, paper)) > 100
    for key in ("Upper", "Median", "Lower"):
        assert seen.within(price).count(rgb(plot_of(answer, "BB", key)["colours"][0]), near=40) > 60
    assert seen.within(study).count(rgb(plot_of(answer, "RSI", "Plot")["colours"][0]), near=40) > 60
    assert seen.within(price).count(rgb(plot_of(answer, "RSI", "Plot")["colours"][0])) == 0
    assert all(holds(pane, legend) for pane, legend in zip((price, study), legends, strict=True))
    assert not any(meet(one, other) for one, other in combinations(buttons, 2))
    assert wide <= width
    assert view.problems == []


@pytest.mark.night
async def test_bars_too_narrow_to_be_read_are_left_to_scrolling(stage: Stage) -> None:
    many = {**CHART, "range": "1D"}
    async with stage.view(many, size=(420, HEIGHT)) as view:
        answer, (price, _), seen = await looked_at(view)
        await view.frame.click("#fit")
        await view.painted()
        again = await view.pixels()

    ups = seen.within(price).columns(rgb(answer["themes"]["dark"]["up"]))
    downs = seen.within(price).columns(rgb(answer["themes"]["dark"]["down"]))
    assert len(answer["rows"]) > 500
    assert len({*downs} - {*ups}) > 25  # a bar has columns of its own
    assert seen.within(price).differing(again.within(price)) == 0


@pytest.mark.night
@pytest.mark.parametrize(
    ("style", "inks"),
    [
        ("candle", ("up", "down")),
        ("hollowCandle", ("up", "down")),
        ("heikinAshi", ("up", "down")),
        ("bar", ("up", "down")),
        ("line", ("line",)),
        ("area", ("line",)),
        ("baseline", ("up", "down")),
    ],
)
async def test_every_style_is_drawn_in_its_colours(stage: Stage, style: str, inks: tuple[str, ...]) -> None:
    async with stage.view({**CHART, "style": style, "studies": []}) as view:
        answer, (price,), seen = await looked_at(view)
        notes = await view.text("#notes")

    others = {"up", "down", "line"} - {*inks}
    left, top, right, bottom = price
    plot = seen.within((left, top + 40, right, bottom))  # below the words
    for ink in inks:
        assert plot.count(rgb(answer["themes"]["dark"][ink]), near=40) > 100, ink
    for ink in others - ({"up", "down"} if inks == ("line",) else set()):
        assert plot.count(rgb(answer["themes"]["dark"][ink])) == 0, ink
    assert notes == ""
    assert view.problems == []


@pytest.mark.night
@pytest.mark.parametrize("scale", ["percent", "indexedTo100"])
async def test_a_relative_scale_moves_no_bar(stage: Stage, scale: str) -> None:
    config = {**CHART, "interval": "1D"}
    async with stage.view(config) as view, stage.view({**config, "scale": scale}) as other:
        _, (price, _), regular = await looked_at(view)
        _, (other_price, _), relative = await looked_at(other)

    (left, top, _, bottom), right = price, min(price[2], other_price[2])
    assert len({price[2], other_price[2], right}) <= 2
    for ink in ("#089981", "#f23645"):
        rows, others = (
            each.within((left, top + 60, right, bottom - 90)).rows(rgb(ink)) for each in (regular, relative)
        )
        assert abs(min(rows) - min(others)) <= 3
        assert abs(max(rows) - max(others)) <= 3


async def test_a_logarithmic_scale_draws_other_heights(stage: Stage) -> None:
    config = {**CHART, "interval": "1W", "range": "5Y"}
    async with stage.view(config) as view, stage.view({**config, "scale": "logarithmic"}) as other:
        _, (price, _), regular = await looked_at(view)
        _, _, logarithmic = await looked_at(other)

    assert regular.within(price).differing(logarithmic.within(price)) > 1_000
    assert other.problems == []


@pytest.mark.night
async def test_overrides_of_the_price_are_seen(stage: Stage) -> None:
    style = {"candleStyle.upColor": "#ff00aa", "candleStyle.downColor": "#88ff00", "candleStyle.wickUpColor": "#00e5ff"}
    async with stage.view({**CHART, "studies": [], "override": {"style": style}}) as view:
        answer, (price,), seen = await looked_at(view)

    left, top, right, bottom = price
    plot = seen.within((left, top + 40, right, bottom))
    assert answer["price"]["up"] == "#ff00aa"
    for ink in style.values():
        assert plot.count(rgb(ink)) > 50, ink
    assert plot.count(rgb(answer["themes"]["dark"]["up"])) == 0


async def test_what_the_page_does_not_know_is_said_under_the_chart(stage: Stage) -> None:
    tools = stage.tools()

    async def newer(name: str, arguments: Mapping[str, Any]) -> Answer:
        answer = await tools.answer(name, arguments)
        whole = answer["structuredContent"]
        whole |= {"style": "renko", "scale": "square", "drawings": [{"name": "Pen", "shapes": [{"is": "spline"}]}]}
        whole["plots"][0]["kind"] = "ribbon"
        return answer

    tools.instead = newer
    async with stage.view(tools=tools) as view:
        answer, (price, _), seen = await looked_at(view)
        notes = (await view.text("#notes")).split("\n")

    assert notes == [
        "not_live: this view cannot draw BB 20 2: ribbon",
        "not_live: this view cannot draw style renko (drawn as candles)",
        "not_live: this view cannot draw scale square (drawn as regular)",
        "not_live: this view cannot draw spline",
    ]
    assert seen.within(price).count(rgb(answer["themes"]["dark"]["up"])) > 80
