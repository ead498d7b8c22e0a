"""Basis of one moment or none: mark against index, perpetual against spot, quarterlies."""

from decimal import Decimal

import pytest

from analytics.perpetuals import NOW_MS, THIS_HOUR, contract, premium
from analytics.samples import HOUR_MS, Number, exact, price, quantity
from mcp_binance_server.analytics.derivatives.basis import mark_vs_index, perp_vs_spot, quarterly
from mcp_binance_server.domain.derivatives import BasisPoint, FuturesQuote
from mcp_binance_server.domain.market import Quote
from mcp_binance_server.domain.symbols import Symbol

DAY_MS = 24 * HOUR_MS


def hours(rates: list[Number], last: int = THIS_HOUR) -> list[BasisPoint]:
    first = last - len(rates) + 1
    return [BasisPoint((first + place) * HOUR_MS, exact(each)) for place, each in enumerate(rates)]


def perpetual(bid: Number, ask: Number, at_ms: int = NOW_MS) -> FuturesQuote:
    return FuturesQuote(Symbol("SOLUSDT"), price(bid), price(ask), at_ms)


def spot(bid: Number, ask: Number) -> Quote:
    return Quote(Symbol("SOLUSDT"), price(bid), quantity(1), price(ask), quantity(1))


def test_mark_against_index_is_of_one_answer_and_ranked_among_the_hours() -> None:
    rates: list[Number] = [f"{place}e-5" for place in range(-50, 50)]

    got = mark_vs_index(premium(mark="100.025", index="100"), hours(rates), NOW_MS)

    assert (got.bps, got.at_ms) == (Decimal("2.5"), NOW_MS)
    assert (got.percentile.value, got.percentile.n) == (75.5, 100)
    assert (got.percentile.from_ms, got.percentile.to_ms) == ((THIS_HOUR - 99) * HOUR_MS, THIS_HOUR * HOUR_MS)


def test_stale_or_few_hours_rank_nothing() -> None:
    told = premium(mark="100.025", index="100")

    assert mark_vs_index(told, hours(["0"] * 60, last=THIS_HOUR - 3), NOW_MS).percentile.value is None
    assert mark_vs_index(told, hours(["0"] * 29), NOW_MS).percentile.value is None
    assert mark_vs_index(told, [], NOW_MS).bps == Decimal("2.5")


def test_without_an_index_there_is_no_basis() -> None:
    got = mark_vs_index(premium(mark="100", index="0"), hours(["0"] * 60), NOW_MS)

    assert (got.bps, got.percentile.value) == (None, None)


@pytest.mark.parametrize(
    ("apart_ms", "is_told"), [(0, True), (1_000, True), (1_001, False), (-1_000, True), (-1_001, False)]
)
def test_mids_further_apart_than_a_second_are_not_compared(apart_ms: int, is_told: bool) -> None:  # noqa: FBT001
    got = perp_vs_spot(perpetual("100.1", "100.3"), spot("99.9", "100.1"), NOW_MS + apart_ms)

    assert got.apart_ms == abs(apart_ms)
    assert (got.perp_mid, got.spot_mid) == (Decimal("100.2"), Decimal(100))
    assert got.bps == (20 if is_told else None)


def test_a_contract_of_a_thousand_coins_is_compared_with_a_thousand_coins() -> None:
    got = perp_vs_spot(perpetual("0.01001", "0.01001"), spot("0.00001", "0.00001"), NOW_MS, Decimal(1000))

    assert got.bps == 10


@pytest.mark.parametrize(("bid", "ask"), [("0", "100"), ("101", "100")])
def test_a_quote_that_is_none_is_compared_with_nothing(bid: str, ask: str) -> None:
    assert perp_vs_spot(perpetual(bid, ask), spot("99", "100"), NOW_MS).bps is None
    assert perp_vs_spot(perpetual("99", "100"), spot(bid, ask), NOW_MS).bps is None


def test_a_quarterly_has_its_bps_its_days_and_a_simple_year_of_both() -> None:
    got = quarterly(contract(delivery_ms=NOW_MS + 73 * DAY_MS), premium(mark="101", index="100"))

    assert (got.bps, got.days, got.apr) == (100, 73, 5)


@pytest.mark.parametrize(("left_ms", "is_told"), [(DAY_MS, True), (DAY_MS - 1, False), (0, False), (-DAY_MS, False)])
def test_below_one_day_a_quarterly_has_no_year(left_ms: int, is_told: bool) -> None:  # noqa: FBT001
    got = quarterly(contract(delivery_ms=NOW_MS + left_ms), premium(mark="101", index="100"))

    assert (got.apr is not None) == is_told
    assert got.bps == 100


def test_a_quarterly_without_an_index_has_neither() -> None:
    got = quarterly(contract(delivery_ms=NOW_MS + 9 * DAY_MS), premium(mark="101", index="0"))

    assert (got.bps, got.apr) == (None, None)
