"""Every study that is drawn here, once in the browser: its colours are seen in its pane, and nothing is left out."""

from collections.abc import Mapping
from typing import Any

import pytest

from apps.harness import CHART, Stage
from apps.pixels import Pixels
from apps.test_drawing import blended, looked_at
from mcp_binance_server.charts.studies.table import STUDIES

# It stands at the edge of the picture by the bars that are seen, and the page says that it does not draw it.
NOT_LIVE = "Volume Profile Visible Range"
OVERLAYS = [name for name, study in STUDIES.items() if study.overlay and name != NOT_LIVE]
OTHERS = [name for name, study in STUDIES.items() if not study.overlay]
SIZE = (1000, 760)
PLATE = 400  # pixels that the smallest has at least


def groups() -> list[list[str]]:
    """Return studies that find room in one chart: two over the price and two below it."""
    count = max(-(-len(OVERLAYS) // 2), -(-len(OTHERS) // 2))
    return [OVERLAYS[2 * place : 2 * place + 2] + OTHERS[2 * place : 2 * place + 2] for place in range(count)]


def chart_of(studies: list[str]) -> Mapping[str, Any]:
    # The price as a line: candles have the colours of some studies.
    return {**CHART, "interval": "1h", "style": "line", "studies": [{"name": name} for name in studies]}


def visible(plot: Mapping[str, Any], texts: list[str | None]) -> bool:
    return any(text is not None for text in [*texts[-150:], *plot.get("ahead", [])])


def seen_inks(plot: Mapping[str, Any], tints: list[int | None] | None) -> set[str]:
    """Return the colours that a plot must show."""
    inks: list[str] = plot["colours"]
    return {inks[tint] for tint in tints[-100:] if tint is not None} if tints else {inks[0]}


def count(seen: Pixels, ink: str, paper: str) -> int:
    return seen.count(blended(ink, paper), near=40)


@pytest.mark.parametrize("studies", groups(), ids=lambda names: names[0] if names else "")
async def test_every_study_is_seen(stage: Stage, studies: list[str]) -> None:
    async with stage.view(chart_of(studies), size=SIZE) as view:
        answer, panes, seen = await looked_at(view)
        notes = await view.text("#notes")

    paper = answer["themes"]["dark"]["paper"]
    tints = answer.get("tints", {})
    drawn = {plot["label"] for plot in answer["plots"] if "Volume" in studies or not plot["is_volume"]}
    assert len(drawn) == len(studies)
    for place, plot in enumerate(answer["plots"]):
        texts = [row[5][place] for row in answer["rows"]]
        if visible(plot, texts):
            for ink in seen_inks(plot, tints.get(str(place))):
                pane = panes[int(plot["pane"])]
                assert count(seen.within(pane), ink, paper) >= 8, (plot["label"], plot["key"], ink)
    # The library labels the last value that it knows of, on a black plate where that piece of a line is not to be seen.
    assert seen.within((panes[0][2], panes[0][1], SIZE[0], panes[-1][3])).count((0, 0, 0), near=4) < PLATE
    assert notes == ""
    assert view.problems == []


@pytest.mark.night
async def test_what_is_not_drawn_is_said(stage: Stage) -> None:
    async with stage.view(chart_of([NOT_LIVE])) as view:
        await view.drawn()
        notes = await view.text("#notes")

    assert "not_live" in notes
    assert view.problems == []
