"""Drawings in both dialects: every type, its coordinates, its style, and all 15 of them."""

from typing import Any

import pytest

from binance_simulator.chartimg.facts import read_facts
from binance_simulator.chartimg.rules import problems_of
from charts.configs import CATALOGUE, CHART, NOW, body_of, drawing_in_full
from mcp_binance_server.charts.catalogue import Drawing
from mcp_binance_server.charts.errors import InvalidChartConfig
from mcp_binance_server.charts.wire import from_wire, to_wire

T1, T2 = "2026-10-01T00:00:00.000Z", "2026-10-20T00:00:00.000Z"
POINTS = {"startDatetime": T1, "startPrice": 1, "endDatetime": T2, "endPrice": 2}
START, END = {"time": "2026-10-01", "price": 1}, {"time": "2026-10-20", "price": 2}
ENTRY = {"entryPrice": 3200, "targetPrice": 3600, "stopPrice": 3050}


def sent(drawing: object, **chart: object) -> dict[str, Any]:
    (made,) = body_of({**CHART, **chart, "drawings": [drawing]})["drawings"]
    return made


def refused(drawing: object) -> str:
    with pytest.raises(InvalidChartConfig) as caught:
        to_wire({**CHART, "drawings": [drawing]}, catalogue=CATALOGUE, now=NOW)
    return caught.value.data()["explanation"]


@pytest.mark.parametrize(
    ("types", "coordinates", "name", "given"),
    [
        ("Horizontal Line,horizontal_line,hline,LEVEL,support,resistance", 7, "Horizontal Line", {"price": 7}),
        ("hline", {"price": 7.5, "text": "a"}, "Horizontal Line", {"price": 7.5, "text": "a"}),
        ("vertical-line,vline", {"time": "2026-10-01"}, "Vertical Line", {"datetime": T1}),
        ("trendline,Trend Line", {"start": START, "end": END}, "Trend Line", POINTS),
        ("trendline", [START, END], "Trend Line", POINTS),
        ("trendline", [["2026-10-01", 1], ["2026-10-20", 2]], "Trend Line", POINTS),
        ("rectangle,box,zone", {"start": START, "end": END, "text": "a"}, "Rectangle", {**POINTS, "text": "a"}),
        ("arrow,arrowmarker", [START, END], "Arrow Marker", POINTS),
        ("fib,fibonacci,fibretracement", [START, END], "Fib Retracement", POINTS),
        ("daterange", [START, END], "Date Range", POINTS),
        ("datepricerange", [START, END], "Date Price Range", POINTS),
        ("callout", {"start": START, "end": END, "text": "a"}, "Callout", {**POINTS, "text": "a"}),
        ("arrowup,buy,arrowmarkup", START, "Arrow Mark Up", {"datetime": T1, "price": 1}),
        ("arrowdown,sell", [START], "Arrow Mark Down", {"datetime": T1, "price": 1}),
        ("text,label", {**START, "text": "a"}, "Text", {"datetime": T1, "price": 1, "text": "a"}),
        (
            "long,longposition",
            {"entry": 3200, "target": 3600, "stop": 3050, "start": "2026-10-01", "end": "2026-10-20"},
            "Long Position",
            {"startDatetime": T1, **ENTRY, "endDatetime": T2},
        ),
        (
            "short",
            {"entry": 3200, "target": 3600, "stop": 3050, "start": 1_790_812_800_000},
            "Short Position",
            {"startDatetime": T1, **ENTRY},
        ),
        ("orderline", {"text": "Buy", "quantity": 0.5}, "Order Line", {"text": "Buy", "quantity": "0.5"}),
        (
            "orderline",
            {"text": "a", "quantity": "1", "price": 9},
            "Order Line",
            {"text": "a", "quantity": "1", "price": 9},
        ),
    ],
)
def test_coordinates_become_the_inputs_of_the_drawing(
    types: str, coordinates: object, name: str, given: dict[str, Any]
) -> None:
    for kind in types.split(","):
        made = sent({"type": kind, "coordinates": coordinates})

        assert made == {"name": name, "input": given}


@pytest.mark.parametrize(
    ("interval", "start"),
    [
        ("1h", "2026-11-14T22:00:00.000Z"),
        ("4h", "2026-11-14T20:00:00.000Z"),
        ("1D", "2026-11-14T00:00:00.000Z"),
        ("1W", "2026-11-09T00:00:00.000Z"),
        ("1M", "2026-11-01T00:00:00.000Z"),
    ],
)
def test_a_position_without_a_start_begins_at_the_last_bar(interval: str, start: str) -> None:
    made = sent({"type": "long", "coordinates": {"entry": 3, "target": 4, "stop": 2}}, interval=interval)

    assert made["input"]["startDatetime"] == start


@pytest.mark.parametrize(
    ("kind", "style", "override"),
    [
        ("hline", {"color": "#f00", "width": 3, "dash": "dashed"},
         {"lineStyle": 2, "lineWidth": 3, "lineColor": "rgb(255,0,0)"}),
        ("hline", {"dash": "Solid", "showPrice": False}, {"lineStyle": 0, "showPrice": False}),
        ("vline", {"dash": "dotted"}, {"lineStyle": 1}),
        ("buy", {"color": "#00f"}, {"arrowColor": "rgb(0,0,255)"}),
        ("text", {"color": "#00f"}, {"textColor": "rgb(0,0,255)"}),
        ("callout", {"color": "#00f", "width": 2}, {"lineWidth": 2, "backgroundColor": "rgb(0,0,255)"}),
        ("fib", {"level1": {"coeff": 0.5, "color": "#fff"}, "level2": {}},
         {"level1": {"coeff": 0.5, "color": "rgb(255,255,255)"}}),
    ],
)  # fmt: skip
def test_a_style_becomes_overrides(kind: str, style: dict[str, Any], override: dict[str, Any]) -> None:
    coordinates = {"hline": 7, "vline": {"time": T1}, "buy": START, "text": {**START, "text": "a"}}
    points = {"start": START, "end": END, **({"text": "a"} if kind == "callout" else {})}

    made = sent({"type": kind, "coordinates": coordinates.get(kind, points), "style": style})

    assert made["override"] == override


@pytest.mark.parametrize(
    ("drawing", "said"),
    [
        ("hline", "must be an object with a type and coordinates"),
        ({"coordinates": 7}, "drawings[0].type is required"),
        ({"type": "blob", "coordinates": 7}, "Unknown drawing 'blob'"),
        ({"type": 5, "coordinates": 7}, "Unknown drawing 5"),
        ({"type": "hline"}, "Horizontal Line needs price"),
        ({"type": "hline", "coordinates": "7"}, "must be a price"),
        ({"type": "hline", "coordinates": {"price": "7"}}, "must be a number"),
        ({"type": "hline", "coordinates": True}, "must be a price"),
        ({"type": "hline", "coordinates": {"price": 7, "prize": 8}}, "did you mean `price`?"),
        ({"type": "vline", "coordinates": {"time": "noon"}}, "'noon' is not a time"),
        ({"type": "trendline", "coordinates": {"start": START}}, "Trend Line needs end.time, end.price"),
        ({"type": "trendline", "coordinates": {"x1": 1}}, "Unknown key `x1`; known keys: start, end, text"),
        ({"name": "Trend Line", "input": {"x1": 1}}, "known keys: startDatetime, startPrice, endDatetime"),
        ({"type": "trendline", "coordinates": [START]}, "start and end"),
        ({"type": "trendline", "coordinates": {"start": 5, "end": END}}, "a point with time and price, not 5"),
        ({"type": "trendline", "coordinates": {"start": {**START, "x": 1}, "end": END}}, "Unknown key `x`"),
        ({"type": "fib", "coordinates": {"start": START, "end": END, "text": "a"}}, "Unknown key `text`"),
        ({"type": "callout", "coordinates": [START, END]}, "Callout needs text"),
        ({"type": "long", "coordinates": {"entry": 1, "stop": 2}}, "Long Position needs target"),
        ({"name": "Long Position", "input": {"entryPrice": 1}}, "needs targetPrice"),
        ({"type": "orderline", "coordinates": {"text": "a"}}, "Order Line needs quantity"),
        ({"type": "vline", "coordinates": {"time": T1, "datetime": T1}}, "datetime is given twice"),
        ({"type": "hline", "name": "Horizontal Line", "coordinates": 7}, "both type and name"),
        ({"type": "hline", "coordinates": 7, "input": {"price": 7}}, "both coordinates and input"),
        (
            {"type": "hline", "coordinates": 7, "style": {"width": 1}, "override": {"lineWidth": 1}},
            "style and override",
        ),
        ({"type": "hline", "coordinates": 7, "style": {"dash": "wavy"}}, "solid, dotted or dashed"),
        ({"type": "hline", "coordinates": 7, "style": {"width": 0}}, "1 or more"),
        ({"type": "hline", "coordinates": 7, "style": {"width": 1, "lineWidth": 1}}, "are the same"),
        ({"type": "hline", "coordinates": 7, "style": {"glow": 1}}, "Unknown key `glow`"),
        ({"type": "fib", "coordinates": [START, END], "style": {"color": "#fff"}}, "no setting for color"),
        ({"type": "fib", "coordinates": [START, END], "style": {"level25": {}}}, "Unknown key `level25`"),
        ({"type": "fib", "coordinates": [START, END], "style": {"level1": {"coef": 1}}}, "did you mean `coeff`?"),
        ({"type": "hline", "coordinates": 7, "override": {"color": "#fff"}}, "Unknown key `color`"),
        ({"type": "hline", "coordinates": 7, "zOrder": "middle"}, "is not known"),
        ({"type": "hline", "coordinates": 7, "points": []}, "Unknown key `points`"),
    ],
)
def test_what_no_drawing_takes_is_refused(drawing: object, said: str) -> None:
    assert said in refused(drawing)


@pytest.mark.parametrize("drawing", CATALOGUE.drawings, ids=lambda each: each.api_name)
def test_a_drawing_with_everything_set_is_taken_by_the_service_and_comes_back(drawing: Drawing) -> None:
    full = drawing_in_full(drawing)

    body = body_of({**CHART, "drawings": [full]})
    back: dict[str, Any] = from_wire(body, catalogue=CATALOGUE)

    assert body["drawings"] == [full]
    assert problems_of(body, read_facts()) == []
    assert body_of(back) == body
    assert set(back["drawings"][0]) == {"type", "coordinates", "style", "zOrder"}
