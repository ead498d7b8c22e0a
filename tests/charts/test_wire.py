"""The two dialects of a chart: every rule of the translation, one row each."""

import copy
import json
from typing import Any

import pytest

from charts.configs import CATALOGUE, CHART, NOW, SAMPLE, body_of
from mcp_binance_server.charts.config import CHART_KEYS
from mcp_binance_server.charts.errors import InvalidChartConfig
from mcp_binance_server.charts.wire import from_wire, to_wire
from support.requirement import requirement


def refusals(config: dict[str, Any]) -> dict[str, str]:
    """Return what is refused, message by field."""
    with pytest.raises(InvalidChartConfig) as caught:
        to_wire(config, catalogue=CATALOGUE, now=NOW)
    return {each["field"]: each["message"] for each in caught.value.details}


@requirement("ruling/33")
def test_the_sample_configuration_becomes_what_the_service_understands() -> None:
    body = body_of(SAMPLE)

    assert json.dumps(body, separators=(",", ":")) == (
        '{"symbol":"BINANCE:BTCUSDT","interval":"1h",'
        '"range":{"from":"2026-11-07T22:00:00.000Z","to":"2026-11-14T22:00:00.000Z"},'
        '"width":1200,"height":675,"style":"candle","theme":"dark","format":"png",'
        '"studies":[{"name":"Bollinger Bands"},{"name":"Relative Strength Index"}]}'
    )


def test_a_body_says_size_and_format_even_if_nobody_asked() -> None:
    assert body_of(dict(CHART)) == {**CHART, "width": 1200, "height": 675, "format": "png"}


def test_the_format_of_the_call_wins() -> None:
    made = to_wire({**CHART, "format": "png"}, catalogue=CATALOGUE, now=NOW, image_format="jpeg")

    assert made.body["format"] == "jpeg"


def test_a_smaller_plan_brings_its_own_size() -> None:
    made = to_wire({**CHART, "width": None}, catalogue=CATALOGUE, now=NOW, default_size=(800, 450))

    assert (made.body["width"], made.body["height"]) == (800, 450)


def test_keys_come_in_the_order_of_the_service_whatever_the_caller_s() -> None:
    config = {**SAMPLE, "watermark": "me", "shiftRight": 5, "drawings": [{"type": "hline", "coordinates": 1}]}

    keys = list(body_of(dict(reversed(config.items()))))

    assert keys == [key for key in CHART_KEYS if key in keys]


@pytest.mark.parametrize(
    ("key", "meant"),
    [
        ("indicators", "studies"),
        ("timeframe", "interval"),
        ("resolution", "width and height"),
        ("exchange", "symbol"),
        ("studdies", "studies"),
        ("Symbol", "symbol"),
    ],
)
def test_an_unknown_key_is_refused_with_the_one_that_was_meant(key: str, meant: str) -> None:
    assert f"did you mean `{meant}" in refusals({**CHART, key: 1})[key]


def test_a_key_like_no_other_is_refused_with_the_known_ones() -> None:
    assert "symbol, interval, range" in refusals({**CHART, "zzz": 1})["zzz"]


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        ("BINANCE:BTCUSDT", "BINANCE:BTCUSDT"),
        (" binance:btcusdt.p ", "BINANCE:BTCUSDT.P"),
        ("CME_MINI:ES1!", "CME_MINI:ES1!"),
        ("(NASDAQ:MARA+NASDAQ:RIOT)/10", "(NASDAQ:MARA+NASDAQ:RIOT)/10"),
        ("nasdaq:mara / nasdaq:riot", "NASDAQ:MARA / NASDAQ:RIOT"),
        ("1/FX:EURUSD", "1/FX:EURUSD"),
    ],
)
def test_symbols_and_formulas_are_read_in_any_case(given: str, sent: str) -> None:
    assert body_of({**CHART, "symbol": given})["symbol"] == sent


@pytest.mark.parametrize(
    "symbol",
    [None, "", "BTCUSDT", "BTC/USDT", "BINANCE:", ":BTCUSDT", "BINANCE:BTC USDT", 5, ["BINANCE:BTCUSDT"], "(A:B",
     "A:B)", "A:B+", "+A:B", "A:B C:D", "()", "1+2", "A:B**C:D", "A:\u017f", "B\u0130NANCE:BTC", "A:B" * 200,
     "BINANCE:BTCUSDT\n;"],
)  # fmt: skip
def test_what_is_no_symbol_is_refused(symbol: object) -> None:
    assert "symbol" in refusals({**CHART, "symbol": symbol})


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        ("1d", "1D"), ("D", "1D"), ("d", "1D"), ("1D", "1D"), ("24h", "1D"), ("1440", "1D"), ("1w", "1W"), ("7d", "1W"),
        ("60m", "1h"), ("60", "1h"), (60, "1h"), ("240", "4h"), ("1H", "1h"), ("4H", "4h"), ("1m", "1m"), ("1", "1m"),
        ("1M", "1M"), ("M", "1M"), ("3M", "3M"), ("12M", "1Y"), ("1y", "1Y"), (" 15m ", "15m"), ("120m", "2h"),
    ],
)  # fmt: skip
def test_intervals_are_understood_in_other_spellings(given: object, sent: str) -> None:
    assert body_of({**CHART, "interval": given})["interval"] == sent


@pytest.mark.parametrize("interval", CATALOGUE.options("interval"))
def test_every_interval_that_is_offered_is_sent_as_it_is(interval: str) -> None:
    assert body_of({**CHART, "interval": interval})["interval"] == interval


@pytest.mark.parametrize("interval", [None, "", "7m", "2m", "1s", "0m", "1x", "h1h", "1.5h", True, 1.5, [], "99999m"])
def test_what_is_no_interval_is_refused(interval: object) -> None:
    assert "interval" in refusals({**CHART, "interval": interval})


@pytest.mark.parametrize(
    ("given", "interval", "start"),
    [
        ("7D", "1h", "2026-11-07T22:00:00.000Z"),
        ("1D", "1D", "2026-11-13T00:00:00.000Z"),
        ("5d", "4h", "2026-11-09T20:00:00.000Z"),
        ("2W", "1D", "2026-10-31T00:00:00.000Z"),
        ("2W", "1W", "2026-10-26T00:00:00.000Z"),
        ("1M", "4h", "2026-10-14T20:00:00.000Z"),
        ("9M", "1D", "2026-02-14T00:00:00.000Z"),
        ("1Y", "1M", "2025-11-01T00:00:00.000Z"),
        ("5Y", "3M", "2021-10-01T00:00:00.000Z"),
        ("5Y", "6M", "2021-07-01T00:00:00.000Z"),
        ("5Y", "1Y", "2021-01-01T00:00:00.000Z"),
        ("1D", "45m", "2026-11-13T21:45:00.000Z"),
        ("DTD", "1h", "2026-11-14T00:00:00.000Z"),
        ("WTD", "1h", "2026-11-09T00:00:00.000Z"),
        ("MTD", "1D", "2026-11-01T00:00:00.000Z"),
        ("ytd", "1D", "2026-01-01T00:00:00.000Z"),
    ],
)
def test_a_named_range_becomes_two_moments_so_that_the_interval_holds(given: str, interval: str, start: str) -> None:
    body = body_of({**CHART, "interval": interval, "range": given})

    assert body["range"] == {"from": start, "to": "2026-11-14T22:00:00.000Z"}


def test_a_month_before_the_31st_is_the_last_day_of_the_month_before() -> None:
    made = to_wire({**CHART, "interval": "1D", "range": "1M"}, catalogue=CATALOGUE, now=NOW.replace(month=3, day=31))

    assert made.body["range"] == {"from": "2026-02-28T00:00:00.000Z", "to": "2026-03-31T22:00:00.000Z"}


def test_all_stays_a_word_and_says_what_that_means() -> None:
    made = to_wire({**CHART, "range": "all"}, catalogue=CATALOGUE, now=NOW)

    assert made.body["range"] == "ALL"
    assert made.notes == ("interval_assumed: for range ALL, chart-img.com picks the interval",)


@pytest.mark.parametrize(
    ("start", "end", "sent"),
    [
        ("2026-01-01", "2026-02-01", ("2026-01-01T00:00:00.000Z", "2026-02-01T00:00:00.000Z")),
        ("2026-01-01T01:00:00+01:00", None, ("2026-01-01T00:00:00.000Z", "2026-11-14T22:00:00.000Z")),
        (1_767_225_600_000, "2026-01-02T00:00:00.5Z", ("2026-01-01T00:00:00.000Z", "2026-01-02T00:00:00.500Z")),
    ],
)
def test_two_moments_are_sent_in_one_spelling(start: object, end: object, sent: tuple[str, str]) -> None:
    body = body_of({**CHART, "range": {"from": start, "to": end}})

    assert body["range"] == {"from": sent[0], "to": sent[1]}


def test_moments_in_the_wrong_order_are_swapped_and_that_is_said() -> None:
    made = to_wire({**CHART, "range": {"from": "2026-02-01", "to": "2026-01-01"}}, catalogue=CATALOGUE, now=NOW)

    assert made.body["range"] == {"from": "2026-01-01T00:00:00.000Z", "to": "2026-02-01T00:00:00.000Z"}
    assert made.notes[0].startswith("range_reversed: ")


def test_a_range_in_the_future_is_said() -> None:
    made = to_wire({**CHART, "range": {"from": "2027-02-01", "to": "2027-03-01"}}, catalogue=CATALOGUE, now=NOW)

    assert made.notes[0].startswith("future_range: ")


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ("0D", "range"), ("1m", "range"), ("D7", "range"), ("-7D", "range"), ("99999Y", "range"), ("99999D", "range"),
        ("", "range"), (7, "range"), ([], "range"), ("\u0663D", "range"),
        ({}, "range.from"), ({"from": "yesterday"}, "range.from"), ({"from": 1_767_225_600}, "range.from"),
        ({"from": True}, "range.from"), ({"from": 10**30}, "range.from"),
        ({"from": "2026-01-01", "to": "x"}, "range.to"),
        ({"from": "2026-01-01", "to": "2026-01-01"}, "range"), ({"from": "2026-01-01", "until": 1}, "range.until"),
        ({"from": "0001-01-01T00:00:00+23:00"}, "range.from"),
    ],
)  # fmt: skip
def test_what_is_no_range_is_refused(given: object, field: str) -> None:
    assert field in refusals({**CHART, "range": given})


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("theme", "Dark"), ("style", "candles"), ("scale", "log"), ("session", "overnight"), ("timezone", "Mars/Base"),
        ("format", "gif"), ("width", 399), ("height", 299), ("width", "800"), ("width", 800.5), ("height", True),
        ("width", float("nan")), ("height", float("inf")), ("shiftLeft", 0), ("shiftRight", 1001), ("watermark", 5),
        ("watermark", "x" * 501), ("watermarkSize", 17), ("watermarkOpacity", 0.05), ("override", []), ("studies", {}),
        ("drawings", "hline"),
    ],
)  # fmt: skip
def test_a_value_outside_its_rule_is_refused(key: str, value: object) -> None:
    assert key in refusals({**CHART, key: value})


def test_a_whole_number_may_be_written_as_a_float() -> None:
    assert body_of({**CHART, "width": 800.0})["width"] == 800


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        ("#f00", "rgb(255,0,0)"), ("#2196F3", "rgb(33,150,243)"), ("#2196f380", "rgba(33,150,243,0.502)"),
        ("#ffffff00", "rgba(255,255,255,0)"), (" rgb( 1, 2 ,3 ) ", "rgb(1,2,3)"), ("RGBA(1,2,3,.5)", "rgba(1,2,3,0.5)"),
    ],
)  # fmt: skip
def test_colours_are_sent_in_the_only_form_that_is_taken(given: str, sent: str) -> None:
    config = {**CHART, "style": "bar", "override": {"style": {"barStyle.upColor": given}}}

    assert body_of(config)["override"] == {"style": {"barStyle.upColor": sent}}


@pytest.mark.parametrize("colour", ["red", "#12", "rgb(256,0,0)", "rgba(1,2,3,1.5)", 5, "rgb(1,2)", "#ggg"])
def test_what_is_no_colour_is_refused(colour: object) -> None:
    config = {**CHART, "override": {"style": {"candleStyle.upColor": colour}}}

    assert "override.style.candleStyle.upColor" in refusals(config)


@pytest.mark.parametrize(
    ("override", "field"),
    [
        ({"showGrid": False}, "override.showGrid"),
        ({"showLegend": 1}, "override.showLegend"),
        ({"style": {"barStyle.upColor": "#fff"}}, "override.style.barStyle.upColor"),
        ({"style": {"candleStyle.upColour": "#fff"}}, "override.style.candleStyle.upColour"),
        ({"style": 5}, "override.style"),
        ({"priceRange": {"from": 2, "to": 1}}, "override.priceRange"),
        ({"priceRange": {"from": 2}}, "override.priceRange.to"),
        ({"priceRange": {"from": 1, "to": 2, "margin": 0.5}}, "override.priceRange.margin"),
        ({"mainPaneHeight": 99}, "override.mainPaneHeight"),
        ({"scalesFontSize": 51}, "override.scalesFontSize"),
    ],
)
def test_looks_are_checked_against_the_chart_and_its_style(override: dict[str, Any], field: str) -> None:
    assert field in refusals({**CHART, "override": override})


def test_a_look_without_the_name_of_its_style_is_recognised() -> None:
    found = refusals({**CHART, "override": {"style": {"upColor": "#fff"}}})

    assert found["override.style.upColor"].endswith("did you mean `candleStyle.upColor`?")


def test_all_problems_are_reported_at_once() -> None:
    found = refusals({"symbol": "x", "interval": "9q", "theme": "blue", "studies": [{"name": "?"}, 5], "zz": 1})

    assert set(found) == {"symbol", "interval", "theme", "studies[0].name", "studies[1]", "zz"}


def test_a_flood_of_problems_is_cut() -> None:
    found = refusals({**CHART, **{f"key{number}": 1 for number in range(1_000)}})

    assert len(found) == 101
    assert found["config"] == "900 more were found"


def test_a_refusal_is_the_contract_s() -> None:
    with pytest.raises(InvalidChartConfig) as caught:
        to_wire({**CHART, "symbol": "BTC"}, catalogue=CATALOGUE, now=NOW)

    assert caught.value.message == "Invalid configuration"
    assert caught.value.data()["details"][0]["message"].startswith("Invalid symbol format")


def test_null_says_nothing() -> None:
    given = dict.fromkeys(key for key in CHART_KEYS if key not in CHART)

    assert body_of({**CHART, **given}) == body_of(dict(CHART))


def test_what_was_given_is_left_as_it_was() -> None:
    config = {**SAMPLE, "drawings": [{"type": "hline", "coordinates": {"price": 1}, "style": {"dash": "solid"}}]}
    before = copy.deepcopy(config)

    body_of(config)

    assert config == before


def test_the_way_back_speaks_the_tools_dialect() -> None:
    config = {
        **CHART,
        "studies": [{"name": "Bollinger Bands", "input": {"in_1": 3}, "forceOverlay": True}],
        "drawings": [{"name": "Horizontal Line", "input": {"price": 7}, "zOrder": "top"}],
    }

    back = from_wire(body_of(config), catalogue=CATALOGUE)

    assert back["studies"] == [
        {"name": "BollingerBands@tv-basicstudies", "inputs": {"stdDev": 3}, "forceOverlay": True}
    ]
    assert back["drawings"] == [{"type": "Horizontal Line", "coordinates": {"price": 7}, "zOrder": "top"}]


@requirement("ruling/10")
def test_a_pair_in_other_letters_is_ours_to_draw_and_not_the_service_s() -> None:
    with pytest.raises(InvalidChartConfig) as caught:
        to_wire({**CHART, "symbol": "BINANCE:币安人生USDT"}, catalogue=CATALOGUE, now=NOW)

    assert caught.value.details == (
        {"field": "symbol", "message": "Invalid symbol format: chart-img.com does not accept 'BINANCE:币安人生USDT'"},
    )
