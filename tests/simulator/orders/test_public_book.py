"""The orders of accounts in the public book: snapshot, events and best prices agree."""

import json
from decimal import Decimal
from typing import Any

import pytest

from binance_simulator.exchange import SimulatedExchange
from binance_simulator.market.source import Span, parse_stream
from binance_simulator.streams.events import events_of
from support.clock import FakeClock
from support.trader import CENT, Trader

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("unlimited")]

Book = dict[str, dict[Decimal, Decimal]]


def follow(exchange: SimulatedExchange, book: Book, name: str, span: Span) -> list[dict[str, Any]]:
    """Lay the depth events of a span over a book, as a client does."""
    stream = parse_stream(name, exchange.listing.symbols)
    assert stream is not None
    events = [json.loads(event.text) for event in events_of(exchange, stream, span)]
    for event in events:
        for side, levels in (("bids", event["b"]), ("asks", event["a"])):
            for price, quantity in levels:
                book[side][Decimal(price)] = Decimal(quantity)
    return events


async def snapshot(trader: Trader, limit: int = 200) -> Book:
    body = (await trader.api.get(f"/api/v3/depth?symbol=BTCUSDT&limit={limit}")).json()
    return {side: {Decimal(price): Decimal(lots) for price, lots in body[side]} for side in ("bids", "asks")}


def best(book: Book) -> tuple[Decimal, Decimal]:
    bids, asks = ([price for price, lots in book[side].items() if lots] for side in ("bids", "asks"))
    return max(bids), min(asks)


async def test_a_resting_order_shows_from_the_end_of_its_bucket(trader: Trader, clock: FakeClock) -> None:
    clock.advance(100 - clock.now_ms() % 100)
    price = (trader.bid() * Decimal("0.9999")).quantize(CENT)
    before = (await snapshot(trader))["bids"].get(price, Decimal(0))
    clock.advance(10)
    await trader.place(newClientOrderId="one", price=price, quantity="0.012")
    at_once = (await snapshot(trader))["bids"].get(price, Decimal(0))

    clock.advance(90)
    shown = (await snapshot(trader))["bids"][price]
    await trader.cancel("one")
    clock.advance(100)

    assert at_once == before
    assert shown == before + Decimal("0.012")
    assert (await snapshot(trader))["bids"].get(price, Decimal(0)) == before


async def test_the_best_bid_may_be_an_accounts(trader: Trader, clock: FakeClock) -> None:
    while trader.ask() - trader.bid() < 2 * CENT:
        clock.advance(1_000)
    price = trader.bid() + CENT
    await trader.place(newClientOrderId="one", price=price, quantity="0.012")
    clock.advance(100 - clock.now_ms() % 100)

    shown = (await trader.api.get("/api/v3/ticker/bookTicker?symbol=BTCUSDT")).json()

    if (await trader.order("one"))["status"] == "NEW":
        assert (Decimal(shown["bidPrice"]), Decimal(shown["bidQty"])) == (price, Decimal("0.012"))
        assert next(iter((await snapshot(trader, 5))["bids"])) == price
    stream = parse_stream("btcusdt@depth5@100ms", trader.exchange.listing.symbols)
    assert stream is not None
    (partial,) = events_of(trader.exchange, stream, Span(clock.now_ms() - 100, clock.now_ms()))
    assert next(iter((await snapshot(trader, 5))["bids"])) == Decimal(json.loads(partial.text)["bids"][0][0])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["btcusdt@depth@100ms", "btcusdt@depth"])
async def test_a_book_kept_by_events_is_the_book_of_the_snapshot(
    trader: Trader, exchange: SimulatedExchange, clock: FakeClock, name: str
) -> None:
    every_ms = 100 if name.endswith("ms") else 1_000
    clock.advance(1_000 - clock.now_ms() % 1_000)
    kept, touched, filled = await snapshot(trader), set[Decimal](), 0
    for step in range(60):
        if step % 10 == 3:
            buys = step % 20 == 3
            price = trader.bid() - step % 3 * CENT if buys else trader.ask() + step % 3 * CENT
            await trader.place(
                newClientOrderId=f"o{step}", side="BUY" if buys else "SELL", price=price, quantity="0.002"
            )
            touched.add(price)
        if step % 20 == 19:
            await trader.cancel(f"o{step - 6}")
        clock.advance(every_ms)

        events = follow(exchange, kept, name, Span(clock.now_ms() - every_ms, clock.now_ms()))

        assert best(kept)[0] < best(kept)[1]
        fresh = await snapshot(trader)
        assert best(kept) == best(fresh)
        for side in ("bids", "asks"):
            for price in (price for price in touched if min(fresh["bids"]) <= price <= max(fresh["asks"])):
                assert kept[side].get(price, Decimal(0)) == fresh[side].get(price, Decimal(0))
        filled += sum(one.kind == "TRADE" for one in exchange.orders.executions_since(0, None, clock.now_ms())[-1:])
        assert all(event["U"] <= event["u"] for event in events)

    assert touched
    assert filled


@pytest.mark.slow
@pytest.mark.parametrize("crowd", [0, 2], ids=["seeded", "crowd"])
def test_a_single_level_is_that_of_the_snapshot(exchange: SimulatedExchange, crowd: int) -> None:
    exchange.set_crowd(crowd)
    market, symbol = exchange.stage.market, exchange.listing.symbols["CROWD001USDT" if crowd else "BTCUSDT"]
    depth = market.depth(symbol, 300, exchange.now_ms())
    bids, asks = dict(depth.bids), dict(depth.asks)

    for price in (*bids, *asks, *range(min(bids), max(asks), 7)):
        assert market.level(symbol, price, exchange.now_ms()) == (bids.get(price, 0), asks.get(price, 0))
