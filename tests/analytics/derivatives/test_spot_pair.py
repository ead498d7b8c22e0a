"""The spot pair of a perpetual: the same base, else a multiple that the prices confirm."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analytics.perpetuals import contract
from analytics.samples import price, quantity
from mcp_binance_server.analytics.derivatives.spot_pair import SpotPair, spot_pair
from mcp_binance_server.domain.symbols import Symbol, SymbolRules, SymbolTable


def listed(*bases: str, quote: str = "USDT", status: str = "TRADING") -> SymbolTable:
    rules = [
        SymbolRules(Symbol(base + quote), base, quote, status, price("0.01"), quantity(1), quantity(5))
        for base in bases
    ]
    return SymbolTable.of(rules, 6000)


def test_the_same_base_comes_first_even_if_its_name_begins_with_a_number() -> None:
    table = listed("1000SATS", "SATS", "BTC")

    assert spot_pair(contract("1000SATS"), table) == SpotPair(Symbol("1000SATSUSDT"), Decimal(1), is_certain=True)
    assert spot_pair(contract("BTC"), table) == SpotPair(Symbol("BTCUSDT"), Decimal(1), is_certain=True)


@pytest.mark.parametrize(
    ("base", "multiplier"), [("1000PEPE", 1000), ("1000000PEPE", 1_000_000), ("1MPEPE", 1_000_000)]
)
def test_a_multiple_is_found_without_its_number_and_needs_prices_that_agree(base: str, multiplier: int) -> None:
    got = spot_pair(contract(base), listed("PEPE"))

    assert got == SpotPair(Symbol("PEPEUSDT"), Decimal(multiplier), is_certain=False)
    assert got is not None
    spot = Decimal("0.00001")
    assert got.agrees(spot * multiplier, spot)
    assert got.agrees(spot * multiplier * Decimal("1.2"), spot)
    assert not got.agrees(spot * multiplier * Decimal("1.2001"), spot)
    assert got.agrees(spot * multiplier * Decimal("0.8"), spot)
    assert not got.agrees(spot * multiplier * Decimal("0.7999"), spot)
    assert not got.agrees(spot, spot)
    assert not got.agrees(spot, Decimal(0))


def test_the_same_base_needs_no_prices() -> None:
    got = spot_pair(contract("BTC"), listed("BTC"))

    assert got is not None
    assert got.agrees(Decimal(5), Decimal(1))


def test_there_is_no_pair_that_is_not_listed_or_does_not_trade_or_has_another_quote() -> None:
    assert spot_pair(contract("BTC"), listed("ETH")) is None
    assert spot_pair(contract("1000PEPE"), listed("ETH")) is None
    assert spot_pair(contract("BTC"), listed("BTC", status="BREAK")) is None
    assert spot_pair(contract("BTC"), listed("BTC", quote="USDC")) is None
    # AB + CUSDT and ABC + USDT are written alike.
    assert spot_pair(contract("ABC", "USDT"), listed("AB", quote="CUSDT")) is None


@given(
    st.from_regex(r"[A-Z]{2,6}", fullmatch=True),
    st.sampled_from(["1000", "1000000", "1M"]),
    st.decimals("0.00000001", "90000", places=8),
    st.decimals("0.81", "1.19", places=4),
)
def test_a_multiple_maps_to_its_coin_and_never_to_one_of_another_price(
    base: str, number: str, spot: Decimal, drift: Decimal
) -> None:
    got = spot_pair(contract(number + base), listed(base))

    assert got is not None
    assert got.symbol == f"{base}USDT"
    assert got.agrees(spot * got.multiplier * drift, spot)
    assert not got.agrees(spot * got.multiplier * (drift + 1), spot)
    assert not got.agrees(spot * got.multiplier * drift / 2, spot)
