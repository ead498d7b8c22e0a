"""Rounding, and nothing but rounding down where an order could grow."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_binance_server.domain.money import Quantity, decimals_of, floor_to_step, round_to_places

steps = st.sampled_from([Decimal(text) for text in ("1", "0.1", "0.00001000", "0.5", "10", "0.00000001")])
amounts = st.decimals(min_value=0, max_value=10**9, places=8, allow_nan=False, allow_infinity=False)


@given(amounts, steps)
def test_a_quantity_on_the_step_never_grows_and_loses_less_than_one_step(amount: Decimal, step: Decimal) -> None:
    floored = floor_to_step(Quantity(amount), Quantity(step))

    assert amount - step < floored <= amount
    assert floored % step == 0


def test_forty_digits_do_not_grow_either() -> None:
    long = Quantity(Decimal("99999999999999999999.99999999999999999999"))

    assert floor_to_step(long, Quantity(Decimal("0.00000001"))) == Decimal("99999999999999999999.99999999")


def test_a_step_of_zero_changes_nothing() -> None:
    assert floor_to_step(Quantity(Decimal("1.23456789")), Quantity(Decimal(0))) == Decimal("1.23456789")


@pytest.mark.parametrize(
    ("step", "places"), [("0.01000000", 2), ("1.00000000", 0), ("0.00000001", 8), ("10", 0), ("0", 0), ("0.50", 1)]
)
def test_a_step_tells_how_many_decimals_matter(step: str, places: int) -> None:
    assert decimals_of(Decimal(step)) == places


def test_a_step_that_is_no_number_asks_for_no_decimals() -> None:
    assert decimals_of(Decimal("NaN")) == 0


@pytest.mark.parametrize(("value", "rounded"), [("0.125", "0.12"), ("0.135", "0.14"), ("-0.005", "-0.00")])
def test_halves_round_to_the_even_neighbour(value: str, rounded: str) -> None:
    assert str(round_to_places(Decimal(value), 2)) == rounded
