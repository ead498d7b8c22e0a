"""Categories without an identifier, and the order book as a page."""

import re

import pytest
from mcp import Client, MCPError, types

from binance_simulator.exchange import SimulatedExchange
from support.desk import raw
from support.requirement import requirement


async def page(client: Client, uri: str) -> str:
    (content,) = (await client.read_resource(uri)).contents
    assert isinstance(content, types.TextResourceContents)
    assert (content.uri, content.mime_type) == (uri, "text/markdown")
    return content.text


@requirement("ruling/41", "resources/uri-parts")
@pytest.mark.parametrize("uri", ["binance://market", "binance://market/", "BINANCE://Market"])
async def test_the_market_index_says_what_there_is_and_who_moved(
    client: Client, exchange: SimulatedExchange, uri: str
) -> None:
    text = await page(client, uri)

    symbols = exchange.listing.symbols.values()
    assert f"**Trading Pairs**: {sum(each.trading for each in symbols)} trading now, {len(symbols)} listed" in text
    days = [row for row in await raw(exchange, "ticker/24hr") if row["symbol"].endswith("USDT")]
    rose = max(days, key=lambda row: float(row["priceChangePercent"]))["symbol"]
    traded = max(days, key=lambda row: float(row["quoteVolume"]))["symbol"]
    assert text.split("**Rose most**")[1].split("\n")[4].startswith(f"| {rose} | ")
    assert text.split("**Traded most**")[1].split("\n")[4].startswith(f"| {traded} | ")
    assert "`binance://market/{symbol}/orderbook`" in text
    assert re.search(r"\*As of 2026-07-21T00:02:03\.456Z; source: Binance API v3; host exchange\.test\*$", text)


@requirement("ruling/41")
async def test_the_account_index_says_what_the_account_is_worth(client: Client) -> None:
    text = await page(client, "binance://account")
    positions = await page(client, "binance://account/positions")

    (worth,) = re.findall(r"\*\*Portfolio Value\*\*: (\S+)", text)
    assert f"**Portfolio Value**: {worth}\n" in positions
    assert "- binance://account/balances: " in text
    assert "- binance://account/positions: " in text


@requirement("ruling/41")
async def test_the_orders_index_counts_the_open_ones_and_shows_the_newest(client: Client) -> None:
    text = await page(client, "binance://orders")
    whole = await page(client, "binance://orders/open")

    (count,) = re.findall(r"\*\*Total Open Orders\*\*: (\d+)", text)
    assert f"**Total Open Orders**: {count}\n" in whole
    assert "**Newest**: " in text
    assert "- binance://orders/history: " in text


@requirement("ruling/41")
async def test_an_account_without_orders_and_holdings_has_its_indexes_too(
    client: Client, exchange: SimulatedExchange
) -> None:
    exchange.set_scenario("empty_account")

    assert "**Total Assets**: 0\n" in await page(client, "binance://account")
    assert "**Total Open Orders**: 0\n" in await page(client, "binance://orders")


@requirement("ruling/41")
@pytest.mark.parametrize("uri", ["binance://market/xrpusdt/orderbook", "BINANCE://MARKET/XRPUSDT/OrderBook"])
async def test_the_order_book_is_a_page(client: Client, exchange: SimulatedExchange, uri: str) -> None:
    text = await page(client, uri)
    book = await raw(exchange, "depth?symbol=XRPUSDT&limit=20")

    assert text.startswith("# XRPUSDT Order Book\n\n**Symbol**: XRPUSDT\n**Best Bid**: $")
    rows = [line for line in text.split("\n") if re.match(r"\| [0-9]", line)]
    cells = [[float(cell) for cell in row.strip("|").split("|")] for row in rows]
    assert [row[:2] for row in cells] == [[float(level[1]), float(level[0])] for level in book["bids"]]
    assert [row[2:] for row in cells] == [[float(each) for each in level] for level in book["asks"]]
    assert "*Last updated: 2026-07-21T00:02:03.456Z*\n*Data source: Binance API v3*" in text


@requirement("ruling/41")
async def test_a_book_of_a_closed_market_is_empty_and_says_why(client: Client) -> None:
    text = await page(client, "binance://market/lunausdt/orderbook")

    assert "The book is empty." in text
    assert "*Not trading now: status BREAK*" in text


@requirement("ruling/41", "ruling/16")
async def test_index_pages_and_the_book_follow_what_was_listed_before(client: Client) -> None:
    listed = [each.uri for each in (await client.list_resources()).resources]
    templates = [each.uri_template for each in (await client.list_resource_templates()).resource_templates]

    assert listed[6:] == ["guide://help", "binance://market", "binance://account", "binance://orders"]
    assert templates[0] == "binance://market/{symbol}"
    assert templates[-2:] == ["binance://market/{symbol}/orderbook", "binance://derivatives/{symbol}"]


@requirement("ruling/41")
async def test_the_symbol_of_a_book_can_be_completed(client: Client) -> None:
    reference = types.ResourceTemplateReference(type="ref/resource", uri="binance://market/{symbol}/orderbook")

    found = await client.complete(reference, {"name": "symbol", "value": "xr"})

    assert "xrpusdt" in found.completion.values


@pytest.mark.parametrize("uri", ["binance://invalid", "binance://invalid/", "binance://account/nothing"])
async def test_an_unknown_category_has_no_index(client: Client, uri: str) -> None:
    with pytest.raises(MCPError) as caught:
        await client.read_resource(uri)

    assert caught.value.code == -32404
    assert caught.value.data["valid_examples"] == [
        "binance://market/btcusdt", "binance://account/balances", "binance://orders/open",
    ]  # fmt: skip


async def test_a_book_of_no_symbol_is_refused_as_that_symbol_is(client: Client) -> None:
    with pytest.raises(MCPError) as caught:
        await client.read_resource("binance://market/nope/orderbook")

    assert caught.value.code == -32003
