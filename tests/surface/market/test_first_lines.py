"""The pages of a live market open with what is looked for first, and say in one line what they cannot judge."""

import re
from collections.abc import AsyncIterator
from decimal import Decimal

import pytest
from mcp import Client, types

from binance_simulator.exchange import SimulatedExchange
from binance_simulator.faults import Fault
from mcp_binance_server.domain.market import Trade
from mcp_binance_server.domain.money import Price
from support.clock import FakeClock
from support.desk import raw
from support.score_history import live_through
from support.stepped import LiveMarket, live_market

PAGES = ("order_flow_trading", "market_microstructure_analysis", "liquidity_mapping")
TICK = Decimal("0.00000001")
FIRST = ["Spread", "Depth", "Flow", "Cost"]
WAITING = re.compile(r"\bnot (?:judged|known)\b", re.IGNORECASE)


async def page(client: Client, name: str, symbol: str) -> str:
    (message,) = (await client.get_prompt(name, {"symbol": symbol})).messages
    assert isinstance(message.content, types.TextContent)
    return message.content.text


def first_lines(text: str) -> list[str]:
    """Return what stands right below the title, by its bold name."""
    title, *lines = text.split("\n")[:5]
    assert title.startswith("# ")
    assert [line.split("**")[1] for line in lines] == FIRST
    return [line.split("**", 2)[2] for line in lines]


@pytest.fixture
async def watched() -> AsyncIterator[LiveMarket]:
    """A symbol whose tick is 8 basis points, watched for a good minute after twelve minutes of an earlier life."""
    async with live_market("market") as market:
        await market.watch("PEPEUSDT", 1)
        live_through(market.feed.pasts, 11)
        await market.run(70)
        yield market


@pytest.mark.parametrize("name", PAGES)
async def test_a_first_question_is_answered_with_spread_depth_flow_and_cost(
    client: Client, exchange: SimulatedExchange, name: str
) -> None:
    spread, depth, flow, cost = first_lines(await page(client, name, "ETHUSDT"))
    book = await raw(exchange, "depth?symbol=ETHUSDT&limit=1000")

    bid, ask = float(book["bids"][0][0]), float(book["asks"][0][0])
    ticks = round((ask - bid) / 0.01)
    counted = "1 tick, at its minimum" if ticks == 1 else f"({ticks} ticks)"
    assert counted in spread
    mid = (bid + ask) / 2
    held = sum(float(price) * float(size) for price, size in book["bids"] if float(price) >= mid * 0.999)
    found = re.fullmatch(r" \(within 10 bps\): (?:>= )?\$([0-9.]+)([KM]) bid / (?:>= )?\$[0-9.]+[KM] ask", depth)
    assert found is not None, depth
    least = float(found[1]) * {"K": 1e3, "M": 1e6}[found[2]]
    assert least == pytest.approx(held, rel=0.05) or (">= " in depth and least < held)
    assert re.fullmatch(r": [0-9.]+% of taker volume bought in the \d+ min to 00:02:0\d \([0-9,]+ trades?\)", flow)
    assert "bps" in cost


async def test_the_pages_of_a_live_market_have_one_flow_window(client: Client) -> None:
    flows = [first_lines(await page(client, name, "ETHUSDT"))[2] for name in PAGES]

    assert {re.findall(r"in the (\d+ min)", flow)[0] for flow in flows} == {"5 min"}


@pytest.mark.parametrize("name", PAGES)
async def test_without_a_book_the_same_lines_say_why_they_are_empty(
    client: Client, exchange: SimulatedExchange, name: str
) -> None:
    exchange.faults.add(Fault(kind="html", path="*/depth", times=None))

    spread, depth, flow, cost = first_lines(await page(client, name, "ETHUSDT"))

    assert spread.startswith(": unknown, ")
    assert depth.endswith(spread)
    assert "of taker volume bought" in flow
    assert cost == spread


@pytest.mark.night
async def test_coarse_ticks_are_counted_and_the_pages_agree(watched: LiveMarket) -> None:
    opened = [first_lines(await watched.page(name, symbol="PEPEUSDT")) for name in PAGES]

    for spread, depth, flow, cost in opened:
        assert re.match(r": (1 tick, at its minimum|\d+ ticks) \(\d+\.\d\d bps\)$", spread)
        assert depth.startswith(" (within 3 ticks): $")
        assert "of taker volume bought" in flow
        assert cost.startswith(": half the spread alone is ")
    assert len({(spread, depth, cost) for spread, depth, _, cost in opened}) == 1


async def test_what_cannot_be_judged_is_one_line_of_its_section(watched: LiveMarket) -> None:
    for name in PAGES:
        text = await watched.page(name, symbol="PEPEUSDT")
        for section in text.split("\n## ")[1:]:
            heading, *lines = section.split("\n")
            waiting = [line for line in lines if WAITING.search(line) and "**Recommendation**" not in line]
            assert len(waiting) <= 1, f"{name}, {heading}: {waiting}"
            assert not any(line.count("n/a") > 1 for line in lines), f"{name}, {heading}"
    anomalies = text_of_section(await watched.page(PAGES[1], symbol="PEPEUSDT"), "Market Anomalies")
    assert anomalies.split("\n\n**Data**")[0].count("\n") == 0
    assert "stress and health also need a live past" in anomalies
    assert re.search(r"(?i)not judged: 1\d of 49 minutes", anomalies)


def text_of_section(text: str, heading: str) -> str:
    return text.split(f"\n## {heading}", 1)[1].split("\n", 1)[1].split("\n## ", 1)[0]


@pytest.mark.parametrize("name", PAGES)
async def test_every_page_says_when_its_parts_were_read(client: Client, clock: FakeClock, name: str) -> None:
    clock.advance(-1_000)  # of the closed minute to two seconds ago
    near = await page(client, name, "ETHUSDT")
    clock.advance(20_000)
    later = await page(client, name, "ETHUSDT")

    pattern = (
        r"^\*\*Data\*\*: (?:price [\d:]{8}, )?book [\d:]{8}(?:, flow [\d:]{8})?, (?:closed candles|trades) to 00:02:00"
    )
    assert re.search(pattern + "$", near, re.MULTILINE), near
    assert re.search(pattern + r" \(\d\d s before\)$", later, re.MULTILINE), later


@pytest.mark.night
async def test_a_streamed_trade_outside_the_book_gives_way_to_the_mid_on_every_page(watched: LiveMarket) -> None:
    feed, now_ms = watched.feed, watched.clock.now_ms()
    newest, bid, ask = feed.tape.newest, feed.book.best_bid, feed.book.best_ask
    assert newest is not None
    assert bid is not None
    assert ask is not None
    price, number, fill = Price(ask.price + 4 * TICK), newest.trade_id + 1, newest.last_id + 1
    trade = Trade(number, price, newest.quantity, now_ms, buyer_is_maker=True, first_id=fill, last_id=fill)
    feed.on_trade(trade, now_ms)

    mid = (bid.price + ask.price) / 2
    for name in PAGES:
        text = await watched.page(name, symbol="PEPEUSDT")
        assert f"**Current Price**: Last trade ${price:.8f} at 00:03:14, 0 s ago; mid now ${mid:f}" in text, text
