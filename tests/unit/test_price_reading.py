"""The price a page measures from: the last trade while the book agrees and it is fresh, else the middle of the book."""

from decimal import Decimal

import pytest

from analytics.samples import price
from mcp_binance_server.domain.price_reading import PriceReading, read_price
from mcp_binance_server.surface.views.glance import data_line
from mcp_binance_server.surface.views.markdown import compact_money, data_times
from mcp_binance_server.surface.views.market import elapsed

NOW_MS = 1_784_592_123_000
TICK = Decimal("0.1")


def read(
    last: str, *, age_ms: int | None = 1_000, bid: str | None = "100.0", ask: str | None = "100.2"
) -> PriceReading:
    return read_price(
        price(last),
        None if age_ms is None else NOW_MS - age_ms,
        bid=None if bid is None else price(bid),
        ask=None if ask is None else price(ask),
        tick=TICK,
        at_ms=NOW_MS,
    )


@pytest.mark.parametrize("last", ["99.7", "100.0", "100.1", "100.5"])
def test_a_fresh_trade_within_three_ticks_of_the_book_is_the_price(last: str) -> None:
    assert read(last) == PriceReading(price(last), NOW_MS, price(last), NOW_MS - 1_000, is_mid=False)


@pytest.mark.parametrize("last", ["99.6", "100.6", "1"])
def test_a_trade_further_out_gives_way_to_the_mid(last: str) -> None:
    reading = read(last)

    assert (reading.price, reading.last, reading.is_mid) == (Decimal("100.1"), Decimal(last), True)


@pytest.mark.parametrize(("age_ms", "is_mid"), [(None, False), (60_000, False), (60_001, True)])
def test_a_trade_older_than_a_minute_gives_way_to_the_mid(age_ms: int | None, is_mid: bool) -> None:  # noqa: FBT001
    assert read("100.1", age_ms=age_ms).is_mid is is_mid


@pytest.mark.parametrize(("bid", "ask"), [(None, "100.2"), ("100.0", None), ("0", "0"), ("100.3", "100.2")])
def test_without_a_book_that_can_be_trusted_the_last_trade_stays(bid: str | None, ask: str | None) -> None:
    reading = read("50", age_ms=3_600_000, bid=bid, ask=ask)

    assert (reading.price, reading.is_mid) == (Decimal(50), False)


@pytest.mark.parametrize(("ms", "written"), [(-5, "0 s"), (61_000, "1 min"), (245_000, "4 min"), (7_500_000, "2 h")])
def test_an_age_is_told_in_its_largest_unit(ms: int, written: str) -> None:
    assert elapsed(ms) == written


def test_parts_read_more_than_five_seconds_apart_say_so() -> None:
    assert data_times({"24h statistics": NOW_MS, "book": NOW_MS - 5_000}) == "24h statistics 00:02:03, book 00:01:58"
    assert data_times({"24h statistics": NOW_MS, "book": NOW_MS - 6_000}) == (
        "24h statistics 00:02:03, book 00:01:57 (6 s apart)"
    )


def test_a_page_of_the_live_market_says_which_part_is_older_and_where_its_closed_bars_end() -> None:
    moments = {"book": NOW_MS - 7_000, "flow": NOW_MS, "price": None}

    assert data_line(moments) == "**Data**: book 00:01:56, flow 00:02:03 (7 s apart)"
    assert data_line({"book": NOW_MS}, closed_ms=NOW_MS - 5_000) == (
        "**Data**: book 00:02:03, closed candles to 00:01:58"
    )
    assert data_line({"book": NOW_MS}, closed_ms=NOW_MS - 63_000) == (
        "**Data**: book 00:02:03, closed candles to 00:01:00 (1 min 3 s before)"
    )
    assert data_line({"book": None}, closed_ms=NOW_MS) == "**Data**: closed candles to 00:02:03"
    assert data_line({}) == "**Data**: none"


@pytest.mark.parametrize(
    ("value", "quote", "written"),
    [
        (8_214_000.0, "USDT", "$8.2M"),
        (316.72, "USDT", "$316.7"),
        (0.0, "USDT", "$0"),
        (0.04231, "BTC", "0.042 BTC"),
        (6.5, "BTC", "6.5 BTC"),
    ],
)
def test_a_small_sum_of_another_asset_is_no_zero(value: float, quote: str, written: str) -> None:
    assert compact_money(value, quote) == written
