"""The language of a screen: read as written, written as read, and refused with the nearest names."""

from collections.abc import Callable
from decimal import Decimal
from math import inf, nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_binance_server.analytics.market.scan.column_table import COLUMNS, SCAN_INTERVALS, columns_of
from mcp_binance_server.analytics.market.scan.conditions import (
    MOST_CONDITIONS,
    OPERATORS,
    ColumnRef,
    Condition,
    SortBy,
    read_columns,
    read_condition,
    read_conditions,
    read_sort,
)
from mcp_binance_server.errors import InvalidArguments

refs = st.sampled_from(sorted(COLUMNS)).flatmap(
    lambda name: (
        st.sampled_from(SCAN_INTERVALS).map(lambda each: ColumnRef(name, each))
        if COLUMNS[name].takes_interval
        else st.just(ColumnRef(name))
    )
)
numbers = st.decimals(min_value=-(10**17), max_value=10**17, places=6)


@st.composite
def conditions(draw: st.DrawFn) -> Condition:
    ref = draw(refs)
    return Condition(ref.column, ref.interval, draw(st.sampled_from(OPERATORS)), draw(numbers) or Decimal(0))


READERS: dict[str, Callable[[str], object]] = {
    "where": lambda text: read_condition(text, "spot"),
    "sort": lambda text: read_sort(text, "spot"),
    "show": lambda text: read_columns([text], "spot"),
}


def refusal(read: Callable[[str], object], text: str) -> InvalidArguments | None:
    try:
        read(text)
    except InvalidArguments as error:
        return error
    return None


def problem_of(text: str, market: str = "spot") -> str:
    with pytest.raises(InvalidArguments) as caught:
        read_condition(text, "perpetual" if market == "perpetual" else "spot")
    (error,) = caught.value.errors
    assert error["argument"] == "where"
    assert error["problem"] in caught.value.message
    return error["problem"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("rsi_14@1h < 30", Condition("rsi_14", "1h", "<", Decimal(30))),
        ("change_24h<=-5", Condition("change_24h", None, "<=", Decimal(-5))),
        ("  vs_sma_200 @ 1d\t>=  0.25 ", Condition("vs_sma_200", "1d", ">=", Decimal("0.25"))),
        ("REL_VOLUME_24H > +2.50", Condition("rel_volume_24h", None, ">", Decimal("2.5"))),
        ("change@15m > -0", Condition("change", "15m", ">", Decimal(0))),
    ],
)
def test_a_condition_is_read_as_it_was_meant(text: str, expected: Condition) -> None:
    assert read_condition(text, "spot") == expected


@given(conditions())
def test_what_is_written_is_read_again(condition: Condition) -> None:
    text = str(condition)

    assert read_condition(text, "perpetual") == condition
    assert read_condition(text.replace(" ", ""), "perpetual") == condition
    assert str(read_condition(text, "perpetual")) == text


@given(refs, st.booleans())
def test_a_sort_is_read_again(ref: ColumnRef, largest_first: bool) -> None:  # noqa: FBT001 - drawn
    sort = SortBy(ref, largest_first=largest_first)

    assert read_sort(str(sort), "perpetual") == sort
    assert read_columns([str(ref), str(ref)], "perpetual") == (ref,)


alphabet = st.sampled_from("rsi_14@15mhd<>=+-. 0123456789eEnaNf%,\t\nchange_24hvs²٣")


@given(st.text(alphabet, max_size=40) | st.text(max_size=120))
def test_any_text_is_read_or_refused(text: str) -> None:
    for argument, read in READERS.items():
        error = refusal(read, text)
        if error is None:
            assert set(text) & set("aeiou_AEIOU")  # it names a column
        else:
            assert [each["argument"] for each in error.errors] == [argument]
            assert len(error.message) < 800


@pytest.mark.parametrize(
    "text",
    [
        "", "rsi_14@1h", "30 > rsi_14@1h", "change_24h = 5", "change_24h == 5", "change_24h => 5", "change_24h > 5%",
        "change_24h > 1e3", "change_24h > nan", "change_24h > inf", "change_24h > -Infinity", "change_24h > .5",
        "change_24h > 1,000", "change_24h > 1_000", "change_24h > ٣", "change_24h > 5 and price > 1",
        "change_24h > 5\n", "change_24h > 5; x", "change_24h > " + "9" * 19, "change_24h > 5" + " " * 90,
    ],
)  # fmt: skip
def test_what_is_no_condition_is_refused_with_the_grammar(text: str) -> None:
    problem = problem_of(text)

    assert "column[@15m|1h|4h|1d]" in problem
    assert "rsi_14@1h < 30" in problem


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("rsi < 30", "rsi_14"),
        ("sma_200@1h > 0", "vs_sma_200"),
        ("volume > 5", "quote_volume_24h"),
        ("change24h > 5", "change_24h"),
        ("relvolume@1h > 2", "rel_volume"),
        ("funding > 0", "with market=perpetual: funding_apr, funding_rate"),
        ("zzzz > 1", "the columns are price, change_24h"),
    ],
)
def test_an_unknown_column_is_refused_with_the_nearest(text: str, named: str) -> None:
    assert named in problem_of(text)


def test_a_missing_or_superfluous_or_unknown_interval_is_refused_with_what_to_write() -> None:
    every = "rsi_14@15m, rsi_14@1h, rsi_14@4h, rsi_14@1d"

    assert problem_of("rsi_14 < 30") == f"rsi_14 needs an interval: write one of {every}"
    assert problem_of("rsi_14@5m < 30") == f"rsi_14 has no interval 5m: write one of {every}"
    assert problem_of("rsi_14@1H < 30") == f"rsi_14 has no interval 1H: write one of {every}"
    assert problem_of("rsi_14@ < 30").startswith("rsi_14 has no interval")
    assert problem_of("change_24h@1h < 3").startswith(
        "change_24h takes no interval: write change_24h; with an interval: change"
    )
    assert problem_of("price@1h < 3") == "price takes no interval: write price"


@pytest.mark.parametrize("name", [name for name in COLUMNS if name not in columns_of("spot")])
def test_a_column_of_perpetuals_is_refused_on_spot_and_read_on_perpetuals(name: str) -> None:
    assert f"{name} needs market=perpetual" in problem_of(f"{name} > 0")
    assert read_condition(f"{name} > 0", "perpetual").column == name


def test_everything_that_is_wrong_is_named_at_once() -> None:
    with pytest.raises(InvalidArguments) as caught:
        read_conditions(["rsi < 30", "change_24h > 5", "rsi_14 > 3"], "spot")

    assert [error["problem"].split(":")[0] for error in caught.value.errors] == [
        "unknown column rsi; similar",
        "rsi_14 needs an interval",
    ]


def test_eight_conditions_are_read_and_nine_are_refused() -> None:
    one = "change_24h > 5"

    assert len(read_conditions([one] * MOST_CONDITIONS, "spot")) == 8
    assert read_conditions([], "spot") == ()
    with pytest.raises(InvalidArguments, match="at most 8 conditions, not 9"):
        read_conditions([one] * 9, "spot")


@pytest.mark.parametrize(
    ("argument", "text"),
    [
        ("sort", "--price"),
        ("sort", "rsi_14"),
        ("sort", ""),
        ("sort", "price desc"),
        ("show", "rsi"),
        ("show", "price > 5"),
    ],
)
def test_a_wrong_sort_or_column_to_show_names_its_argument(argument: str, text: str) -> None:
    error = refusal(READERS[argument], text)

    assert error is not None
    assert [each["argument"] for each in error.errors] == [argument]


@pytest.mark.parametrize(
    ("operator", "matches"), [("<", (4.0,)), ("<=", (4.0, 5.0)), (">", (6.0,)), (">=", (5.0, 6.0))]
)
def test_no_value_never_matches_and_a_bound_counts_as_written(operator: str, matches: tuple[float, ...]) -> None:
    condition = read_condition(f"change_24h {operator} 5", "spot")
    values = [None, nan, inf, -inf, 4.0, 5.0, 6.0]

    assert tuple(value for value in values if condition.holds(value)) == matches
    assert [values[place] for place in condition.matching(range(7), values)] == list(matches)
    assert condition.matching([6, 5, 4], values) == [place for place in (6, 5, 4) if values[place] in matches]


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity"])
def test_a_condition_cannot_be_made_with_a_number_that_is_none(number: str) -> None:
    with pytest.raises(ValueError, match="finite"):
        Condition("price", None, "<", Decimal(number))
