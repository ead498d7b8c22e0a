"""From a configuration to the renderer's input: what is drawn, what is left out and said, what is refused."""

from typing import Any

import pytest

from charts.configs import CATALOGUE, CHART, NOW, SAMPLE, drawing_in_full
from mcp_binance_server.charts.errors import InvalidChartConfig
from mcp_binance_server.charts.render.spec import Anchor, StudySpec
from mcp_binance_server.charts.spec import LocalChart, to_spec
from mcp_binance_server.charts.studies.table import STUDIES
from mcp_binance_server.charts.wire import from_wire, to_wire
from mcp_binance_server.domain.periods import epoch_ms


def local(config: dict[str, Any]) -> LocalChart:
    return to_spec(config, catalogue=CATALOGUE, now=NOW)


def test_the_sample_is_drawn_with_the_catalogue_s_defaults() -> None:
    chart = local(dict(SAMPLE))

    assert (chart.pair, chart.interval, chart.until_ms, chart.warnings) == ("BTCUSDT", "1h", None, ())
    assert chart.spec.studies[0] == StudySpec("Bollinger Bands", {"length": 20, "stdDev": 2})
    assert (chart.spec.bars, chart.spec.theme, chart.spec.width, chart.spec.height) == (168, "dark", 1200, 675)
    assert chart.spec.as_of_ms == epoch_ms(NOW)


def test_both_dialects_are_one_chart() -> None:
    config = {**SAMPLE, "drawings": [{"type": "long", "coordinates": {"entry": 3, "target": 4, "stop": 2}}]}
    body = to_wire(config, catalogue=CATALOGUE, now=NOW).body

    assert local(config) == local(body) == local(from_wire(body, catalogue=CATALOGUE))


@pytest.mark.parametrize(
    ("change", "bars", "ends_early"),
    [
        ({}, 200, False),
        ({"range": "1D", "interval": "1m"}, 1000, False),
        ({"range": "1Y", "interval": "1D"}, 366, False),
        ({"range": "1Y", "interval": "1W"}, 53, False),
        ({"range": "1Y", "interval": "1M"}, 13, False),
        ({"range": "ALL", "interval": "1D"}, 1000, False),
        ({"range": {"from": "2026-01-01", "to": "2026-02-01"}, "interval": "1D"}, 31, True),
        ({"range": {"from": "2026-01-01", "to": "2027-02-01"}, "interval": "1W"}, 45, False),
        ({"range": {"from": "2026-11-14T21:59:59Z"}, "interval": "1h"}, 1, False),
    ],
)
def test_the_range_says_how_many_bars(change: dict[str, Any], bars: int, ends_early: bool) -> None:  # noqa: FBT001
    chart = local({**CHART, **change})

    assert chart.spec.bars == bars
    assert (chart.until_ms is not None) is ends_early
    assert [each.partition(":")[0] for each in chart.warnings] == ["too_many_bars"] * (bars == 1000)


def test_a_range_that_ended_ends_before_the_next_bar_opens() -> None:
    chart = local({**CHART, "range": {"from": "2026-01-01", "to": "2026-02-01"}, "interval": "1D"})

    assert chart.until_ms == 1_769_903_999_999


def test_a_study_we_cannot_draw_is_left_out_and_said() -> None:
    undrawn = [each.api_name for each in CATALOGUE.indicators if each.api_name not in STUDIES]
    config = {**CHART, "studies": [{"name": name} for name in (*undrawn, "RSI")]}

    chart = local(config)

    assert [each.name for each in chart.spec.studies] == ["Relative Strength Index"]
    assert list(chart.warnings) == [
        f"study_not_local: {name} is drawn by chart-img.com only; it was left out" for name in undrawn
    ]


def test_every_study_we_draw_is_one_of_the_catalogue() -> None:
    assert set(STUDIES) <= {each.api_name for each in CATALOGUE.indicators}


@pytest.mark.parametrize("name", sorted(STUDIES))
def test_a_study_gets_its_inputs_by_public_key(name: str) -> None:
    indicator = CATALOGUE.indicator(name)
    assert indicator is not None

    study, *volume = local({**CHART, "studies": [{"name": name, "override": {}}]}).spec.studies

    assert dict(study.inputs) == {k: v for k, v in indicator.defaults().items() if k in STUDIES[name].inputs}
    assert volume == ([StudySpec("Volume")] if STUDIES[name].overlay else [])


def test_what_only_the_service_refuses_is_drawn_here() -> None:
    chart = local({**CHART, "interval": "1s", "studies": [{"name": "kc", "inputs": {"mult": 1.5}}]})

    assert chart.interval == "1s"
    assert chart.spec.studies[0].inputs["mult"] == 1.5


@pytest.mark.parametrize(
    ("drawing", "points", "target"),
    [
        ({"type": "hline", "coordinates": 7}, (Anchor(None, 7),), None),
        ({"type": "vline", "coordinates": {"time": "2026-01-01"}}, (Anchor(1_767_225_600_000),), None),
        ({"type": "buy", "coordinates": {"time": "2026-01-01", "price": 7}}, (Anchor(1_767_225_600_000, 7),), None),
        (
            {"type": "trendline", "coordinates": [["2026-01-01", 7], ["2026-01-02", 8]]},
            (Anchor(1_767_225_600_000, 7), Anchor(1_767_312_000_000, 8)),
            None,
        ),
        (
            {"type": "long", "coordinates": {"entry": 7, "target": 8, "stop": 6, "start": "2026-01-01"}},
            (Anchor(1_767_225_600_000, 7),),
            8,
        ),
        (
            {
                "type": "short",
                "coordinates": {"entry": 7, "target": 6, "stop": 8, "start": "2026-01-01", "end": "2026-01-02"},
            },
            (Anchor(1_767_225_600_000, 7), Anchor(1_767_312_000_000)),
            6,
        ),
    ],
)
def test_drawings_have_their_points(drawing: dict[str, Any], points: tuple[Anchor, ...], target: float | None) -> None:
    (made,) = local({**CHART, "drawings": [drawing]}).spec.drawings

    assert (made.points, made.target) == (points, target)


@pytest.mark.parametrize("drawing", CATALOGUE.drawings, ids=lambda each: each.api_name)
def test_every_drawing_reaches_the_renderer(drawing: Any) -> None:  # noqa: ANN401
    full = drawing_in_full(drawing)

    (made,) = local({**CHART, "drawings": [full]}).spec.drawings

    assert made.name == drawing.api_name
    assert not made.on_top
    assert dict(made.override) == {key: value for key, value in full["override"].items() if key != "level1"}


def test_the_looks_of_the_chart_reach_the_renderer() -> None:
    override = {
        "showLegend": False,
        "showSeriesOHLC": False,
        "showVertGrid": False,
        "priceRange": {"from": 1, "to": 2},
        "style": {"candleStyle.upColor": "#fff"},
        "scalesFontSize": 20,
    }

    looks = local({**CHART, "override": override}).spec.looks

    assert (looks.legend, looks.series_ohlc, looks.vertical_grid, looks.horizontal_grid) == (False, False, False, True)
    assert looks.price_range is not None
    assert (looks.price_range.low, looks.price_range.high, looks.font_size) == (1, 2, 20)
    assert looks.style == {"candleStyle.upColor": "rgb(255,255,255)"}


def test_what_we_do_not_draw_is_said() -> None:
    chart = local({**CHART, "shiftRight": 5, "watermark": "me", "override": {"showInvertScaleStudies": True}})

    assert [each.split()[1] for each in chart.warnings] == [
        "shiftRight",
        "watermark",
        "override.showInvertScaleStudies",
    ]


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"symbol": "NASDAQ:AAPL"}, "symbol"),
        ({"symbol": "BINANCE:BTCUSDT.P"}, "symbol"),
        ({"symbol": "BTCUSDT"}, "symbol"),
        ({"interval": "45m"}, "interval"),
        ({"interval": "3M"}, "interval"),
        ({"width": 4000}, "resolution"),
        ({"theme": "blue"}, "theme"),
    ],
)
def test_what_cannot_be_drawn_here_is_refused(change: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidChartConfig) as caught:
        local({**CHART, **change})

    assert [each["field"] for each in caught.value.details] == [field]
