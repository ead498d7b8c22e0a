"""The two dialects, for any sound body: there and back, twice the same, nothing changed, nothing refused."""

import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from binance_simulator.chartimg.facts import read_facts
from binance_simulator.chartimg.rules import problems_of
from charts.configs import CATALOGUE, CHART, NOW, bodies, body_of
from mcp_binance_server.charts.config import CHART_KEYS, is_list, is_object
from mcp_binance_server.charts.plans import PLANS
from mcp_binance_server.charts.validate import Conditions, validate_chart
from mcp_binance_server.charts.wire import from_wire, read_chart

pytestmark = pytest.mark.flood  # hundreds of cases each

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
    max_leaves=12,
)
PARTS = st.sampled_from(["name", "type", "inputs", "input", "coordinates", "style", "override", "zOrder", "from", "to"])
NAMES = st.sampled_from(["RSI", "Trend Line", "hline", "long", "fib", "MACD", "7D", "1h", "BINANCE:BTCUSDT", "#fff"])
PLAUSIBLE = st.recursive(
    NAMES | JSON, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(PARTS, inner, max_size=4), max_leaves=15
)


@pytest.mark.night
@settings(max_examples=60)
@given(bodies())
def test_a_sound_body_comes_back_from_either_dialect(body: dict[str, Any]) -> None:
    sent = body_of(body)
    back = from_wire(sent, catalogue=CATALOGUE)

    assert sent == body
    assert body_of(back) == body
    assert from_wire(body_of(back), catalogue=CATALOGUE) == back


@pytest.mark.night
@settings(max_examples=60)
@given(bodies())
def test_what_is_sent_is_taken_and_sending_it_again_changes_nothing(body: dict[str, Any]) -> None:
    before = copy.deepcopy(body)

    sent = body_of(from_wire(body, catalogue=CATALOGUE))

    assert problems_of(sent, read_facts()) == []
    assert body_of(sent) == sent
    assert list(sent) == [key for key in CHART_KEYS if key in sent]
    assert body == before


@pytest.mark.night
@settings(max_examples=120)
@given(st.dictionaries(st.sampled_from(CHART_KEYS) | st.text(max_size=8), PLAUSIBLE, max_size=8))
def test_whatever_is_sent_there_is_a_verdict_and_never_a_crash(config: dict[str, Any]) -> None:
    before = copy.deepcopy(config)

    verdict = validate_chart(config, catalogue=CATALOGUE, conditions=Conditions(PLANS["PRO"], NOW))
    reading = read_chart(config, catalogue=CATALOGUE, now=NOW)

    assert repr(config) == repr(before)
    if verdict.valid:
        assert not [each for each in reading.findings if each.severity == "error"]
        assert problems_of(reading.body, read_facts()) == []


@pytest.mark.night
@settings(max_examples=60)
@given(st.lists(PLAUSIBLE, max_size=3), st.lists(PLAUSIBLE, max_size=3))
def test_studies_and_drawings_of_any_shape_are_taken_or_refused(studies: list[Any], drawings: list[Any]) -> None:
    reading = read_chart({**CHART, "studies": studies, "drawings": drawings}, catalogue=CATALOGUE, now=NOW)

    if not any(each.severity == "error" for each in reading.findings):
        assert problems_of(reading.body, read_facts()) == []


def places(value: object, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """Return the way to every value inside a JSON value."""
    inner: list[tuple[str | int, object]] = []
    if is_object(value):
        inner = [*value.items()]
    elif is_list(value):
        inner = [*enumerate(value)]
    return [place for key, each in inner for place in ((*path, key), *places(each, (*path, key)))]


@pytest.mark.night
@settings(max_examples=120)
@given(bodies(), JSON | NAMES, st.data())
def test_a_sound_chart_with_one_value_spoilt_is_refused_or_still_taken(
    body: dict[str, Any], spoilt: object, data: st.DataObject
) -> None:
    config = copy.deepcopy(data.draw(st.sampled_from([body, from_wire(body, catalogue=CATALOGUE)])))
    *way, last = data.draw(st.sampled_from(places(config)))
    holder: Any = config
    for step in way:
        holder = holder[step]
    holder[last] = spoilt

    reading = read_chart(config, catalogue=CATALOGUE, now=NOW)

    if not any(each.severity == "error" for each in reading.findings):
        assert problems_of(reading.body, read_facts()) == []
        assert body_of(reading.body) == reading.body
