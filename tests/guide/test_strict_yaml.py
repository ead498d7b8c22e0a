"""Strict YAML: values with their lines, and what is refused, with the line it stands on."""

import contextlib
import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_binance_server.guide.strict_yaml import YamlRefused, load_yaml


def test_values_come_with_the_line_they_start_on() -> None:
    located = load_yaml("a: 1\nb:\n  - x\n  - c: 'no'\nd: 2026-11-14\n")

    assert located.value == {"a": 1, "b": ["x", {"c": "no"}], "d": datetime.date(2026, 11, 14)}
    assert [located.line(path) for path in (("a",), ("b", 0), ("b", 1, "c"), ("d",), ("b", 7), ("z",))] == [
        1,
        3,
        4,
        5,
        2,
        1,
    ]


@pytest.mark.parametrize("text", ["", "\n", "# only a comment\n"])
def test_an_empty_text_is_nothing(text: str) -> None:
    assert load_yaml(text).value is None


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ("a: 1\na: 2", 2, "duplicate key"),
        ("a: &x [1]\nb: *x", 2, "aliases"),
        ("a: 1\nb: !!python/object:os.system x", 2, "tags"),
        ("a: !!str 1", 1, "tags"),
        ("a: 1\n---\nb: 2", 2, "second document"),
        ("1: a", 1, "a key must be a word"),
        ("no: a", 1, "a key must be a word"),
        ("? [a]\n: b", 1, "a key must be a word"),
        ("[" * 5_000, 1, "deeper"),
        ("- " * 4_000 + "a", 1, "deeper"),
        ("a: 2026-99-99", 1, "quotes"),
        ("a: [1\nb: 2", 2, ""),
        ("a: \x00", 1, ""),
        ("a:\n\t- b", 2, ""),
    ],
)
def test_what_is_not_taken_is_refused_with_its_line(text: str, line: int, problem: str) -> None:
    with pytest.raises(YamlRefused) as caught:
        load_yaml(text)

    assert caught.value.line == line
    assert problem in caught.value.problem


@given(st.text("ab:-[]{}&*!|>'\"# \n\t?%@,0.~", max_size=80))
def test_any_text_is_a_value_or_refused(text: str) -> None:
    with contextlib.suppress(YamlRefused):
        load_yaml(text)
