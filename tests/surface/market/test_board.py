"""Every pair at one moment: what a board says, what it costs, and what it does when the exchange fails."""

from collections.abc import AsyncIterator

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from binance_simulator.exchange import SimulatedExchange
from binance_simulator.faults import Fault
from binance_simulator.futures.quirks import Quirk
from mcp_binance_server.domain.board import Board, BoardField
from mcp_binance_server.errors import ExchangeUnavailable, RateLimited
from mcp_binance_server.exchange.futures.side import FuturesNotOffered
from mcp_binance_server.services.market.board import BoardService
from mcp_binance_server.services.market.board_parts import OpenBoard, pack, unpack
from support.clock import FakeClock
from support.desk import raw
from support.whole_market import WholeMarket, raw_futures, whole_market

DAY_FIELDS: dict[BoardField, str] = {
    "symbol": "symbol", "last": "lastPrice", "open": "openPrice", "high": "highPrice", "low": "lowPrice",
    "change_percent": "priceChangePercent", "quote_volume": "quoteVolume", "trades": "count", "closed_ms": "closeTime",
}  # fmt: skip
QUOTE_FIELDS: dict[BoardField, str] = {"bid": "bidPrice", "ask": "askPrice"}
MARK_FIELDS: dict[BoardField, str] = {
    "mark": "markPrice", "index": "indexPrice", "funding": "lastFundingRate", "next_funding_ms": "nextFundingTime",
    "marked_ms": "time",
}  # fmt: skip


@pytest.fixture
async def whole(clock: FakeClock, exchange: SimulatedExchange) -> AsyncIterator[WholeMarket]:
    async with whole_market(clock, exchange) as market:
        yield market


def column(board: Board, name: BoardField) -> dict[str, str]:
    return dict(zip(board.texts("symbol"), board.texts(name), strict=True))


async def test_a_spot_board_says_what_the_exchange_wrote(whole: WholeMarket, exchange: SimulatedExchange) -> None:
    view = await whole.boards.read("spot")
    rows = await raw(exchange, "ticker/24hr?symbolStatus=TRADING")

    for field, wire in (DAY_FIELDS | QUOTE_FIELDS).items():
        assert column(view.board, field) == {row["symbol"]: str(row[wire]) for row in rows}
    assert column(view.board, "base")["BTCUSDT"] == "BTC"
    assert column(view.board, "quote")["ETHBTC"] == "BTC"
    assert (view.board.at_ms, view.age_ms, view.failure) == (exchange.now_ms(), 0, None)


async def test_a_perpetual_board_joins_three_answers_by_symbol(whole: WholeMarket, exchange: SimulatedExchange) -> None:
    view = await whole.boards.read("perpetual")
    listed = {
        row["symbol"]: row
        for row in (await raw_futures(exchange, "exchangeInfo"))["symbols"]
        if row["status"] == "TRADING" and row["contractType"] in {"PERPETUAL", "TRADIFI_PERPETUAL"}
    }
    answers = [
        (DAY_FIELDS, await raw_futures(exchange, "ticker/24hr")),
        (QUOTE_FIELDS, await raw_futures(exchange, "ticker/bookTicker")),
        (MARK_FIELDS, await raw_futures(exchange, "premiumIndex")),
    ]
    told = {row["symbol"]: row["fundingIntervalHours"] for row in await raw_futures(exchange, "fundingInfo")}

    for fields, rows in answers:
        for field, wire in fields.items():
            expected = {row["symbol"]: str(row[wire]) for row in rows if row["symbol"] in listed}
            assert column(view.board, field) == expected
    assert set(view.board.texts("symbol")) == set(listed)
    assert column(view.board, "interval_hours") == {symbol: str(told.get(symbol, 8)) for symbol in listed}
    assert {"1", "4", "8"} <= set(view.board.texts("interval_hours"))
    assert column(view.board, "underlying")["BTCUSDT"] == "crypto"
    assert column(view.board, "underlying")["TSLAUSDT"] == "tradfi"


async def test_a_board_costs_one_look_and_then_nothing_for_ten_seconds(whole: WholeMarket, clock: FakeClock) -> None:
    await whole.app.market.directory.table()
    before = whole.spot_weight()

    for _ in range(3):
        await whole.boards.read("spot")
        clock.advance(3_000)

    assert len(whole.asked("/api/v3/ticker/24hr")) == 1
    assert whole.spot_weight() - before == 80


async def test_a_board_of_perpetuals_costs_three_looks_and_the_lists_once_an_hour(
    whole: WholeMarket, clock: FakeClock
) -> None:
    await whole.boards.read("perpetual")
    first = whole.futures_weight()
    clock.advance(11_000)
    await whole.boards.read("perpetual")
    await whole.boards.read("perpetual")

    assert first == 55 + 1
    assert whole.futures_weight() - first == 55
    assert [len(whole.asked(f"/fapi/v1/{name}")) for name in ("exchangeInfo", "fundingInfo")] == [1, 1]
    assert whole.asked("/api/v3/ticker/24hr") == []


@pytest.mark.slow
@pytest.mark.parametrize("readers", [1, 50, 2_000])
async def test_a_crowd_costs_what_one_reader_does(whole: WholeMarket, clock: FakeClock, readers: int) -> None:
    for _ in range(12):
        async with anyio.create_task_group() as group:
            for _ in range(readers):
                group.start_soon(whole.boards.read, "spot")
                group.start_soon(whole.boards.read, "perpetual")
        clock.advance(5_000)

    assert len(whole.asked("/api/v3/ticker/24hr")) == 6
    assert len(whole.asked("/fapi/v1/premiumIndex")) == 6
    assert whole.boards.fetches == {"spot": 6, "perpetual": 6}


async def test_a_second_process_opens_what_the_first_has_packed(whole: WholeMarket, clock: FakeClock) -> None:
    first = whole.boards
    second = BoardService(
        first.client, first.directory, first.futures, "", first.engine, clock, fresh_ms=first.fresh_ms
    )

    boards = [(await each.read(market)).board for market in ("spot", "perpetual") for each in (first, second)]

    assert boards[0] == boards[1]
    assert boards[2] == boards[3]
    assert (first.fetches.total(), second.fetches.total()) == (2, 0)


async def test_nobody_asks_and_nothing_is_sent(whole: WholeMarket, clock: FakeClock) -> None:
    for _ in range(60):
        clock.advance(10_000)
        await anyio.lowlevel.checkpoint()

    assert whole.exchange.futures.requests == []
    assert whole.asked("ticker/24hr") == []


async def test_an_old_board_says_its_age_and_why_until_it_is_too_old(whole: WholeMarket, clock: FakeClock) -> None:
    board = (await whole.boards.read("spot")).board
    whole.exchange.faults.add(Fault(kind="status", status=503, path="*/ticker/24hr", times=None))
    clock.advance(30_000)

    view = await whole.boards.read("spot")

    assert view.board is board
    assert 30_000 <= view.age_ms < 40_000
    assert view.failure is not None
    assert "503" in view.failure
    clock.advance(120_000)
    with pytest.raises(ExchangeUnavailable):
        await whole.boards.read("spot")


async def test_a_limit_is_told_although_there_is_an_old_board(whole: WholeMarket, clock: FakeClock) -> None:
    await whole.boards.read("spot")
    whole.exchange.faults.add(Fault(kind="status", status=429, code=-1003, path="*/ticker/24hr"))
    clock.advance(20_000)

    with pytest.raises(RateLimited):
        await whole.boards.read("spot")


async def test_a_contract_that_one_answer_lacks_is_empty_there(whole: WholeMarket) -> None:
    whole.exchange.futures.quirks.add(Quirk(kind="missing_rows", path="*/bookTicker", symbols=("ETHUSDT",)))

    board = (await whole.boards.read("perpetual")).board

    assert column(board, "bid")["ETHUSDT"] == ""
    assert column(board, "mark")["ETHUSDT"] != ""
    assert column(board, "bid")["BTCUSDT"] != ""


async def test_parts_of_two_moments_are_asked_for_once_more(whole: WholeMarket) -> None:
    whole.exchange.futures.quirks.add(Quirk(kind="behind", path="*/premiumIndex", ms=3_000, times=1))

    view = await whole.boards.read("perpetual")

    assert len(whole.asked("/fapi/v1/premiumIndex")) == 2
    assert max(map(int, view.board.texts("marked_ms"))) >= whole.exchange.now_ms() - 1_000


async def test_parts_that_stay_apart_are_no_board(whole: WholeMarket) -> None:
    whole.exchange.futures.quirks.add(Quirk(kind="behind", path="*/premiumIndex", ms=3_000))

    with pytest.raises(ExchangeUnavailable, match="apart"):
        await whole.boards.read("perpetual")

    assert len(whole.asked("/fapi/v1/premiumIndex")) == 2


async def test_without_the_toolset_the_refusal_names_it_and_nothing_is_sent(
    clock: FakeClock, exchange: SimulatedExchange
) -> None:
    async with whole_market(clock, exchange, {"MCP_BINANCE_TOOLSETS": "market"}) as market:
        with pytest.raises(FuturesNotOffered) as refused:
            await market.boards.read("perpetual")

    assert "MCP_BINANCE_TOOLSETS" in refused.value.setting
    assert exchange.futures.requests == []


TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\n"), max_size=12)


@pytest.mark.night
@given(
    st.lists(st.tuples(TEXTS, TEXTS, TEXTS), max_size=30),
    st.sampled_from(["spot", "perpetual"]),
    st.tuples(*[st.integers(0, 2**62)] * 3),
)
def test_a_board_is_packed_and_opened_unchanged(
    rows: list[tuple[str, str, str]], market: str, moments: tuple[int, int, int]
) -> None:
    names: tuple[BoardField, ...] = ("symbol", "last", "funding")
    columns: dict[BoardField, list[str]] = {name: [row[place] for row in rows] for place, name in enumerate(names)}
    board = Board.of("spot" if market == "spot" else "perpetual", "a host", moments[0], columns)
    opened = OpenBoard(board, "simulated", moments[1], moments[2])

    again = unpack(pack(opened))

    assert again == opened
    assert [again.board.texts(name) for name in names] == [columns[name] for name in names]
