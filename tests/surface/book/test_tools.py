"""The order-book tools through the SDK's client: cold from a request, warm from the live book, and without streams."""

import json
from decimal import Decimal
from typing import Any

import pytest
from jsonschema import validate
from mcp import Client, types

from binance_simulator.exchange import SimulatedExchange
from binance_simulator.faults import StreamFault
from binance_simulator.orders.references import PriceRange
from mcp_binance_server.surface.catalogue import CATALOGUE
from support.desk import raw
from support.golden import Golden
from support.stepped import LiveMarket, live_market

pytestmark = pytest.mark.anyio

SLIP = {"symbol": "BTCUSDT", "side": "BUY", "amount": "250000"}


async def told(client: Client, tool: str, **arguments: str | int) -> tuple[str, dict[str, Any]]:
    result = await client.call_tool(tool, arguments)
    (content,) = result.content
    assert isinstance(content, types.TextContent)
    assert result.is_error is False, content.text
    spec = CATALOGUE.tool(tool)
    assert spec is not None
    validate(result.structured_content, spec.wire.output_schema or {})
    return content.text, result.structured_content


async def depth_of(exchange: SimulatedExchange, levels: int) -> dict[str, Any]:
    return await raw(exchange, f"depth?symbol=BTCUSDT&limit={levels}")


def walked(levels: list[list[str]], quote: Decimal) -> tuple[Decimal, Decimal]:
    """Spend an amount on levels and return what it bought and what is left: by hand, in exact decimals."""
    bought = Decimal(0)
    for price, size in levels:
        spent = min(quote, Decimal(price) * Decimal(size))
        bought += spent / Decimal(price)
        quote -= spent
    return bought, quote


async def test_a_cold_call_answers_at_once_from_a_request_and_opens_the_stream(golden: Golden) -> None:
    async with live_market() as live:
        text, answer = await told(live.client, "get_orderbook_metrics", symbol="btcusdt")
        assert answer["context"]["source"] == ["depth"]
        assert "a live book is opening" in text
        golden.check("tools/get_orderbook_metrics.cold.json", answer)
        assert [each.feed.symbol for each in live.app.context.live.hub.watched()] == ["BTCUSDT"]  # pyright: ignore[reportOptionalMemberAccess]


@pytest.mark.parametrize("era", ["legacy", "auto"])
async def test_a_warm_call_measures_the_live_book_without_a_request(era: str, golden: Golden) -> None:
    async with live_market(era=era) as live:
        await told(live.client, "get_orderbook_metrics", symbol="BTCUSDT")
        await live.run(3)
        live.asked()
        text, answer = await told(live.client, "get_orderbook_metrics", symbol="BTCUSDT")
        assert live.asked() == []
        book = await depth_of(live.exchange, 1000)

    metrics = answer["metrics"]
    assert answer["context"]["source"] == ["book"]
    assert answer["context"]["age_ms"] <= 100
    assert text.startswith("BTCUSDT book (live, ")
    bid, ask = (Decimal(book[side][0][0]) for side in ("bids", "asks"))
    assert Decimal(metrics["spread"]["value"]) == ask - bid
    assert Decimal(metrics["mid"]["value"]) == (bid + ask) / 2
    assert metrics["last_update_id"]["value"] == book["lastUpdateId"]
    for count in (5, 20):
        bids, asks = (sum(Decimal(size) for _, size in book[side][:count]) for side in ("bids", "asks"))
        assert metrics[f"imbalance_{count}"]["value"] == pytest.approx(float((bids - asks) / (bids + asks)), abs=1e-4)
    bought, left = walked(book["asks"], Decimal(50_000))
    assert not left
    cost = (Decimal(50_000) / bought / ((bid + ask) / 2) - 1) * 10_000
    assert metrics["slippage"]["value"]["50k"]["buy"] == pytest.approx(float(cost), abs=1e-3)
    if era == "auto":
        golden.check("tools/get_orderbook_metrics.warm.json", answer)


async def test_levels_are_whole_numbers_of_ticks_and_steps_and_lead_to_more() -> None:
    async with live_market() as live:
        _, shallow = await told(live.client, "get_orderbook_depth", symbol="BTCUSDT")
        book = await depth_of(live.exchange, 100)
        _, deep = await told(live.client, "get_orderbook_depth", symbol="BTCUSDT", levels=1000)

    tick, step = Decimal(shallow["price_scale"]), Decimal(shallow["qty_scale"])
    for side in ("bids", "asks"):
        exact = [[price * tick, size * step] for price, size in shallow[side]]
        assert exact == [[Decimal(price), Decimal(size)] for price, size in book[side][:20]]
    assert shallow["next"] == 'get_orderbook_depth {"symbol": "BTCUSDT", "levels": 100}'
    assert (len(deep["bids"]), deep["next"]) == (1000, None)
    assert len(json.dumps(shallow)) < 1_200


async def test_an_order_is_priced_level_by_level_and_never_beyond_what_is_known() -> None:
    async with live_market() as live:
        text, small = await told(live.client, "estimate_slippage", **SLIP)
        book = await depth_of(live.exchange, 1000)
        _, huge = await told(live.client, "estimate_slippage", **SLIP | {"amount": "900000000000"})
        sale = SLIP | {"side": "SELL", "amount": "2", "amount_type": "base"}
        _, base = await told(live.client, "estimate_slippage", **sale)

    bought, left = walked(book["asks"], Decimal(250_000))
    assert not left
    assert small["metrics"]["complete"]["value"] is True
    assert float(small["metrics"]["vwap"]["value"]) == pytest.approx(float(250_000 / bought), rel=1e-7)
    assert "fees excluded" in text
    known = sum(Decimal(price) * Decimal(size) for price, size in book["asks"])
    assert huge["metrics"]["complete"]["value"] is False
    assert float(huge["metrics"]["filled"]["value"]) == pytest.approx(float(known), rel=1e-6)
    assert huge["context"]["truncated"] is True
    assert base["metrics"]["filled"] == {"value": "2.00000", "unit": "base", "confidence": "high"}


async def test_an_order_is_priced_up_to_the_price_range_alone() -> None:
    async with live_market() as live:
        best = Decimal((await depth_of(live.exchange, 5))["asks"][0][0])
        references = live.exchange.orders.engine.references
        references.fixed["BTCUSDT"] = int(best * 10**8)
        references.rules["BTCUSDT"] = PriceRange(bid_limit_mult_up="1", ask_limit_mult_down="1.5")
        text, bought = await told(live.client, "estimate_slippage", **SLIP)
        none, sold = await told(live.client, "estimate_slippage", **SLIP | {"side": "SELL"})

    assert bought["metrics"]["complete"]["value"] is False
    assert Decimal(bought["metrics"]["worst_price"]["value"]) == best
    assert Decimal(bought["metrics"]["expires_beyond"]["value"]) == best
    assert bought["context"]["truncated"] is False
    assert "the rest expires at Binance's price range" in text
    assert "expires at once" in none
    assert sold["metrics"]["filled"]["value"] == "0.00"
    assert sold["metrics"]["vwap"]["why_null"] == "outside_price_filter"


@pytest.mark.parametrize("amount", ["-1", "1e5", "NaN", "1,000", "", "1" * 25])
async def test_an_amount_that_is_no_plain_decimal_is_refused(client: Client, amount: str) -> None:
    result = await client.call_tool("estimate_slippage", {**SLIP, "amount": amount})

    assert result.structured_content["code"] == -32602


async def test_without_streams_the_tools_answer_from_requests_and_say_so(client: Client) -> None:
    text, answer = await told(client, "get_orderbook_metrics", symbol="ETHUSDT")
    health, _ = await told(client, "get_orderbook_health")

    assert answer["context"]["source"] == ["depth"]
    assert "streams are off" in text
    assert health.startswith("Streams are off.")


async def test_a_pair_without_a_dollar_says_why_it_prices_no_dollar_amounts(client: Client) -> None:
    _, answer = await told(client, "get_orderbook_metrics", symbol="ETHBTC")

    assert answer["metrics"]["slippage"] == {
        "value": None, "unit": "bps", "confidence": "none", "why_null": "no_route",
    }  # fmt: skip


async def test_a_silent_book_is_first_marked_stale_and_then_asked_for() -> None:
    async with live_market() as live:
        await warm(live)
        live.exchange.hub.faults.add(StreamFault(kind="silent", stream="btcusdt@depth@100ms"))
        await live.run(3.5)
        text, stale = await told(live.client, "get_orderbook_metrics", symbol="BTCUSDT")
        await live.run(3)
        _, asked = await told(live.client, "get_orderbook_metrics", symbol="BTCUSDT")

    assert "stale" in text
    assert (stale["context"]["source"], stale["context"]["stale"]) == (["book"], True)
    assert {metric["confidence"] for metric in stale["metrics"].values() if "confidence" in metric} == {"none"}
    assert asked["context"]["source"] == ["depth"]
    assert "stale" not in asked["context"]


async def warm(live: LiveMarket) -> None:
    await told(live.client, "get_orderbook_metrics", symbol="BTCUSDT")
    await live.run(3)


async def test_health_lists_every_watched_book(golden: Golden) -> None:
    async with live_market() as live:
        empty, _ = await told(live.client, "get_orderbook_health")
        await warm(live)
        text, answer = await told(live.client, "get_orderbook_health")

    assert empty.startswith("No symbol is streamed now")
    assert "\n| BTCUSDT | ok | live | " in text
    golden.check("tools/get_orderbook_health.answer.json", answer)


@pytest.mark.night
async def test_one_client_follows_several_streams_at_once() -> None:
    async with live_market() as live:
        for symbol in ("BTCUSDT", "ETHUSDT", "BNBUSDT"):
            await told(live.client, "get_orderbook_metrics", symbol=symbol)
        await live.run(3)
        text, _ = await told(live.client, "get_orderbook_health")

    rows = [[cell.strip() for cell in line.split("|")] for line in text.splitlines() if line.startswith("| ")]
    assert {row[1] for row in rows if row[2:4] == ["ok", "live"]} == {"BTCUSDT", "ETHUSDT", "BNBUSDT"}


async def test_plain_reads_of_a_live_symbol_cost_nothing_and_say_that_they_are_streamed() -> None:
    async with live_market() as live:
        before = await live.client.call_tool("get_order_book", {"symbol": "BTCUSDT"})
        await warm(live)
        live.asked()
        after = await live.client.call_tool("get_order_book", {"symbol": "BTCUSDT"})
        assert live.asked() == []
        book = await depth_of(live.exchange, 20)

    assert "market stream" not in text_of(before)
    assert "source: Binance market stream" in text_of(after)
    assert [price for price, _ in after.structured_content["bids"]] == [
        f"{Decimal(price):.2f}" for price, _ in book["bids"]
    ]
    assert after.structured_content["last_update_id"] == book["lastUpdateId"]


@pytest.mark.night
@pytest.mark.flood
async def test_the_ticker_and_the_trades_of_a_live_symbol_are_streamed_too() -> None:
    async with live_market() as live:
        await warm(live)
        await live.run(60)
        live.asked()
        ticker = await live.client.call_tool("get_ticker", {"symbol": "BTCUSDT"})
        trades = await live.client.call_tool("get_recent_trades", {"symbol": "BTCUSDT", "limit": 5})
        many = await live.client.call_tool("get_recent_trades", {"symbol": "BTCUSDT", "limit": 500})
        assert live.asked() == ["aggTrades"]
        rest = await raw(live.exchange, "ticker/24hr?symbol=BTCUSDT")
        aggregates = await raw(live.exchange, "aggTrades?symbol=BTCUSDT&limit=5")

    assert "Data source: Binance market stream" in text_of(ticker)
    assert ticker.structured_content["volume"] == rest["volume"]
    assert "source: Binance market stream" in text_of(trades)
    assert [Decimal(row[1]) for row in trades.structured_content["rows"]] == [Decimal(each["p"]) for each in aggregates]
    assert "source: Binance API v3" in text_of(many)


def text_of(result: types.CallToolResult) -> str:
    (content,) = result.content
    assert isinstance(content, types.TextContent)
    return content.text
