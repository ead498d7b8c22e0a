"""Screens of a whole market: the right pairs in the right order, for what they may cost, in the time they may take."""

import json
import re
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from random import Random
from typing import Any

import anyio
import pytest
from mcp import Client

from binance_simulator.exchange import SimulatedExchange
from binance_simulator.faults import Fault
from mcp_binance_server.analytics.market.scan.column_table import COLUMNS, INTERVAL_MS, SCAN_INTERVALS, ScanInterval
from mcp_binance_server.analytics.market.scan.columns import day_columns, interest_columns, series_columns
from mcp_binance_server.analytics.market.scan.conditions import read_conditions, read_sort
from mcp_binance_server.analytics.market.scan.report import ScanReport
from mcp_binance_server.analytics.market.scan.screen import PairColumns, ScanQuestion
from mcp_binance_server.domain.access import acting_for
from mcp_binance_server.domain.board import BoardMarket
from mcp_binance_server.domain.derivatives import InterestPoint
from mcp_binance_server.domain.money import Quantity
from mcp_binance_server.services.market.scan import MOST_MOVERS
from mcp_binance_server.services.market.scan_columns import open_columns, pack_columns
from mcp_binance_server.surface.views.scan import scan_page
from support.clock import FakeClock
from support.desk import raw
from support.served import text_of
from support.stepped import SteppedClock, settled
from support.verdicts import VERDICTS
from support.whole_market import WholeMarket, raw_futures, whole_market

SETTLING_MS, HOUR_MS = 3_000, 3_600_000
EXAMPLE = ("change_24h < -1", "rel_volume_24h > 1.05", "vs_sma_200@1h < 0")
CONDITIONS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("change_24h", ("-2", "0", "1.5")),
    ("range_24h", ("3", "6")),
    ("quote_volume_24h", ("40000000", "55000000")),
    ("trades_24h", ("20000", "100000")),
    ("spread_bps", ("1", "3")),
    ("rel_volume_24h", ("0.8", "1")),
    ("change@1h", ("0", "0.2")),
    ("change_7@4h", ("-1", "1")),
    ("change_30@15m", ("0", "0.5")),
    ("rel_volume@1h", ("0.9", "1.1")),
    ("rsi_14@1d", ("45", "55")),
    ("rsi_14@1h", ("40", "50")),
    ("atr_14@4h", ("1", "2")),
    ("volatility_20@1d", ("2", "4")),
    ("vs_sma_20@1h", ("-1", "0")),
    ("vs_sma_200@1h", ("-2", "0")),
    ("vs_high_20@4h", ("-4", "-2")),
    ("vs_low_20@15m", ("0.5", "1")),
    ("price", ("1", "100")),
)
OF_PERPETUALS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("funding_rate", ("0", "0.01")),
    ("funding_apr", ("5", "10.95")),
    ("mark_vs_index_bps", ("-1", "0")),
    ("oi_value", ("1000000", "100000000")),
    ("oi_change_24h", ("0", "1")),
)


@pytest.fixture
async def whole(clock: FakeClock, exchange: SimulatedExchange) -> AsyncIterator[WholeMarket]:
    async with whole_market(clock, exchange) as market:
        yield market


@pytest.fixture
async def client(whole: WholeMarket) -> AsyncIterator[Client]:
    async with Client(whole.app.server, cache=None) as connected:
        yield connected


def screen(where: Sequence[str] = (), sort: str | None = None, **more: object) -> ScanQuestion:
    market: BoardMarket = "perpetual" if more.pop("market", "spot") == "perpetual" else "spot"
    asked = ScanQuestion(market, "USDT", 0.0, where=read_conditions(where, market), limit=50)
    asked = replace(asked, sort=None if sort is None else read_sort(sort, market))
    return replace(asked, **more)


@dataclass(frozen=True)
class Truth:
    """Every column of every pair, from the exchange's own answers, one pair after the other."""

    values: dict[str, dict[str, float | None]]

    def answer(self, question: ScanQuestion) -> list[str]:
        """Return the symbols that match, in order."""
        matched = [
            symbol
            for symbol, values in self.values.items()
            if all(condition.holds(values[str(condition.ref)]) for condition in question.where)
        ]
        by = "quote_volume_24h" if question.sort is None else str(question.sort.ref)
        sign = -1 if question.sort is None or question.sort.largest_first else 1

        def key(symbol: str) -> tuple[bool, float, str]:
            value = self.values[symbol][by]
            return value is None, sign * (value or 0.0), symbol

        return sorted(matched, key=key)


async def truth(
    exchange: SimulatedExchange, market: BoardMarket, intervals: Sequence[ScanInterval] = SCAN_INTERVALS
) -> Truth:
    """Ask the exchange for everything, past what is under test."""
    now_ms = exchange.now_ms()
    is_spot = market == "spot"

    async def ask(path: str) -> Any:  # noqa: ANN401 - JSON
        return await (raw(exchange, path) if is_spot else raw_futures(exchange, path))

    days = {row["symbol"]: row for row in await ask("ticker/24hr?symbolStatus=TRADING" if is_spot else "ticker/24hr")}
    info = (await raw(exchange, "exchangeInfo")) if is_spot else await raw_futures(exchange, "exchangeInfo")
    listed = [
        row["symbol"]
        for row in info["symbols"]
        if row["quoteAsset"] == "USDT" and row["status"] == "TRADING" and row.get("contractType") in (None, "PERPETUAL")
    ]
    quotes = days if is_spot else {row["symbol"]: row for row in await ask("ticker/bookTicker")}
    values = {symbol: board_truth(days[symbol], quotes[symbol]) for symbol in listed}
    if not is_spot:
        marks = {row["symbol"]: row for row in await ask("premiumIndex")}
        hours = {row["symbol"]: int(row["fundingIntervalHours"]) for row in await ask("fundingInfo")}
        for symbol in listed:
            values[symbol] |= mark_truth(marks[symbol], hours.get(symbol, 8))
            values[symbol] |= await interest_truth(exchange, symbol, float(marks[symbol]["markPrice"]))
    for symbol in listed:
        for interval in intervals:
            rows = await ask(f"klines?symbol={symbol}&interval={interval}&limit=250")
            lines = [
                (int(opened), float(first), float(high), float(low), float(last), float(value))
                for opened, first, high, low, last, _, _, value, *_ in rows
            ]
            columns = series_columns(lines, now_ms - SETTLING_MS, INTERVAL_MS[interval])
            price = values[symbol]["price"]
            values[symbol] |= {
                f"{name}@{interval}": columns.value(name, price)
                for name, each in COLUMNS.items()
                if each.takes_interval
            }
            if interval == "1d":
                usual = day_columns(lines, now_ms - SETTLING_MS)
                values[symbol]["rel_volume_24h"] = usual.rel_volume_24h(values[symbol]["quote_volume_24h"])
    return Truth(values)


def board_truth(day: dict[str, str], quote: dict[str, str]) -> dict[str, float | None]:
    bid, ask, high, low = (
        float(row[name])
        for row, name in ((quote, "bidPrice"), (quote, "askPrice"), (day, "highPrice"), (day, "lowPrice"))
    )
    return {
        "price": float(day["lastPrice"]),
        "change_24h": float(day["priceChangePercent"]),
        "range_24h": 100 * (high - low) / low,
        "quote_volume_24h": float(day["quoteVolume"]),
        "trades_24h": float(day["count"]),
        "spread_bps": 20_000 * (ask - bid) / (ask + bid),
    }


def mark_truth(mark: dict[str, str], hours: int) -> dict[str, float | None]:
    rate = Decimal(mark["lastFundingRate"])
    return {
        "funding_rate": float(rate * 100),
        "funding_apr": float(rate * 100 * 24 / hours * 365),
        "mark_vs_index_bps": 10_000 * (float(mark["markPrice"]) / float(mark["indexPrice"]) - 1),
    }


async def interest_truth(exchange: SimulatedExchange, symbol: str, mark: float) -> dict[str, float | None]:
    rows = await raw_futures(exchange, f"/futures/data/openInterestHist?symbol={symbol}&period=1h&limit=30")
    points = [
        InterestPoint(
            int(row["timestamp"]),
            Quantity(Decimal(row["sumOpenInterest"])),
            Quantity(Decimal(row["sumOpenInterestValue"])),
        )
        for row in rows
    ]
    columns = interest_columns(points, exchange.now_ms())
    return {"oi_value": columns.oi_value(mark), "oi_change_24h": columns.oi_change_24h}


def symbols(report: ScanReport) -> list[str]:
    return [row.symbol for row in report.rows]


async def test_who_moved_costs_the_board_alone_and_then_nothing(client: Client, whole: WholeMarket) -> None:
    await whole.app.market.directory.table()
    before = whole.spot_weight()

    answers = [await client.call_tool("scan_market", {}) for _ in range(3)]

    assert whole.spot_weight() - before == 80
    changes = {row["symbol"]: float(row["priceChangePercent"]) for row in await raw(whole.exchange, "ticker/24hr")}
    for answer in answers:
        told = answer.structured_content
        assert told is not None
        rose, fell = ([changes[row["symbol"]] for row in told[name]] for name in ("rows", "losers"))
        assert rose == sorted(rose, reverse=True)
        assert fell == sorted(fell)
        usdt = [change for symbol, change in changes.items() if symbol.endswith("USDT")]
        assert (rose[0], fell[0]) == (max(usdt), min(usdt))


async def test_who_moved_is_made_once_for_each_board(whole: WholeMarket, clock: FakeClock) -> None:
    asked = ScanQuestion("spot", "USDT", 1e6)

    first, second = await whole.app.context.screener.scan(asked), await whole.app.context.screener.scan(asked)
    clock.advance(11_000)
    third = await whole.app.context.screener.scan(asked)

    assert first is second
    assert third is not first


async def test_of_many_questions_the_last_few_are_kept(whole: WholeMarket) -> None:
    scans = whole.app.context.screener

    reports = [await scans.scan(ScanQuestion("spot", "USDT", float(least))) for least in range(MOST_MOVERS + 1)]
    again = [await scans.scan(ScanQuestion("spot", "USDT", float(least))) for least in (MOST_MOVERS, 0)]

    assert again[0] is reports[MOST_MOVERS]
    assert again[1] is not reports[0]


@pytest.mark.night
async def test_the_example_is_right_and_costs_two_for_each_candidate_and_step(whole: WholeMarket) -> None:
    await whole.app.market.directory.table()
    known = await truth(whole.exchange, "spot", ("1d", "1h"))
    before = whole.spot_weight()
    question = screen(EXAMPLE)

    report = await whole.app.context.screener.scan(question)

    fell = [each for each in known.values.values() if (each["change_24h"] or 0) < -1]
    on_volume = [each for each in fell if (each["rel_volume_24h"] or 0) > 1.05]
    assert symbols(report) == known.answer(question)
    assert 0 < report.matched < len(on_volume) < len(fell) < report.listed
    assert whole.spot_weight() - before == 80 + 2 * len(fell) + 2 * len(on_volume)


@pytest.mark.night
async def test_the_example_asked_again_within_the_hour_costs_the_board_alone(
    whole: WholeMarket, clock: FakeClock
) -> None:
    reports = [await whole.app.context.screener.scan(screen(EXAMPLE))]
    for _ in range(5):
        clock.advance(11 * 60_000)
        reports.append(await whole.app.context.screener.scan(screen(EXAMPLE)))

    asked = Counter(tuple(each.params.values()) for each in whole.exchange.requests if each.path.endswith("/klines"))
    assert reports[0].closes == reports[-1].closes
    assert set(asked.values()) == {1}, "a candle that has not closed was asked for again"
    assert len(whole.asked("/ticker/24hr")) == 6


async def test_a_candle_that_has_closed_is_asked_for_once(whole: WholeMarket, clock: FakeClock) -> None:
    question = screen(["rsi_14@1h < 101"])
    first = await whole.app.context.screener.scan(question)
    clock.advance(HOUR_MS - clock.now_ms() % HOUR_MS + SETTLING_MS - 1)
    still = await whole.app.context.screener.scan(question)
    asked = len(whole.asked("/klines"))
    clock.advance(1)
    then = await whole.app.context.screener.scan(question)

    assert asked == first.listed
    assert len(whole.asked("/klines")) == 2 * asked
    assert still.closes == first.closes
    assert then.closes["1h"] == first.closes["1h"] + HOUR_MS


@pytest.mark.night
@pytest.mark.parametrize("market", ["spot", "perpetual"])
async def test_screens_are_what_brute_force_finds(
    whole: WholeMarket, clock: FakeClock, market: BoardMarket, scale: int
) -> None:
    random = Random(f"screens of {market}")
    columns = CONDITIONS if market == "spot" else (*CONDITIONS, *OF_PERPETUALS)
    clock.advance(60_000 - whole.exchange.now_ms() % 60_000)  # what asking for everything cost was another minute's
    known = await truth(whole.exchange, market)
    matched: Counter[bool] = Counter()

    for _ in range(40 * scale):
        chosen = random.sample(columns, random.randint(1, 4))
        where = [f"{name} {random.choice(['<', '<=', '>', '>='])} {random.choice(bounds)}" for name, bounds in chosen]
        sort = random.choice([None, *(f"{random.choice(['', '-'])}{name}" for name, _ in random.sample(columns, 2))])
        question = screen(where, sort, market=market, underlying="crypto")
        report = await whole.app.context.screener.scan(question)
        assert report.waiting == 0
        assert symbols(report) == known.answer(question), str(question)
        matched[report.matched > 0] += 1

    assert min(matched[True], matched[False]) > 2


@dataclass
class Patient:
    """Asks for a screen, lets time pass until it is answered, and remembers how long that took."""

    whole: WholeMarket
    clock: SteppedClock

    async def ask(self, question: ScanQuestion, party: str = "") -> tuple[ScanReport, float]:
        began_ms = self.clock.monotonic_ms()
        reports: list[ScanReport] = []

        async def scan() -> None:
            with acting_for(party):
                reports.append(await self.whole.app.context.screener.scan(question))

        async with anyio.create_task_group() as group:
            group.start_soon(scan)
            await settled()
            while not reports:
                self.clock.advance(250)
                await settled()
        return reports[0], self.clock.monotonic_ms() - began_ms


def weights(exchange: SimulatedExchange, since_ms: int = 0) -> Counter[int]:
    """Return what candles have cost in each minute."""
    spent: Counter[int] = Counter()
    for each in exchange.requests:
        if each.path.endswith("/klines") and each.at_ms >= since_ms:
            spent[each.at_ms // 60_000] += each.weight
    return spent


@pytest.mark.night
@pytest.mark.slow
async def test_a_cold_screen_of_a_whole_market_keeps_to_its_share_and_ends_complete() -> None:
    clock = SteppedClock()
    exchange = SimulatedExchange(clock, crowd=420)
    question = screen(["rsi_14@15m < 60", "rsi_14@1h < 101", "rsi_14@4h < 101"], "-rsi_14@15m")
    async with whole_market(clock, exchange) as whole:
        patient = Patient(whole, clock)
        asked = [await patient.ask(question)]
        while asked[-1][0].waiting:
            clock.advance(10_000)
            asked.append(await patient.ask(question))
    spent = weights(exchange)
    clock.advance(60_000)
    began_ms = exchange.now_ms()
    async with whole_market(clock, exchange, {"MCP_BINANCE_SCAN_PERCENT": "50"}) as whole:
        at_once, _ = await Patient(whole, clock).ask(question)

    final, waiting = asked[-1][0], [report.waiting for report, _ in asked]
    assert final.listed > 440
    assert max(took for _, took in asked) <= 8_250
    assert waiting == sorted(waiting, reverse=True)
    assert waiting[0] > 0
    assert len(spent) >= 3
    assert max(spent.values()) <= 1_200
    assert spent.total() == 2 * 3 * final.listed
    assert at_once.waiting == 0
    assert len(weights(exchange, began_ms)) == 1
    assert symbols(final) == symbols(at_once)
    assert final.matched == at_once.matched > 50


@pytest.mark.night
async def test_a_screen_that_nobody_asks_for_any_more_is_not_read_on() -> None:
    clock = SteppedClock()
    exchange = SimulatedExchange(clock, crowd=60)
    async with whole_market(clock, exchange, {"MCP_BINANCE_SCAN_PERCENT": "1"}) as whole:
        report, took = await Patient(whole, clock).ask(screen(["rsi_14@1h < 101", "rsi_14@4h < 101"]))
        scans = whole.app.context.screener
        was_waiting = scans.waiting
        await clock.run(70_000, lambda: None, step_ms=1_000)
        asked = len(whole.asked("/klines"))
        await clock.run(300_000, lambda: None, step_ms=5_000)

        assert took == 8_000
        assert report.waiting > 0
        assert (was_waiting, scans.waiting) == (1, 0)
        assert len(whole.asked("/klines")) == asked < 2 * report.listed


@pytest.mark.night
async def test_a_party_with_large_screens_leaves_another_its_share() -> None:
    clock = SteppedClock()
    exchange = SimulatedExchange(clock, crowd=80)
    large = screen(["rsi_14@1h < 101"])
    async with whole_market(clock, exchange, {"MCP_BINANCE_SCAN_PERCENT": "3"}) as whole:
        patient = Patient(whole, clock)
        board = (await whole.boards.read("spot")).board
        volumes = sorted(float(text) for text in board.texts("quote_volume"))
        small = screen([f"quote_volume_24h > {volumes[-8]:f}", "change_7@4h > -100"])
        clock.advance(60_000 - clock.now_ms() % 60_000 + 2_000)
        greedy, _ = await patient.ask(large, "greedy")
        modest, _ = await patient.ask(small, "modest")

    assert greedy.waiting > 0
    assert (modest.waiting, modest.unread) == (0, 0)
    assert modest.matched >= 3
    assert max(weights(exchange).values()) <= 180


async def test_pairs_too_young_for_a_column_are_counted_and_never_match(whole: WholeMarket) -> None:
    report = await whole.app.context.screener.scan(screen(["vs_sma_200@1d > -1000"]))

    assert report.matched + sum(report.young.values()) == report.listed
    assert set(report.young) <= {(200, "1d")}


async def test_a_pair_that_cannot_be_read_is_told_and_the_others_are_judged(whole: WholeMarket) -> None:
    whole.exchange.faults.add(Fault(kind="status", status=400, code=-1121, msg="Invalid symbol.", path="*/klines"))

    report = await whole.app.context.screener.scan(screen(["rsi_14@1h < 101"]))

    assert (report.unread, report.waiting) == (1, 0)
    assert report.matched == report.listed - 1
    assert report.why_unread is not None


async def test_what_became_of_each_series_is_counted(clock: FakeClock, exchange: SimulatedExchange) -> None:
    hourly, daily = screen(["rsi_14@1h < 101"]), screen(["rsi_14@1d < 101"])
    async with whole_market(clock, exchange) as whole:
        screener = whole.app.context.screener
        listed = (await screener.scan(hourly)).listed
        exchange.faults.add(Fault(kind="status", status=400, code=-1121, msg="Invalid symbol.", path="*/klines"))
        await screener.scan(daily)

        assert screener.store.series == {"fetched": 2 * listed - 1, "shared": 0, "limited": 0, "failed": 1}

        another = replace(screener.store)
        await another.load("spot", "1h", "BTCUSDT")
        await another.load("spot", "1h", "BTCUSDT")

        assert another.series == {"fetched": 0, "shared": 1, "limited": 0, "failed": 0}


async def test_a_series_that_is_not_granted_in_a_minute_is_counted() -> None:
    clock = SteppedClock()
    exchange = SimulatedExchange(clock, crowd=60)
    async with whole_market(clock, exchange, {"MCP_BINANCE_SCAN_PERCENT": "1"}) as whole:
        report, _ = await Patient(whole, clock).ask(screen(["rsi_14@1h < 101"]))
        series = whole.app.context.screener.store.series

    assert report.waiting > 0
    assert series["fetched"] == weights(exchange).total() / 2
    assert series["limited"] > 0
    assert series["shared"] == series["failed"] == 0


@pytest.mark.night
async def test_a_hundred_are_asked_for_open_interest_at_most(clock: FakeClock) -> None:
    exchange = SimulatedExchange(clock, contracts=150)
    async with whole_market(clock, exchange) as whole:
        report = await whole.app.context.screener.scan(screen(["oi_value > 0"], market="perpetual"))

        assert len(whole.asked("/openInterestHist")) == 100
        assert (report.beyond, report.waiting) == (report.listed - 100, 0)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"where": ["rsi@1h < 30"]}, "rsi_14"),
        ({"where": ["rsi_14 < 30"]}, "rsi_14@1h"),
        ({"where": ["change_24h@1h < 30"]}, "takes no interval"),
        ({"where": ["funding_apr > 10"]}, "market=perpetual"),
        ({"where": ["price = 1"]}, "write COLUMN"),
        ({"sort": "volume"}, "rel_volume"),
        ({"show": ["nonsense"]}, "the columns are"),
        ({"quote": "NOPE"}, "USDT"),
        ({"underlying": "tradfi"}, "market=perpetual"),
    ],
)
async def test_what_cannot_be_screened_is_refused_with_the_nearest_names(
    client: Client, arguments: dict[str, object], said: str
) -> None:
    result = await client.call_tool("scan_market", arguments)

    assert result.is_error is True
    assert said in text_of(result)


async def test_perpetuals_without_the_toolset_are_refused_by_the_name_of_the_setting(
    clock: FakeClock, exchange: SimulatedExchange
) -> None:
    async with (
        whole_market(clock, exchange, {"MCP_BINANCE_TOOLSETS": "market"}) as whole,
        Client(whole.app.server, cache=None) as client,
    ):
        result = await client.call_tool("scan_market", {"market": "perpetual"})

    assert result.is_error is True
    assert "MCP_BINANCE_TOOLSETS" in text_of(result)
    assert exchange.futures.requests == []


async def test_an_old_board_says_so_first_in_both_channels(
    client: Client, whole: WholeMarket, clock: FakeClock
) -> None:
    await client.call_tool("scan_market", {})
    whole.exchange.faults.add(Fault(kind="status", status=503, path="*/ticker/24hr", times=None))
    clock.advance(42_000)

    result = await client.call_tool("scan_market", {})

    assert result.structured_content is not None
    assert re.search(r"4\d s old", text_of(result).split("\n")[0])
    assert re.search(r"Stale: the table of pairs is 4\d s old", result.structured_content["warnings"][0])


@pytest.mark.night
async def test_twenty_rows_of_four_columns_are_short_in_both_channels(client: Client) -> None:
    columns = ["change_24h", "quote_volume_24h", "rsi_14@1h", "vs_sma_200@1h"]
    result = await client.call_tool("scan_market", {"sort": "rsi_14@1h", "show": columns, "limit": 20})

    assert result.structured_content is not None
    assert len(result.structured_content["rows"]) == 20
    assert len(text_of(result).encode()) <= 2_500
    assert len(json.dumps(result.structured_content, separators=(",", ":"), ensure_ascii=False).encode()) <= 3_400


@pytest.mark.night
async def test_both_channels_say_the_units_beside_the_names_that_conditions_take(client: Client) -> None:
    asked = ["change_24h", "oi_value", "rel_volume_24h", "spread_bps", "trades_24h", "rsi_14@1h"]
    units = {
        "change_24h": "%",
        "oi_value": "USDT",
        "rel_volume_24h": "\N{MULTIPLICATION SIGN}",
    }
    result = await client.call_tool("scan_market", {"market": "perpetual", "sort": "price", "show": asked, "limit": 3})
    told = result.structured_content
    assert told is not None

    shown = [*told["rows"][0]["values"]]
    heading = next(line for line in text_of(result).split("\n") if line.startswith("| symbol |"))
    said = {name: f"{name} {units[name]}" if name in units else name for name in shown}
    assert set(asked) <= set(shown)
    assert heading == f"| symbol | price | {' | '.join(said.values())} |"
    assert told["notes"][-len(units) :] == [words for name, words in said.items() if name in units]
    for name in shown:
        again = await client.call_tool("scan_market", {"market": "perpetual", "where": [f"{name} > -1000"]})
        assert again.is_error is not True, text_of(again)


@pytest.mark.parametrize("arguments", [{}, {"where": list(EXAMPLE), "show": ["rsi_14@1h"]}, {"market": "perpetual"}])
async def test_a_scan_gives_no_verdict(client: Client, arguments: dict[str, object]) -> None:
    said = text_of(await client.call_tool("scan_market", arguments)).lower()

    assert not [word for word in VERDICTS if word in said]


def test_a_series_is_kept_in_an_eighth_of_a_kilobyte_and_read_unchanged() -> None:
    lines = [(place * HOUR_MS, 1.0, 2.0 + place / 7, 0.5, 1.5 + place / 9, 1e6 / (place + 1)) for place in range(250)]
    columns = PairColumns(series_columns(lines, 300 * HOUR_MS, HOUR_MS), day_columns(lines, 300 * HOUR_MS))
    packed = pack_columns(columns)

    assert open_columns(packed) == columns
    assert len(packed) <= 150


async def test_a_screen_with_unread_pairs_says_so_and_not_that_there_is_none(whole: WholeMarket) -> None:
    report = await whole.app.context.screener.scan(screen(["price < 0.0000000001"]))

    assert "\nNone.\n" in scan_page(report, None)
    early = scan_page(replace(report, waiting=13), None)
    assert "None.\n" not in early
    assert f"\nNone yet: 13 of {report.listed} pairs are still unread.\n" in early
