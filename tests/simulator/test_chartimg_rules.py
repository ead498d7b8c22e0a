"""The simulated chart-img is strict: it knows its names, its keys and their values, and refuses the rest."""

from typing import Any

import pytest

from binance_simulator.chartimg.facts import DrawingFact, Fact, Facts, StudyFact, is_known, read_facts
from binance_simulator.chartimg.rules import problems_of
from binance_simulator.market.listing import Listing

FACTS: Facts = read_facts()
HORIZONTAL = {"name": "Horizontal Line", "input": {"price": 70_000}}
SAMPLES = {"String": "text", "Float": 1.5, "Integer": 5, "Boolean": True, "Color": "rgba(1,2,3,0.5)"}


def sample(fact: Fact) -> object:
    """Return a value that a rule allows."""
    if fact.options:
        return fact.options[-1]
    if fact.type == "DateTime":
        return "2026-10-01T00:00:00.000Z"
    if fact.default is not None and fact.default != "LAST_PRICE":
        return fact.default
    return SAMPLES[fact.type]


def refused(body: dict[str, Any]) -> list[tuple[str, str]]:
    return [(problem.param, problem.msg) for problem in problems_of(body, FACTS)]


@pytest.mark.parametrize("study", FACTS.indicators, ids=lambda study: study.api_name)
def test_every_study_is_accepted_with_all_its_keys(study: StudyFact) -> None:
    given = {
        "name": study.api_name,
        "forceOverlay": study.overlay,
        "input": {key: sample(fact) for key, fact in study.input.items()},
        "override": {key: sample(fact) for key, fact in study.override.items()},
    }

    assert refused({"studies": [given]}) == []


@pytest.mark.parametrize("drawing", FACTS.drawings, ids=lambda drawing: drawing.api_name)
def test_every_drawing_is_accepted_with_all_its_keys_and_refused_without_a_required_one(drawing: DrawingFact) -> None:
    inputs = {key: sample(fact) for key, fact in drawing.input.items()}
    given = {
        "name": drawing.api_name,
        "input": inputs,
        "override": {key: sample(fact) for key, fact in drawing.override.items()},
        "zOrder": "top",
    }
    required = next(key for key, fact in drawing.input.items() if fact.required)
    lacking = {**given, "input": {key: value for key, value in inputs.items() if key != required}}

    assert refused({"drawings": [given]}) == []
    assert refused({"drawings": [lacking]}) == [(f"drawings[0].input.{required}", "is required")]


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"symbol": "BINANCE:BTCUSDT.P", "interval": "1D", "range": "YTD"},
        {"symbol": "(NASDAQ:MARA+NASDAQ:RIOT)/10"},
        {"symbol": "CME:ES1!", "range": {"from": "2026-01-01T00:00:00.000Z", "to": "2026-02-01T00:00:00Z"}},
        {"override": {"showLegend": False, "priceRange": {"from": 1, "to": 2.5, "margin": 0.01}}},
        {"style": "line", "override": {"style": {"lineStyle.linewidth": 2}}},
        {"watermark": "me", "watermarkSize": 32, "watermarkOpacity": 0.5},
        {
            "drawings": [
                {
                    "name": "Fib Retracement",
                    "input": {
                        "startDatetime": "2026-10-01T00:00:00.000Z",
                        "startPrice": 68000,
                        "endDatetime": "2026-10-20T00:00:00.000Z",
                        "endPrice": 72000,
                    },
                    "override": {"level1": {"visible": True, "coeff": 0.5, "color": "rgb(1,2,3)"}},
                }
            ]
        },
    ],
)
def test_what_is_documented_is_accepted(body: dict[str, Any]) -> None:
    assert refused(body) == []


REFUSED: list[tuple[dict[str, Any], str, str]] = [
    ({"indicators": []}, "indicators", "must be a supported parameter"),
    ({"symbol": "BTCUSDT"}, "symbol", "must be a valid tradingview EXCHANGE:SYMBOL"),
    ({"symbol": 5}, "symbol", "must be a valid tradingview EXCHANGE:SYMBOL"),
    ({"interval": "7h"}, "interval", "must be a supported interval"),
    ({"interval": "2m"}, "interval", "must be a supported interval"),
    ({"range": "7D"}, "range", "must be a supported range"),
    ({"range": {"from": "2026-01-01"}}, "range.to", "is required"),
    ({"range": {"from": "2026-02-01", "to": "2026-01-01"}}, "range", "from must be before to"),
    ({"range": {"from": "2026-02-31", "to": "2026-03-01"}}, "range.from", "must be of type DateTime"),
    ({"width": 399}, "width", "must be at least 400"),
    ({"width": True}, "width", "must be of type Integer"),
    ({"height": 600.0}, "height", "must be of type Integer"),
    ({"theme": "Dark"}, "theme", "must be a supported theme"),
    ({"timezone": "Europe/Nowhere"}, "timezone", "must be a supported timezone"),
    ({"shiftLeft": 1001}, "shiftLeft", "must be at most 1000"),
    ({"override": []}, "override", "must be an object"),
    ({"override": {"showlegend": True}}, "override.showlegend", "must be a supported parameter"),
    ({"override": {"mainPaneHeight": 99}}, "override.mainPaneHeight", "must be at least 100"),
    (
        {"override": {"style": {"lineStyle.linewidth": 2}}},
        "override.style.lineStyle.linewidth",
        "must be a supported parameter",
    ),
    ({"studies": {}}, "studies", "must be a list"),
    ({"studies": ["MACD"]}, "studies[0]", "must be an object"),
    ({"studies": [{"name": "RSI@tv-basicstudies"}]}, "studies[0].name", "must be a supported name"),
    ({"studies": [{"name": "MACD", "inputs": {}}]}, "studies[0].inputs", "must be a supported parameter"),
    (
        {"studies": [{"name": "Relative Strength Index", "input": {"in_0": 14}}]},
        "studies[0].input.in_0",
        "must be a supported parameter",
    ),
    (
        {"studies": [{"name": "Keltner Channels", "input": {"in_2": 1.5}}]},
        "studies[0].input.in_2",
        "must be of type Integer",
    ),
    (
        {"studies": [{"name": "Volume", "override": {"Volume.color": "#ff0000"}}]},
        "studies[0].override.Volume.color",
        "must be a supported parameter",
    ),
    (
        {"studies": [{"name": "VWAP", "override": {"VWAP.color": "#ff0000"}}]},
        "studies[0].override.VWAP.color",
        "must be of type Color",
    ),
    ({"studies": [{"name": "MACD", "forceOverlay": 1}]}, "studies[0].forceOverlay", "must be of type Boolean"),
    ({"drawings": [{"name": "Circle", "input": {}}]}, "drawings[0].name", "must be a supported name"),
    ({"drawings": [{"name": "Horizontal Line"}]}, "drawings[0].input", "must be an object"),
    ({"drawings": [HORIZONTAL | {"zOrder": "front"}]}, "drawings[0].zOrder", "must be a supported zOrder"),
    ({"drawings": [HORIZONTAL | {"style": {}}]}, "drawings[0].style", "must be a supported parameter"),
]


@pytest.mark.parametrize(("body", "param", "message"), REFUSED)
def test_what_is_not_documented_is_refused_and_named(body: dict[str, Any], param: str, message: str) -> None:
    assert (param, message) in refused(body)


@pytest.mark.parametrize(
    ("symbol", "known"),
    [
        ("BINANCE:BTCUSDT", True),
        ("BINANCE:BTCUSDT.P", True),
        ("BINANCE:BTCUSD.P", True),
        ("BINANCE:NOSUCHCOIN", False),
        ("NASDAQ:ANYTHING", True),
        ("MOON:BTCUSDT", False),
        ("BINANCE:BTCUSDT/NASDAQ:AAPL", True),
        ("BINANCE:BTCUSDT/MOON:AAPL", False),
    ],
)
def test_a_symbol_is_known_when_each_of_its_tickers_is(symbol: str, *, known: bool) -> None:
    assert is_known(symbol, FACTS, Listing()) is known
