"""Funding by each contract's own interval: the year, what was paid, and the rank of the estimate."""

from decimal import Decimal
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analytics.perpetuals import NOW_MS, THIS_HOUR, premium, rule, settled
from analytics.samples import HOUR_MS
from mcp_binance_server.analytics.derivatives.funding import (
    FundingInterval,
    annualised,
    funding_interval,
    funding_report,
    hourly_rates,
    paid,
    settlements,
)
from mcp_binance_server.domain.derivatives import FundingPayment


def every(hours: int, count: int, last: int = THIS_HOUR) -> range:
    """Return the hours of settlements, the last of them just now."""
    return range(last - (count - 1) * hours, last + 1, hours)


@pytest.mark.parametrize(("hours", "apr"), [(8, "10.95"), (4, "21.90"), (1, "87.60")])
def test_the_same_rate_is_another_year_at_each_interval(hours: int, apr: str) -> None:
    assert annualised(Decimal("0.0001"), hours) == Decimal(apr)
    assert annualised(Decimal("-0.0001"), hours) == -Decimal(apr)
    assert funding_report(premium(), rule(hours), [], NOW_MS).apr == Decimal(apr)


def test_an_interval_of_no_hours_has_no_year() -> None:
    with pytest.raises(ValueError, match="at least an hour"):
        annualised(Decimal("0.0001"), 0)


def test_the_exchange_is_asked_first_for_the_interval_then_the_settlements_then_nobody() -> None:
    four_hourly = settled(every(4, 10))

    assert funding_interval(rule(1), four_hourly) == FundingInterval(1, "exchange")
    assert funding_interval(None, four_hourly) == FundingInterval(4, "settlements")
    assert funding_interval(None, four_hourly[:1]) == FundingInterval(8, "assumed")
    assert funding_interval(None, []) == FundingInterval(8, "assumed")


def test_the_last_two_settlements_decide_not_the_ones_before() -> None:
    changed = settled([*every(8, 10, THIS_HOUR - 3), *every(1, 3)])

    assert funding_interval(None, changed) == FundingInterval(1, "settlements")


def test_two_settlements_further_apart_than_any_interval_say_nothing() -> None:
    assert funding_interval(None, settled([THIS_HOUR - 24, THIS_HOUR])) == FundingInterval(8, "assumed")


def test_dividends_change_nothing() -> None:
    regular = settled(every(8, 120), ["0.0001", "-0.0002", "0.0003"])
    special = settled([THIS_HOUR - 100, THIS_HOUR - 1, THIS_HOUR], ["0.05"], is_regular=False, late_ms=9)

    assert funding_report(premium(), None, [*regular, *special], NOW_MS) == funding_report(
        premium(), None, regular, NOW_MS
    )


def test_what_was_paid_is_the_sum_of_its_settlements_through_a_change_of_the_interval() -> None:
    hours = [*range(THIS_HOUR - 800, THIS_HOUR - 300, 8), *range(THIS_HOUR - 300, THIS_HOUR + 1)]
    chance = Random(5)
    payments = settled(hours, [Decimal(chance.randrange(-3000, 3000)).scaleb(-8) for _ in hours])

    got = funding_report(premium(), rule(1), payments, NOW_MS)

    for part, days in ((got.paid_7d, 7), (got.paid_30d, 30)):
        begin = NOW_MS - days * 24 * HOUR_MS
        within = [each.rate for each in payments if begin < each.time_ms <= NOW_MS]
        total = Decimal(0)
        for each in within:
            total += each
        assert (part.days, part.rate, part.settlements) == (days, total, len(within))
        assert part.apr == total * 36500 / days
    # Three payments a day would be 90; there were 52 at 8 hours and 301 at one.
    assert got.paid_30d.settlements == 52 + 301


def test_a_week_of_eight_hours_is_twenty_one_settlements() -> None:
    got = paid(settled(every(8, 40)), 7, NOW_MS)

    assert (got.settlements, got.rate, got.apr) == (21, Decimal("0.0021"), Decimal("10.95"))


def test_at_the_moment_of_a_settlement_that_one_counts_and_the_one_a_week_before_does_not() -> None:
    payments = settled(every(8, 40), late_ms=0)

    assert paid(payments, 7, THIS_HOUR * HOUR_MS).settlements == 21
    assert paid(payments, 7, THIS_HOUR * HOUR_MS).rate == Decimal("0.0021")


def test_settlements_that_do_not_reach_back_are_no_sum() -> None:
    got = funding_report(premium(), None, settled(every(1, 200)), NOW_MS)

    assert got.paid_7d.rate == 168 * Decimal("0.0001")
    assert (got.paid_30d.rate, got.paid_30d.apr, got.paid_30d.settlements) == (None, None, 200)
    assert funding_report(premium(), None, [], NOW_MS).paid_7d.rate is None


@pytest.mark.parametrize("missing", [slice(-5, -4), slice(-1, None), slice(-30, -20)])
def test_a_missing_settlement_is_no_sum(missing: slice) -> None:
    payments = settled(every(8, 120))
    del payments[missing]

    got = paid(settlements(payments, NOW_MS + 7 * HOUR_MS), 30, NOW_MS + 7 * HOUR_MS)

    assert (got.rate, got.apr) == (None, None)


@given(st.permutations(range(40)), st.lists(st.integers(0, 39), max_size=20))
def test_settlements_may_come_doubled_and_in_any_order(order: list[int], again: list[int]) -> None:
    payments = settled(every(8, 40), ["0.0001", "-0.0003", "0.00007"])
    ahead = FundingPayment(NOW_MS + HOUR_MS, Decimal(1), is_regular=True)

    stirred = [payments[place] for place in [*order, *again]]

    assert settlements([*stirred, ahead], NOW_MS) == payments
    assert funding_report(premium(), None, [ahead, *stirred], NOW_MS) == funding_report(
        premium(), None, payments, NOW_MS
    )


def test_rates_are_ranked_by_the_hour_each_by_its_own_spacing() -> None:
    # 0.08 % for eight hours and 0.01 % for one are the same.
    hours = [*range(THIS_HOUR - 500, THIS_HOUR - 100, 8), *range(THIS_HOUR - 100, THIS_HOUR + 1)]
    payments = settled(hours, ["0.0008"] * 51 + ["0.0001"] * 100)

    rates = hourly_rates(payments)
    same, above, below = (
        funding_report(premium(funding="0.0009"), rule(8), [*payments[:-1], *settled([THIS_HOUR], [rate])], NOW_MS)
        for rate in ("0.0001", "0.0002", "0.00009")
    )

    assert set(rates.values()) == {Decimal("0.0001")}
    assert len(rates) == len(payments) - 1
    assert (same.percentile.value, above.percentile.value, below.percentile.value) == (50.0, 100.0, 0.0)
    assert (same.percentile.n, same.percentile.from_ms) == (149, payments[1].time_ms)
    assert (above.settled, above.estimate) == (Decimal("0.0002"), Decimal("0.0009"))


def test_a_running_estimate_has_no_rank_among_settled_rates() -> None:
    payments = settled(every(8, 60))

    calm, loud = (funding_report(premium(funding=rate), rule(8), payments, NOW_MS) for rate in ("0", "0.02"))

    assert calm.percentile == loud.percentile


def test_a_settlement_after_a_gap_has_no_spacing_of_its_own() -> None:
    payments = settled([*every(8, 5, THIS_HOUR - 48), THIS_HOUR])

    assert [each.time_ms for each in payments[1:5]] == list(hourly_rates(payments))


def test_below_thirty_settlements_there_is_no_percentile() -> None:
    few, enough = settled(every(8, 31)), settled(every(8, 32))

    assert funding_report(premium(), None, few, NOW_MS).percentile.value is None
    assert funding_report(premium(), None, few, NOW_MS).percentile.n == 29
    assert funding_report(premium(), None, enough, NOW_MS).percentile.value == 50.0


@pytest.mark.parametrize(
    ("estimate", "limit"), [("0.02", "cap"), ("0.021", "cap"), ("0.0199", None), ("-0.02", "floor"), ("0", None)]
)
def test_an_estimate_at_its_cap_or_floor_says_so(estimate: str, limit: str | None) -> None:
    got = funding_report(premium(funding=estimate), rule(8), [], NOW_MS)

    assert got.at_limit == limit
    assert (got.cap, got.floor) == (Decimal("0.02"), Decimal("-0.02"))
    assert funding_report(premium(funding=estimate), None, [], NOW_MS).at_limit is None


def test_a_contract_without_an_estimate_has_no_year_and_the_rank_of_its_last_settlement() -> None:
    got = funding_report(premium(funding=None), None, settled(every(8, 60)), NOW_MS)

    assert (got.estimate, got.apr, got.percentile.value, got.percentile.n) == (None, None, 50.0, 58)
    assert got.last_settled_ms == THIS_HOUR * HOUR_MS + 3
