"""What is asked of a futures host: each call's path, weight and counter, and what its answer means."""

from collections.abc import Awaitable, Callable
from dataclasses import fields
from decimal import Decimal
from email.utils import formatdate
from typing import Any, get_args

import pytest

from binance_simulator.exchange import SimulatedExchange
from binance_simulator.faults import Fault
from mcp_binance_server.domain.access import Credentials
from mcp_binance_server.domain.derivatives import (
    BasisPoint,
    FundingPayment,
    InterestPoint,
    ShareKind,
    SharePoint,
    TakerPoint,
)
from mcp_binance_server.errors import ExchangeUnavailable, InvalidSymbol
from mcp_binance_server.exchange.endpoints import Endpoint
from mcp_binance_server.exchange.futures.endpoints import DATA, FUNDING, FUTURES_CALLS, klines_call
from mcp_binance_server.exchange.futures.rest import FuturesClient
from mcp_binance_server.exchange.signing import Principal
from mcp_binance_server.exchange.wire import TimeWire, quantity
from mcp_binance_server.upstream import FuturesSide
from support.answering import Answering
from support.clock import FakeClock
from support.desk import OpenFutures

HOUR_MS = 1_794_229_200_000
ABOUT = {"symbol": "SOLUSDT"}
PREMIUM = ABOUT | {
    "markPrice": "151.20000000", "indexPrice": "151.26000000", "estimatedSettlePrice": "151.1",
    "lastFundingRate": "-0.00003100", "interestRate": "0.00010000", "nextFundingTime": 1794240000000,
    "time": 1794231000000,
}  # fmt: skip
QUOTE = ABOUT | {"bidPrice": "151.1", "bidQty": "1", "askPrice": "151.2", "askQty": "2", "time": 1794231000000}
DAY = ABOUT | {
    "priceChangePercent": "-1.5", "lastPrice": "151.1", "openPrice": "153", "highPrice": "155", "lowPrice": "150",
    "quoteVolume": "1000.5", "closeTime": 1794231000000, "count": 7,
}  # fmt: skip
CANDLE = [HOUR_MS, "1", "3", "0.5", "2", "10", HOUR_MS + 3_599_999, "20.5", 4, "5", "10", "0"]
SHARE = ABOUT | {"longShortRatio": "1.5000", "longAccount": "0.6000", "shortAccount": "0.4000", "timestamp": HOUR_MS}


Call = Callable[[FuturesClient], Awaitable[Any]]


CALLS: list[tuple[Call, object, str, int, str | None]] = [
    (lambda it: it.all_days(), [DAY], "/fapi/v1/ticker/24hr", 40, None),
    (lambda it: it.all_premiums(), [PREMIUM], "/fapi/v1/premiumIndex", 10, None),
    (lambda it: it.all_quotes(), [QUOTE], "/fapi/v1/ticker/bookTicker", 5, None),
    (lambda it: it.premium("SOLUSDT"), PREMIUM, "/fapi/v1/premiumIndex?symbol=SOLUSDT", 1, None),
    (lambda it: it.quote("SOLUSDT"), QUOTE, "/fapi/v1/ticker/bookTicker?symbol=SOLUSDT", 2, None),
    (
        lambda it: it.open_interest("SOLUSDT"),
        ABOUT | {"openInterest": "8123456.10", "time": HOUR_MS},
        "/fapi/v1/openInterest?symbol=SOLUSDT",
        1,
        None,
    ),
    (
        lambda it: it.funding_payments("SOLUSDT"),
        [],
        "/fapi/v1/fundingRate?symbol=SOLUSDT&limit=1000",
        0,
        FUNDING,
    ),
    (
        lambda it: it.interest_hours("SOLUSDT"),
        [],
        "/futures/data/openInterestHist?symbol=SOLUSDT&period=1h&limit=500",
        0,
        DATA,
    ),
    (
        lambda it: it.shares("SOLUSDT", "accounts_all"),
        [],
        "/futures/data/globalLongShortAccountRatio?symbol=SOLUSDT&period=1h&limit=480",
        0,
        DATA,
    ),
    (
        lambda it: it.shares("SOLUSDT", "top_accounts"),
        [],
        "/futures/data/topLongShortAccountRatio?symbol=SOLUSDT&period=1h&limit=480",
        0,
        DATA,
    ),
    (
        lambda it: it.shares("SOLUSDT", "top_positions"),
        [],
        "/futures/data/topLongShortPositionRatio?symbol=SOLUSDT&period=1h&limit=480",
        0,
        DATA,
    ),
    (
        lambda it: it.taker_hours("SOLUSDT"),
        [],
        "/futures/data/takerlongshortRatio?symbol=SOLUSDT&period=1h&limit=480",
        0,
        DATA,
    ),
    (
        lambda it: it.basis_hours("SOLUSDT"),
        [],
        "/futures/data/basis?pair=SOLUSDT&period=1h&limit=480&contractType=PERPETUAL",
        0,
        DATA,
    ),
    (
        lambda it: it.candles("SOLUSDT", "1h", 99),
        [CANDLE],
        "/fapi/v1/klines?symbol=SOLUSDT&interval=1h&limit=99",
        1,
        None,
    ),
    (
        lambda it: it.closed_series("SOLUSDT", "4h", 250),
        [CANDLE],
        "/fapi/v1/klines?symbol=SOLUSDT&interval=4h&limit=250",
        2,
        None,
    ),
]


@pytest.mark.parametrize(("call", "said", "path", "weight", "counter"), CALLS)
async def test_each_call_has_its_path_weight_and_counter(  # noqa: PLR0917 - one row says it all
    call: Call, said: object, path: str, weight: int, counter: str | None, open_futures: OpenFutures
) -> None:
    host = Answering(said)

    async with open_futures(host) as futures:
        await call(futures.client)
        budget = futures.client.caller.budget
        counted = {name: await each.used() for name, each in budget.counters.items()}

        assert host.asked == [path]
        assert await budget.used() == weight
        assert counted == {DATA: 0, FUNDING: 0} | ({} if counter is None else {counter: 1})


@pytest.mark.parametrize(("rows", "weight"), [(99, 1), (100, 2), (499, 2), (500, 5), (1000, 5), (1001, 10), (1500, 10)])
def test_candles_cost_by_their_number(rows: int, weight: int) -> None:
    assert klines_call(rows).weight == weight


def test_no_futures_call_can_say_that_it_is_signed() -> None:
    for call in FUTURES_CALLS:
        assert not isinstance(call, Endpoint)
        assert "signed" not in {each.name for each in fields(call)}
        assert call.path.startswith(("/fapi/v1/", "/futures/data/"))


async def test_even_who_gets_around_the_types_signs_nothing_for_a_futures_host(
    futures: FuturesSide, exchange: SimulatedExchange
) -> None:
    caller: Any = futures.client.caller
    key = Principal.of(Credentials(exchange.account.api_key, exchange.account.secret_key))

    await caller.attempts.send(FUTURES_CALLS[0], {}, key)
    await caller.read(FUTURES_CALLS[0], {}, TimeWire, key)

    assert [request.signed for request in exchange.futures.requests] == [False, False]
    assert all("timestamp" not in request.params for request in exchange.futures.requests)


async def test_the_estimate_and_its_settlement_come_from_one_answer(open_futures: OpenFutures) -> None:
    async with open_futures(Answering(PREMIUM)) as futures:
        premium = (await futures.client.premium("SOLUSDT")).value

    assert (premium.mark, premium.index, premium.time_ms) == (Decimal("151.2"), Decimal("151.26"), 1794231000000)
    assert (premium.funding, premium.next_funding_ms) == (Decimal("-0.000031"), 1794240000000)


@pytest.mark.parametrize("without", [{"lastFundingRate": ""}, {"nextFundingTime": 0}])
async def test_what_expires_has_no_funding(without: dict[str, Any], open_futures: OpenFutures) -> None:
    async with open_futures(Answering(PREMIUM | without)) as futures:
        premium = (await futures.client.premium("SOLUSDT")).value

    assert (premium.funding, premium.next_funding_ms) == (None, None)


@pytest.mark.parametrize("stamp", [HOUR_MS, str(HOUR_MS)], ids=["number", "text"])
async def test_a_time_is_taken_as_number_and_as_text(stamp: int | str, open_futures: OpenFutures) -> None:
    row = {
        "timestamp": stamp, "sumOpenInterest": "5", "sumOpenInterestValue": "6", "longAccount": "0.6",
        "longShortRatio": "1.5", "buyVol": "7", "sellVol": "8", "basisRate": "-0.0001",
        "futuresPrice": "199.97", "indexPrice": "200",
    }  # fmt: skip

    async with open_futures(Answering([row])) as futures:
        client = futures.client
        interest, shares = await client.interest_hours("SOLUSDT"), await client.shares("SOLUSDT", "top_positions")
        takers, basis = await client.taker_hours("SOLUSDT"), await client.basis_hours("SOLUSDT")

    assert interest.value == (InterestPoint(HOUR_MS, quantity("5"), quantity("6")),)
    assert shares.value == (SharePoint(HOUR_MS, Decimal("0.6"), Decimal("1.5")),)
    assert takers.value == (TakerPoint(HOUR_MS, quantity("7"), quantity("8")),)
    # The rate that is told has four decimals, steps of a basis point; what is judged needs more.
    assert basis.value == (BasisPoint(HOUR_MS, Decimal("-0.00015")),)


async def test_a_dividend_among_the_settlements_is_told_apart(open_futures: OpenFutures) -> None:
    rows = [
        {"fundingTime": 1, "fundingRate": "0.0001", "rateType": "Regular"},
        {"fundingTime": 2, "fundingRate": "-0.01", "rateType": "Special"},
        {"fundingTime": 3, "fundingRate": "0.0002", "markPrice": ""},
    ]

    async with open_futures(Answering(rows)) as futures:
        payments = (await futures.client.funding_payments("TSLAUSDT")).value

    assert payments == (
        FundingPayment(1, Decimal("0.0001"), is_regular=True),
        FundingPayment(2, Decimal("-0.01"), is_regular=False),
        FundingPayment(3, Decimal("0.0002"), is_regular=True),
    )


async def test_a_bad_row_of_a_history_is_left_out_and_counted(open_futures: OpenFutures) -> None:
    async with open_futures(Answering([SHARE, SHARE | {"longAccount": "much"}, 7])) as futures:
        shares = (await futures.client.shares("SOLUSDT", "accounts_all")).value

        assert len(shares) == 1
        assert futures.client.reads.dropped == 2


async def test_bare_numbers_of_candles_are_in_the_quote_asset(open_futures: OpenFutures) -> None:
    async with open_futures(Answering([CANDLE])) as futures:
        assert await futures.client.closed_series("SOLUSDT", "1h", 250) == [(HOUR_MS, 1.0, 3.0, 0.5, 2.0, 20.5)]


async def test_reads_of_now_are_shared_for_a_second_and_histories_for_five_minutes(
    clock: FakeClock, open_futures: OpenFutures
) -> None:
    now, past = Answering(PREMIUM), Answering([SHARE])

    async with open_futures(now) as futures:
        for _ in range(3):
            await futures.client.premium("SOLUSDT")
        clock.advance(1_000)
        await futures.client.premium("SOLUSDT")
    async with open_futures(past) as futures:
        await futures.client.shares("SOLUSDT", "accounts_all")
        clock.advance(299_999)
        await futures.client.shares("SOLUSDT", "accounts_all")
        assert len(past.asked) == 1
        clock.advance(1)
        await futures.client.shares("SOLUSDT", "accounts_all")

    assert (len(now.asked), len(past.asked)) == (2, 2)


async def test_the_header_of_the_weight_is_believed_except_with_quotes(
    clock: FakeClock, open_futures: OpenFutures
) -> None:
    date = formatdate(clock.now_ms() / 1000, usegmt=True)
    host = Answering(QUOTE, headers={"x-mbx-used-weight-1m": "700", "date": date})

    async with open_futures(host) as futures:
        budget = futures.client.caller.budget
        await futures.client.quote("SOLUSDT")
        after_quote = await budget.used()
        host.said = PREMIUM
        await futures.client.premium("SOLUSDT")

        assert (after_quote, await budget.used()) == (2, 700)


async def test_a_symbol_that_futures_do_not_have_is_denied_for_that_market(open_futures: OpenFutures) -> None:
    async with open_futures(Answering({"code": -1121, "msg": "Invalid symbol."}, status=400)) as futures:
        with pytest.raises(InvalidSymbol) as caught:
            await futures.client.premium("PEPEUSDT")

    assert caught.value.data()["market"] == "perpetual"
    assert "perpetual" in caught.value.message


async def test_the_three_board_calls_of_the_simulated_host_agree_on_its_contracts(
    futures: FuturesSide, exchange: SimulatedExchange, clock: FakeClock
) -> None:
    days, premiums = await futures.client.all_days(), await futures.client.all_premiums()
    quotes, table = await futures.client.all_quotes(), await futures.contracts.table()

    assert (days.dropped, premiums.dropped, quotes.dropped) == (0, 0, 0)
    assert set(table.perpetuals) <= set(days.columns["symbol"]) & set(premiums.columns["symbol"])
    assert set(table.perpetuals) <= set(quotes.columns["symbol"])
    assert {*days.columns, *premiums.columns, *quotes.columns} == {
        "symbol", "last", "open", "high", "low", "change_percent", "quote_volume", "trades", "closed_ms", "mark",
        "index", "funding", "next_funding_ms", "marked_ms", "bid", "ask",
    }  # fmt: skip
    assert (days.host, days.origin) == ("futures.simulator.invalid", "configured")
    assert abs(days.at_ms - clock.now_ms()) < 1_000
    assert [request.weight for request in exchange.futures.requests] == [40, 10, 5, 1]
    assert not any(request.signed for request in exchange.futures.requests)
    assert exchange.requests == []


async def test_half_a_body_is_asked_for_again(futures: FuturesSide, exchange: SimulatedExchange) -> None:
    exchange.futures.faults.add(Fault(kind="truncated"))

    days = await futures.client.all_days()

    assert "BTCUSDT" in days.columns["symbol"]
    assert len(exchange.futures.requests) == 2


@pytest.mark.parametrize("said", [{"rows": []}, b"<html>", [{"symbol": "A"}]], ids=["object", "page", "no good row"])
async def test_a_board_answer_without_any_row_is_no_board(said: object, open_futures: OpenFutures) -> None:
    async with open_futures(Answering(said)) as futures:
        with pytest.raises(ExchangeUnavailable, match=r"could (?:not )?be read"):
            await futures.client.all_quotes()


async def test_every_history_of_the_simulated_host_is_read_whole_and_in_order(
    futures: FuturesSide, exchange: SimulatedExchange
) -> None:
    client = futures.client

    histories = [
        (await client.interest_hours("BTCUSDT")).value,
        *[(await client.shares("BTCUSDT", kind)).value for kind in get_args(ShareKind)],
        (await client.taker_hours("BTCUSDT")).value,
        (await client.basis_hours("BTCUSDT")).value,
        (await client.funding_payments("BTCUSDT")).value,
    ]

    for rows in histories:
        times = [each.time_ms for each in rows]
        assert len(times) > 100
        assert times == sorted(set(times))
    assert client.reads.dropped == 0
    assert (exchange.futures.data_requests.total, exchange.futures.funding_requests.total) == (6, 1)
    assert (await client.open_interest("BTCUSDT")).value.contracts > 0
    assert len(await client.closed_series("BTCUSDT", "1h", 250)) == 250
    assert {request.weight for request in exchange.futures.requests[:7]} == {0}
