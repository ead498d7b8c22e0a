"""Old, silent and contradictory markets: every tool and prompt says so, in one wording, in text and in structure."""

import json
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from mcp import Client, types

from binance_simulator.exchange import SimulatedExchange
from binance_simulator.faults import Fault
from mcp_binance_server.surface.views.markdown import instant
from support.clock import FakeClock
from support.desk import raw
from support.requirement import requirement

SILENT = "Stale: no trades in the last 24 hours"
# What a tool needs beside its symbol.
NEEDED: dict[str, dict[str, Any]] = {
    "estimate_slippage": {"side": "BUY", "amount": "100"},
    "get_klines": {"interval": "1h"},
    "get_indicators": {"indicators": ["ema(20)"]},
    "preview_order": {"side": "BUY", "type": "LIMIT", "quantity": "100", "price": "0.2"},
    "get_analysis": {"kind": "trading_analysis"},
}
# Of an account, or of a symbol's rules, which no market makes old; of another market, which has tests of its own.
OTHERS = {
    "get_open_orders", "get_order", "get_all_orders", "get_account_trades", "get_my_trades", "get_exchange_info",
    "get_derivatives",
}  # fmt: skip


def text_of(content: types.ContentBlock | types.TextResourceContents | types.BlobResourceContents) -> str:
    assert isinstance(content, types.TextContent | types.TextResourceContents)
    return content.text


async def market_tools(client: Client) -> dict[str, dict[str, Any]]:
    """Return every public tool that reads one market, with arguments."""
    listed = (await client.list_tools()).tools
    found = {
        tool.name: NEEDED.get(tool.name, {})
        for tool in listed
        if "symbol" in tool.input_schema["properties"] and "chart" not in tool.name
    }
    return {name: needed for name, needed in found.items() if name not in OTHERS}


async def market_prompts(client: Client) -> list[str]:
    return [
        prompt.name
        for prompt in (await client.list_prompts()).prompts
        if any(argument.name == "symbol" for argument in prompt.arguments or ())
    ]


DETAIL = {"trading_analysis": {"detail": "true"}}


async def said(client: Client, symbol: str) -> dict[str, str]:
    """Return the resource, each prompt's text, and each tool's text with what its structure says beneath."""
    pages = {"resource": text_of((await client.read_resource(f"binance://market/{symbol}")).contents[0])}
    for name in await market_prompts(client):
        pages[name] = text_of((await client.get_prompt(name, {"symbol": symbol})).messages[0].content)
    for name, needed in (await market_tools(client)).items():
        result = await client.call_tool(name, {"symbol": symbol, **needed})
        if result.is_error:  # such as an order that no closed market takes: there is no number to doubt
            assert name == "preview_order", (name, result)
            continue
        pages[name] = text_of(result.content[0])
        if result.structured_content is not None:
            lines = [
                line.strip("*") for line in pages[name].split("\n") if line.startswith(("*Stale", "*Not", "*Contra"))
            ]
            assert result.structured_content.get("warnings", []) == lines, name
    return pages


@pytest.mark.slow
@requirement("resources/stale-symbol", "ruling/15")
async def test_a_silent_market_is_called_so_on_every_surface(client: Client, exchange: SimulatedExchange) -> None:
    exchange.set_scenario("quiet")

    pages = await said(client, "DOGEUSDT")

    assert len(pages) >= 18
    assert [name for name, text in pages.items() if f"*{SILENT}*" not in text] == []


@pytest.mark.slow
@requirement("resources/stale-symbol", "ruling/15")
async def test_a_closed_market_is_called_so_on_every_surface(client: Client, exchange: SimulatedExchange) -> None:
    closed = next(each.name for each in exchange.listing.symbols.values() if not each.trading)

    pages = await said(client, closed)

    assert [name for name, text in pages.items() if "*Not trading now: status BREAK*" not in text] == []


async def ticker_body(exchange: SimulatedExchange, **changes: object) -> str:
    return json.dumps(await raw(exchange, "ticker/24hr?symbol=XRPUSDT") | changes)


@pytest.mark.slow
@requirement("resources/stale-symbol", "ruling/15")
@pytest.mark.parametrize("name", ["resource", "trading_analysis", "get_ticker"])
async def test_old_data_is_called_old(client: Client, exchange: SimulatedExchange, name: str) -> None:
    body = await ticker_body(exchange, closeTime=exchange.now_ms() - 3 * 3_600_000)
    exchange.faults.add(Fault(kind="status", status=200, body=body, path="*ticker/24hr", times=None))

    text = (await said(client, "XRPUSDT"))[name]

    assert "*Stale: the exchange's data is 3 h old*" in text


async def test_an_old_ticker_among_others_says_its_age_below_the_table(
    client: Client, exchange: SimulatedExchange
) -> None:
    body = f"[{await ticker_body(exchange, closeTime=exchange.now_ms() - 2 * 3_600_000)}]"
    exchange.faults.add(Fault(kind="status", status=200, body=body, path="*ticker/24hr", times=None))

    result = await client.call_tool("get_ticker", {"symbols": ["XRPUSDT"]})

    warning = "XRPUSDT: Stale: the exchange's data is 2 h old"
    assert f"\n\n*{warning}*\n" in text_of(result.content[0])
    assert result.structured_content is not None
    assert result.structured_content["warnings"] == [warning]


@pytest.mark.night
@pytest.mark.slow
@requirement("ruling/15")
async def test_a_last_price_that_the_book_and_the_candles_refute_is_not_averaged(
    client: Client, exchange: SimulatedExchange
) -> None:
    true = await raw(exchange, "ticker/24hr?symbol=XRPUSDT")
    body = await ticker_body(exchange, lastPrice="3.50000000", highPrice="3.60000000")
    exchange.faults.add(Fault(kind="status", status=200, body=body, path="*ticker/24hr", times=None))

    pages = await said(client, "XRPUSDT")

    refuted = "*Contradiction: the last price $3.5000 is +"
    book, candle = "from the middle of the book, $2.94", "from the close of the newest candle, $2.9"
    assert float(true["lastPrice"]) < 3
    for name in ("resource", "get_ticker", "trading_analysis", "liquidity_mapping", "market_microstructure_analysis"):
        assert refuted in pages[name], name
        assert book in pages[name], name
        if name not in ("resource", "get_ticker"):
            assert pages[name].split("\n")[1].startswith(refuted), name
    assert candle in pages["trading_analysis"]
    assert "not judged" in pages["trading_analysis"].lower()
    assert "- Entry Point" not in pages["trading_analysis"]


@requirement("ruling/15")
@pytest.mark.parametrize(
    ("name", "unjudged"),
    [
        ("order_flow_trading", ["**Reference levels**: not judged, ", "of taker volume bought; not judged: "]),
        ("market_microstructure_analysis", ["**Current Price**: not compared, "]),
        ("liquidity_mapping", ["## Stop Loss Guidance\n_Not judged: "]),
    ],
)
async def test_a_book_that_the_candles_refute_is_the_first_line_and_nothing_mixes_them(
    client: Client, exchange: SimulatedExchange, name: str, unjudged: list[str]
) -> None:
    book = {"lastUpdateId": 7, "bids": [["1.4000", "9000"]], "asks": [["1.4001", "9000"]]}
    exchange.faults.add(Fault(kind="status", status=200, body=json.dumps(book), path="*/depth", times=None))

    text = text_of((await client.get_prompt(name, {"symbol": "XRPUSDT"})).messages[0].content)

    first = text.split("\n")[1]
    assert first.startswith("*Contradiction: the newest candle closed at $2.")
    assert " from the middle of the book, $1.40005; what needs both is not judged*" in first
    for words in unjudged:
        assert f"{words}" in text
    assert "the book and the candles contradict each other" in text


@requirement("ruling/15", "ruling/21")
@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("get_order_book", {"symbol": "BTCUSDT"}),
        ("get_orderbook_depth", {"symbol": "BTCUSDT"}),
        ("get_recent_trades", {"symbol": "BTCUSDT"}),
        ("get_klines", {"symbol": "BTCUSDT", "interval": "1m"}),
        ("get_average_price", {"symbol": "BTCUSDT"}),
        ("get_account_info", {}),
        ("get_portfolio", {}),
        ("get_open_orders", {}),
        ("preview_order", {"symbol": "BTCUSDT", "side": "BUY", "type": "LIMIT", "quantity": "0.01", "price": "90000"}),
    ],
)
async def test_an_answer_without_a_time_of_its_own_is_as_of_when_it_was_asked_for(
    client: Client, exchange: SimulatedExchange, clock: FakeClock, name: str, arguments: dict[str, Any]
) -> None:
    await client.call_tool("get_ticker", {"symbol": "BTCUSDT"})
    asked_ms = clock.now_ms()
    # The exchange has made its answer, and it takes a while to arrive: in few pieces, since the patience is real time.
    exchange.faults.add(Fault(kind="drip", piece=2_000, delay_ms=500, times=None))

    told = (await client.call_tool(name, arguments)).structured_content

    assert told is not None
    assert clock.now_ms() > asked_ms
    assert told["as_of"] == instant(asked_ms)


@requirement("ruling/15")
async def test_after_the_machine_has_slept_answers_are_dated_by_the_exchange_again(
    client: Client, exchange: SimulatedExchange, clock: FakeClock
) -> None:
    await client.call_tool("get_account_info", {})  # a signed call has the exchange's clock read
    # Monotonic time does not count a machine's sleep.
    clock.set_wall(clock.now_ms() + 3 * 3_600_000)

    told = (await client.call_tool("get_order_book", {"symbol": "BTCUSDT"})).structured_content

    assert told is not None
    assert abs(datetime.fromisoformat(told["as_of"]).timestamp() * 1000 - exchange.now_ms()) <= 1_000


@requirement("ruling/21")
async def test_who_shares_an_answer_is_told_how_old_it_is(client: Client, clock: FakeClock) -> None:
    first = (await client.call_tool("get_orderbook_depth", {"symbol": "BTCUSDT"})).structured_content
    clock.advance(900)

    second = (await client.call_tool("get_orderbook_depth", {"symbol": "BTCUSDT"})).structured_content

    assert first is not None
    assert second is not None
    assert (first["age_ms"], second["age_ms"]) == (0, 900)
    assert second["as_of"] == first["as_of"]


async def test_a_market_that_trades_costs_no_further_question(client: Client, exchange: SimulatedExchange) -> None:
    await client.call_tool("get_klines", {"symbol": "BTCUSDT", "interval": "1h"})
    await client.call_tool("get_order_book", {"symbol": "BTCUSDT"})
    await client.call_tool("get_recent_trades", {"symbol": "BTCUSDT"})
    await client.call_tool("get_average_price", {"symbol": "BTCUSDT"})

    assert not [each for each in exchange.requests if "ticker" in each.path]


@pytest.mark.slow
@requirement("ruling/42")
async def test_a_page_measures_from_the_mid_when_the_last_trade_is_history(
    client: Client, exchange: SimulatedExchange
) -> None:
    true = await raw(exchange, "ticker/24hr?symbol=XRPUSDT")
    traded_ms = exchange.now_ms() - 245_000
    exchange.faults.add(
        Fault(
            kind="status",
            status=200,
            body=json.dumps({"mins": 5, "price": true["lastPrice"], "closeTime": traded_ms}),
            path="*/avgPrice",
            times=None,
        )
    )

    pages = {
        name: text_of((await client.get_prompt(name, {"symbol": "XRPUSDT"} | DETAIL.get(name, {}))).messages[0].content)
        for name in ("trading_analysis", "market_microstructure_analysis", "liquidity_mapping", "order_flow_trading")
    }
    tools = {
        name: (await client.call_tool(name, {"symbol": "XRPUSDT"})).structured_content
        for name in ("get_volume_profile", "get_liquidity_vacuums")
    }

    last, mid = Decimal(true["lastPrice"]), (Decimal(true["bidPrice"]) + Decimal(true["askPrice"])) / 2
    at = f"{datetime.fromtimestamp(traded_ms // 1000, UTC):%H:%M:%S}"
    told = f"**Current Price**: Last trade ${last:.4f} at {at}, 4 min ago; mid now ${mid.normalize():f}"
    for name, text in pages.items():
        assert told in text, name
    assert f", last trade {at}, " in pages["trading_analysis"]
    for name, answer in tools.items():
        price, traded = answer["metrics"]["price"], answer["metrics"]["last_trade"]["value"]
        assert (Decimal(price["value"]), price["method"]) == (mid, "mid"), name
        assert traded == {"price": f"{last:.4f}", "at": instant(traded_ms)}, name
        assert f"mid ${mid.normalize():f}" in answer["summary"], name


@requirement("ruling/15")
async def test_old_figures_are_called_old_beside_themselves(client: Client, exchange: SimulatedExchange) -> None:
    body = await ticker_body(exchange, closeTime=exchange.now_ms() - 3 * 3_600_000)
    exchange.faults.add(Fault(kind="status", status=200, body=body, path="*ticker/24hr", times=None))

    text = text_of(
        (await client.get_prompt("trading_analysis", {"symbol": "XRPUSDT", "detail": "true"})).messages[0].content
    )

    figures = text.partition("**Strategy Preference**")[0]
    assert "*Stale: the exchange's data is 3 h old*" in figures
    assert text.count("*Stale: ") == 1
    assert "(3 h apart)" in text
