"""Every drawing that is drawn here, once in the browser: where its lines, boxes, words and marks are seen."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest

from apps.harness import CHART, Stage
from apps.pixels import rgb
from apps.test_drawing import blended, looked_at
from mcp_binance_server.charts.render.drawings.plans import KINDS

BARE: Mapping[str, Any] = {**CHART, "interval": "1h", "studies": [], "style": "line"}
# A colour that the chart itself does not have.
PINK = "#ff00aa"
SIZE = (1000, 600)


def moment(rows: list[list[Any]], bar: int) -> str:
    return datetime.fromtimestamp(rows[bar][0] / 1000, tz=UTC).isoformat().replace("+00:00", "Z")


def price(rows: list[list[Any]], part: float) -> float:
    """Return the price that far between the lowest and the highest."""
    low, high = min(float(row[3]) for row in rows[-120:]), max(float(row[2]) for row in rows[-120:])
    return round(low + part * (high - low), 2)


def point(rows: list[list[Any]], bar: int, part: float) -> dict[str, Any]:
    return {"time": moment(rows, bar), "price": price(rows, part)}


def drawings(rows: list[list[Any]]) -> dict[str, dict[str, Any]]:
    """Return each kind, in a colour of its own where it may have one."""
    ends = {"start": point(rows, -100, 0.2), "end": point(rows, -40, 0.8)}
    plan = {"entry": price(rows, 0.5), "start": moment(rows, -60)}
    return {
        "Horizontal Line": {"input": {"price": price(rows, 0.5), "text": "mine"}, "override": {"lineColor": PINK}},
        "Vertical Line": {"input": {"time": moment(rows, -50), "text": "then"}, "override": {"lineColor": PINK}},
        "Trend Line": {"input": {**ends, "text": "up"}, "override": {"lineColor": PINK, "extendRight": True}},
        "Arrow Marker": {"input": {**ends, "text": "there"}, "override": {"arrowColor": PINK}},
        "Rectangle": {"input": ends, "override": {"lineColor": PINK, "backgroundColor": "rgba(136,255,0,0.5)"}},
        "Text": {"input": {**point(rows, -50, 0.5), "text": "a word"}, "override": {"textColor": PINK}},
        "Arrow Mark Up": {"input": {**point(rows, -50, 0.5), "text": "buy"}, "override": {"arrowColor": PINK}},
        "Arrow Mark Down": {"input": {**point(rows, -50, 0.5), "text": "sell"}, "override": {"arrowColor": PINK}},
        "Long Position": {"input": {**plan, "target": price(rows, 0.9), "stop": price(rows, 0.2)}},
        "Short Position": {"input": {**plan, "target": price(rows, 0.1), "stop": price(rows, 0.8)}},
        "Fib Retracement": {"input": ends},
    }


def opaque_inks(shapes: list[dict[str, Any]]) -> dict[str, int]:
    """Return the colours that must be seen in the pane, and the least pixels of each."""
    least = {"line": 30, "box": 30, "label": 4, "mark": 30}
    inks: dict[str, int] = {}
    for shape in shapes:
        if shape["is"] in least and len(shape.get("colour", "")) == 7:
            inks[shape["colour"]] = least[shape["is"]]
        if plate := shape.get("plate"):
            inks[plate] = 200
    return inks


def test_no_kind_is_forgotten() -> None:
    assert set(drawings([[0, "1", "2", "1", "2", []]] * 120)) == set(KINDS)


@pytest.mark.parametrize("name", KINDS)
async def test_every_drawing_is_seen(stage: Stage, name: str) -> None:
    rows = (await stage.tools().bars(BARE))["rows"]
    drawing = {"name": name, **drawings(rows)[name]}
    async with stage.view({**BARE, "drawings": [drawing]}, size=SIZE) as view:
        answer, (box,), seen = await looked_at(view)
        notes = await view.text("#notes")

    pane, axis = seen.within(box), seen.within((box[2], box[1], SIZE[0], box[3]))
    paper = answer["themes"]["dark"]["paper"]
    [told] = answer["drawings"]
    assert told["name"] == name
    assert (notes, view.problems) == ("", [])
    for ink, least in opaque_inks(told["shapes"]).items():
        assert pane.count(rgb(ink), near=30) >= least, ink
    if name == "Horizontal Line":
        assert len(pane.columns(rgb(PINK))) > pane.size[0] * 0.95
    if name == "Vertical Line":
        assert len(pane.rows(rgb(PINK))) > pane.size[1] * 0.9
        assert len(pane.columns(rgb(PINK))) < pane.size[0] * 0.3
    for shape in told["shapes"]:
        if fill := shape.get("fill"):
            assert pane.count(blended(fill, paper)) > 100, fill
        if shape["is"] == "tag":
            assert axis.count(rgb(shape["colour"])) > 100, shape["text"]
