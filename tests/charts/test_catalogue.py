"""The catalogue: the bundled file is whole, and every name leads to one record."""

import json
from collections import Counter

import pytest

from charts.configs import CATALOGUE
from mcp_binance_server.charts.catalogue import ChartCatalogue, bundled_catalogue
from mcp_binance_server.charts.config import CHART_KEYS
from mcp_binance_server.charts.dialect.studies import LENGTHS, MULTIPLIERS
from support.fixtures import DATA


def test_the_bundled_file_is_the_reviewed_one_without_its_blanks() -> None:
    reviewed = json.loads((DATA / "charts/chartimg_catalog.json").read_text(encoding="utf-8"))
    written = json.loads(CATALOGUE.to_json())

    assert len(written["indicators"]) == reviewed["meta"]["counts"]["indicators"] == 92
    assert len(written["drawings"]) == 15
    assert len(written["parameters"]["timezone"]["options"]) == 81
    for ours, theirs in zip(written["indicators"], reviewed["indicators"], strict=True):
        assert {**theirs, "aliases": [], "input": {}, "override": {}} | ours == theirs


def test_it_is_read_once_and_written_as_it_was_read() -> None:
    assert bundled_catalogue() is bundled_catalogue()
    assert ChartCatalogue.from_json(CATALOGUE.to_json()) == CATALOGUE


@pytest.mark.parametrize(
    ("name", "api_name"),
    [
        ("Bollinger Bands", "Bollinger Bands"),
        ("BollingerBands@tv-basicstudies", "Bollinger Bands"),
        ("RSI@tv-basicstudies", "Relative Strength Index"),
        ("MA@tv-basicstudies", "Moving Average"),
        ("macd@TV-basicstudies", "MACD"),
        ("rsi", "Relative Strength Index"),
        (" SuperTrend ", "Super Trend"),
        ("ema", "Moving Average Exponential"),
    ],
)
def test_a_study_is_found_by_each_of_its_names(name: str, api_name: str) -> None:
    found = CATALOGUE.indicator(name)

    assert found is not None
    assert found.api_name == api_name


def test_every_name_of_every_study_leads_back_to_it() -> None:
    for each in CATALOGUE.indicators:
        for name in (each.api_name, each.name, each.display_name, *each.aliases):
            assert CATALOGUE.indicator(name) is each, name


def test_there_is_no_guessing() -> None:
    assert CATALOGUE.indicator("bolinger") is None
    assert CATALOGUE.drawing("Trend") is None
    assert CATALOGUE.style("candles") is None
    assert CATALOGUE.exchange("BINACE") is None
    assert CATALOGUE.options("nothing") == ()


def test_an_exchange_and_a_drawing_are_found_in_any_case() -> None:
    exchange, drawing = CATALOGUE.exchange("binance"), CATALOGUE.drawing("trend line")

    assert exchange is not None
    assert drawing is not None
    assert (exchange.name, drawing.api_name) == ("Binance", "Trend Line")


def test_a_public_key_never_means_another_input_of_the_same_study() -> None:
    for each in CATALOGUE.indicators:
        assert max(Counter(rule.public for rule in each.input.values()).values(), default=1) == 1
        for wire, rule in each.input.items():
            assert each.wire_key(rule.public) == each.wire_key(wire) == wire


def test_every_key_of_a_body_has_its_place_in_the_order() -> None:
    assert set(CATALOGUE.parameters) == set(CHART_KEYS) - {"compare", "myOrders"}


def test_inputs_that_may_go_below_one_are_lengths_we_refuse_or_no_lengths() -> None:
    low = {
        rule.public
        for each in CATALOGUE.indicators
        for rule in each.input.values()
        if rule.type == "Integer" and rule.min is not None and rule.min < 1
    }

    assert low - LENGTHS - MULTIPLIERS == {"offset", "upperOffset", "lowerOffset", "valueArea"}
