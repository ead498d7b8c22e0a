"""The streams of the futures host: forced orders as a sample, marks of both products, and routes that stay silent."""

from collections import Counter
from collections.abc import Awaitable, Callable
from decimal import Decimal
from typing import Any

import httpx2
import msgspec
import pytest

from binance_simulator.exchange import SimulatedExchange
from binance_simulator.futures.listing import FUTURES_HOST
from binance_simulator.futures.quirks import Quirk
from binance_simulator.streams.futures import FuturesSession, futures_session
from binance_simulator.streams.loopback import Loopback
from support.clock import FakeClock

pytestmark = pytest.mark.anyio

Get = Callable[[str], Awaitable[httpx2.Response]]
Frame = Any

HOUR_MS = 3_600_000
MINUTE_MS = 60_000


def opened(exchange: SimulatedExchange, path: str, streams: str = "") -> FuturesSession:
    session = futures_session(exchange, path, streams)
    assert session is not None
    return session


def due(session: FuturesSession, clock: FakeClock, after_ms: int) -> list[Frame]:
    texts: list[str] = []
    for _ in range(after_ms // MINUTE_MS):
        clock.advance(MINUTE_MS)
        texts += session.due(clock.now_ms())
    clock.advance(after_ms % MINUTE_MS)
    texts += session.due(clock.now_ms())
    return [msgspec.json.decode(text) for text in texts]


@pytest.mark.night
async def test_forced_orders_are_told_at_most_once_a_symbol_and_second(
    exchange: SimulatedExchange, clock: FakeClock
) -> None:
    clock.advance(-clock.now_ms() % 1000)
    began_ms = clock.now_ms()
    session = opened(exchange, "/market/ws/!forceOrder@arr")

    events = [event for event in due(session, clock, 2 * HOUR_MS) if event["st"] == 1]

    true = exchange.futures.liquidations(began_ms + 1, clock.now_ms() + 1)
    told = Counter((event["o"]["s"], event["E"]) for event in events)
    seconds = {(order.contract.name, -(-order.time_ms // 1000) * 1000) for order in true}
    assert told.keys() == seconds
    assert set(told.values()) == {1}
    assert len(true) > 1.2 * len(events) > 24
    assert {event["o"]["S"] for event in events} == {"SELL", "BUY"}
    newest = {(order.contract.name, -(-order.time_ms // 1000) * 1000): order for order in true}
    for event in events:
        order = newest[event["o"]["s"], event["E"]]
        assert event["o"]["T"] == order.time_ms
        assert event["o"]["z"] == order.contract.quantity(order.lots)
        assert event["o"]["S"] == ("SELL" if order.sells else "BUY")


@pytest.mark.slow
async def test_liquidations_come_in_the_minutes_that_move_far(exchange: SimulatedExchange, clock: FakeClock) -> None:
    market, first_hour = exchange.futures.market, clock.now_ms() // HOUR_MS - 48
    judged = 0
    for name in ("BTCUSDT", "SOLUSDT", "1000PEPEUSDT"):
        contract = exchange.futures.contracts(clock.now_ms())[name]
        for hour in range(first_hour, first_hour + 48):
            start_ms = hour * HOUR_MS
            orders = market.liquidations(contract).between(start_ms, start_ms + HOUR_MS)
            whole = market.tape(contract).window(start_ms, start_ms + HOUR_MS)
            assert whole is not None
            assert bool(orders) == (max(whole.high - whole.open, whole.open - whole.low) * 125 > whole.open)
            falls = {
                minute: candle.open - candle.low
                for minute in range(start_ms, start_ms + HOUR_MS, MINUTE_MS)
                if (candle := market.tape(contract).window(minute, minute + MINUTE_MS))
            }
            burst = {order.time_ms // MINUTE_MS * MINUTE_MS for order in orders if order.sells}
            if burst:
                judged += 1
                usual = sum(falls.values()) / len(falls)
                assert min(falls[minute] for minute in burst) > usual
                assert max(falls, key=lambda minute: falls[minute]) in burst
    assert judged > 20


async def test_longs_are_sold_in_falls_and_open_interest_goes_with_them(
    exchange: SimulatedExchange, clock: FakeClock
) -> None:
    contract = exchange.futures.contracts(clock.now_ms())["1000PEPEUSDT"]
    market = exchange.futures.market
    hours = range(clock.now_ms() // HOUR_MS - 200, clock.now_ms() // HOUR_MS)
    worst = max(hours, key=lambda hour: market.liquidations(contract).hour(hour).longs)

    forced = market.liquidations(contract).hour(worst)
    before, after = (market.interest(contract).at(hour * HOUR_MS) for hour in (worst, worst + 1))

    orders = market.liquidations(contract).between(worst * HOUR_MS, (worst + 1) * HOUR_MS)
    assert sum(order.lots for order in orders if order.sells) == forced.longs
    assert sum(order.lots for order in orders) == forced.lots
    assert after < before
    for place, order in enumerate(orders):
        stepwise = [market.interest(contract).at(order.time_ms + later) for later in (0, 1)]
        same = sum(each.lots for each in orders if each.time_ms == order.time_ms)
        assert abs(stepwise[0] - stepwise[1] - same) <= before // 100_000, place


async def test_ten_planted_in_one_second_are_told_as_one(exchange: SimulatedExchange, clock: FakeClock) -> None:
    clock.advance(-clock.now_ms() % HOUR_MS)
    session = opened(exchange, "/market/ws/btcusdt@forceOrder")
    before = (exchange.futures.market.interest(exchange.futures.contracts(clock.now_ms())["BTCUSDT"])).at(
        clock.now_ms() + 1000
    )

    exchange.futures.liquidate("BTCUSDT", clock.now_ms() + 700, count=10, lots=3)
    (event,) = due(session, clock, 1000)

    contract = exchange.futures.contracts(clock.now_ms())["BTCUSDT"]
    assert (event["o"]["S"], event["o"]["z"]) == ("SELL", contract.quantity(3))
    assert len(exchange.futures.liquidations(clock.now_ms() - 1000, clock.now_ms(), "BTCUSDT")) == 10
    assert exchange.futures.market.interest(contract).at(clock.now_ms()) == before - 30


async def test_marks_are_those_of_the_rest_api_with_coin_margined_ones_among_them(
    clock: FakeClock, exchange: SimulatedExchange, ask_futures: Get
) -> None:
    clock.advance(-clock.now_ms() % 1000)
    session = opened(exchange, "/market/stream", "!markPrice@arr@1s")

    usual, tradfi = [frame["data"] for frame in due(session, clock, 1000)]

    rows = {row["symbol"]: row for row in (await ask_futures("fapi/v1/premiumIndex")).json()}
    told = {event["s"]: event for event in (*usual, *tradfi)}
    assert {event["s"] for event in tradfi} == {"TSLAUSDT", "NVDAUSDT", "XAUUSDT"}
    assert {name for name, event in told.items() if event["st"] == 2} == {"BTCUSD_PERP", "ETHUSD_PERP"}
    for name, event in told.items():
        if event["st"] == 1:
            row = rows[name]
            assert (event["p"], event["i"], event["r"], event["T"], event["E"]) == (
                row["markPrice"], row["indexPrice"], row["lastFundingRate"], row["nextFundingTime"], row["time"],
            )  # fmt: skip
    assert rows.keys() - told.keys() == {"MATICUSDT", "LUNAUSDT"}


async def test_coin_margined_orders_come_under_their_own_name(exchange: SimulatedExchange, clock: FakeClock) -> None:
    session = opened(exchange, "/market/ws/!forceOrder@arr")
    exchange.futures.liquidate("BTCUSDT", clock.now_ms() + 500, lots=100_000)

    events = [event for event in due(session, clock, 2000) if event["ps"].startswith("BTC")]

    assert [(event["st"], event["o"]["s"], event["ps"]) for event in events] == [
        (1, "BTCUSDT", "BTCUSDT"),
        (2, "BTCUSD_PERP", "BTCUSD"),
    ]
    assert int(events[1]["o"]["z"]) == int(Decimal(events[0]["o"]["z"]) * Decimal(events[0]["o"]["ap"]) / 10)


async def test_a_single_stream_and_the_day_arrays_are_told(
    exchange: SimulatedExchange, clock: FakeClock, ask_futures: Get
) -> None:
    clock.advance(-clock.now_ms() % 3000)
    names = "solusdt@markPrice/!miniTicker@arr/!ticker@arr"
    session = opened(exchange, "/market/stream", names)

    frames = due(session, clock, 3000)

    counted = Counter(frame["stream"] for frame in frames)
    assert counted == {"solusdt@markPrice": 1, "!miniTicker@arr": 3, "!ticker@arr": 3}
    rows = {row["symbol"]: row for row in (await ask_futures("fapi/v1/ticker/24hr")).json()}
    newest = {frame["stream"]: frame["data"] for frame in frames}
    for event in newest["!ticker@arr"]:
        assert (event["c"], event["q"]) == (rows[event["s"]]["lastPrice"], rows[event["s"]]["quoteVolume"])


@pytest.mark.parametrize("path", ["/public/ws/!forceOrder@arr", "/private/ws/!markPrice@arr@1s", "/ws/!ticker@arr"])
async def test_a_market_stream_on_the_wrong_route_stays_open_and_silent(
    exchange: SimulatedExchange, clock: FakeClock, path: str
) -> None:
    session = opened(exchange, path)

    assert due(session, clock, 10 * MINUTE_MS) == []
    assert session.ending is None


@pytest.mark.parametrize("name", ["!forceOrder", "!forceOrder@arr@1s", "BTCUSDT@markPrice", "!depth@arr", "x@y"])
async def test_names_that_mean_nothing_stay_quiet(exchange: SimulatedExchange, clock: FakeClock, name: str) -> None:
    assert due(opened(exchange, f"/market/ws/{name}"), clock, 3_000) == []


async def test_the_loopback_finds_the_futures_by_their_host(exchange: SimulatedExchange, clock: FakeClock) -> None:
    exchange.hub.by_hand = True
    loopback = Loopback(exchange)

    connection = await loopback.connect(f"ws://{FUTURES_HOST}/market/ws/!markPrice@arr@1s")
    counts = (exchange.futures.hub.open_connections, exchange.hub.open_connections)
    clock.advance(1000)
    exchange.hub.wake()
    marks = msgspec.json.decode(await connection.recv())
    await connection.close()

    assert counts == (1, 0)
    assert marks[0]["e"] == "markPriceUpdate"
    assert exchange.futures.hub.open_connections == 0
    with pytest.raises(ConnectionRefusedError, match="404"):
        await loopback.connect(f"ws://{FUTURES_HOST}/nowhere")
    exchange.futures.quirks.add(Quirk(kind="region"))
    with pytest.raises(ConnectionRefusedError, match="451"):
        await loopback.connect(f"ws://{FUTURES_HOST}/market/ws/!forceOrder@arr")
    assert await loopback.connect("ws://simulator.invalid/ws/btcusdt@trade")
