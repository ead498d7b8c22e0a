"""How numbers, times and foreign text are written."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_binance_server.analytics.market.profile import nearest
from mcp_binance_server.domain.money import Price, decimals_of
from mcp_binance_server.surface.views.markdown import (
    amount,
    average,
    bps,
    exact_average,
    instant,
    money,
    percent,
    plain,
    price,
    span,
)
from mcp_binance_server.surface.views.measures import basis_points
from support.requirement import requirement

CENT = Decimal("0.01")


@requirement("ruling/11", "resources/format-prices")
@pytest.mark.parametrize(
    ("value", "quote", "tick", "shown"),
    [
        ("50234.56", "USDT", "0.01", "$50,234.56"),
        ("1", "USDC", "0.0001", "$1.0000"),
        ("2.7413", "USDT", "0.0001", "$2.7413"),
        ("4.15", "USDT", "0.001", "$4.150"),
        ("1.23456", "FDUSD", "0.00001", "$1.23456"),
        ("0.12345678", "USDT", "0.00001", "$0.12346"),
        ("0.00001130", "USDT", "0.00000001", "$0.00001130"),
        ("0.5", "USDT", "1", "$0.50"),
        ("0.03101", "BTC", "0.00001", "0.03101 BTC"),
        ("4512345", "TRY", "1", "4,512,345.00 TRY"),
        ("4512345.5", "TRY", "0", "4,512,345.50 TRY"),
        ("1.00000003", "USDT", "0", "$1.00000003"),
        ("0", "USDT", "0.01", "$0.00"),
        ("12.345", "USDT", "0.01", "$12.34"),
        ("12.355", "USDT", "0.01", "$12.36"),
    ],
)
def test_a_price_shows_the_decimals_of_its_tick_and_its_currency(value: str, quote: str, tick: str, shown: str) -> None:
    assert price(Decimal(value), quote, Decimal(tick)) == shown


@requirement("ruling/11")
@pytest.mark.parametrize(
    ("value", "tick", "shown"),
    [
        ("50150.32", "0.01", "$50,150.32"),
        ("50150.325", "0.01", "$50,150.325"),
        ("50150.3204", "0.01", "$50,150.32"),
        ("2.74128", "0.0001", "$2.74128"),
        ("0.000011805", "0.00000001", "$0.000011805"),
    ],
)
def test_an_average_has_one_decimal_more_where_that_says_something(value: str, tick: str, shown: str) -> None:
    assert average(Decimal(value), "USDT", Decimal(tick)) == shown


@pytest.mark.parametrize(
    ("value", "quote", "tick", "shown"),
    [
        ("1234.5678", "USDT", "0.00000001", "$1,234.57"),
        ("0.5", "USDT", "0.01", "$0.50"),
        ("0.03101", "BTC", "0.00001", "0.03101 BTC"),
        ("0.004", "USDT", "0.01", "$0.0040"),
    ],
)
def test_a_sum_of_money_is_bound_to_no_tick(value: str, quote: str, tick: str, shown: str) -> None:
    assert money(Decimal(value), quote, Decimal(tick)) == shown


@requirement("ruling/11")
@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (12.345, "12.35"),
        (0.5, "0.50"),
        (0.0142, "0.014"),
        (0.00085, "0.00085"),
        (-0.0004, "-0.00040"),
        (0.0, "0.00"),
        (-3e-13, "0.00"),
    ],
)
def test_a_distance_in_basis_points_is_zero_only_if_it_is(value: float, shown: str) -> None:
    assert bps(value) == shown
    assert bool(basis_points(value)) == (shown != "0.00")


@requirement("ruling/12")
@pytest.mark.parametrize(
    ("value", "shown"), [("1234.56", "+$1,234.56"), ("-45.25", "-$45.25"), ("0", "$0.00"), ("-0.001", "-$0.0010")]
)
def test_a_signed_amount_has_its_sign_before_the_dollar(value: str, shown: str) -> None:
    assert money(Decimal(value), "USDT", CENT, signed=True) == shown


TICKS = st.sampled_from([Decimal(digit).scaleb(power) for power in range(-8, 0) for digit in (1, 2, 5)] + [Decimal(1)])
VALUES = st.decimals(min_value=Decimal("0.00000001"), max_value=10**7, places=8)


@requirement("ruling/11")
@given(VALUES, VALUES, TICKS, st.sampled_from(["USDT", "BTC", "EUR"]))
def test_a_printed_price_is_the_price_and_two_of_them_never_look_alike(
    one: Decimal, other: Decimal, tick: Decimal, quote: str
) -> None:
    quoted = [max(tick, nearest(each, Price(tick))) for each in (one, other)]

    shown = [price(each, quote, tick) for each in quoted]

    assert [digits_of(each) for each in shown] == quoted
    assert (shown[0] == shown[1]) == (quoted[0] == quoted[1])
    assert all(len(each.partition(".")[2].split(" ")[0]) == max(2, decimals_of(tick)) for each in shown)


@requirement("ruling/11")
@given(VALUES, TICKS)
def test_what_is_printed_of_a_computed_price_is_less_than_half_a_tick_off(value: Decimal, tick: Decimal) -> None:
    mean, level = digits_of(average(value, "USDT", tick)), digits_of(price(value, "USDT", tick))

    assert mean > 0
    assert level > 0
    assert abs(mean - value) < tick / 2
    assert abs(level - value) <= tick / 2
    assert digits_of(f"${exact_average(value, tick)}") == mean or mean < tick


def digits_of(shown: str) -> Decimal:
    return Decimal(shown.strip("$").split(" ")[0].replace(",", ""))


@requirement("ruling/12", "resources/format-percentages")
@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("2.500", "+2.5%"),
        ("-1.500", "-1.5%"),
        ("1.251", "+1.25%"),
        ("0", "0.0%"),
        ("-0.13", "-0.13%"),
        ("10", "+10.0%"),
        ("-0.001", "0.0%"),
    ],
)
def test_a_percentage_has_one_decimal_if_nothing_is_lost_else_two(value: str, shown: str) -> None:
    assert percent(Decimal(value)) == shown


@requirement("ruling/15")
def test_a_moment_has_milliseconds_and_is_utc() -> None:
    assert instant(1_760_711_025_123) == "2025-10-17T14:23:45.123Z"
    assert instant(1_760_711_025_007) == "2025-10-17T14:23:45.007Z"


@pytest.mark.parametrize(
    ("duration", "shown"),
    [(0, "0 s"), (59_999, "59 s"), (61_000, "1 min 1 s"), (7_500_000, "2 h 5 min"), (90_061_000, "1 d 1 h")],
)
def test_a_duration_is_told_in_its_two_largest_units(duration: int, shown: str) -> None:
    assert span(duration) == shown


@given(st.decimals(min_value=0, max_value=10**15, places=8))
def test_separators_never_change_a_quantity(value: Decimal) -> None:
    assert abs(Decimal(amount(value, 8).replace(",", "")) - value) == 0


@requirement("prompts/format-escaping")
@given(st.text(max_size=60))
def test_foreign_text_can_neither_format_nor_break_a_page(text: str) -> None:
    shown = plain(text)

    assert shown.isprintable()
    unescaped = shown.replace("\\\\", "")
    for character in "`*_{}[]<>|#":
        assert unescaped.count(character) == unescaped.count(f"\\{character}")
