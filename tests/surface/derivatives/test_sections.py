"""Open interest, basis and positioning, computed anew from what the exchange answers."""

from decimal import Decimal
from statistics import fmean
from typing import Any

import pytest

from binance_simulator.faults import Fault
from support.channels import Structure, Text
from support.futures import PLAIN, FuturesPlace, raw_futures, warmed
from support.served import text_of

HOUR_MS = 3_600_000
DAY_MS = 86_400_000


@pytest.mark.slow
async def test_open_interest_is_contracts_times_mark_and_its_changes_are_between_stamps(place: FuturesPlace) -> None:
    told = (await place.told(PLAIN))["open_interest"]

    contracts = await raw_futures(place.exchange, f"/fapi/v1/openInterest?symbol={PLAIN}")
    premium = await raw_futures(place.exchange, f"/fapi/v1/premiumIndex?symbol={PLAIN}")
    rows: list[dict[str, Any]] = await raw_futures(
        place.exchange, f"/futures/data/openInterestHist?symbol={PLAIN}&period=1h&limit=500"
    )
    assert Decimal(told["contracts"]) == Decimal(contracts["openInterest"])
    value = Decimal(contracts["openInterest"]) * Decimal(premium["markPrice"])
    assert abs(Decimal(told["value"]) - value) <= Decimal("0.005")
    for name, hours in {"1h": 1, "24h": 24, "7d": 168}.items():
        for member, field in (("change_contracts", "sumOpenInterest"), ("change_value", "sumOpenInterestValue")):
            before, now = (float(rows[place][field]) for place in (-1 - hours, -1))
            assert told[member][name] == pytest.approx(100 * (now / before - 1), abs=0.0051)
    past = sorted(float(row["sumOpenInterest"]) for row in rows[:-1])
    rank = 100 * sum(each < float(rows[-1]["sumOpenInterest"]) for each in past) / len(past)
    assert told["percentile"] == pytest.approx(rank, abs=0.051)
    assert told["n"] == len(past) == 499


@pytest.mark.slow
async def test_mark_against_index_is_of_one_answer_and_ranked_by_the_hourly_basis(place: FuturesPlace) -> None:
    told = (await place.told(PLAIN))["basis"]

    premium = await raw_futures(place.exchange, f"/fapi/v1/premiumIndex?symbol={PLAIN}")
    rows: list[dict[str, Any]] = await raw_futures(
        place.exchange, f"/futures/data/basis?pair={PLAIN}&contractType=PERPETUAL&period=1h&limit=480"
    )
    rate = float(premium["markPrice"]) / float(premium["indexPrice"]) - 1
    assert told["mark_vs_index_bps"] == pytest.approx(10_000 * rate, abs=0.0051)
    # By its prices: the rate that the exchange writes beside them is rounded to four decimals.
    rank = 100 * sum(float(row["futuresPrice"]) / float(row["indexPrice"]) - 1 < rate for row in rows) / len(rows)
    assert told["percentile"] == pytest.approx(rank, abs=0.051)
    assert told["n"] == 480


@pytest.mark.slow
async def test_perpetual_against_spot_is_of_two_mids_of_one_moment(place: FuturesPlace) -> None:
    told = (await place.told(PLAIN))["basis"]

    futures = await raw_futures(place.exchange, f"/fapi/v1/ticker/bookTicker?symbol={PLAIN}")
    spot = (await place.client.call_tool("get_ticker", {"symbol": PLAIN})).structured_content
    mids = [
        fmean(map(float, pair)) for pair in ((futures["bidPrice"], futures["askPrice"]), (spot["bid"], spot["ask"]))
    ]
    assert told["perp_vs_spot_bps"] == pytest.approx(10_000 * (mids[0] / mids[1] - 1), abs=0.0051)
    assert told["apart_ms"] <= 1_000


@pytest.mark.slow
@pytest.mark.parametrize("host", ["futures", "spot"])
async def test_prices_of_two_moments_are_not_compared(place: FuturesPlace, host: str) -> None:
    await warmed(place)
    late = Fault(kind="delay", path="*/ticker/bookTicker", delay_ms=2_500)
    (place.exchange.futures if host == "futures" else place.exchange).faults.add(late)

    result = await place.client.call_tool("get_derivatives", {"symbol": PLAIN})

    told, text = result.structured_content, text_of(result)
    assert told["basis"]["perp_vs_spot_bps"] is None
    assert told["basis"]["apart_ms"] > 1_000
    assert told["basis"]["mark_vs_index_bps"] is not None
    assert "not of one moment" in text
    assert (Text(text).missing(told), Structure(told).missing(text)) == ([], [])


@pytest.mark.slow
async def test_quarterlies_are_told_by_their_own_mark_and_the_days_that_are_left(place: FuturesPlace) -> None:
    told = (await place.told("BTCUSDT"))["basis"]["quarterlies"]

    listed = await raw_futures(place.exchange, "/fapi/v1/exchangeInfo")
    ends = {each["symbol"]: each["deliveryDate"] for each in listed["symbols"]}
    assert [ends[each["symbol"]] for each in told] == sorted(ends[each["symbol"]] for each in told)
    for each in told:
        premium = await raw_futures(place.exchange, f"/fapi/v1/premiumIndex?symbol={each['symbol']}")
        rate = float(premium["markPrice"]) / float(premium["indexPrice"]) - 1
        days = (ends[each["symbol"]] - premium["time"]) / DAY_MS
        assert each["bps"] == pytest.approx(10_000 * rate, abs=0.0051)
        assert each["days"] == pytest.approx(days, abs=0.051)
        assert each["apr"] == pytest.approx(100 * rate * 365 / days, abs=0.0051)


@pytest.mark.slow
async def test_positioning_is_the_newest_hour_and_its_rank_among_the_others(place: FuturesPlace) -> None:
    told = (await place.told(PLAIN))["positioning"]

    for kind, call in (
        ("accounts_all", "globalLongShortAccountRatio"),
        ("top_accounts", "topLongShortAccountRatio"),
        ("top_positions", "topLongShortPositionRatio"),
    ):
        rows: list[dict[str, Any]] = await raw_futures(
            place.exchange, f"/futures/data/{call}?symbol={PLAIN}&period=1h&limit=480"
        )
        shares = [float(row["longAccount"]) for row in rows]
        below, equal = (
            sum(each < shares[-1] for each in shares[:-1]),
            sum(each == shares[-1] for each in shares[:-1]),
        )
        assert told[kind]["long_share"] == pytest.approx(100 * shares[-1])
        assert told[kind]["ratio"] == pytest.approx(float(rows[-1]["longShortRatio"]))
        assert told[kind]["change_24h"] == pytest.approx(100 * (shares[-1] - shares[-25]), abs=0.0051)
        assert told[kind]["percentile"] == pytest.approx(100 * (below + equal / 2) / 479, abs=0.051)
        assert told[kind]["n"] == 479
    takers: list[dict[str, Any]] = await raw_futures(
        place.exchange, f"/futures/data/takerlongshortRatio?symbol={PLAIN}&period=1h&limit=480"
    )
    whole = [row for row in takers if int(row["timestamp"]) + HOUR_MS <= place.clock.now_ms()]
    for name, hours in (("buy_share_1h", 1), ("buy_share_24h", 24)):
        bought, sold = (sum(float(row[side]) for row in whole[-hours:]) for side in ("buyVol", "sellVol"))
        assert told["taker"][name] == pytest.approx(100 * bought / (bought + sold), abs=0.0051)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("symbol", "pair", "multiplier"),
    [
        ("BTCUSDT", "BTCUSDT", "1"),
        ("1000PEPEUSDT", "PEPEUSDT", "1000"),
        ("1000SATSUSDT", "1000SATSUSDT", "1"),
        ("TSLAUSDT", None, None),
    ],
)
async def test_the_spot_pair_is_found_by_name_and_price(
    place: FuturesPlace, symbol: str, pair: str | None, multiplier: str | None
) -> None:
    told = await place.told(symbol)

    assert (told["contract"]["spot_pair"], told["contract"]["multiplier"]) == (pair, multiplier)
    assert (told["basis"]["perp_vs_spot_bps"] is None) == (pair is None)
    if pair is not None:
        assert abs(told["basis"]["perp_vs_spot_bps"]) < 200
