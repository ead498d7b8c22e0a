"""A size never breaks a bound it was made of, never grows, and none is said to be none for the right reason."""

from dataclasses import replace
from decimal import Decimal

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from analytics.samples import price, quantity
from analytics.sizes import TAKER, day, sized
from mcp_binance_server.analytics.thresholds import DEFAULTS
from mcp_binance_server.analytics.trend.levels import TradeLevels
from mcp_binance_server.analytics.trend.size import (
    LimitName,
    NoOrder,
    OwnFunds,
    SizeBasis,
    SizedOrder,
    near_touch,
    size_order,
)
from mcp_binance_server.domain.market import BookSnapshot, PriceLevel
from mcp_binance_server.domain.symbols import Symbol, SymbolRules

LEVELS = TradeLevels("24h_range", price(90), price(100), price(80), price(130), "range")
RULES = SymbolRules(Symbol("NEWUSDT"), "NEW", "USDT", "TRADING", price("0.01"), quantity("0.01"), quantity(5))
BOOK = BookSnapshot(1, (), (PriceLevel(price(101), quantity(10_000)),))
RICH = OwnFunds(
    free=quantity(10**6), held=quantity(0), ordered=quantity(0), ordered_value=Decimal(0), taker=Decimal("0.001")
)
amounts = st.decimals(min_value=0, max_value=10**7, places=4)


def bound_of(rules: SymbolRules = RULES, funds: OwnFunds | None = RICH) -> tuple[LimitName | None, Decimal]:
    basis = SizeBasis(book=BOOK, equity=Decimal(10**7), funds=funds)
    got = size_order(
        LEVELS, day(Decimal(100), Decimal(10**7)), rules, basis, fraction=Decimal("0.02"), ceiling=Decimal("0.25")
    )
    return got.bound and got.bound.name, got.quantity if isinstance(got, SizedOrder) else Decimal(0)


@pytest.mark.parametrize(
    ("rules", "funds", "expected"),
    [
        (RULES, RICH, ("free", Decimal("9990.00"))),
        (RULES, replace(RICH, taker=Decimal("-0.5")), ("free", Decimal(10_000))),
        (replace(RULES, max_quantity=quantity("99.999")), RICH, ("lot_size", Decimal("99.99"))),
        (replace(RULES, market_max_quantity=quantity(88)), RICH, ("market_lot_size", Decimal(88))),
        (replace(RULES, max_notional=quantity(7700)), RICH, ("notional", Decimal(77))),
        (
            replace(RULES, max_position=quantity(100)),
            replace(RICH, held=quantity(20), ordered=quantity(14)),
            ("max_position", Decimal(66)),
        ),
        (
            replace(RULES, max_position=quantity(100)),
            replace(RICH, held=quantity(90), ordered=quantity(14)),
            ("max_position", Decimal(0)),
        ),
        (replace(RULES, max_position=quantity(100)), None, ("depth", Decimal(10_000))),
        (RULES, replace(RICH, held=quantity(24_000)), ("exposure", Decimal(1000))),
        (RULES, replace(RICH, ordered_value=Decimal(2_400_000)), ("exposure", Decimal(1000))),
        (replace(RULES, base="USDC"), replace(RICH, held=quantity(24_000)), ("free", Decimal("9990.00"))),
        (RULES, replace(RICH, free=quantity(0)), ("free", Decimal(0))),
    ],
    ids=(
        "fees",
        "rebate",
        "largest_lot",
        "largest_market_lot",
        "largest_value",
        "largest_position",
        "position_full",
        "position_unknown",
        "held",
        "ordered",
        "cash",
        "no_money",
    ),
)
def test_the_least_of_all_limits_is_the_bound(
    rules: SymbolRules, funds: OwnFunds | None, expected: tuple[LimitName, Decimal]
) -> None:
    assert bound_of(rules, funds) == expected


def test_without_a_step_the_decimals_of_the_asset_are_the_step() -> None:
    assert bound_of(replace(RULES, step=quantity(0), base_places=1, max_quantity=quantity("3.19"))) == (
        "lot_size",
        Decimal("3.1"),
    )


def test_less_than_the_least_quantity_is_no_order_however_much_it_is_worth() -> None:
    few = replace(RULES, min_quantity=quantity(100), max_notional=quantity(9_999))

    assert bound_of(few) == ("notional", 0)


def test_nobody_knows_what_an_unpriced_equity_buys() -> None:
    basis = SizeBasis(book=BOOK, equity=None, funds=RICH)

    got = size_order(LEVELS, day(Decimal(100), Decimal(1)), RULES, basis, fraction=Decimal(1), ceiling=Decimal(1))

    assert got == NoOrder("no_rate")


@pytest.mark.parametrize(
    ("tick", "expected"),
    [("0.01", 3), ("1", 7), ("0.5", 7), ("0", 3)],
)
def test_near_the_touch_is_ten_basis_points_or_one_tick(tick: str, expected: int) -> None:
    asks = [PriceLevel(price(at), quantity(size)) for at, size in (("100", 1), ("100.1", 2), ("100.5", 4), ("102", 8))]

    assert near_touch(asks, price(tick)) == expected
    assert near_touch([], price(tick)) == 0


@given(
    equity=amounts, free=amounts, held=amounts, ordered=amounts, asks=amounts, volume=amounts,
    fraction=st.sampled_from([Decimal("0.005"), Decimal("0.01"), Decimal("0.02")]),
    ends=st.tuples(*[st.decimals(min_value="0.01", max_value=10**5, places=2)] * 3).map(sorted),
    step=st.sampled_from(["0.00001", "0.03", "1"]),
)  # fmt: skip
def test_a_size_keeps_every_bound_and_fills_the_tightest(  # noqa: PLR0917
    equity: Decimal, free: Decimal, held: Decimal, ordered: Decimal, asks: Decimal, volume: Decimal,
    fraction: Decimal, ends: list[Decimal], step: str,
) -> None:  # fmt: skip
    stop, low, high = ends
    assume(stop < low)

    got = sized(
        equity, fraction, low, high, stop, Decimal(step), Decimal(5), free, held, ordered, asks, volume,
        has_account=True,
    )  # fmt: skip

    if isinstance(got, NoOrder):
        assert got.bound is not None
        assert got.bound.quantity <= 0 or (got.bound.quantity - Decimal(step)) * low < 5
        return
    assert got.risk <= equity * fraction
    assert got.value * (1 + TAKER) <= free
    assert got.value + (held + ordered) * high <= equity * DEFAULTS.position_ceiling
    assert got.quantity <= min(asks, volume / 100)
    assert got.quantity * low >= 5
    assert got.quantity % Decimal(step) == 0
    assert got.bound.quantity - got.quantity < Decimal(step)
