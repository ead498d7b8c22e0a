"""Studies in both dialects: names, inputs, types, and all 92 of them."""

from typing import Any

import pytest

from binance_simulator.chartimg.facts import read_facts
from binance_simulator.chartimg.rules import problems_of
from charts.configs import CATALOGUE, CHART, NOW, body_of, off_default, study_off_default
from mcp_binance_server.charts.catalogue import CatalogueStudy
from mcp_binance_server.charts.errors import InvalidChartConfig
from mcp_binance_server.charts.wire import from_wire, to_wire

every_study = pytest.mark.parametrize("indicator", CATALOGUE.indicators, ids=lambda each: each.api_name)


def sent(*studies: dict[str, Any]) -> list[dict[str, Any]]:
    return body_of({**CHART, "studies": [*studies]}).get("studies", [])


def refused(study: object) -> str:
    with pytest.raises(InvalidChartConfig) as caught:
        to_wire({**CHART, "studies": [study]}, catalogue=CATALOGUE, now=NOW)
    return caught.value.data()["explanation"]


@pytest.mark.parametrize("name", ["Bollinger Bands", "BollingerBands@tv-basicstudies", "bollinger bands", "BB"])
def test_a_study_may_be_named_in_any_known_way(name: str) -> None:
    assert sent({"name": name}) == [{"name": "Bollinger Bands"}]


@pytest.mark.parametrize(
    ("given", "wire"),
    [
        ({"length": 20, "stdDev": 2}, None),
        ({"length": 20, "stdDev": 2.0}, None),
        ({"length": 21, "stdDev": 2}, {"in_0": 21}),
        ({"in_1": 2.5}, {"in_1": 2.5}),
        ({"length": 21, "in_1": 3}, {"in_0": 21, "in_1": 3}),
        ({"length": 14.0}, {"in_0": 14}),
        ({"length": None}, None),
        ({}, None),
    ],
)
@pytest.mark.parametrize("key", ["input", "inputs"])
def test_inputs_are_sent_by_wire_key_and_only_off_default(key: str, given: dict[str, Any], wire: object) -> None:
    expected = {"name": "Bollinger Bands"} if wire is None else {"name": "Bollinger Bands", "input": wire}

    assert sent({"name": "BB", key: given}) == [expected]


@pytest.mark.parametrize(
    ("study", "said"),
    [
        ({"name": "bolinger"}, "Unknown study 'bolinger'"),
        ({"name": ""}, "studies[0].name is required"),
        ({"inputs": {}}, "studies[0].name is required"),
        ("RSI", "must be an object with a name"),
        ({"name": "RSI", "inputs": {"length": 7}, "input": {"length": 7}}, "both inputs and input"),
        ({"name": "BB", "inputs": {"length": 7, "in_0": 7}}, "`length` and `in_0` are the same input"),
        ({"name": "RSI", "inputs": {"leng": 7}}, "did you mean `length`?"),
        ({"name": "EMA", "inputs": {"period": 7}}, "did you mean `length`?"),
        ({"name": "BB", "inputs": {"multiplier": 7}}, "did you mean `stdDev`?"),
        ({"name": "SuperTrend", "inputs": {"multiplier": 7}}, "did you mean `factor`?"),
        ({"name": "MACD", "inputs": {"zzz": 7}}, "it has fast, slow, signal, source"),
        ({"name": "VWAP", "inputs": {"length": 7}}, "VWAP has no inputs"),
        ({"name": "RSI", "inputs": []}, "must be an object"),
        ({"name": "RSI", "inputs": {"length": 1.5}}, "a whole number, not 1.5"),
        ({"name": "RSI", "inputs": {"length": "14"}}, "a whole number, not '14'"),
        ({"name": "RSI", "inputs": {"length": True}}, "a whole number, not True"),
        ({"name": "RSI", "inputs": {"length": 0}}, "1 or more"),
        ({"name": "RSI", "inputs": {"length": 2001}}, "2000 or less"),
        ({"name": "BB", "inputs": {"stdDev": float("nan")}}, "a number"),
        ({"name": "MACD", "inputs": {"source": "closing"}}, "is not known"),
        ({"name": "Keltner Channels", "inputs": {"mult": 1.5}}, "drawn locally only"),
        ({"name": "Super Trend", "inputs": {"factor": 2.5}}, "drawn locally only"),
        ({"name": "Keltner Channels", "inputs": {"trueRange": 1}}, "true or false"),
        ({"name": "ADX", "inputs": {"di": 0}}, "1 or more"),
        ({"name": "Coppock Curve", "inputs": {"wma": -3}}, "1 or more"),
        ({"name": "ALMA", "inputs": {"length": 0}}, "1 or more"),
        ({"name": "RSI", "override": {"Plot.colour": "#fff"}}, "did you mean `Plot.color`?"),
        ({"name": "RSI", "override": {"Plot.linewidth": 11}}, "10 or less"),
        ({"name": "RSI", "forceOverlay": "yes"}, "true or false"),
        ({"name": "RSI", "settings": {}}, "did you mean `inputs`?"),
    ],
)
def test_what_no_study_takes_is_refused(study: object, said: str) -> None:
    assert said in refused(study)


def test_an_offset_may_be_negative() -> None:
    assert sent({"name": "MA", "inputs": {"offset": -5}}) == [{"name": "Moving Average", "input": {"offset": -5}}]


@every_study
def test_each_input_off_default_is_sent_alone_by_either_key_and_comes_back(indicator: CatalogueStudy) -> None:
    for wire, rule in indicator.input.items():
        value = off_default(rule)
        expected = [{"name": indicator.api_name, "input": {wire: value}}]

        assert sent({"name": indicator.name, "inputs": {rule.public: value}}) == expected
        assert sent({"name": indicator.api_name, "input": {wire: value}}) == expected
        back = from_wire({**CHART, "studies": expected}, catalogue=CATALOGUE)
        assert back["studies"] == [{"name": indicator.name, "inputs": {rule.public: value}}]


@every_study
def test_a_study_with_everything_set_is_taken_by_the_service_and_comes_back(indicator: CatalogueStudy) -> None:
    study = study_off_default(indicator)

    body = body_of({**CHART, "studies": [study]})

    assert body["studies"] == [study]
    assert problems_of(body, read_facts()) == []
    assert body_of(from_wire(body, catalogue=CATALOGUE)) == body
