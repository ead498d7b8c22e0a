"""Recordings on stage: a small one of our own for the rules, and recorded mainnet streams where they are at hand."""

import gzip
import json
from bisect import bisect_right
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx2
import msgspec
import pytest

from binance_simulator.exchange import SimulatedExchange
from binance_simulator.faults import StreamFault
from binance_simulator.streams.subscriptions import StreamSession
from support.clock import FakeClock
from support.fixtures import RECORDED_MARKET, UNPUBLISHED, needs

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("unlimited")]

Get = Callable[[str], Awaitable[httpx2.Response]]
Frame = dict[str, Any]

LOCAL_MS = 1_723_000_000_000
AHEAD_MS = 1_270  # the exchange's clock, ahead of the recorder's


def line(after_ms: int, document: object) -> str:
    return f"{(LOCAL_MS + after_ms) * 1_000_000} {json.dumps(document, separators=(',', ':'))}\n"


def diff(after_ms: int, first: int, last: int, bids: list[list[str]], asks: list[list[str]]) -> str:
    event = {"e": "depthUpdate", "E": LOCAL_MS + after_ms + AHEAD_MS, "s": "BTCUSDT", "U": first, "u": last}
    return line(after_ms, {"stream": "btcusdt@depth@100ms", "data": event | {"b": bids, "a": asks}})


def quote(after_ms: int, update_id: int, bid: str) -> str:
    data = {"u": update_id, "s": "BTCUSDT", "b": bid, "B": "1.00000000", "a": "101.00000000", "A": "2.00000000"}
    return line(after_ms, {"stream": "btcusdt@bookTicker", "data": data})


def trade(after_ms: int, identity: int, price: str, *, maker: bool) -> str:
    times = {"E": LOCAL_MS + after_ms + AHEAD_MS - 5, "T": LOCAL_MS + after_ms + AHEAD_MS - 10}
    data = {"e": "trade", "s": "BTCUSDT", "t": identity, "p": price, "q": "0.50000000", "m": maker, "M": True}
    return line(after_ms, {"stream": "btcusdt@trade", "data": data | times})


SNAPSHOT = {
    "lastUpdateId": 11,
    "bids": [["100.00000000", "1.00000000"], ["99.00000000", "3.00000000"]],
    "asks": [["101.00000000", "2.00000000"], ["102.00000000", "4.00000000"]],
}
FIRST_DAY = [
    diff(0, 8, 9, [["98.00000000", "7.00000000"]], []),
    quote(30, 10, "99.00000000"),
    line(60, SNAPSHOT),
    diff(100, 10, 12, [["100.00000000", "1.00000000"]], [["101.00000000", "5.00000000"]]),
    trade(150, 501, "101.00000000", maker=False),
    trade(150, 502, "101.00000000", maker=False),
]
SECOND_DAY = [
    diff(900, 13, 15, [["100.00000000", "0.00000000"], ["97.00000000", "1.50000000"]], []),
    quote(910, 15, "99.00000000"),
    trade(950, 503, "99.00000000", maker=True),
    diff(2_500, 16, 16, [], [["102.00000000", "0.00000000"]]),
]


def written(folder: Path, **days: list[str]) -> Path:
    for name, lines in days.items():
        (folder / f"{name}.gz").write_bytes(gzip.compress("".join(lines).encode()))
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return written(tmp_path, day1=FIRST_DAY, day2=SECOND_DAY)


def opened(exchange: SimulatedExchange, *names: str) -> StreamSession:
    session = StreamSession(exchange, combined=True)
    session.subscribe(list(names))
    return session


def due(session: StreamSession, clock: FakeClock, after_ms: int) -> list[Frame]:
    clock.advance(after_ms)
    return [msgspec.json.decode(text) for text in session.due(clock.now_ms())]


@pytest.mark.parametrize("speed", [1, 10])
async def test_recorded_events_come_at_their_pace_with_their_times_moved(
    exchange: SimulatedExchange, clock: FakeClock, folder: Path, speed: int
) -> None:
    clock.advance(-clock.now_ms() % 100)
    begun = clock.now_ms()
    session = opened(exchange, "btcusdt@depth@100ms", "btcusdt@bookTicker", "btcusdt@aggTrade")

    symbols = exchange.set_replay(folder, speed)
    frames = due(session, clock, 2_500 // speed + 100)

    events = [frame["data"] for frame in frames if frame["stream"] == "btcusdt@depth@100ms"]
    quotes = [frame["data"] for frame in frames if frame["stream"] == "btcusdt@bookTicker"]
    trades = [frame["data"] for frame in frames if frame["stream"] == "btcusdt@aggTrade"]
    assert symbols == ["BTCUSDT"]
    assert [event["E"] - begun for event in events] == [after // speed for after in (100, 900, 2_500)]
    assert [(event["U"], event["u"]) for event in events] == [(10, 12), (13, 15), (16, 16)]
    assert events[1]["b"] == [["100.00000000", "0.00000000"], ["97.00000000", "1.50000000"]]
    assert [(ticker["u"], ticker["b"]) for ticker in quotes] == [(10, "99.00000000"), (15, "99.00000000")]
    assert [(one["a"], one["f"], one["l"], one["q"]) for one in trades] == [
        (1, 501, 502, "1.00000000"),
        (2, 503, 503, "0.50000000"),
    ]


async def test_a_connection_opened_before_the_replay_hears_its_first_event(
    exchange: SimulatedExchange, clock: FakeClock, folder: Path
) -> None:
    clock.advance(50 - clock.now_ms() % 100)
    session = opened(exchange, "btcusdt@depth@100ms")
    exchange.set_replay(folder)

    frames = due(session, clock, 200)

    assert [frame["data"]["U"] for frame in frames] == [8, 10]


async def test_a_snapshot_is_the_recorded_one_and_all_events_since(
    exchange: SimulatedExchange, clock: FakeClock, get: Get, folder: Path
) -> None:
    exchange.set_replay(folder)

    at_first = (await get("depth?symbol=BTCUSDT")).json()
    clock.advance(1_000)
    later = (await get("depth?symbol=BTCUSDT")).json()
    top = (await get("ticker/bookTicker?symbol=BTCUSDT")).json()
    clock.advance(60_000)
    at_last = (await get("depth?symbol=BTCUSDT&limit=1")).json()

    assert at_first == SNAPSHOT
    assert later == {
        "lastUpdateId": 15,
        "bids": [["99.00000000", "3.00000000"], ["97.00000000", "1.50000000"]],
        "asks": [["101.00000000", "5.00000000"], ["102.00000000", "4.00000000"]],
    }
    assert (top["bidPrice"], top["askQty"]) == ("99.00000000", "5.00000000")
    assert at_last == {"lastUpdateId": 16, "bids": later["bids"][:1], "asks": later["asks"][:1]}


async def test_a_stale_snapshot_is_older_than_every_event(
    exchange: SimulatedExchange, clock: FakeClock, get: Get, folder: Path
) -> None:
    exchange.set_replay(folder)
    clock.advance(1_000)
    exchange.hub.faults.add(StreamFault(kind="stale_snapshot"))

    stale, fresh = [(await get("depth?symbol=BTCUSDT")).json()["lastUpdateId"] for _ in range(2)]

    assert (stale, fresh) == (7, 15)


async def test_trades_over_rest_are_the_recorded_ones(
    exchange: SimulatedExchange, clock: FakeClock, get: Get, folder: Path
) -> None:
    exchange.set_replay(folder)
    clock.advance(500)
    early = (await get("trades?symbol=BTCUSDT")).json()
    clock.advance(5_000)

    assert [row["id"] for row in early] == [501, 502]
    assert [row["a"] for row in (await get("aggTrades?symbol=BTCUSDT")).json()] == [1, 2]
    assert [row["a"] for row in (await get("aggTrades?symbol=BTCUSDT&fromId=2")).json()] == [2]
    assert [row["id"] for row in (await get("historicalTrades?symbol=BTCUSDT&fromId=502")).json()] == [502, 503]
    assert (await get("aggTrades?symbol=BTCUSDT&fromId=9")).json() == []
    assert (await get("ticker/price?symbol=BTCUSDT")).json()["price"] == "99.00000000"


async def test_slower_and_shallower_streams_are_made_from_the_recording(
    exchange: SimulatedExchange, clock: FakeClock, folder: Path
) -> None:
    clock.advance(-clock.now_ms() % 1000)
    session = opened(exchange, "btcusdt@depth", "btcusdt@depth5@100ms")
    exchange.set_replay(folder)

    frames = due(session, clock, 1_000)

    (slow,) = [frame["data"] for frame in frames if frame["stream"] == "btcusdt@depth"]
    assert (slow["U"], slow["u"]) == (10, 15)
    assert dict(slow["b"])["100.00000000"] == "0.00000000"
    assert frames[-1]["data"]["lastUpdateId"] == 15
    assert len(due(session, clock, 1_000)) == 10


async def test_after_its_end_and_after_its_dismissal_the_stage_is_as_before(
    exchange: SimulatedExchange, clock: FakeClock, api: httpx2.AsyncClient, folder: Path
) -> None:
    begun = await api.post("/control/replay", json={"folder": str(folder), "speed": 100})
    session = opened(exchange, "btcusdt@depth@100ms")
    due(session, clock, 1_000)

    quiet = due(session, clock, 5_000)
    ended = await api.post("/control/replay", json={"folder": None})
    lively = due(session, clock, 1_000)

    assert (begun.json(), ended.json()) == ({"symbols": ["BTCUSDT"]}, {"symbols": []})
    assert quiet == []
    assert len(lively) > 5


@pytest.mark.parametrize(
    ("days", "complaint"),
    [
        ({}, "No recordings"),
        ({"day1": FIRST_DAY[:2]}, "The recording of BTCUSDT lacks depth events or a snapshot."),
        ({"day1": [FIRST_DAY[0].replace("btcusdt", "nosuchusdt")]}, "day1.gz records NOSUCHUSDT, which is not listed."),
        ({"day1": ["no line\n"]}, "invalid literal"),
        ({"day1": ["17 {half\n"]}, "day1.gz is not a recording"),
        (
            {"day1": [*FIRST_DAY, trade(200, 503, "1.00000001", maker=True)]},
            "not a multiple of the symbol's tick or lot",
        ),
    ],
)
async def test_what_cannot_be_replayed_is_refused(
    api: httpx2.AsyncClient, tmp_path: Path, days: dict[str, list[str]], complaint: str
) -> None:
    written(tmp_path, **days)

    answer = await api.post("/control/replay", json={"folder": str(tmp_path)})

    assert answer.status_code == 400
    assert complaint in answer.text


async def test_a_recording_does_not_run_backwards(exchange: SimulatedExchange, folder: Path) -> None:
    with pytest.raises(ValueError, match="above 0"):
        exchange.set_replay(folder, 0)


async def test_the_history_leads_to_the_first_recorded_trade(
    exchange: SimulatedExchange, clock: FakeClock, folder: Path, get: Get
) -> None:
    exchange.set_replay(folder)
    clock.advance(1_000)

    (day,) = (await get("klines?symbol=BTCUSDT&interval=1d&limit=1")).json()
    minutes = (await get("klines?symbol=BTCUSDT&interval=1m&limit=3")).json()
    held = (await get("ticker/price?symbol=BTCUSDT")).json()

    assert all(abs(float(row[4]) / 101 - 1) < 0.01 for row in minutes)
    assert float(day[3]) < float(day[2])
    assert abs(float(held["price"]) / 101 - 1) < 0.03


@needs(RECORDED_MARKET)
@pytest.mark.flood
@pytest.mark.parametrize(
    ("symbol", "applied", "misses"),
    [("BTCUSDT", 6_493, [50093478174, 50093480542]), ("ETHUSDT", 6_468, [])],
)
async def test_the_recorded_mainnet_streams_rebuild_the_book_their_quotes_show(
    clock: FakeClock, tmp_path: Path, symbol: str, applied: int, misses: list[int]
) -> None:
    for path in UNPUBLISHED[RECORDED_MARKET].path.glob(f"{symbol.lower()}*.gz"):
        (tmp_path / path.name).symlink_to(path)
    exchange = SimulatedExchange(clock)
    exchange.hub.most_waiting = 1_000_000
    session = opened(exchange, f"{symbol.lower()}@depth@100ms", f"{symbol.lower()}@bookTicker")
    exchange.set_replay(tmp_path, 10)
    market, listed = exchange.stage.market, exchange.listing.symbols[symbol]
    snapshot = market.depth(listed, 5_000, clock.now_ms())
    last_id, bids, asks = snapshot.update_id, dict(snapshot.bids), dict(snapshot.asks)

    frames = due(session, clock, 66_000)

    events = [frame["data"] for frame in frames if "@depth" in frame["stream"]]
    quotes = sorted((frame["data"] for frame in frames if "@book" in frame["stream"]), key=lambda one: one["u"])
    quoted = [one["u"] for one in quotes]
    kept, missed = 0, list[int]()
    for event in events:
        if event["u"] <= last_id:
            continue
        assert event["U"] <= last_id + 1
        for side, levels in ((bids, event["b"]), (asks, event["a"])):
            for price, quantity in levels:
                side[ticks(price)] = lots(quantity)
                if not side[ticks(price)]:
                    del side[ticks(price)]
        kept, last_id = kept + 1, event["u"]
        oracle = quotes[bisect_right(quoted, last_id) - 1]
        bid, ask = max(bids), min(asks)
        best = (ticks(oracle["b"]), lots(oracle["B"]), ticks(oracle["a"]), lots(oracle["A"]))
        if best != (bid, bids[bid], ask, asks[ask]):
            missed.append(last_id)
    final = market.depth(listed, 10_000, clock.now_ms())
    assert (kept, missed) == (applied, misses)
    assert (final.update_id, dict(final.bids), dict(final.asks)) == (last_id, bids, asks)


def ticks(price: str) -> int:
    return int(price.replace(".", "")) // 1_000_000


def lots(quantity: str) -> int:
    return int(quantity.replace(".", ""))
