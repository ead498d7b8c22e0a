"""Orders on paper met by a streamed market: placed by a broker, brought together by the feed."""

import logging
from collections import defaultdict
from collections.abc import AsyncGenerator
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest

from mcp_binance_server.domain.money import Price, Quantity, floor_to_step
from mcp_binance_server.domain.order_requests import Fate, Target, WrittenList
from mcp_binance_server.domain.symbols import Symbol
from mcp_binance_server.feeds.tape import Tape
from mcp_binance_server.services.trading.paper_symbol import IDS_WENT_BACK_MS, MOST_MISSED, FeedBook, PaperSymbol
from mcp_binance_server.trading.journal.store import Rows, opened_store
from mcp_binance_server.trading.judgement.preview import USUAL
from mcp_binance_server.trading.paper.market import BEYOND_RANGE
from mcp_binance_server.trading.paper.matcher import SymbolMatcher, matcher_token
from trading.paper.trading_floor import BTC, TradingFloor, nothing_sent, order, trading_floor

pytestmark = pytest.mark.anyio

STEP = Quantity(Decimal("0.00001"))


@pytest.fixture
async def floor(tmp_path: Path) -> AsyncGenerator[TradingFloor]:
    async with trading_floor(tmp_path) as opened:
        with opened.hub.reading(BTC):
            await opened.in_step()
            yield opened


async def placed(floor: TradingFloor, name: str, *, away: int) -> None:
    """Accept a purchase so far from the best bid."""
    written = order(name, "BUY", floor.touch("BUY") + away)
    await floor.exchange.accept("paper", written, await floor.broker().pair_of(BTC))


async def status(floor: TradingFloor, name: str) -> tuple[str, str]:
    row = await floor.exchange.find("paper", BTC, name)
    assert row is not None
    return row.order.status, row.reason


async def becomes(floor: TradingFloor, name: str, *wanted: str) -> None:
    async def is_so() -> bool:
        return (await status(floor, name))[0] in wanted

    await floor.until(is_so)


def prints(rows: Rows) -> list[tuple[int, str]]:
    return rows.execute("SELECT print, quantity FROM paper_fill WHERE print IS NOT NULL ORDER BY trade_id").fetchall()


async def test_an_order_that_is_placed_meets_the_streamed_book(floor: TradingFloor) -> None:
    limit = floor.touch("SELL") + 50
    async with floor.feed().running() as feed:
        outcome = await floor.answered(floor.broker(feed).place(order("a", "BUY", limit), nothing_sent))

    assert outcome.fate is Fate.ACCEPTED
    assert outcome.order is not None
    assert outcome.order.status == "FILLED"
    assert outcome.order.average_price is not None
    assert limit - 100 < outcome.order.average_price <= limit
    assert floor.told == ["paper"]


@pytest.mark.slow
async def test_a_resting_order_gets_what_the_tape_gives_and_each_print_once(floor: TradingFloor) -> None:
    async with floor.feed().running():
        for number in range(4):
            await placed(floor, f"o{number}", away=0)
        await becomes(floor, "o0", "FILLED", "PARTIALLY_FILLED")

    tape = floor.hub.peek(BTC)
    assert tape is not None
    printed = {each.trade_id: each.quantity for each in tape.tape.after(-1, 100_000)}
    given: dict[int, Decimal] = defaultdict(Decimal)
    for tape_id, quantity in await floor.store.read(prints):
        given[tape_id] += Decimal(quantity)
    assert given
    assert all(quantity <= printed[tape_id] for tape_id, quantity in given.items())


def bracket(name: str, touch: Decimal, away: int) -> WrittenList:
    """Write down a purchase that takes at once, with a target so far above a price, and a stop below."""
    lower = order(f"{name}-b", "SELL", touch - away - 50, kind="STOP_LOSS_LIMIT", stop=touch - away)
    upper = order(f"{name}-a", "SELL", touch + away, kind="LIMIT_MAKER")
    return WrittenList(name, "OPOCO", (order(f"{name}-w", "BUY", touch + 50), upper, lower))


@pytest.mark.slow
async def test_a_bracket_is_started_by_its_entry_and_ended_by_one_exit(floor: TradingFloor) -> None:
    async with floor.feed().running():
        listed = bracket("l", floor.touch("SELL"), 5)
        outcome = await floor.answered(floor.broker().place(listed, nothing_sent))
        assert [each.status for each in outcome.legs] == ["FILLED", "NEW", "NEW"]
        received = Decimal("0.01") * (1 - floor.feed().rates.taker)
        assert [each.quantity for each in outcome.legs[1:]] == [floor_to_step(Quantity(received), STEP)] * 2

        async def is_over() -> bool:
            return not await floor.broker().open_orders()

        await floor.until(is_over, 600)

    ends = [(await status(floor, f"l-{each}"))[0] for each in "ab"]
    assert sorted(ends) == ["EXPIRED", "FILLED"]


async def test_an_oco_on_one_side_of_the_last_price_is_refused_by_the_live_market(floor: TradingFloor) -> None:
    async with floor.feed().running():
        pair = bracket("l", floor.touch("SELL") + 500, 400)
        outcome = await floor.answered(
            floor.broker().place(replace(pair, shape="OCO", orders=pair.orders[1:]), nothing_sent)
        )

    assert (outcome.fate, [each.status for each in outcome.legs]) == (Fate.REFUSED, ["REJECTED", "REJECTED"])
    assert "must be below the last price" in outcome.reason


@pytest.mark.slow
async def test_an_order_of_another_process_is_noticed(floor: TradingFloor, tmp_path: Path) -> None:
    async with floor.feed().running(), opened_store(tmp_path) as other:
        await floor.run(1)
        exchange = replace(floor.exchange, store=other)
        limit = floor.touch("SELL") + 50
        await exchange.accept("theirs", order("a", "BUY", limit), await floor.broker().pair_of(BTC))

        async def is_filled() -> bool:
            row = await exchange.find("theirs", BTC, "a")
            return row is not None and row.order.status == "FILLED"

        await floor.until(is_filled)

    assert floor.told == ["theirs"]


@pytest.mark.slow
async def test_without_a_live_market_an_order_waits_and_says_so(floor: TradingFloor) -> None:
    outcome = await floor.answered(floor.broker().place(order("a", "BUY", floor.touch("SELL") + 50), nothing_sent))

    assert outcome.fate is Fate.ACCEPTED
    assert outcome.order is not None
    assert outcome.order.status == "PENDING_NEW"
    assert "waits" in outcome.reason
    async with floor.feed().running():
        await becomes(floor, "a", "FILLED")


@pytest.mark.slow
async def test_an_order_waits_while_there_is_no_room_for_its_symbol(tmp_path: Path) -> None:
    async with trading_floor(tmp_path) as floor:
        most, floor.hub.most = floor.hub.most, 0
        async with floor.feed().running():
            written = order("a", "BUY", Decimal(900_000), "0.001")
            await floor.exchange.accept("paper", written, await floor.broker().pair_of(BTC))
            await floor.run(4)
            assert (await status(floor, "a"))[0] == "PENDING_NEW"

            floor.hub.most = most
            await becomes(floor, "a", "FILLED")


@pytest.mark.slow
async def test_what_was_printed_while_nobody_looked_is_fetched_and_met(floor: TradingFloor) -> None:
    ask = floor.touch("SELL")
    async with floor.feed().running():
        sale = order("a", "SELL", ask)
        await floor.exchange.accept("paper", sale, await floor.broker().pair_of(BTC))
        await becomes(floor, "a", "NEW")
    feed = floor.hub.peek(BTC)
    assert feed is not None
    left = feed.tape.newest
    assert left is not None

    async def is_reached() -> bool:
        return any(each.price > ask for each in feed.tape.after(left.trade_id, 100_000))

    await floor.until(is_reached)
    missed = feed.tape.after(left.trade_id, 100_000)
    floor.market.asked()
    async with floor.feed("next").running():
        await becomes(floor, "a", "FILLED", "PARTIALLY_FILLED")

    assert floor.market.asked().count("aggTrades") >= 2
    given = [tape_id for tape_id, _ in await floor.store.read(prints)]
    assert given == sorted({*given})
    assert given[0] in {each.trade_id for each in missed if not each.buyer_is_maker}


@pytest.mark.parametrize(("by", "later_ms"), [(-MOST_MISSED - 1_000, 0), (1_000_000, -2 * IDS_WENT_BACK_MS)])
async def test_orders_expire_when_more_was_missed_than_can_be_fetched(
    floor: TradingFloor, by: int, later_ms: int
) -> None:
    async with floor.feed().running():
        await placed(floor, "a", away=-500)
        await becomes(floor, "a", "NEW")

    def fall_behind(rows: Rows) -> None:
        rows.execute("UPDATE paper_tape SET print=print+?, at_ms=at_ms+?", (by, later_ms))

    await floor.store.write(fall_behind)
    await placed(floor, "b", away=-500)
    floor.told.clear()
    async with floor.feed("next").running():
        await becomes(floor, "a", "EXPIRED")
        await becomes(floor, "b", "NEW")

    assert await status(floor, "a") == ("EXPIRED", "not_watched")
    assert floor.told[:1] == ["paper"]
    assert "aggTrades" in floor.market.asked()


@pytest.mark.slow
async def test_one_of_two_matches_and_the_other_goes_on_when_it_leaves(floor: TradingFloor) -> None:
    async with floor.feed("second").running():
        async with floor.feed("first").running():
            await placed(floor, "a", away=-500)
            await becomes(floor, "a", "NEW")
        await placed(floor, "b", away=5000)
        await becomes(floor, "b", "FILLED")

    fills = await floor.exchange.fills("paper", BTC, 9)
    assert sum(each.quantity for each in fills) == Decimal("0.01")


@pytest.mark.slow
async def test_a_symbol_that_fails_is_said_once_and_costs_the_others_nothing(
    floor: TradingFloor, caplog: pytest.LogCaptureFixture
) -> None:
    gone = replace(order("x", "BUY", Decimal(1)), symbol=Symbol("GONEUSDT"))
    await floor.exchange.accept("paper", gone, await floor.broker().pair_of(BTC))

    with caplog.at_level(logging.WARNING):
        async with floor.feed().running():
            await floor.run(5)
            await placed(floor, "a", away=5000)
            await becomes(floor, "a", "FILLED")

    assert len([each for each in caplog.records if "GONEUSDT" in each.getMessage()]) == 1


@pytest.mark.slow
async def test_a_stop_waits_for_a_print_then_takes_from_the_book(floor: TradingFloor) -> None:
    bid = floor.touch("BUY")
    stop = order("s", "SELL", bid - 100, kind="STOP_LOSS_LIMIT", stop=Price(bid + 1000))
    async with floor.feed().running() as feed:
        outcome = await floor.answered(floor.broker(feed).place(stop, nothing_sent))
        assert outcome.order is not None
        assert outcome.order.status in ("NEW", "FILLED")
        await becomes(floor, "s", "FILLED")


@pytest.mark.slow
async def test_a_cancel_is_told_like_a_fill(floor: TradingFloor) -> None:
    async with floor.feed().running() as feed:
        broker = floor.broker(feed)
        await placed(floor, "a", away=-500)
        await becomes(floor, "a", "NEW")
        floor.told.clear()

        outcome = await broker.cancel(Target(BTC, "a"), nothing_sent)

        async def is_told() -> bool:
            return floor.told == ["paper"]

        await floor.until(is_told)
    assert outcome.fate is Fate.ACCEPTED


@pytest.mark.slow
async def test_no_order_arrives_at_a_book_of_which_nothing_was_heard(floor: TradingFloor) -> None:
    async with floor.feed().running():
        floor.market.asked()
        await floor.run(7, is_silent=True)
        await placed(floor, "a", away=5000)
        await floor.run(3, is_silent=True)
        assert (await status(floor, "a"))[0] == "PENDING_NEW"
        assert "depth" in floor.market.asked()

        await becomes(floor, "a", "FILLED")


@pytest.mark.slow
async def test_a_hole_in_the_tape_is_filled_before_what_follows_it(floor: TradingFloor) -> None:
    exchange, context = floor.exchange, floor.market.app.context
    token = await matcher_token(floor.store, "me", 0)
    feed = floor.hub.peek(BTC)
    assert token is not None
    assert feed is not None
    pair = await floor.broker().pair_of(BTC)
    matcher = SymbolMatcher(BTC, pair, floor.store, exchange.start, USUAL, token, FeedBook(feed))
    await placed(floor, "a", away=-500)
    await matcher.load()
    market = PaperSymbol(matcher, feed, context.live.client, context.live.time)
    await floor.run(1)
    assert await market.meet() == {"paper"}
    assert matcher.seen is not None
    left = matcher.seen.tape_id

    await floor.run(10)
    newest = feed.tape.after(left, 100_000)[-2:]
    feed.tape = Tape(span_ms=3_600_000, most=1_000)
    for each in newest:
        feed.tape.add(each)
    floor.market.asked()
    await market.meet()

    assert newest[0].trade_id > left + 1
    assert "aggTrades" in floor.market.asked()
    assert matcher.seen.tape_id >= newest[-1].trade_id


async def test_an_order_beyond_the_price_range_expires_on_paper_too(floor: TradingFloor) -> None:
    references = floor.market.exchange.orders.engine.references
    references.fixed["BTCUSDT"] = int(floor.touch("SELL") * 10**8) // 2
    async with floor.feed().running() as feed:
        limit = floor.touch("SELL") + 50
        outcome = await floor.answered(floor.broker(feed).place(order("a", "BUY", limit), nothing_sent))

    assert outcome.order is not None
    assert (outcome.order.status, outcome.order.executed) == ("EXPIRED", 0)
    assert outcome.reason == BEYOND_RANGE


async def test_a_symbol_without_a_price_range_is_not_asked_about_again(floor: TradingFloor) -> None:
    floor.market.exchange.orders.engine.references.rules.clear()
    async with floor.feed().running():
        await placed(floor, "a", away=-500)
        await becomes(floor, "a", "NEW")
        await placed(floor, "b", away=-500)
        await becomes(floor, "b", "NEW")

    assert [path for path in floor.market.asked() if path == "referencePrice"] == ["referencePrice"]
