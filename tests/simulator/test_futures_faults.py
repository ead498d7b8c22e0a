"""What may be wrong with the futures host, alone and on request; spot knows nothing of it."""

from collections import Counter
from collections.abc import Awaitable, Callable
from itertools import islice

import httpx2
import pytest

from binance_simulator.exchange import SimulatedExchange
from binance_simulator.faults import Fault
from binance_simulator.futures.listing import FUTURES_HOST
from binance_simulator.futures.quirks import Quirk
from support.clock import FakeClock

pytestmark = pytest.mark.anyio

Get = Callable[[str], Awaitable[httpx2.Response]]

HOUR_MS = 3_600_000
RATIO = "futures/data/globalLongShortAccountRatio?symbol=BTCUSDT&period=1h"


async def test_a_region_may_be_refused_on_futures_alone(
    exchange: SimulatedExchange, get: Get, ask_futures: Get
) -> None:
    before = (await get("ticker/24hr?symbol=BTCUSDT")).json()
    exchange.futures.quirks.add(Quirk(kind="region"))

    refused = await ask_futures("fapi/v1/premiumIndex")

    assert (refused.status_code, refused.json()["code"]) == (451, 0)
    assert "restricted location" in refused.json()["msg"]
    assert (await get("ticker/24hr?symbol=BTCUSDT")).json() == before
    assert exchange.futures.meter.used(exchange.now_ms()) == 0


async def test_a_ban_tells_its_end_in_the_text_alone(
    exchange: SimulatedExchange, clock: FakeClock, get: Get, ask_futures: Get
) -> None:
    exchange.futures.quirks.add(Quirk(kind="banned", ms=130_000, times=2))

    answers = [await ask_futures("fapi/v1/time") for _ in range(3)]

    assert [answer.status_code for answer in answers] == [418, 418, 200]
    assert f"banned until {clock.now_ms() + 130_000}." in answers[0].json()["msg"]
    assert "retry-after" not in answers[0].headers
    assert (await get("time")).status_code == 200


async def test_timestamps_may_come_as_strings(exchange: SimulatedExchange, ask_futures: Get) -> None:
    whole = (await ask_futures(RATIO)).json()
    exchange.futures.quirks.add(Quirk(kind="string_times", path="/futures/data/*Ratio"))

    rows = (await ask_futures(RATIO)).json()
    others = (await ask_futures("futures/data/openInterestHist?symbol=BTCUSDT&period=1h")).json()

    assert [row["timestamp"] for row in rows] == [str(row["timestamp"]) for row in whole]
    assert {type(row["timestamp"]) for row in others} == {int}


@pytest.mark.parametrize("path", ["ticker/24hr", "premiumIndex", "ticker/bookTicker"])
async def test_a_row_may_be_missing_from_one_of_the_three(
    exchange: SimulatedExchange, ask_futures: Get, path: str
) -> None:
    exchange.futures.quirks.add(Quirk(kind="missing_rows", path=f"/fapi/v1/{path}", symbols=("SOLUSDT", "ADAUSDT")))

    names = {
        each: {row["symbol"] for row in (await ask_futures(f"fapi/v1/{each}")).json()}
        for each in ("ticker/24hr", "premiumIndex", "ticker/bookTicker")
    }

    every = set[str]().union(*names.values())
    assert [every - listed for listed in names.values()] == [
        {"SOLUSDT", "ADAUSDT"} if each == path else set() for each in names
    ]


async def test_one_part_may_be_three_seconds_behind_and_catch_up(
    exchange: SimulatedExchange, clock: FakeClock, ask_futures: Get
) -> None:
    exchange.futures.quirks.add(Quirk(kind="behind", path="/fapi/v1/ticker/bookTicker", ms=3_000, times=1))

    times = [(await ask_futures("fapi/v1/ticker/bookTicker?symbol=BTCUSDT")).json()["time"] for _ in range(2)]

    assert times == [clock.now_ms() - 3_000, clock.now_ms()]


async def test_the_lists_may_be_empty(exchange: SimulatedExchange, ask_futures: Get) -> None:
    exchange.futures.quirks.add(Quirk(kind="empty_list", path="/futures/data/*"))

    answer = await ask_futures(RATIO)

    assert (answer.status_code, answer.json()) == (200, [])


async def test_half_a_body_slow_answers_and_refusals_come_as_on_spot(
    exchange: SimulatedExchange, clock: FakeClock, ask_futures: Get, get: Get
) -> None:
    whole = (await ask_futures("fapi/v1/ticker/bookTicker")).content
    futures = exchange.futures
    futures.faults.add(Fault(kind="truncated", path="/fapi/v1/ticker/*"))
    futures.faults.add(Fault(kind="delay", delay_ms=5_000, path="/fapi/v1/time"))
    futures.faults.add(Fault(kind="status", status=503, code=-1008, msg="busy", path="/fapi/v1/premiumIndex"))
    futures.faults.add(Fault(kind="status", status=502, body="<html>", path="/fapi/v1/fundingInfo"))
    futures.faults.add(Fault(kind="cut_before", path="/fapi/v1/exchangeInfo"))

    half = (await ask_futures("fapi/v1/ticker/bookTicker")).content
    before_ms = clock.now_ms()
    slow = (await ask_futures("fapi/v1/time")).json()
    busy = await ask_futures("fapi/v1/premiumIndex")
    page = await ask_futures("fapi/v1/fundingInfo")

    assert half == whole[: len(whole) // 2]
    assert slow["serverTime"] == before_ms + 5_000
    assert (busy.status_code, busy.json()) == (503, {"code": -1008, "msg": "busy"})
    assert (page.status_code, page.text) == (502, "<html>")
    with pytest.raises(ConnectionResetError):
        await ask_futures("fapi/v1/exchangeInfo")
    assert (await get("time")).status_code == 200


async def test_only_get_is_answered(api: httpx2.AsyncClient) -> None:
    answer = await api.post(f"http://{FUTURES_HOST}/fapi/v1/time")

    assert (answer.status_code, answer.json()["code"]) == (404, -5000)


async def test_all_of_it_is_set_from_outside(
    exchange: SimulatedExchange, api: httpx2.AsyncClient, ask_futures: Get
) -> None:
    control = "/control/futures"
    added = await api.post(f"{control}/quirks", json={"kind": "region", "path": "/fapi/v1/time"})
    faults = await api.post(f"{control}/faults", json=[{"kind": "empty", "path": "/fapi/v1/fundingInfo"}])
    streams = await api.post(f"{control}/streams/faults", json={"kind": "silent"})
    limits = await api.post(control, json={"weight_limit": 500, "data_limit": 3, "funding_limit": 2, "contracts": 4})
    planted = await api.post(f"{control}/liquidations", json={"symbol": "BTCUSDT", "count": 10})

    assert (added.json(), faults.json(), streams.json()) == ({"quirks": 1}, {"faults": 1}, {"faults": 1})
    assert limits.json() == {"weight_limit": 500, "data_limit": 3, "funding_limit": 2}
    assert len(exchange.futures.liquidations(planted.json()["at_ms"], planted.json()["at_ms"] + 1, "BTCUSDT")) == 10
    assert (await ask_futures("fapi/v1/time")).status_code == 451
    assert (await ask_futures("fapi/v1/fundingInfo")).content == b""
    state = (await api.get(control)).json()
    assert (state["funding_requests"], state["contracts"], state["connections"]) == (1, 35, 0)
    assert [request["path"] for request in (await api.get(f"{control}/requests")).json()] == [
        "/fapi/v1/time",
        "/fapi/v1/fundingInfo",
    ]
    for path in ("quirks", "faults", "streams/faults", "requests"):
        await api.delete(f"{control}/{path}")
    assert (await ask_futures("fapi/v1/time")).status_code == 200
    assert not [*exchange.futures.faults.pending(), *exchange.futures.hub.faults.pending()]
    wrong = [
        await api.post(control, json={"contracts": 901}),
        await api.post(f"{control}/quirks", json={"kind": "explosion"}),
        await api.post(f"{control}/liquidations", json={"symbol": "NOPE"}),
    ]
    assert [answer.status_code for answer in wrong] == [400, 400, 400]


@pytest.mark.night
async def test_where_there_is_only_noise_one_in_twenty_stands_above_nineteen_twentieths_of_its_past(
    clock: FakeClock,
) -> None:
    above: Counter[str] = Counter()
    judged = 0
    for seed in range(12):
        exchange = SimulatedExchange(clock, seed=seed, scenario="noise")
        market, hour = exchange.futures.market, clock.now_ms() // HOUR_MS
        for contract in exchange.futures.contracts(clock.now_ms()).values():
            funding = market.funding(contract)
            if funding is None or not contract.trading or contract.name == "DOTUSDT":
                continue
            judged += 1
            paid = [payment.rate for payment in islice(funding.payments(clock.now_ms()), 300)]
            open_before = [market.interest(contract).at((hour - back) * HOUR_MS) for back in range(1, 300)]
            long_before = [
                market.ratios(contract).long_share("accounts", (hour - back) * HOUR_MS) for back in range(1, 300)
            ]
            above["funding"] += rank(funding.estimate(clock.now_ms()), paid) > 0.95
            above["interest"] += rank(market.interest(contract).at(clock.now_ms()), open_before) > 0.95
            above["long"] += rank(market.ratios(contract).long_share("accounts", hour * HOUR_MS), long_before) > 0.95

    assert judged == 12 * 24
    for count in above.values():
        assert 0.02 < count / judged < 0.08


def rank(value: int, others: list[int]) -> float:
    return sum((other < value) + (other == value) / 2 for other in others) / len(others)
