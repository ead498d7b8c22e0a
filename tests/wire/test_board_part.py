"""All pairs in one answer: texts as they were written, bad rows left out and counted."""

from typing import Any

import msgspec
import pytest

from binance_simulator.exchange import SimulatedExchange
from mcp_binance_server.domain.board import Board
from mcp_binance_server.domain.symbols import Symbol
from support.answering import Answering
from support.desk import Desk, OpenDesk, raw

ROW = {
    "symbol": "BTCUSDT", "priceChange": "-1.00", "priceChangePercent": "-0.100", "weightedAvgPrice": "1000.5",
    "lastPrice": "1000.10", "bidPrice": "1000.00", "askPrice": "1000.20", "openPrice": "1001.10", "highPrice": "1100",
    "lowPrice": "900.00000000", "quoteVolume": "12345.60", "closeTime": 1794231000000, "count": 42,
}  # fmt: skip
NEXT = {**ROW, "symbol": "币安人生USDT"}


async def test_the_board_of_spot_has_the_bytes_of_the_exchange(desk: Desk, exchange: SimulatedExchange) -> None:
    part = await desk.spot.all_days()
    rows = await raw(exchange, "ticker/24hr?symbolStatus=TRADING")

    names = {
        "symbol": "symbol", "last": "lastPrice", "open": "openPrice", "high": "highPrice", "low": "lowPrice",
        "change_percent": "priceChangePercent", "quote_volume": "quoteVolume", "trades": "count",
        "closed_ms": "closeTime", "bid": "bidPrice", "ask": "askPrice",
    }  # fmt: skip
    assert part.columns == {name: [str(row[spelt]) for row in rows] for name, spelt in names.items()}
    assert (part.dropped, part.host, part.origin) == (0, "exchange.test", "configured")
    request = exchange.requests[0]
    assert (request.path, request.weight, request.params) == ("/api/v3/ticker/24hr", 80, {"symbolStatus": "TRADING"})


async def test_nothing_of_it_is_kept(desk: Desk, exchange: SimulatedExchange) -> None:
    await desk.spot.all_days()
    await desk.spot.all_days()

    assert len(exchange.requests) == 2


@pytest.mark.parametrize(
    "bad",
    [
        {"lastPrice": "NaN"},
        {"lastPrice": "1e3"},
        {"lastPrice": 1000.1},
        {"lastPrice": None},
        {"lastPrice": "-1"},
        {"symbol": "BTC\nUSDT"},
        {"symbol": "BTC\u202eUSDT"},
        {"symbol": ""},
        {"symbol": "A" * 41},
        {"count": -1},
        {"closeTime": "soon"},
        {"bidPrice": "1000.30"},
        {"lowPrice": "1100.00000001"},
        {"symbol": "币安人生USDT"},
    ],
    ids=str,
)
async def test_a_bad_row_costs_itself_alone(bad: dict[str, Any], open_desk: OpenDesk) -> None:
    async with open_desk(transport=Answering([NEXT, {**ROW, **bad}])) as desk:
        part = await desk.spot.all_days()

        assert (part.columns["symbol"], part.dropped) == (["币安人生USDT"], 1)
        assert desk.spot.reads.dropped == 1
        assert Board.of("spot", part.host, part.at_ms, part.columns).count == 1


@pytest.mark.parametrize("row", [7, None, [], "BTCUSDT"], ids=str)
async def test_a_row_that_is_none_costs_itself_alone(row: object, open_desk: OpenDesk) -> None:
    async with open_desk(transport=Answering([row, ROW])) as desk:
        part = await desk.spot.all_days()

    assert (part.columns["symbol"], part.dropped) == (["BTCUSDT"], 1)


async def test_a_pair_without_any_offer_is_not_crossed(open_desk: OpenDesk) -> None:
    async with open_desk(transport=Answering([ROW | {"askPrice": "0.00000000"}])) as desk:
        part = await desk.spot.all_days()

    assert part.columns["ask"] == ["0.00000000"]


async def test_a_market_without_pairs_has_empty_columns(open_desk: OpenDesk) -> None:
    async with open_desk(transport=Answering([])) as desk:
        part = await desk.spot.all_days()

    assert part.columns["last"] == part.columns["symbol"] == []


async def test_a_board_over_two_mebibytes_is_read(open_desk: OpenDesk) -> None:
    rows = [ROW | {"symbol": f"A{number}USDT", "more": "x" * 600} for number in range(3_500)]
    assert len(msgspec.json.encode(rows)) > 3 * 2**20

    async with open_desk(transport=Answering(rows)) as desk:
        part = await desk.spot.all_days()

    assert len(part.columns["symbol"]) == 3_500


async def test_series_are_asked_for_behind_those_who_wait(desk: Desk, exchange: SimulatedExchange) -> None:
    rows = await desk.spot.closed_series("BTCUSDT", "1h", 250)
    candles = (await desk.spot.candles(Symbol("BTCUSDT"), "1h", 250)).value

    assert rows == [
        (each.open_time_ms, *map(float, (each.open, each.high, each.low, each.close, each.quote_volume)))
        for each in candles
    ]
    assert [request.weight for request in exchange.requests] == [2, 2]
