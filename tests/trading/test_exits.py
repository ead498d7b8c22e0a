"""How a list stands by those of its orders that are known, and what news of one of them changes."""

from dataclasses import replace
from decimal import Decimal

import pytest

from mcp_binance_server.domain.money import Price, Quantity
from mcp_binance_server.domain.orders import NOTHING
from mcp_binance_server.trading.judgement.exits import Exits, Leg, OrderStanding, standing_of, with_leg
from support.terms import reported

ONE, HALF = Quantity(Decimal(1)), Quantity(Decimal("0.5"))
PROFIT, STOP, LEAST = Price(Decimal(70)), Price(Decimal(50)), Price(Decimal(49))
BRACKET = Exits("OTOCO", ONE, PROFIT, STOP, LEAST)
PAIR = Exits("OCO", ONE, PROFIT, STOP, LEAST)
NAME = "mbp-list"


def leg(suffix: str, status: str, executed: Quantity = NOTHING) -> Leg:
    return Leg(NAME + suffix, ord(suffix[1]), status, executed, Quantity(executed * 60))


@pytest.mark.parametrize(
    ("statuses", "status"),
    [
        ((), ""),
        (("NEW",), "NEW"),
        (("NEW", "NEW"), "NEW"),
        (("CANCELED", "NEW"), "NEW"),
        (("EXPIRED", "NEW"), "NEW"),
        (("CANCELED", "EXPIRED"), "CANCELED"),
        (("EXPIRED", "CANCELED"), "CANCELED"),
        (("EXPIRED", "EXPIRED"), "EXPIRED"),
    ],
)
def test_a_pair_that_has_not_traded_stands_as_what_is_open_else_as_canceled_else_as_it_ended(
    statuses: tuple[str, ...], status: str
) -> None:
    legs = tuple(leg(suffix, each) for suffix, each in zip(("-a", "-b"), statuses, strict=False))

    is_final = len(statuses) == 2 and "NEW" not in statuses
    assert standing_of(PAIR, legs) == OrderStanding(status, None, NOTHING, NOTHING, is_final, is_final)


def test_a_pair_that_has_traded_stands_as_the_order_that_did() -> None:
    legs = leg("-a", "EXPIRED"), leg("-b", "FILLED", ONE)

    assert standing_of(PAIR, legs) == OrderStanding(
        "FILLED", ord("b"), ONE, Quantity(Decimal(60)), is_settled=True, is_final=True
    )


@pytest.mark.parametrize("legs", [(), (leg("-a", "NEW"),), (leg("-a", "EXPIRED"), leg("-b", "EXPIRED"))])
def test_a_bracket_without_its_entry_stands_open_and_without_a_status(legs: tuple[Leg, ...]) -> None:
    assert standing_of(BRACKET, legs) == OrderStanding("", None, NOTHING, NOTHING, is_settled=False, is_final=False)


@pytest.mark.parametrize(
    ("entry", "exits", "is_settled", "is_final"),
    [
        ("NEW", "PENDING_NEW", False, False),
        ("FILLED", "NEW", True, False),
        ("FILLED", "EXPIRED", True, True),
    ],
)
def test_a_bracket_is_settled_with_its_entry_and_final_with_all_of_its_orders(
    entry: str,
    exits: str,
    is_settled: bool,  # noqa: FBT001
    is_final: bool,  # noqa: FBT001
) -> None:
    legs = leg("-w", entry, HALF), leg("-a", exits), leg("-b", exits)

    assert standing_of(BRACKET, legs) == OrderStanding(
        entry, ord("w"), HALF, Quantity(Decimal(30)), is_settled, is_final
    )


def test_a_list_is_not_final_before_each_of_its_orders_is_known() -> None:
    known = leg("-w", "FILLED", ONE), leg("-a", "EXPIRED")

    assert not standing_of(BRACKET, known).is_final
    assert not standing_of(PAIR, known[1:]).is_final


def test_the_same_news_again_changes_nothing() -> None:
    legs = (leg("-a", "PARTIALLY_FILLED", HALF),)
    again = replace(reported("PARTIALLY_FILLED", "0.5"), client_order_id=f"{NAME}-a", order_id=99)

    assert with_leg(legs, again) == legs


def test_news_with_more_executed_replaces_what_was_known_and_older_news_does_not() -> None:
    legs = (leg("-a", "PARTIALLY_FILLED", HALF),)
    more = replace(reported("PARTIALLY_FILLED", "0.6"), client_order_id=f"{NAME}-a")
    less = replace(reported("PARTIALLY_FILLED", "0.4"), client_order_id=f"{NAME}-a")

    assert with_leg(legs, more) == (Leg(f"{NAME}-a", 7, "PARTIALLY_FILLED", more.executed, more.quote_spent),)
    assert with_leg(legs, less) == legs


def test_a_final_order_stays_as_it_ended() -> None:
    legs = (leg("-a", "EXPIRED", HALF),)
    late = replace(reported("FILLED", "1"), client_order_id=f"{NAME}-a")

    assert with_leg(legs, late) == legs


def test_orders_of_a_list_stand_in_the_order_entry_above_below() -> None:
    legs = (leg("-a", "NEW"), leg("-b", "NEW"))
    entry = replace(reported("NEW", "0"), client_order_id=f"{NAME}-w")

    assert [each.client_order_id for each in with_leg(legs, entry)] == [f"{NAME}-w", f"{NAME}-a", f"{NAME}-b"]
