"""Walking a book: the shared vectors, and that nothing is lost or made up on the way."""

import json
from decimal import Decimal, localcontext
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_binance_server.domain.market import PriceLevel
from mcp_binance_server.domain.money import Price, Quantity
from mcp_binance_server.trading.judgement.preview import FillWalk, walk
from support.fixtures import DATA

FUNCTIONS = ("walk_quote", "walk_base")
SIDES = {"buy": "BUY", "sell": "SELL"}


def level(price: object, quantity: object) -> PriceLevel:
    return PriceLevel(Price(Decimal(str(price))), Quantity(Decimal(str(quantity))))


def vectors(name: str) -> list[dict[str, Any]]:
    listed = json.loads((DATA / "analytics/vectors.json").read_text(encoding="utf-8"))["vectors"]
    return [each for each in listed if each["fn"] == name]


def number(value: Decimal | None) -> float | None:
    return None if value is None else float(value)


def as_the_vectors_say(found: FillWalk, unit: str, side: str, mid: Decimal) -> dict[str, object]:
    taken, other = (found.quote, found.base) if unit == "quote" else (found.base, found.quote)
    is_buy = SIDES[side] == "BUY"
    return {
        f"filled_{unit}": number(taken),
        f"unfilled_{unit}": number(found.unfilled),
        "base" if unit == "quote" else "quote": number(other),
        "vwap": number(found.average),
        "levels": found.levels,
        "complete": found.complete,
        "slip_mid_bps": number(found.slippage_bps("BUY" if is_buy else "SELL", Price(mid))),
        "slip_touch_bps": number(found.slippage_bps("BUY" if is_buy else "SELL", found.touch)),
    }


def close(expected: object, got: object) -> bool:
    if expected is None or isinstance(expected, bool):
        return type(expected) is type(got) and expected == got
    assert isinstance(expected, int | float)
    return isinstance(got, int | float) and abs(expected - got) <= 1e-12 + 1e-6 * abs(expected)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_vectors_of_the_shared_set_come_out(name: str) -> None:
    unit = "quote" if name == "walk_quote" else "base"

    for vector in vectors(name):
        rows, amount, mid, side = vector["args"]
        found = walk([level(*row) for row in rows], Quantity(Decimal(str(amount))), unit)

        got = as_the_vectors_say(found, unit, side, Decimal(str(mid)))
        wrong = {key: (value, got[key]) for key, value in vector["expected"].items() if not close(value, got[key])}
        assert wrong == {}, vector["id"]


AMOUNTS = st.decimals("0.00000001", "1000000000", places=8)
SIDE_OF_A_BOOK = st.lists(st.tuples(AMOUNTS, AMOUNTS), max_size=12).map(
    lambda rows: [level(price, quantity) for price, quantity in sorted(rows)]
)


@given(SIDE_OF_A_BOOK, AMOUNTS)
def test_a_walk_by_quantity_fills_exactly_what_the_levels_hold_and_reports_the_rest(
    levels: list[PriceLevel], amount: Decimal
) -> None:
    found = walk(levels, Quantity(amount))

    stands = sum((each.quantity for each in levels), Decimal(0))
    used = levels[: found.levels]
    whole = used[:-1]
    assert found.base + found.unfilled == amount
    assert found.base == min(amount, stands)
    assert found.complete is (amount <= stands)
    with localcontext(prec=200):
        rest = found.base - sum((each.quantity for each in whole), Decimal(0))
        assert found.quote == sum((each.price * each.quantity for each in whole), rest * (found.worst or 0))
    assert found.worst == (used[-1].price if used else None)


@given(SIDE_OF_A_BOOK, AMOUNTS)
def test_a_walk_by_quote_amount_spends_exactly_what_the_levels_are_worth(
    levels: list[PriceLevel], amount: Decimal
) -> None:
    found = walk(levels, Quantity(amount), "quote")

    assert found.quote + found.unfilled == amount
    assert found.quote == min(amount, sum((each.price * each.quantity for each in levels), Decimal(0)))
    assert found.base <= sum((each.quantity for each in levels), Decimal(0))


@given(SIDE_OF_A_BOOK, AMOUNTS)
def test_the_average_lies_between_the_touch_and_the_worst_price(levels: list[PriceLevel], amount: Decimal) -> None:
    found = walk(levels, Quantity(amount))

    if found.average is not None and found.touch is not None and found.worst is not None:
        assert found.touch <= round(found.average, 12) <= found.worst


def test_levels_where_nothing_stands_are_not_counted() -> None:
    found = walk([level(1, 0), level(2, 1), level(3, 1)], Quantity(Decimal(1)))

    assert (found.levels, found.worst, found.touch) == (1, 2, 1)
