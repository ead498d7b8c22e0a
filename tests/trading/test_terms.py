"""Terms: what is agreed to is one text, one id and one order, and a change of any of it is another."""

import json
from dataclasses import fields, replace
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_binance_server.domain.money import Price, Quantity
from mcp_binance_server.trading.judgement.exits import Exits
from mcp_binance_server.trading.judgement.released import Released
from mcp_binance_server.trading.judgement.terms import PREVIEW_ID, Terms, client_order_id, is_made_here, preview_of
from support.terms import KEY, terms

RELEASED = Released(
    "mbp-bbbbbbbbbbbbbbbbbbbb", "OCO", "GTC", Quantity(Decimal("0.002")), Quantity(Decimal(0)),
    Quantity(Decimal("0.001")), Price(Decimal(70000)), Price(Decimal(50000)), Price(Decimal("49000.5")), 120_00,
)  # fmt: skip
OTHERS: dict[str, object] = {
    "account": "paper-1",
    "mode": "live",
    "network": "testnet",
    "symbol": "ETHUSDT",
    "side": "SELL",
    "kind": "MARKET",
    "time_in_force": "IOC",
    "quantity": Quantity(Decimal("0.002")),
    "price": Price(Decimal("60000.01")),
    "stop_price": Price(Decimal(59000)),
    "counted": 60_01,
    "policy": "1" * 64,
    "expires_ms": 1,
    "nonce": "1",
    "exits": Exits("OTO", Quantity(Decimal("0.001")), take_profit=Price(Decimal(70000))),
    "replaces": "mbp-aaaaaaaaaaaaaaaaaaaa",
    "amends": True,
    "trailing_bps": 200,
    "releases": (RELEASED,),
}
EXITS = [
    Exits("OCO", Quantity(Decimal("0.001")), Price(Decimal(70000)), Price(Decimal(50000)), Price(Decimal("49000.5"))),
    Exits("OPO", Quantity(Decimal("0.001")), stop=Price(Decimal(50000)), stop_limit=Price(Decimal(49000))),
    Exits("OCO", Quantity(Decimal("0.001")), Price(Decimal(70000)), Price(Decimal(50000)), Price(Decimal(49000)), 200),
]


def test_every_member_is_tried_with_another_value() -> None:
    assert OTHERS.keys() == {each.name for each in fields(Terms)}


@pytest.mark.parametrize("name", OTHERS)
def test_a_change_of_any_member_is_another_order(name: str) -> None:
    usual, other = terms(), replace(terms(), **{name: OTHERS[name]})

    ids = {each.preview_id(KEY) for each in (usual, other)}
    signed = {each.approval_digest(usual.preview_id(KEY)) for each in (usual, other)}

    assert len(ids) == len(signed) == 2


def test_an_id_cannot_be_made_without_the_key() -> None:
    assert terms().preview_id(KEY) != terms().preview_id(b"another key")


def test_an_approval_is_for_one_preview() -> None:
    made = terms()

    assert made.approval_digest(made.preview_id(KEY)) != made.approval_digest(made.preview_id(b"another key"))


@given(st.decimals("0.00000001", "99999999", places=8), st.decimals("0.00000001", "99999999", places=8))
def test_what_is_written_is_read_again(price: Decimal, quantity: Decimal) -> None:
    made = terms(price=Price(price), quantity=Quantity(quantity), stop_price=Price(price))

    read = Terms.from_json(made.to_json())

    assert read == made
    assert read.preview_id(KEY) == made.preview_id(KEY)


@pytest.mark.parametrize("exits", EXITS)
def test_exits_and_what_is_replaced_are_read_again(exits: Exits) -> None:
    made = terms(exits=exits, replaces="mbp-aaaaaaaaaaaaaaaaaaaa")

    assert Terms.from_json(made.to_json()) == made


def test_terms_without_exits_are_written_as_they_were_before_there_were_any() -> None:
    told = json.loads(terms().to_json())

    assert not {"exits", "replaces", "amends", "trailing_bps"} & told.keys()
    assert "trailing_bps" not in json.loads(terms(exits=EXITS[0]).to_json())["exits"]


@pytest.mark.parametrize(
    "name", ["mbl-aaaaaaaaaaaaaaaaaaaa", "mbl-aaaaaaaaaaaaaaaaaaaa-w", "mbl-aaaaaaaaaaaaaaaaaaaa-b"]
)
def test_an_order_of_a_list_is_known_by_its_id(name: str) -> None:
    assert is_made_here(name)
    assert preview_of(name, "live", "mainnet") == name.removeprefix("mbl-")


@pytest.mark.parametrize(
    "name", ["mbl-aaaaaaaaaaaaaaaaaaaa-c", "mbl-aaaaaaaaaaaaaaaaaa-w", "web-aaaaaaaaaaaaaaaaaaaa-w", "-w", ""]
)
def test_other_orders_are_not_taken_for_one(name: str) -> None:
    assert not is_made_here(name)
    assert preview_of(name, "live", "mainnet") is None


def test_a_trailing_stop_once_more_is_the_same_at_another_price_of_the_market() -> None:
    one = terms(side="SELL", kind="STOP_LOSS_LIMIT", stop_price=Price(Decimal(58800)), trailing_bps=200)
    later = replace(one, price=Price(Decimal(59000)), stop_price=Price(Decimal(60200)), nonce="1")
    wider = replace(one, trailing_bps=300)

    assert one.amounts_json in later.to_json()
    assert one.is_stop
    assert one.to_json() != wider.to_json()


def test_amounts_that_are_equal_are_equal_terms() -> None:
    long, short = terms(price=Price(Decimal("60000.00"))), terms(price=Price(Decimal(60000)))

    assert long.preview_id(KEY) == short.preview_id(KEY)


@pytest.mark.parametrize("text", ["{}", "[]", "null", '{"price":"x"}', terms().to_json().replace(":", ": ", 1)])
def test_anything_else_is_not_read(text: str) -> None:
    with pytest.raises(ValueError, match="not the terms of an order"):
        Terms.from_json(text)


@pytest.mark.parametrize(
    ("mode", "network", "prefix"),
    [
        ("paper", "mainnet", "mbp-"),
        ("practice", "testnet", "mbt-"),
        ("practice", "demo", "mbd-"),
        ("live", "mainnet", "mbl-"),
    ],
)
def test_an_order_is_known_by_mode_and_preview(mode: str, network: str, prefix: str) -> None:
    made = terms(mode=mode, network=network)
    preview_id = made.preview_id(KEY)

    assert client_order_id(made, preview_id) == f"{prefix}{preview_id}"
    assert len(client_order_id(made, preview_id)) == 24


def test_an_id_has_the_form_that_is_asked_for() -> None:
    import re

    assert re.fullmatch(PREVIEW_ID, terms().preview_id(KEY))


@given(
    st.decimals("0.00000001", "99999999", places=8),
    st.decimals("0.01", "9999999", places=2),
    st.sampled_from(["LIMIT", "MARKET"]),
    st.integers(0, 9),
)
def test_the_same_order_once_more_has_the_same_amounts_in_its_text(
    quantity: Decimal, price: Decimal, kind: str, zeros: int
) -> None:
    one = terms(quantity=Quantity(quantity), price=Price(price), kind=kind)
    longer = Decimal(1).scaleb(-8 - zeros)
    again = replace(
        one, quantity=Quantity(quantity.quantize(longer)), price=Price(price.quantize(longer)), nonce="x", expires_ms=1
    )
    moved = replace(one, price=Price(price + 1))

    assert one.amounts_json in again.to_json()
    assert (one.amounts_json in moved.to_json()) == one.is_market
    assert one.amounts_json not in replace(one, quantity=Quantity(quantity + 1)).to_json()


ONE, LIMIT = Quantity(Decimal("0.001")), Price(Decimal(60000))
PROFIT, TRIGGER, LEAST = Price(Decimal(70000)), Price(Decimal(50000)), Price(Decimal(49000))
PAIR_OF = Exits("OCO", ONE, PROFIT, TRIGGER, LEAST)
BRACKET_OF = Exits("OTOCO", ONE, PROFIT, TRIGGER, LEAST)
PROFIT_ONLY, STOP_ONLY = Exits("OTO", ONE, PROFIT), Exits("OTO", ONE, None, TRIGGER, LEAST)


@pytest.mark.parametrize(
    ("exits", "worst"),
    [(None, LIMIT), (BRACKET_OF, LIMIT), (PAIR_OF, LEAST), (Exits("OCO", ONE, PROFIT, TRIGGER), LIMIT)],
)
def test_a_pair_is_worth_its_stop_limit_and_every_other_order_its_price(exits: Exits | None, worst: Price) -> None:
    agreed = terms(quantity=ONE, price=LIMIT, exits=exits)

    assert (agreed.worst, agreed.value) == (worst, worst * ONE)


@pytest.mark.parametrize(
    ("changes", "is_stop"),
    [
        ({}, False),
        ({"stop_price": TRIGGER}, True),
        ({"exits": PROFIT_ONLY}, False),
        ({"exits": STOP_ONLY}, True),
        ({"exits": BRACKET_OF}, True),
        ({"stop_price": TRIGGER, "exits": PROFIT_ONLY}, True),
    ],
)
def test_an_order_with_a_trigger_or_with_a_stop_among_its_exits_is_a_stop(
    changes: dict[str, Any],
    is_stop: bool,  # noqa: FBT001
) -> None:
    assert terms(**changes).is_stop is is_stop


@pytest.mark.parametrize(
    ("exits", "kinds"),
    [
        (None, ("LIMIT",)),
        (PROFIT_ONLY, ("LIMIT", "LIMIT_MAKER")),
        (STOP_ONLY, ("LIMIT", "STOP_LOSS_LIMIT")),
        (BRACKET_OF, ("LIMIT", "LIMIT_MAKER", "STOP_LOSS_LIMIT")),
        (PAIR_OF, ("LIMIT",)),
    ],
)
def test_every_type_that_a_bracket_sends_is_named(exits: Exits | None, kinds: tuple[str, ...]) -> None:
    assert terms(exits=exits).kinds == kinds


def test_a_change_that_makes_an_order_smaller_takes_nothing_of_the_limits_of_money() -> None:
    assert terms(counted=60_00).taken == 60_00
    assert terms(counted=60_00, replaces="mbp-before").taken == 60_00
    assert terms(counted=60_00, replaces="mbp-before", amends=True).taken == 0


def test_amounts_are_a_part_of_the_text_and_a_market_order_has_no_price_there() -> None:
    assert terms(quantity=ONE, price=LIMIT).amounts_json == '"price":"60000","quantity":"0.001"'
    assert terms(quantity=ONE, price=LIMIT, kind="MARKET").amounts_json == '"quantity":"0.001"'
    assert terms(quantity=ONE, price=LIMIT).amounts_json in terms(quantity=ONE, price=LIMIT).to_json()


def test_the_text_of_terms_is_ascii() -> None:
    assert terms(account="ключ").to_json().isascii()


@pytest.mark.parametrize("amount", ["NaN", "sNaN", "Infinity", "-Infinity", "1E+80", "1E+81", "1E-81"])
def test_terms_with_an_amount_that_is_no_plain_number_are_not_read(amount: str) -> None:
    text = terms(quantity=ONE).to_json().replace('"quantity":"0.001"', f'"quantity":"{amount}"')

    with pytest.raises(ValueError, match=r"amount|not the terms"):
        Terms.from_json(text)


def test_an_amount_of_80_characters_is_read_and_a_longer_one_is_not() -> None:
    longest, longer = f"0.{'0' * 77}1", f"0.{'0' * 78}1"
    texts = [terms(quantity=Quantity(Decimal(each))).to_json() for each in (longest, longer)]

    assert Terms.from_json(texts[0]).quantity == Decimal(longest)
    with pytest.raises(ValueError, match="not the terms"):
        Terms.from_json(texts[1])


@pytest.mark.parametrize("prefix", ["mbp-", "mbl-", "mbt-", "mbd-"])
def test_an_order_of_every_mode_and_network_is_known_as_made_here(prefix: str) -> None:
    name = f"{prefix}{'a' * 20}"

    assert is_made_here(name)
    assert is_made_here(f"{name}-w")
    assert not is_made_here(f"x{name}")
    assert not is_made_here(f"mbx-{'a' * 20}")
    assert not is_made_here(name[:-1])
