"""Thresholds from the environment: the right ones are taken, the wrong ones refused by name and never by value."""

from collections.abc import Mapping
from dataclasses import fields
from decimal import Decimal

import pytest

from mcp_binance_server.analytics.thresholds import DEFAULTS, Thresholds
from mcp_binance_server.analytics.tuning import TUNABLE, ChangedThreshold, Simple, changes, plain_number, tuned
from mcp_binance_server.errors import SettingsError
from mcp_binance_server.settings import ANALYTICS_PREFIX as PREFIX
from mcp_binance_server.settings import read_settings

CANARY = "987654321987654"
# What no answer rests on, and what is not a number.
NOT_OFFERED = {"kyle_min_n", "kyle_min_t", "amihud_min_n", "profile_max_bins"}


def tune(**given: str) -> Thresholds:
    return tuned({f"{PREFIX}{name.upper()}": text for name, text in given.items()}, prefix=PREFIX)


def refusal(environment: Mapping[str, str]) -> str:
    with pytest.raises(SettingsError) as caught:
        tuned(read_settings(environment).analytics, prefix=PREFIX)
    return caught.value.message


def test_nothing_given_is_the_project_defaults() -> None:
    assert tune() == DEFAULTS
    assert changes(DEFAULTS) == ()


def test_every_simple_threshold_can_be_set_and_nothing_else() -> None:
    simple = {each.name for each in fields(Thresholds) if not isinstance(getattr(DEFAULTS, each.name), Mapping)}

    assert set(TUNABLE) == simple - NOT_OFFERED


@pytest.mark.parametrize("name", TUNABLE)
def test_a_default_written_out_is_within_its_bounds_and_stays_what_it_is(name: str) -> None:
    default: Simple = getattr(DEFAULTS, name)
    text = ", ".join(map(str, default)) if isinstance(default, tuple) else str(default)

    found: Simple = getattr(tune(**{name: f" {text} "}), name)

    assert repr(found) == repr(default)


@pytest.mark.parametrize("name", TUNABLE)
def test_what_lies_beyond_its_bounds_is_refused(name: str) -> None:
    knob = TUNABLE[name]
    default: Simple = getattr(DEFAULTS, name)
    for beyond in (knob.low - 1, knob.high + 1):
        text = plain_number(beyond)
        given = ",".join([text] * len(default)) if isinstance(default, tuple) else text
        assert f"{PREFIX}{name.upper()}: must be" in refusal({f"{PREFIX}{name.upper()}": given})


def test_each_kind_of_number_is_read() -> None:
    found = tune(bias_t="4", min_events="50", profile_area="0.8", hhi_edges="0.1, 0.3", market_shock="-0.5")

    assert (found.bias_t, found.min_events, found.hhi_edges) == (4.0, 50, (0.1, 0.3))
    assert (found.profile_area, found.market_shock) == (Decimal("0.8"), Decimal("-0.5"))
    assert ChangedThreshold("bias_t", "4", "2.1") in changes(found)
    assert ChangedThreshold("hhi_edges", "0.1,0.3", "0.15,0.25") in changes(found)
    assert len(changes(found)) == 5


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("BIAS_T", CANARY),
        ("BIAS_T", f"x{CANARY}"),
        ("BIAS_T", f"-{CANARY}"),
        ("BIAS_T", "nan"),
        ("BIAS_T", "1e2"),
        ("BIAS_T", "\N{ARABIC-INDIC DIGIT FOUR}"),
        ("VACUUM_FRACTION", "1.5"),
        ("MIN_EVENTS", "30.5"),
        ("HHI_EDGES", "0.2"),
        ("HHI_EDGES", "0.3,0.2"),
        ("HHI_EDGES", "0.2,0.2"),
        ("HHI_EDGES", "0.1,0.2,0.3"),
        ("HEALTH_WEIGHTS", CANARY),
        ("KYLE_MIN_N", CANARY),
        ("BIAST", CANARY),
        ("bias_t", CANARY),
        ("", CANARY),
    ],
)
def test_a_wrong_name_or_value_is_refused_and_the_value_is_not_shown(name: str, text: str) -> None:
    said = refusal({f"{PREFIX}{name}": text})

    assert f" {PREFIX}{name}: " in said
    assert CANARY not in said


def test_a_mistyped_name_is_told_the_one_that_was_meant() -> None:
    assert f"{PREFIX}BIAST: unknown threshold; did you mean {PREFIX}BIAS_T?" in refusal({f"{PREFIX}BIAST": "4"})


def test_all_problems_are_told_at_once() -> None:
    said = refusal({f"{PREFIX}BIAS_T": "x", f"{PREFIX}MIN_EVENTS": "x", f"{PREFIX}MOON": "1"})

    assert said.count(PREFIX) == 3


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"STALE_MS": "6000"}, ("STALE_MS", "DEAD_MS")),
        ({"HEAVY_SHARE": "0.2"}, ("MODERATE_SHARE", "HEAVY_SHARE")),
    ],
)
def test_thresholds_that_contradict_each_other_are_refused_by_both_names(
    given: dict[str, str], named: tuple[str, str]
) -> None:
    said = refusal({f"{PREFIX}{name}": text for name, text in given.items()})

    assert all(f"{PREFIX}{name}" in said for name in named)


def test_an_empty_variable_counts_as_not_set() -> None:
    assert read_settings({f"{PREFIX}BIAS_T": "  "}).analytics == {}
