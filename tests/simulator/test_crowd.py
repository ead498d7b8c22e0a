"""The crowd: many cheap markets whose streams, snapshots and trades still agree exactly, for as long as they play."""

from collections.abc import Awaitable, Callable
from decimal import Decimal
from itertools import pairwise
from typing import Any

import httpx2
import msgspec
import pytest

from binance_simulator.exchange import SimulatedExchange
from binance_simulator.market.crowd import HALF, STEPS, build_loop
from binance_simulator.market.source import Span, parse_stream
from binance_simulator.streams.events import events_of
from binance_simulator.streams.subscriptions import StreamSession
from support.clock import FakeClock

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("unlimited"), pytest.mark.flood]

Get = Callable[[str], Awaitable[httpx2.Response]]
Frame = dict[str, Any]
LOOP_MS = STEPS * 100


@pytest.fixture
def exchange(clock: FakeClock) -> SimulatedExchange:
    return SimulatedExchange(clock, crowd=12)


def opened(exchange: SimulatedExchange, *names: str) -> StreamSession:
    session = StreamSession(exchange, combined=True)
    session.subscribe(list(names))
    return session


def due(session: StreamSession, clock: FakeClock, after_ms: int) -> list[Frame]:
    clock.advance(after_ms)
    return [msgspec.json.decode(text)["data"] for text in session.due(clock.now_ms())]


def lay(side: dict[str, str], levels: list[list[str]]) -> None:
    for price, quantity in levels:
        side[price] = quantity
        if float(quantity) == 0:
            del side[price]


def as_snapshot(last_id: int, bids: dict[str, str], asks: dict[str, str]) -> Frame:
    best_first = sorted(bids.items(), key=lambda level: -float(level[0]))
    lowest_first = sorted(asks.items(), key=lambda level: float(level[0]))
    return {
        "lastUpdateId": last_id,
        "bids": [[*level] for level in best_first],
        "asks": [[*one] for one in lowest_first],
    }


@pytest.mark.parametrize("member", [0, 7, 11])
async def test_a_book_kept_for_more_than_a_loop_is_the_book_of_the_rest_api(
    exchange: SimulatedExchange, clock: FakeClock, get: Get, member: int
) -> None:
    name = f"CROWD{member:03}USDT"
    session = opened(exchange, f"{name.lower()}@depth@100ms")
    clock.advance(40)
    snapshot = (await get(f"depth?symbol={name}&limit=5000")).json()
    last_id, bids, asks = snapshot["lastUpdateId"], dict(snapshot["bids"]), dict(snapshot["asks"])
    told = 0

    for stretch_ms in (700, 20_000, 31_300, 8_000, 60_000, 100, 25_000):
        for event in due(session, clock, stretch_ms):
            told += 1
            assert event["U"] == last_id + 1
            assert 8 <= len(event["b"]) + len(event["a"]) <= 12
            lay(bids, event["b"])
            lay(asks, event["a"])
            last_id = event["u"]
            assert max(map(float, bids)) < min(map(float, asks))
        assert as_snapshot(last_id, bids, asks) == (await get(f"depth?symbol={name}&limit=5000")).json()

    assert told == 1451 > 2 * STEPS
    assert len(bids) > 1000 < len(asks)


async def test_after_a_loop_the_book_is_what_it_was_and_its_ids_have_moved_on(clock: FakeClock, get: Get) -> None:
    first = (await get("depth?symbol=CROWD003USDT&limit=1000")).json()
    clock.advance(LOOP_MS // 2)
    halfway = (await get("depth?symbol=CROWD003USDT&limit=1000")).json()
    clock.advance(LOOP_MS // 2)
    again = (await get("depth?symbol=CROWD003USDT&limit=1000")).json()

    assert (first["bids"], first["asks"]) == (again["bids"], again["asks"])
    assert first["bids"] != halfway["bids"]
    assert first["lastUpdateId"] < halfway["lastUpdateId"] < again["lastUpdateId"]


def test_an_event_touches_as_many_levels_as_were_asked_for_or_a_few_more() -> None:
    loop = build_loop(7, 0, 55)

    touched = [len(step.bids) + len(step.asks) for step in loop.steps]

    assert (min(touched), max(touched)) == (55, 59)
    assert all(top.bid[0] < top.ask[0] for top in loop.tops)


async def test_the_way_back_undoes_the_way_out() -> None:
    loop = build_loop(7, 0)

    assert len(loop.steps) == len(loop.tops) == STEPS == 2 * HALF
    assert loop.book_after(STEPS - 1) == (sorted(loop.bids.items(), reverse=True), sorted(loop.asks.items()))
    assert loop.book_after(HALF - 2) == loop.book_after(HALF)
    assert loop.tops[HALF - 2] == loop.tops[HALF]


async def test_the_book_ticker_tells_every_new_top_and_nothing_else(
    exchange: SimulatedExchange, clock: FakeClock, get: Get
) -> None:
    clock.advance(-clock.now_ms() % 100)
    session = opened(exchange, "crowd001usdt@bookTicker")
    last = (await get("depth?symbol=CROWD001USDT&limit=5")).json()

    for _ in range(100):
        events = due(session, clock, 100)
        now = (await get("depth?symbol=CROWD001USDT&limit=5")).json()

        told = [(event["u"], [event["b"], event["B"]], [event["a"], event["A"]]) for event in events]
        changed = (last["bids"][0], last["asks"][0]) != (now["bids"][0], now["asks"][0])
        assert told == ([(now["lastUpdateId"], now["bids"][0], now["asks"][0])] if changed else [])
        last = now


async def test_trades_come_once_or_twice_a_second_and_are_those_of_the_rest_api(
    exchange: SimulatedExchange, clock: FakeClock, get: Get
) -> None:
    session = opened(exchange, "crowd005usdt@aggTrade", "crowd005usdt@trade")

    events = due(session, clock, 2 * LOOP_MS)

    aggregates = [event for event in events if event["e"] == "aggTrade"]
    trades = [event for event in events if event["e"] == "trade"]
    assert 1 <= len(aggregates) / (2 * LOOP_MS / 1000) <= 2
    for told, rest, key, since in (
        (aggregates, "aggTrades", "a", aggregates[0]["a"]),
        (trades, "historicalTrades", "t", trades[0]["t"]),
    ):
        assert all(two[key] == one[key] + 1 and two["T"] >= one["T"] for one, two in pairwise(told))
        assert all(0 <= event["E"] - event["T"] < 100 for event in told)
        rows = (await get(f"{rest}?symbol=CROWD005USDT&fromId={since}&limit=1000")).json()
        assert [row["a" if key == "a" else "id"] for row in rows][: len(told)] == [event[key] for event in told]
    newest = (await get("aggTrades?symbol=CROWD005USDT&limit=5")).json()
    assert [{name: event[name] for name in newest[0]} for event in aggregates[-5:]] == newest
    assert (await get("ticker/price?symbol=CROWD005USDT")).json()["price"] == newest[-1]["p"]


async def test_the_slow_depth_stream_tells_ten_steps_at_once(exchange: SimulatedExchange, clock: FakeClock) -> None:
    clock.advance(-clock.now_ms() % 1000)
    slow, fast = opened(exchange, "crowd002usdt@depth"), opened(exchange, "crowd002usdt@depth@100ms")

    (merged,) = due(slow, clock, 1000)
    parts = due(fast, clock, 0)

    assert (merged["U"], merged["u"]) == (parts[0]["U"], parts[-1]["u"])
    assert dict(merged["b"]) == {price: quantity for part in parts for price, quantity in part["b"]}


async def test_neighbours_differ(exchange: SimulatedExchange, clock: FakeClock) -> None:
    session = opened(exchange, *(f"crowd{number:03}usdt@depth@100ms" for number in range(12)))

    events = due(session, clock, 100)

    assert len({str(event["b"]) + str(event["a"]) for event in events}) == 12


async def test_an_event_is_encoded_once_however_many_listen(exchange: SimulatedExchange) -> None:
    stream = parse_stream("crowd000usdt@depth@100ms", exchange.listing.symbols)
    assert stream is not None
    end_ms = exchange.now_ms() // 100 * 100

    first, second = (events_of(exchange, stream, Span(end_ms - 100, end_ms)) for _ in range(2))

    assert first is second


async def test_members_are_listed_with_candles_and_tickers_near_their_book(get: Get) -> None:
    symbols = (await get("exchangeInfo")).json()["symbols"]
    book = (await get("ticker/bookTicker?symbol=CROWD011USDT")).json()
    day = (await get("ticker/24hr?symbol=CROWD011USDT")).json()
    candle = (await get("klines?symbol=CROWD011USDT&interval=1m&limit=1")).json()[0]

    assert [record["baseAsset"] for record in symbols[-12:]] == [f"CROWD{number:03}" for number in range(12)]
    assert float(book["bidPrice"]) < float(book["askPrice"])
    for price in (day["highPrice"], day["lowPrice"], candle[4]):
        assert float(price) == pytest.approx(float(book["bidPrice"]), rel=0.05)


async def test_the_crowd_comes_and_goes_on_request(exchange: SimulatedExchange, api: httpx2.AsyncClient) -> None:
    listed = len(exchange.listing.symbols)

    fewer = await api.post("/control/crowd", json={"members": 2})
    two = [record["symbol"] for record in exchange.listing.records[-2:]]
    none = await api.post("/control/crowd", json={"members": 0})
    wrong = await api.post("/control/crowd", json={"members": 5000})

    assert (fewer.json(), none.json()) == ({"members": 2}, {"members": 0})
    assert two == ["CROWD000USDT", "CROWD001USDT"]
    assert len(exchange.listing.symbols) == len(exchange.listing.records) == listed - 12
    assert (wrong.status_code, wrong.text) == (400, "A crowd must have 0 to 1500 members, not 5000.")
    assert (await api.get("/api/v3/depth?symbol=CROWD000USDT")).status_code == 400


async def test_a_scenario_keeps_its_crowd(exchange: SimulatedExchange, get: Get) -> None:
    before = (await get("depth?symbol=CROWD000USDT")).json()

    exchange.set_scenario("quiet")

    assert (await get("depth?symbol=CROWD000USDT")).json() == before


@pytest.mark.parametrize("member", [3, 11, 51, 1499])
async def test_what_a_member_traded_is_the_sum_of_its_parts(get: Get, exchange: SimulatedExchange, member: int) -> None:
    exchange.set_crowd(1_500)
    name = f"CROWD{member:03}USDT"
    day = (await get(f"ticker/24hr?symbol={name}")).json()
    (hour,) = (await get(f"klines?symbol={name}&interval=1h&startTime=1784505600000&limit=1")).json()
    minutes = (await get(f"klines?symbol={name}&interval=1m&startTime=1784505600000&limit=60")).json()

    assert max(Decimal(row[2]) for row in minutes) == Decimal(hour[2])
    assert min(Decimal(row[3]) for row in minutes) == Decimal(hour[3])
    for place in (5, 7, 8, 9, 10):
        assert sum(Decimal(row[place]) for row in minutes) == Decimal(hour[place])
    assert Decimal(day["lowPrice"]) <= Decimal(day["weightedAvgPrice"]) <= Decimal(day["highPrice"])


async def test_all_symbols_cost_eighty_and_can_be_those_that_trade(exchange: SimulatedExchange, get: Get) -> None:
    exchange.set_crowd(1_500)

    every, trading = await get("ticker/24hr"), await get("ticker/24hr?symbolStatus=TRADING")

    assert trading.headers["x-mbx-used-weight-1m"] == "160"
    gone = {row["symbol"] for row in every.json()} - {row["symbol"] for row in trading.json()}
    assert gone == {"LUNAUSDT", "MATICUSDT", "BTCBUSD", "TESTAUSDT"}
    rows = [row for row in trading.json() if row["symbol"].startswith("CROWD")]
    assert len({row["quoteVolume"] for row in rows}) > 1_400
    assert len({row["priceChangePercent"] for row in rows}) > 50
    volumes = sorted(float(row["quoteVolume"]) for row in rows)
    assert volumes[-1] > 100 * volumes[0]


async def test_perpetuals_of_the_crowd_follow_its_spot_pairs(
    exchange: SimulatedExchange, clock: FakeClock, get: Get, ask_futures: Get
) -> None:
    exchange.set_contracts(900)
    clock.advance(-clock.now_ms() % 1000)

    marks = {row["symbol"]: row for row in (await ask_futures("fapi/v1/premiumIndex")).json()}
    days = (await ask_futures("fapi/v1/ticker/24hr")).json()

    assert len(marks) == len(days) == 931
    quote = (await get("ticker/bookTicker?symbol=CROWD004USDT")).json()
    mid = (Decimal(quote["bidPrice"]) + Decimal(quote["askPrice"])) / 2
    assert Decimal(marks["CROWD004USDT"]["indexPrice"]) == mid
    assert {row["nextFundingTime"] % (8 * 3_600_000) == 0 for row in marks.values()} == {True, False}
    assert (await get("ticker/bookTicker?symbol=CROWD100USDT")).status_code == 400
