"""Market streams without a socket: what falls due agrees with the REST API at every bucket."""

import re
from collections.abc import Awaitable, Callable
from decimal import Decimal
from itertools import pairwise
from typing import Any

import httpx2
import msgspec
import pytest

from binance_simulator.exchange import SimulatedExchange
from binance_simulator.market.source import parse_stream
from binance_simulator.streams.subscriptions import StreamSession
from support.clock import FakeClock

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("unlimited")]

Get = Callable[[str], Awaitable[httpx2.Response]]
Frame = dict[str, Any]
Levels = list[tuple[str, str]]

AMOUNT = re.compile(r"-?\d+\.(\d+)")


def opened(exchange: SimulatedExchange, *names: str, combined: bool = True) -> StreamSession:
    session = StreamSession(exchange, combined=combined)
    session.subscribe(list(names))
    return session


def due(session: StreamSession, clock: FakeClock, after_ms: int = 100) -> list[Frame]:
    clock.advance(after_ms)
    return [msgspec.json.decode(text) for text in session.due(clock.now_ms())]


class KeptBook:
    """A book as a client keeps it: a snapshot, then events."""

    def __init__(self, snapshot: Frame) -> None:
        self.last_id: int = snapshot["lastUpdateId"]
        self.bids = dict[str, str](snapshot["bids"])
        self.asks = dict[str, str](snapshot["asks"])

    def apply(self, event: Frame) -> None:
        assert event["U"] <= self.last_id + 1 <= event["u"]
        for side, levels in ((self.bids, event["b"]), (self.asks, event["a"])):
            for price, quantity in levels:
                if Decimal(quantity):
                    side[price] = quantity
                else:
                    side.pop(price, None)
        self.last_id = event["u"]

    def best(self, count: int) -> tuple[int, Levels, Levels]:
        bids = sorted(self.bids.items(), key=lambda level: Decimal(level[0]), reverse=True)
        asks = sorted(self.asks.items(), key=lambda level: Decimal(level[0]))
        return self.last_id, bids[:count], asks[:count]


def levels_of(snapshot: Frame) -> tuple[int, Levels, Levels]:
    sides = [[(price, quantity) for price, quantity in snapshot[side]] for side in ("bids", "asks")]
    return snapshot["lastUpdateId"], sides[0], sides[1]


@pytest.mark.flood
@pytest.mark.parametrize("symbol", ["BTCUSDT", "ETHUSDT", "ETHBTC", "PEPEUSDT"])
async def test_a_book_kept_from_events_is_the_book_of_the_rest_api_for_a_minute(
    exchange: SimulatedExchange, clock: FakeClock, get: Get, symbol: str
) -> None:
    clock.advance(-clock.now_ms() % 100)
    session = opened(exchange, f"{symbol.lower()}@depth@100ms")
    book = KeptBook((await get(f"depth?symbol={symbol}&limit=5000")).json())
    first_id = book.last_id
    sizes: list[int] = []

    for bucket in range(600):
        for frame in due(session, clock):
            event = frame["data"]
            assert (event["U"], event["E"]) == (book.last_id + 1, clock.now_ms())
            book.apply(event)
            sizes.append(len(event["b"]) + len(event["a"]))
        if bucket % 30 == 29:
            assert book.best(500) == levels_of((await get(f"depth?symbol={symbol}&limit=500")).json())

    assert book.best(4000) == levels_of((await get(f"depth?symbol={symbol}&limit=4000")).json())
    assert book.last_id - first_id >= 600
    assert 10 < sorted(sizes)[300] < 100
    assert max(sizes) < 1000


@pytest.mark.night
@pytest.mark.slow
async def test_an_event_is_the_difference_of_two_books(exchange: SimulatedExchange, clock: FakeClock) -> None:
    clock.advance(-clock.now_ms() % 100)
    symbol = exchange.listing.symbols["BTCUSDT"]
    market = exchange.stage.market
    before = market.depth(symbol, 20_000, clock.now_ms())

    for _ in range(30):
        clock.advance(100)
        after = market.depth(symbol, 20_000, clock.now_ms())
        changes = market.changes(symbol, clock.now_ms() - 100, clock.now_ms())

        assert changes is not None
        for told, old, new in (
            (changes.bids, dict(before.bids), dict(after.bids)),
            (changes.asks, dict(before.asks), dict(after.asks)),
        ):
            different = {price for price in old.keys() | new.keys() if old.get(price) != new.get(price)}
            assert different <= told.keys()
            assert all(new.get(price, 0) == lots for price, lots in told.items())
        before = after


@pytest.mark.flood
@pytest.mark.parametrize("speed", ["@depth", "@depth@100ms"])
async def test_a_snapshot_taken_at_any_time_joins_the_stream(
    exchange: SimulatedExchange, clock: FakeClock, get: Get, speed: str
) -> None:
    for offset_ms in (7, 333, 450, 801, 999):
        session = opened(exchange, f"btcusdt{speed}")
        clock.advance(offset_ms)
        snapshot = (await get("depth?symbol=BTCUSDT&limit=5000")).json()
        events = [frame["data"] for frame in due(session, clock, 3000)]
        clock.set_wall(events[-1]["E"])
        book = KeptBook(snapshot)

        assert events[0]["U"] <= book.last_id + 1
        for event in events:
            if event["u"] > book.last_id:
                book.apply(event)

        assert book.best(1000) == levels_of((await get("depth?symbol=BTCUSDT&limit=1000")).json())
        assert all(one["u"] + 1 == two["U"] for one, two in pairwise(events))


async def test_an_emptied_level_has_quantity_zero(exchange: SimulatedExchange, clock: FakeClock) -> None:
    session = opened(exchange, "btcusdt@depth@100ms")

    events = [frame["data"] for frame in due(session, clock, 2000)]

    quantities = {quantity for event in events for _, quantity in event["b"] + event["a"]}
    assert "0.00000000" in quantities


def shape(value: object) -> object:
    """Reduce a value to its names and types; amounts keep their number of decimals, levels stand for one."""
    match value:
        case dict():
            return {str(name): shape(inner) for name, inner in value.items()}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
        case list():
            return shape(value[0])  # pyright: ignore[reportUnknownArgumentType]
        case str():
            amount = AMOUNT.fullmatch(value)
            return "text" if amount is None else f"{len(amount[1])} decimals"
        case _:
            return type(value).__name__


@pytest.mark.parametrize(
    "name",
    [
        "btcusdt@depth@100ms",
        "btcusdt@depth5@100ms",
        "btcusdt@aggTrade",
        "btcusdt@trade",
        "btcusdt@bookTicker",
        "btcusdt@kline_1m",
        "btcusdt@miniTicker",
        "btcusdt@ticker",
    ],
)
@pytest.mark.parametrize("combined", [True, False])
async def test_a_frame_has_the_names_and_types_of_its_example(
    exchange: SimulatedExchange, clock: FakeClock, stream_examples: dict[str, Any], name: str, *, combined: bool
) -> None:
    session = opened(exchange, name, combined=combined)

    frames = due(session, clock, 10_000)

    example = stream_examples["streams"][name]["combined" if combined else "raw"]
    assert frames
    for frame in frames:
        assert shape(frame) == shape(example)
        assert list(frame) == list(example)
        if combined:
            assert frame["stream"] == name
            assert list(frame["data"]) == list(example["data"])


async def test_the_two_speeds_of_depth_tell_the_same(exchange: SimulatedExchange, clock: FakeClock) -> None:
    clock.advance(-clock.now_ms() % 1000)
    session = opened(exchange, "ethusdt@depth", "ethusdt@depth@100ms", "ethusdt@depth@1000ms")

    frames = due(session, clock, 5000)

    slow = [frame["data"] for frame in frames if frame["stream"] == "ethusdt@depth"]
    fast = [frame["data"] for frame in frames if frame["stream"] == "ethusdt@depth@100ms"]
    assert slow == [frame["data"] for frame in frames if frame["stream"] == "ethusdt@depth@1000ms"]
    assert (len(slow), len(fast)) == (5, 50)
    for place, event in enumerate(slow):
        merged = dict(level for part in fast[place * 10 : place * 10 + 10] for level in part["b"])
        assert dict(event["b"]) == merged
        assert (event["U"], event["u"]) == (fast[place * 10]["U"], fast[place * 10 + 9]["u"])


@pytest.mark.parametrize("levels", [5, 10, 20])
async def test_partial_depth_and_the_book_ticker_are_the_top_of_the_book(
    exchange: SimulatedExchange, clock: FakeClock, get: Get, levels: int
) -> None:
    clock.advance(-clock.now_ms() % 100)
    session = opened(exchange, f"btcusdt@depth{levels}@100ms", "btcusdt@bookTicker")

    for _ in range(20):
        frames = due(session, clock)
        top = (await get(f"depth?symbol=BTCUSDT&limit={levels}")).json()

        assert frames[0]["data"] == top
        for frame in frames[1:]:
            ticker = frame["data"]
            assert [ticker["b"], ticker["B"]] == top["bids"][0]
            assert [ticker["a"], ticker["A"]] == top["asks"][0]
            assert ticker["u"] == top["lastUpdateId"]


async def test_trades_and_aggregates_are_those_of_the_rest_api(
    exchange: SimulatedExchange, clock: FakeClock, get: Get
) -> None:
    session = opened(exchange, "btcusdt@aggTrade", "btcusdt@trade")

    frames = due(session, clock, 60_000)

    aggregates = [frame["data"] for frame in frames if frame["stream"] == "btcusdt@aggTrade"]
    trades = [frame["data"] for frame in frames if frame["stream"] == "btcusdt@trade"]
    rest = (await get(f"aggTrades?symbol=BTCUSDT&fromId={aggregates[0]['a']}&limit={len(aggregates)}")).json()
    assert [{name: event[name] for name in rest[0]} for event in aggregates] == rest
    assert [event["t"] for event in trades] == list(range(trades[0]["t"], trades[0]["t"] + len(trades)))
    assert (aggregates[0]["f"], aggregates[-1]["l"]) == (trades[0]["t"], trades[-1]["t"])
    assert all(0 <= event["E"] - event["T"] < 100 for event in trades)


@pytest.mark.parametrize(("interval", "frames_a_minute"), [("1m", 30), ("1s", 60), ("1d", 30), ("1M", 30)])
async def test_a_kline_is_the_candle_of_the_rest_api_and_says_when_it_closes(
    exchange: SimulatedExchange, clock: FakeClock, get: Get, interval: str, frames_a_minute: int
) -> None:
    clock.advance(-clock.now_ms() % 60_000)
    session = opened(exchange, f"ethusdt@kline_{interval}")

    klines = [frame["data"]["k"] for frame in due(session, clock, 60_000)]

    assert len(klines) == frames_a_minute
    last = klines[-1]
    clock.advance(-1 if last["x"] else 0)
    row = (await get(f"klines?symbol=ETHUSDT&interval={interval}&limit=1")).json()[0]
    assert [last[name] for name in "tohlcvTqnVQB"] == row
    assert last["x"] == (interval in {"1m", "1s"})
    assert sum(kline["x"] for kline in klines) == {"1m": 1, "1s": 60}.get(interval, 0)


async def test_a_second_without_trades_is_a_flat_candle(exchange: SimulatedExchange, clock: FakeClock) -> None:
    session = opened(exchange, "ethusdt@kline_1s")

    flat = [frame["data"]["k"] for frame in due(session, clock, 60_000) if not frame["data"]["k"]["n"]]

    assert flat
    assert all(kline["o"] == kline["c"] == kline["h"] == kline["l"] for kline in flat)
    assert all((kline["f"], kline["L"], kline["v"]) == (-1, -1, "0.00000000") for kline in flat)


async def test_a_kline_of_another_time_zone_opens_at_its_midnight(
    exchange: SimulatedExchange, clock: FakeClock
) -> None:
    session = opened(exchange, "ethusdt@kline_1d@+08:00")

    kline = due(session, clock, 2000)[0]["data"]["k"]

    assert kline["i"] == "1d"
    assert kline["t"] % 86_400_000 == 16 * 3_600_000


async def test_the_mini_ticker_is_the_short_day_ticker(exchange: SimulatedExchange, clock: FakeClock, get: Get) -> None:
    clock.advance(-clock.now_ms() % 1000)
    session = opened(exchange, "btcusdt@miniTicker")

    (frame,) = due(session, clock, 1000)

    rest = (await get("ticker/24hr?symbol=BTCUSDT&type=MINI")).json()
    names = ("lastPrice", "openPrice", "highPrice", "lowPrice", "volume", "quoteVolume")
    assert [frame["data"][name] for name in "cohlvq"] == [rest[name] for name in names]


async def test_the_ticker_stream_tells_the_whole_day_ticker(
    exchange: SimulatedExchange, clock: FakeClock, get: Get
) -> None:
    clock.advance(-clock.now_ms() % 1000)
    session = opened(exchange, "btcusdt@ticker")

    (frame,) = due(session, clock, 1000)

    rest = (await get("ticker/24hr?symbol=BTCUSDT")).json()
    assert {frame["data"][letter] for letter in "pPwxcQbBaAohlvqOCFLn"} == set(rest.values()) - {"BTCUSDT"}


async def test_a_market_that_does_not_trade_is_quiet(clock: FakeClock) -> None:
    exchange = SimulatedExchange(clock, scenario="quiet")
    kinds = ("depth", "depth5", "trade", "aggTrade", "bookTicker", "kline_1m", "miniTicker", "ticker")
    session = opened(exchange, *(f"btcusdt@{kind}" for kind in kinds))

    assert due(session, clock, 4000) == []


@pytest.mark.parametrize(
    "name",
    [
        "BTCUSDT@trade",
        "nosuch@trade",
        "btcusdt",
        "btcusdt@nothing",
        "btcusdt@trade@100ms",
        "btcusdt@depth7",
        "btcusdt@depth@250ms",
        "btcusdt@kline_7m",
        "btcusdt@kline",
        "btcusdt@kline_1d@noon",
        "btcusdt@bookTicker5",
    ],
)
async def test_a_name_that_means_nothing_is_accepted_and_quiet(
    exchange: SimulatedExchange, clock: FakeClock, name: str
) -> None:
    session = opened(exchange, name)

    assert parse_stream(name, exchange.listing.symbols) is None
    assert due(session, clock, 4000) == []


async def test_a_symbol_beyond_ascii_has_streams_too(exchange: SimulatedExchange, clock: FakeClock) -> None:
    session = opened(exchange, "币安人生usdt@depth@100ms")

    clock.advance(200)
    texts = session.due(clock.now_ms())

    assert all('"s":"币安人生USDT"' in text for text in texts)
    assert texts


async def test_a_clock_that_jumps_far_leaves_a_gap_not_a_flood(exchange: SimulatedExchange, clock: FakeClock) -> None:
    session = opened(exchange, "btcusdt@depth@100ms", "nosuch@trade")
    before = due(session, clock)[-1]["data"]["u"]

    frames = due(session, clock, 3_600_000)

    assert len(frames) == 1
    assert frames[0]["data"]["U"] > before + 1
