"""How numbers, times and foreign text are written."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_binance_server.surface.views.markdown import amount, instant, money, percent, plain, span
from support.requirement import requirement

CENT = Decimal("0.01")


@requirement("ruling/11", "resources/format-prices")
@pytest.mark.parametrize(
    ("value", "quote", "tick", "shown"),
    [
        ("50234.56", "USDT", "0.01", "$50,234.56"),
        ("1", "USDC", "0.0001", "$1.00"),
        ("1.23456", "FDUSD", "0.00001", "$1.23"),
        ("0.12345678", "USDT", "0.00001", "$0.12346"),
        ("0.00001130", "USDT", "0.00000001", "$0.00001130"),
        ("0.5", "USDT", "1", "$0.50"),
        ("0.03101", "BTC", "0.00001", "0.03101 BTC"),
        ("4512345.5", "TRY", "1", "4,512,345.50 TRY"),
        ("0", "USDT", "0.01", "$0.00"),
        ("12.345", "USDT", "0.01", "$12.34"),
        ("12.355", "USDT", "0.01", "$12.36"),
    ],
)
def test_an_amount_shows_the_decimals_that_matter_and_its_currency(
    value: str, quote: str, tick: str, shown: str
) -> None:
    assert money(Decimal(value), quote, Decimal(tick)) == shown


@requirement("ruling/12")
@pytest.mark.parametrize(
    ("value", "shown"), [("1234.56", "+$1,234.56"), ("-45.25", "-$45.25"), ("0", "$0.00"), ("-0.001", "-$0.0010")]
)
def test_a_signed_amount_has_its_sign_before_the_dollar(value: str, shown: str) -> None:
    assert money(Decimal(value), "USDT", CENT, signed=True) == shown


PRICES = st.decimals(min_value=Decimal("0.00000001"), max_value=10**7, places=8)
TICKS = st.sampled_from([Decimal(text) for text in ("0", "1", "0.01", "0.0001", "0.00001", "0.00000001")])


@requirement("ruling/11")
@given(PRICES, TICKS, st.sampled_from(["USDT", "BTC", "EUR"]))
def test_no_price_prints_as_zero_and_none_like_a_float(price: Decimal, tick: Decimal, quote: str) -> None:
    shown = money(price, quote, tick)

    digits = shown.strip("$").split(" ")[0].replace(",", "")
    assert Decimal(digits) > 0
    assert "e" not in shown.lower().replace("eur", "")
    assert len(digits.partition(".")[2]) <= 10
    assert abs(Decimal(digits) - price) <= max(price / 20, tick / 2, Decimal("0.005"))


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
