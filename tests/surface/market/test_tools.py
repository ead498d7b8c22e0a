"""The market tools through the SDK's client: what each answers, what it costs upstream, how big it is."""

import json
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from jsonschema import validate
from mcp import Client, types

from binance_simulator.exchange import SimulatedExchange
from binance_simulator.faults import Fault
from mcp_binance_server.analytics.indicators import basic as indicators
from mcp_binance_server.app import App
from mcp_binance_server.domain.market import BookSnapshot, CandleSeries, Observation, PriceLevel, Trade
from mcp_binance_server.domain.money import Price, Quantity
from mcp_binance_server.domain.periods import Candle, Period
from mcp_binance_server.domain.symbols import Symbol, SymbolRules, SymbolTable
from mcp_binance_server.services.market.service import matching
from mcp_binance_server.surface.catalogue import CATALOGUE
from mcp_binance_server.surface.tools.market.candles import klines_answer
from mcp_binance_server.surface.tools.market.symbols import SearchSymbols, more_symbols
from mcp_binance_server.surface.views.book.levels import BookSummary, aggressor
from mcp_binance_server.surface.views.candles import candle_page, is_final
from mcp_binance_server.surface.views.markdown import exact, volume
from support.golden import Golden

HOUR_MS = 3_600_000
TWENTY = (
    "BTCUSDT", "ETHUSDT", "BNBUSDT", "SOLUSDT", "XRPUSDT", "DOGEUSDT", "SHIBUSDT", "PEPEUSDT", "1000SATSUSDT",
    "1INCHUSDT", "ADAUSDT", "LTCUSDT", "TRXUSDT", "LINKUSDT", "AVAXUSDT", "DOTUSDT", "ETHBTC", "BTCEUR", "币安人生USDT",
    "BTCTRY",
)  # fmt: skip
INDICATORS = ["rsi", "ema(50)", "macd", "bollinger(20,2)"]

# Every tool as a model would call it first, and the requests it may send when the symbol table is known.
CALLS: dict[str, tuple[str, dict[str, Any], list[str]]] = {
    "get_ticker": ("get_ticker", {"symbol": "btcusdt"}, ["ticker/24hr"]),
    "get_ticker.many": ("get_ticker", {"symbols": [*TWENTY]}, ["ticker/24hr"]),
    "search_symbols": ("search_symbols", {"query": "bitcoin"}, []),
    "get_exchange_info": ("get_exchange_info", {"symbol": "BTCUSDT"}, []),
    "get_klines": ("get_klines", {"symbol": "BTCUSDT", "interval": "1h"}, ["klines"]),
    "get_klines.period": (
        "get_klines",
        {"symbol": "BTCUSDT", "interval": "15m", "limit": 5, "start": "last 36 hours", "end": "yesterday"},
        ["klines"],
    ),
    "get_order_book": ("get_order_book", {"symbol": "BTCUSDT"}, ["depth"]),
    "get_recent_trades": ("get_recent_trades", {"symbol": "BTCUSDT"}, ["aggTrades"]),
    "get_average_price": ("get_average_price", {"symbol": "BTCUSDT"}, ["avgPrice"]),
    "get_server_time": ("get_server_time", {}, ["time"]),
    "get_indicators": ("get_indicators", {"symbol": "BTCUSDT", "indicators": INDICATORS}, ["klines"]),
}
REFUSED: dict[str, dict[str, Any]] = {
    "get_ticker": {"symbols": ["BTCUSDT", "BTC/USD"]},
    "search_symbols": {"query": "BTC", "limit": 101},
    "get_exchange_info": {"symbol": "nothing"},
    "get_klines": {"symbol": "BTCUSDT", "interval": "1h", "start": "soon"},
    "get_order_book": {"symbol": "BTCUSDT", "limit": 4},
    "get_recent_trades": {"symbol": "BTCUSDT", "limit": 1001},
    "get_average_price": {"symbol": "BTC-USD"},
    "get_server_time": {"symbol": "BTCUSDT"},
    "get_indicators": {"symbol": "BTCUSDT", "indicators": ["magic"]},
}
TOOLS = tuple(REFUSED)
LISTS = ("search_symbols", "get_klines", "get_order_book", "get_recent_trades", "get_indicators")


def text_of(result: types.CallToolResult) -> str:
    (content,) = result.content
    assert isinstance(content, types.TextContent)
    return content.text


def structure(result: types.CallToolResult) -> dict[str, Any]:
    assert result.structured_content is not None
    return result.structured_content


async def call(client: Client, tool: str, **arguments: object) -> dict[str, Any]:
    """Return the structured answer of a success."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, text_of(result)
    return structure(result)


async def follow(client: Client, more: str) -> dict[str, Any]:
    """Do what an answer says is the next step, word for word."""
    tool, _, arguments = more.partition(" ")
    return await call(client, tool, **json.loads(arguments))


def compact(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


def paths(exchange: SimulatedExchange) -> list[str]:
    return [request.path.removeprefix("/api/v3/") for request in exchange.requests]


@pytest.mark.parametrize("case", CALLS)
async def test_an_answer_is_as_reviewed_and_fits_its_schema(client: Client, golden: Golden, case: str) -> None:
    tool, arguments, _ = CALLS[case]

    result = await client.call_tool(tool, arguments)

    spec = CATALOGUE.tool(tool)
    assert spec is not None
    assert result.is_error is False
    validate(result.structured_content, spec.wire.output_schema or {})
    if case != "get_ticker":  # its golden file is of the contract's own scenario
        golden.check(f"tools/{case}.answer.json", result.structured_content)
    golden.check(f"tools/{case}.answer.md", text_of(result) + "\n")


@pytest.mark.parametrize("tool", TOOLS)
async def test_a_schema_is_as_reviewed(client: Client, golden: Golden, tool: str) -> None:
    listed = {each.name: each for each in (await client.list_tools()).tools}[tool]

    golden.check(f"tools/{tool}.json", listed.model_dump(by_alias=True, mode="json", exclude_none=True))
    assert listed.annotations is not None
    assert listed.annotations.read_only_hint is True


@pytest.mark.parametrize("tool", TOOLS)
async def test_a_refusal_fits_the_schema_and_says_what_to_do(client: Client, tool: str) -> None:
    spec = CATALOGUE.tool(tool)
    assert spec is not None

    result = await client.call_tool(tool, REFUSED[tool])

    assert result.is_error is True
    validate(result.structured_content, spec.wire.output_schema or {})
    assert structure(result)["success"] is False
    assert structure(result)["recovery_suggestion"]


@pytest.mark.parametrize("case", CALLS)
async def test_what_a_call_costs_upstream(client: Client, exchange: SimulatedExchange, case: str) -> None:
    await client.call_tool("get_exchange_info", {"symbol": "BTCUSDT"})
    exchange.requests.clear()
    tool, arguments, expected = CALLS[case]

    await client.call_tool(tool, arguments)

    assert paths(exchange) == expected
    assert sum(request.weight for request in exchange.requests) <= 25


@pytest.mark.parametrize("case", CALLS)
async def test_an_answer_nobody_asked_to_be_long_is_short(client: Client, case: str) -> None:
    tool, arguments, _ = CALLS[case]

    text = text_of(await client.call_tool(tool, arguments))

    assert len(text.encode()) <= (900 if case == "get_ticker" else 8_000)


@pytest.mark.parametrize("tool", LISTS)
async def test_a_list_counts_its_rows_and_names_its_limit(client: Client, tool: str) -> None:
    _, arguments, _ = CALLS[tool]

    answer = await call(client, tool, **arguments)

    rows = next(answer[name] for name in ("rows", "symbols", "bids") if name in answer)
    assert answer["count"] == len(rows) <= answer["limit"]
    assert "more" in answer


async def test_twenty_tickers_come_by_one_cheap_question_in_the_order_asked(
    client: Client, exchange: SimulatedExchange
) -> None:
    answer = await call(client, "get_ticker", symbols=[*TWENTY, "btcusdt"][1:])

    assert [row["symbol"] for row in answer["tickers"]] == [*TWENTY[1:], "BTCUSDT"]
    assert exchange.requests[-1].weight == 2
    assert " " not in exchange.requests[-1].params["symbols"]
    assert answer["missing"] == []


async def test_several_tickers_show_the_same_numbers_as_one(client: Client) -> None:
    one = await call(client, "get_ticker", symbol="ETHUSDT")
    many = await client.call_tool("get_ticker", {"symbols": ["ETHUSDT", "ethusdt"]})

    (row,) = structure(many)["tickers"]
    assert Decimal(row["last_price"]) == Decimal(one["last_price"])
    assert f"${Decimal(row['last_price']):,.2f}" in text_of(many)
    assert row["last_price"].partition(".")[2] == one["last_price"].partition(".")[2][:2]


async def test_a_ticker_the_exchange_left_out_is_named(client: Client, exchange: SimulatedExchange) -> None:
    exchange.faults.add(Fault(kind="status", path="*/ticker/24hr", status=200, body="[]"))

    result = await client.call_tool("get_ticker", {"symbols": ["BTCUSDT"]})

    assert structure(result)["missing"] == ["BTCUSDT"]
    assert "No ticker from the exchange: BTCUSDT" in text_of(result)


async def test_several_symbols_of_which_one_has_gone_are_refused_by_name(
    client: Client, exchange: SimulatedExchange
) -> None:
    exchange.faults.add(Fault(kind="status", path="*/ticker/24hr", status=400, code=-1121, msg="Invalid symbol."))

    result = await client.call_tool("get_ticker", {"symbols": ["BTCUSDT", "ETHUSDT"]})

    assert structure(result)["provided_symbol"] == "BTCUSDT, ETHUSDT"


@pytest.mark.parametrize(
    "arguments", [{}, {"symbol": "BTCUSDT", "symbols": ["ETHUSDT"]}, {"symbols": []}, {"symbols": [*TWENTY, "BTCUSDC"]}]
)
async def test_one_symbol_or_up_to_twenty_and_nothing_else(client: Client, arguments: dict[str, Any]) -> None:
    result = await client.call_tool("get_ticker", arguments)

    assert structure(result)["code"] == -32602


async def test_a_market_that_is_closed_shows_no_zero_as_a_price(client: Client) -> None:
    table = text_of(await client.call_tool("get_ticker", {"symbols": ["LUNAUSDT", "BTCUSDT"]}))
    book = await client.call_tool("get_order_book", {"symbol": "LUNAUSDT"})

    assert "\n*LUNAUSDT: Not trading now: status BREAK*\n" in table
    assert "| LUNAUSDT | BREAK |" + " n/a |" * 7 + " 0.00 LUNA | $0.00 USDT |" in table
    answer = structure(book)
    assert (answer["spread"], answer["mid"], answer["count"], answer["more"]) == (None, None, 0, None)
    assert "a side is empty" in text_of(book)


async def test_the_clock_is_compared_with_the_exchanges(client: Client, exchange: SimulatedExchange) -> None:
    exchange.skew_ms = -1_500
    exchange.faults.add(Fault(kind="delay", path="*/time", delay_ms=40))

    result = await client.call_tool("get_server_time", {})

    answer = structure(result)
    assert (answer["clock_ahead_ms"], answer["round_trip_ms"]) == (1_480, 40)
    assert "1480 ms ahead of the exchange's, give or take 20 ms" in text_of(result)


async def test_a_clock_that_is_behind_is_said_to_be(client: Client, exchange: SimulatedExchange) -> None:
    exchange.skew_ms = 700

    result = await client.call_tool("get_server_time", {})

    assert structure(result)["clock_ahead_ms"] == -700
    assert "700 ms behind the exchange's" in text_of(result)


async def test_the_rules_in_force_are_in_text_and_structure(client: Client) -> None:
    result = await client.call_tool("get_exchange_info", {"symbol": "btcusdt"})

    answer, text = structure(result), text_of(result)
    assert (answer["symbol"], answer["base"], answer["quote"], answer["is_trading"]) == ("BTCUSDT", "BTC", "USDT", True)
    assert (answer["rules"]["tick"], answer["rules"]["step"], answer["rules"]["min_notional"]) == (
        "0.01",
        "0.00001",
        "5",
    )
    assert answer["rules"]["market_step"] is None, "zero means that a rule is switched off"
    for name, value in answer["rules"].items():
        assert (f"**{name.replace('_', ' ').capitalize()}**" in text) is (value is not None)


@pytest.mark.parametrize(
    ("query", "first", "others"),
    [
        ("BTCUSDT", "BTCUSDT", 1),
        ("btc/usdt", "BTCUSDT", 1),
        ("btc", "BTCUSDT", 12),
        ("Bitcoin", "BTCUSDT", 7),
        ("ripple", "XRPUSDT", 2),
        ("shiba", "SHIBUSDT", 1),
        ("1inch", "1INCHUSDT", 1),
        ("fdusd", "BTCFDUSD", 1),
        ("SATS", "1000SATSUSDT", 1),
        ("币安", "币安人生USDT", 1),
    ],
)
async def test_a_symbol_is_found_by_code_name_quote_or_piece(
    client: Client, query: str, first: str, others: int
) -> None:
    result = await client.call_tool("search_symbols", {"query": query, "limit": 100})

    answer = structure(result)
    assert (answer["symbols"][0]["symbol"], answer["total"]) == (first, others)
    assert all(row["symbol"] in text_of(result) for row in answer["symbols"])


async def test_symbols_that_trade_come_first(client: Client) -> None:
    answer = await call(client, "search_symbols", query="usdt", limit=100)

    trading = [row["status"] == "TRADING" for row in answer["symbols"]]
    assert trading == sorted(trading, reverse=True)
    assert False in trading


async def test_a_search_can_be_narrowed_and_continued(client: Client) -> None:
    euros = await call(client, "search_symbols", query="btc", quote="eur")
    short = await call(client, "search_symbols", query="usdt", limit=3)
    whole = await follow(client, short["more"])

    assert [row["symbol"] for row in euros["symbols"]] == ["BTCEUR"]
    assert whole["count"] == whole["total"] == short["total"]
    assert whole["more"] is None
    assert whole["symbols"][:3] == short["symbols"]


@pytest.mark.parametrize("query", ["", "zzzz", "///", "\x00", "x" * 40])
async def test_a_search_without_result_says_what_to_try(client: Client, query: str) -> None:
    result = await client.call_tool("search_symbols", {"query": query})

    assert structure(result)["count"] == 0
    assert "Try the code of an asset" in text_of(result)


def rules_of(symbol: str, base: str, quote: str, tick: str = "0.01") -> SymbolRules:
    return SymbolRules(
        Symbol(symbol), base, quote, "TRADING", Price(Decimal(tick)), Quantity(Decimal("0.00001")), Quantity(Decimal(5))
    )


def test_more_than_a_hundred_symbols_are_continued_by_quote_and_never_by_the_same_call() -> None:
    many = [rules_of(f"A{place:03}USDT", f"A{place:03}", "USDT") for place in range(150)]
    found = matching("A", None, SymbolTable.of(many, 6000))

    step = more_symbols(found, SearchSymbols(query="A", limit=100))
    last = more_symbols(found, SearchSymbols(query="A", quote="USDT", limit=100))

    assert len(found) == 150
    assert step == 'search_symbols {"query": "A", "quote": "USDT", "limit": 100}'
    assert last is None


async def test_a_book_is_best_first_with_its_sums(client: Client) -> None:
    result = await client.call_tool("get_order_book", {"symbol": "ETHBTC", "limit": 50})

    answer, text = structure(result), text_of(result)
    bids = [(Decimal(price), Decimal(quantity)) for price, quantity in answer["bids"]]
    asks = [(Decimal(price), Decimal(quantity)) for price, quantity in answer["asks"]]
    assert [price for price, _ in bids] == sorted((price for price, _ in bids), reverse=True)
    assert [price for price, _ in asks] == sorted(price for price, _ in asks)
    assert Decimal(answer["spread"]) == asks[0][0] - bids[0][0] > 0
    assert Decimal(answer["mid"]) == (asks[0][0] + bids[0][0]) / 2
    assert Decimal(answer["bid_total"]) == sum(quantity for _, quantity in bids)
    assert Decimal(answer["ask_total"]) == sum(quantity for _, quantity in asks)
    rows = [f"{bid[1]},{bid[0]},{ask[0]},{ask[1]}" for bid, ask in zip(answer["bids"], answer["asks"], strict=True)]
    assert "\n".join(rows) in text
    assert f"bids {answer['bid_total']} eth" in text.lower()


def test_a_book_at_price_nothing_has_no_relative_spread() -> None:
    nothing = (PriceLevel(Price(Decimal(0)), Quantity(Decimal(1))),)

    assert BookSummary.of(BookSnapshot(1, nothing, nothing)).spread_bps is None


@pytest.mark.slow
async def test_a_deeper_book_is_the_next_step_until_the_deepest(client: Client) -> None:
    shallow = await call(client, "get_order_book", symbol="BTCUSDT", limit=5)
    deeper = await follow(client, shallow["more"])
    deepest = await call(client, "get_order_book", symbol="BTCUSDT", limit=1000)

    assert deeper["bids"][:5] == shallow["bids"]
    assert (deepest["count"], deepest["more"]) == (1000, None)


async def test_the_newest_trade_is_last_and_names_its_aggressor(client: Client, app: App) -> None:
    result = await client.call_tool("get_recent_trades", {"symbol": "BTCUSDT", "limit": 30})
    trades = (await app.market.trades("BTCUSDT", 30)).value

    answer = structure(result)
    times = [row[0] for row in answer["rows"]]
    assert times == sorted(times)
    assert [row[3] for row in answer["rows"]] == ["sell" if each.buyer_is_maker else "buy" for each in trades]
    assert {"buy", "sell"} == {row[3] for row in answer["rows"]}
    assert "\n".join(",".join(row) for row in answer["rows"]) in text_of(result)
    bought = sum(Decimal(row[2]) for row in answer["rows"] if row[3] == "buy")
    assert Decimal(answer["bought"]) == bought


async def test_more_trades_reach_further_back_and_keep_the_newest(client: Client) -> None:
    few = await call(client, "get_recent_trades", symbol="BTCUSDT", limit=10)
    more = await follow(client, few["more"])
    most = await call(client, "get_recent_trades", symbol="BTCUSDT", limit=1000)

    assert (more["count"], most["count"], most["more"]) == (50, 1000, None)
    assert more["rows"][-10:] == few["rows"]


def test_a_waiting_buyer_means_that_a_seller_came() -> None:
    trade = Trade(1, Price(Decimal(1)), Quantity(Decimal(1)), 0, buyer_is_maker=True, first_id=1, last_id=1)

    assert aggressor(trade) == "sell"
    assert aggressor(replace(trade, buyer_is_maker=False)) == "buy"


async def test_the_average_price_is_the_exchanges_own(client: Client, app: App) -> None:
    answer = await call(client, "get_average_price", symbol="ethbtc")
    same = await app.market.client.average_price(Symbol("ETHBTC"))

    assert Decimal(answer["average_price"]) == round(same.value.price, 6)  # one decimal more than the tick
    assert answer["minutes"] == 5


async def test_the_rows_of_the_text_are_the_rows_of_the_structure(client: Client) -> None:
    result = await client.call_tool("get_klines", {"symbol": "BTCUSDT", "interval": "1h", "limit": 150})

    answer, lines = structure(result), text_of(result).split("\n")
    head = lines.index(f"open_time,{answer['columns']}")
    rows = [line.partition(",") for line in lines[head + 1 : head + 151]]
    assert [row for _, _, row in rows] == answer["rows"]
    assert [bool(time) for time, _, _ in rows] == [place % 25 == 0 for place in range(150)]
    assert rows[0][0] == answer["first_open_time"][:16]
    assert lines[-1] == f"More: {answer['more']}"


async def test_five_hundred_hours_of_bitcoin_fit_in_the_size_they_may_have(client: Client) -> None:
    arguments = {"symbol": "BTCUSDT", "interval": "1h", "limit": 500, "start": "last 900 hours"}

    result = await client.call_tool("get_klines", arguments)

    assert len(text_of(result).encode()) <= 25_000
    assert len(compact(result.structured_content)) <= 25_000
    assert structure(result)["count"] == 500


async def test_candles_are_the_exchanges_to_the_last_digit(client: Client, app: App) -> None:
    answer = await call(client, "get_klines", symbol="SHIBUSDT", interval="4h", limit=20)
    candles = (await app.market.candles("SHIBUSDT", "4h", 20)).value.candles

    for row, candle in zip(answer["rows"], candles, strict=True):
        *prices, traded = row.split(",")
        assert [Decimal(each) for each in prices] == [candle.open, candle.high, candle.low, candle.close]
        assert abs(Decimal(traded) - candle.volume) <= candle.volume / 10_000


@pytest.mark.parametrize(
    ("start", "end", "count", "first", "last_is_final"),
    [
        ("last 36 hours", None, 36, "2026-07-19T13:00:00.000Z", False),
        ("36h", None, 36, "2026-07-19T13:00:00.000Z", False),
        ("since yesterday", None, 25, "2026-07-20T00:00:00.000Z", False),
        ("yesterday", "yesterday", 24, "2026-07-20T00:00:00.000Z", True),
        ("2 days ago", "yesterday", 47, "2026-07-19T01:00:00.000Z", True),
        ("today", None, 1, "2026-07-21T00:00:00.000Z", False),
        ("2026-07-19T10:00:00Z", 1_784_462_400_000, 3, "2026-07-19T10:00:00.000Z", True),
        (None, "2026-07-19T12:30Z", 100, "2026-07-15T09:00:00.000Z", True),
        ("5 minutes ago", "2 minutes ago", 1, "2026-07-21T00:00:00.000Z", False),
        ("30s", None, 1, "2026-07-21T00:00:00.000Z", False),
    ],
)
async def test_candles_of_a_period_in_a_persons_words(
    client: Client, start: str | None, end: str | int | None, count: int, first: str, *, last_is_final: bool
) -> None:
    answer = await call(client, "get_klines", symbol="BTCUSDT", interval="1h", start=start, end=end)

    assert (answer["count"], answer["first_open_time"], answer["last_is_final"]) == (count, first, last_is_final)
    assert answer["open_times"] is None


async def test_of_a_long_period_the_newest_are_kept_and_the_rest_is_one_step_away(client: Client) -> None:
    whole = await call(client, "get_klines", symbol="BTCUSDT", interval="1h", start="last 70 hours")
    page = await call(client, "get_klines", symbol="BTCUSDT", interval="1h", start="last 70 hours", limit=30)

    rows: list[str] = page["rows"]
    assert rows == whole["rows"][-30:]
    while page["more"]:
        page = await follow(client, page["more"])
        rows = page["rows"] + rows
    assert rows == whole["rows"]
    assert (whole["count"], whole["more"]) == (70, None)


async def test_the_most_candles_that_one_answer_holds_can_be_continued(client: Client) -> None:
    page = await call(client, "get_klines", symbol="BTCUSDT", interval="1m", limit=1000, start="1001 minutes ago")
    rest = await follow(client, page["more"])

    assert page["count"] == 1000
    assert (rest["count"], rest["more"]) == (1, None)


async def test_a_period_before_a_market_existed_is_empty(client: Client) -> None:
    result = await client.call_tool("get_klines", {"symbol": "BTCUSDT", "interval": "1d", "end": "2001-01-01"})

    answer = structure(result)
    assert (answer["count"], answer["rows"], answer["first_open_time"], answer["more"]) == (0, [], None, None)
    assert "No candle opened in this period" in text_of(result)


@pytest.mark.parametrize("interval", ["5M", "7m", "", "1 hour"])
async def test_an_interval_the_exchange_does_not_know_is_refused_here(
    client: Client, exchange: SimulatedExchange, interval: str
) -> None:
    result = await client.call_tool("get_klines", {"symbol": "BTCUSDT", "interval": interval})

    assert structure(result)["code"] == -32602
    assert exchange.requests == []


def series_with_a_gap() -> Observation[CandleSeries]:
    def candle(hour: int) -> Candle:
        price, quantity = Price(Decimal("1.50")), Quantity(Decimal("12.3456789"))
        opens = 1_784_592_000_000 + hour * HOUR_MS
        return Candle(opens, opens + HOUR_MS - 1, price, price, price, price, quantity, quantity, 1, quantity)

    series = CandleSeries.of("1h", [candle(0), candle(1), candle(5)], 10, Period())
    return Observation(series, rules_of("ABCUSDT", "ABC", "USDT"), "h", "configured", 1_784_592_000_000)


def test_candles_with_a_gap_name_every_time() -> None:
    seen = series_with_a_gap()

    answer = klines_answer(seen)
    text = candle_page(seen, answer.rows)

    assert answer.open_times == ["2026-07-21T00:00", "2026-07-21T01:00", "2026-07-21T05:00"]
    assert "2026-07-21T05:00,1.50,1.50,1.50,1.50,12.346" in text
    assert "without time" not in text


def test_candles_that_opened_at_nothing_have_no_change() -> None:
    seen = series_with_a_gap()
    worthless = tuple(replace(each, open=Price(Decimal(0))) for each in seen.value.candles)

    seen = replace(seen, value=replace(seen.value, candles=worthless))
    text = candle_page(seen, klines_answer(seen).rows)

    assert "Open $0.00, close $1.50, high" in text


def test_a_candle_is_final_only_when_even_a_shared_answer_must_have_seen_its_end() -> None:
    candle = series_with_a_gap().value.candles[0]

    assert not is_final(candle, candle.close_time_ms + 1_999)
    assert is_final(candle, candle.close_time_ms + 2_001)


async def test_seconds_show_in_the_times_of_second_candles(client: Client) -> None:
    text = text_of(await client.call_tool("get_klines", {"symbol": "BTCUSDT", "interval": "1s", "limit": 2}))

    assert "\n2026-07-21T00:02:03," in text


@pytest.mark.parametrize(
    ("value", "step", "written"),
    [
        ("50234.56000000", "0.01000000", "50234.56"),
        ("50234.50000000", "0.01", "50234.50"),
        ("50234.565", "0.01", "50234.565"),
        ("100.00000000", "1", "100"),
        ("0.00001330", "0.00000001", "0.00001330"),
        ("-0.10", "0", "-0.1"),
        ("123456789012345678901234567890.123456789", "0.01", "123456789012345678901234567890.123456789"),
    ],
)
def test_data_has_every_digit_and_no_zeros_beyond_the_tick(value: str, step: str, written: str) -> None:
    assert exact(Decimal(value), Decimal(step)) == written


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("9" * 29 + "8.7", "9" * 30),
        ("415.123456", "415.12"),
        ("0.000123456", "0.00012346"),
        ("98765432.1", "98765432"),
        ("0", "0"),
        ("2.50", "2.5"),
    ],
)
def test_a_volume_has_five_significant_digits(value: str, written: str) -> None:
    assert volume(Decimal(value)) == written


async def test_indicators_are_those_of_the_table_on_the_same_candles(client: Client, app: App) -> None:
    result = await client.call_tool(
        "get_indicators", {"symbol": "BTCUSDT", "indicators": ["rsi", "EMA 50", "bb(20,2)"], "last_n": 3}
    )

    answer = structure(result)
    candles = (await app.market.candles("BTCUSDT", "1h", answer["bars_used"])).value.candles
    closes = indicators.closes(candles)
    last = answer["rows"][-1]
    assert answer["bars_used"] >= 250 + 50
    assert list(last["values"]) == [
        "rsi(14)", "ema(50)", "bollinger(20,2).lower", "bollinger(20,2).middle", "bollinger(20,2).upper"
    ]  # fmt: skip
    assert float(last["values"]["rsi(14)"]) == pytest.approx(indicators.rsi(closes, 14)[-1], abs=0.005)
    assert float(last["values"]["ema(50)"]) == pytest.approx(indicators.ema(closes, 50)[-1], abs=0.0001)
    assert [row["is_final"] for row in answer["rows"]] == [True, True, False]
    assert [row["open_time"] for row in answer["rows"]][-1] == "2026-07-21T00:00:00.000Z"
    for row in answer["rows"]:
        assert ",".join([row["close"], *row["values"].values()]) in text_of(result)


@pytest.mark.parametrize("name", ["sma", "atr(7)", "stochastic", "stoch(14,3)", "adx", "obv", "vwap", "ema200"])
async def test_every_indicator_of_the_table_answers(client: Client, name: str) -> None:
    answer = await call(client, "get_indicators", symbol="SHIBUSDT", indicators=[name], last_n=50)

    assert answer["count"] == 50
    assert answer["more"] is None
    assert all(value is not None for row in answer["rows"] for value in row["values"].values())


@pytest.mark.slow
async def test_more_bars_of_the_same_indicators_are_the_next_step(client: Client) -> None:
    one = await call(client, "get_indicators", symbol="BTCUSDT", indicators=["obv", "obv"], interval="1d")
    ten = await follow(client, one["more"])

    assert (one["count"], ten["count"], ten["interval"]) == (1, 10, "1d")
    assert list(one["rows"][0]["values"]) == ["obv"]


async def test_too_few_bars_give_no_value_and_say_so(client: Client) -> None:
    result = await client.call_tool(
        "get_indicators", {"symbol": "BTCUSDT", "indicators": ["ema(200)"], "interval": "1M"}
    )

    assert structure(result)["rows"][0]["values"] == {"ema(200)": None}
    assert ",n/a" in text_of(result)


async def test_a_value_whose_start_still_weighs_says_how_much(client: Client) -> None:
    result = await client.call_tool(
        "get_indicators",
        {"symbol": "BTCUSDT", "indicators": ["ema(20)", "sma(20)", "macd"], "interval": "1M", "last_n": 2},
    )

    answer = structure(result)
    bars = answer["bars_used"]
    for place, row in enumerate(answer["rows"]):
        weight = (1 - 2 / 21) ** (bars - 1 + place - 20)
        assert row["warming"] is True
        assert row["seed_weight"]["ema(20)"] == f"{100 * weight:.1f}%"
        assert "sma(20)" not in row["seed_weight"]
        assert f',yes,"ema(20) {row["seed_weight"]["ema(20)"]}; ' in text_of(result)
    assert "Warming: seed weight is the share" in text_of(result)


async def test_a_value_of_a_whole_window_is_not_called_warming(client: Client) -> None:
    result = await client.call_tool("get_indicators", {"symbol": "BTCUSDT", "indicators": ["ema(200)", "adx"]})

    assert "warming" not in structure(result)["rows"][0]
    assert "arming" not in text_of(result)


async def test_a_market_without_candles_has_no_indicator(client: Client, exchange: SimulatedExchange) -> None:
    exchange.faults.add(Fault(kind="status", path="*/klines", status=200, body="[]"))

    answer = await call(client, "get_indicators", symbol="BTCUSDT", indicators=["rsi", "macd", "obv"])

    assert (answer["rows"], answer["bars_used"], answer["first_bar"], answer["more"]) == ([], 0, None, None)


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("magic", "'magic' is not an indicator; available: sma(20), ema(20), rsi(14)"),
        ("rsi(14", "'rsi(14' is not an indicator"),
        ("ema(201)", "ema: n is a whole number from 1 to 200"),
        ("ema(2.5)", "ema: n is a whole number"),
        ("bollinger(20,9)", "bollinger: deviations is a number from 0.5 to 5"),
        ("bollinger(20,)", "bollinger: deviations is a number"),
        ("rsi(14,2)", "rsi takes rsi(14)"),
        ("obv(3)", "obv takes obv"),
    ],
)
async def test_an_indicator_that_cannot_be_computed_is_refused_with_what_can(
    client: Client, exchange: SimulatedExchange, name: str, problem: str
) -> None:
    result = await client.call_tool("get_indicators", {"symbol": "BTCUSDT", "indicators": [name]})

    assert problem in text_of(result)
    assert structure(result)["errors"][0]["argument"] == "indicators"
    assert exchange.requests == []
