"""Orders on paper through the journal's file: accepted, met, settled, cancelled, and taken over by another process."""

from collections.abc import AsyncGenerator
from decimal import Decimal
from pathlib import Path

import pytest

from mcp_binance_server.domain.account import Commission
from mcp_binance_server.domain.market import Trade
from mcp_binance_server.domain.money import Price, Quantity
from mcp_binance_server.domain.order_requests import Kind, Side, Target, TimeInForce, WrittenOrder
from mcp_binance_server.domain.symbols import Symbol
from mcp_binance_server.trading.errors import InsufficientBalance
from mcp_binance_server.trading.journal.store import opened_store
from mcp_binance_server.trading.paper.account import Pair
from mcp_binance_server.trading.paper.exchange import PaperExchange
from mcp_binance_server.trading.paper.matcher import (
    FLUSH_MS,
    LEASE_MS,
    NOT_WATCHED,
    LeaseLost,
    SymbolMatcher,
    let_go,
    matcher_token,
)
from mcp_binance_server.trading.paper.tables import SeenPrint
from support.terms import NOW_MS
from trading.paper.displayed import Displayed, usual_book

pytestmark = pytest.mark.anyio

SYMBOL, PAIR = Symbol("ABXY"), Pair("AB", "XY")
START = {"XY": Decimal(1000), "AB": Decimal(10)}
RATES = Commission(Decimal("0.001"), Decimal("0.001"))


@pytest.fixture
async def exchange(tmp_path: Path) -> AsyncGenerator[PaperExchange]:
    async with opened_store(tmp_path / "trading") as store:
        yield PaperExchange(store, START, 0, lambda: NOW_MS)


def written(
    name: str,
    side: Side,
    price: int,
    quantity: int,
    *,
    kind: Kind = "LIMIT",
    force: TimeInForce = "GTC",
    stop: int | None = None,
) -> WrittenOrder:
    amounts = Quantity(Decimal(quantity)), Price(Decimal(price))
    return WrittenOrder(name, SYMBOL, side, kind, force, *amounts, None if stop is None else Price(Decimal(stop)))


async def matcher(exchange: PaperExchange, book: Displayed, owner: str = "me", now_ms: int = NOW_MS) -> SymbolMatcher:
    token = await matcher_token(exchange.store, owner, now_ms)
    assert token is not None
    made = SymbolMatcher(SYMBOL, PAIR, exchange.store, START, RATES, token, book)
    await made.load()
    return made


def tape(number: int, price: int, quantity: int, *, buyer_is_maker: bool = True, at_ms: int = NOW_MS) -> Trade:
    amounts = Price(Decimal(price)), Quantity(Decimal(quantity))
    return Trade(number, *amounts, at_ms, buyer_is_maker, number, number)


async def stands(exchange: PaperExchange, name: str) -> tuple[str, Decimal, Decimal]:
    row = await exchange.find("me", SYMBOL, name)
    assert row is not None
    return row.order.status, row.order.executed, row.order.quote_spent


async def balances(exchange: PaperExchange) -> dict[str, tuple[Decimal, Decimal]]:
    return {each.asset: (each.free, each.locked) for each in (await exchange.account("me")).balances}


async def test_an_order_is_filled_and_paid_for_in_one_step(exchange: PaperExchange) -> None:
    match = await matcher(exchange, usual_book())
    await exchange.accept("me", written("a", "BUY", 101, 2), PAIR)
    assert await balances(exchange) == {"AB": (10, 0), "XY": (798, 202)}

    await match.look()
    await match.meet((), NOW_MS)

    assert await stands(exchange, "a") == ("FILLED", 2, 202)
    assert await balances(exchange) == {"AB": (Decimal("11.998"), 0), "XY": (798, 0)}
    (fill,) = await exchange.fills("me", SYMBOL, 10)
    assert (fill.price, fill.quantity, fill.commission, fill.commission_asset) == (101, 2, Decimal("0.002"), "AB")


async def test_the_same_order_is_accepted_once(exchange: PaperExchange) -> None:
    first = await exchange.accept("me", written("a", "BUY", 90, 2), PAIR)
    again = await exchange.accept("me", written("a", "BUY", 90, 2), PAIR)

    assert first == again
    assert (await balances(exchange))["XY"] == (820, 180)


async def test_what_is_not_there_is_not_held_and_the_order_does_not_exist(exchange: PaperExchange) -> None:
    with pytest.raises(InsufficientBalance):
        await exchange.accept("me", written("a", "BUY", 101, 10), PAIR)

    assert await exchange.find("me", SYMBOL, "a") is None
    assert await balances(exchange) == {"AB": (10, 0), "XY": (1000, 0)}


async def test_a_cancelled_order_gives_back_what_it_held(exchange: PaperExchange) -> None:
    match = await matcher(exchange, usual_book())
    await exchange.accept("me", written("a", "BUY", 90, 2), PAIR)
    await match.look()
    await match.meet((), NOW_MS)

    (row,) = await exchange.cancel("me", Target(SYMBOL, "a"), PAIR)

    assert row.order.status == "CANCELED"
    assert (await balances(exchange))["XY"] == (1000, 0)


async def test_a_cancel_that_was_first_holds_against_a_fill(exchange: PaperExchange) -> None:
    match = await matcher(exchange, usual_book())
    await exchange.accept("me", written("a", "BUY", 99, 2), PAIR)
    await match.look()
    await match.meet((), NOW_MS)
    await exchange.cancel("me", Target(SYMBOL, "a"), PAIR)

    await match.meet((tape(1, 98, 9),), NOW_MS)  # it has not heard of the cancel

    assert await stands(exchange, "a") == ("CANCELED", 0, 0)
    assert await exchange.fills("me", SYMBOL, 10) == []
    assert await balances(exchange) == {"AB": (10, 0), "XY": (1000, 0)}


async def test_one_process_matches_until_its_time_is_over_and_cannot_write_after(exchange: PaperExchange) -> None:
    book = usual_book()
    match = await matcher(exchange, book)
    assert await matcher_token(exchange.store, "other", NOW_MS + LEASE_MS - 1) is None
    other = await matcher(exchange, book, "other", NOW_MS + LEASE_MS)
    await exchange.accept("me", written("a", "BUY", 101, 2), PAIR)
    await match.look()

    with pytest.raises(LeaseLost):
        await match.meet((), NOW_MS)

    assert (await stands(exchange, "a"))[0] == "PENDING_NEW"
    await other.look()
    await other.meet((), NOW_MS)
    assert await stands(exchange, "a") == ("FILLED", 2, 202)


async def test_who_takes_over_goes_on_where_the_tape_was_left(exchange: PaperExchange) -> None:
    book = usual_book()
    match = await matcher(exchange, book)
    await exchange.accept("me", written("a", "BUY", 99, 4), PAIR)
    await match.look()
    await match.meet((), NOW_MS)
    await match.meet((tape(7, 99, 6),), NOW_MS)  # five stood before it

    other = await matcher(exchange, book, "other", NOW_MS + LEASE_MS)
    assert other.seen == SeenPrint(7, NOW_MS)
    await other.meet((tape(8, 99, 2),), NOW_MS, is_replay=True)

    assert await stands(exchange, "a") == ("PARTIALLY_FILLED", 3, 297)


async def test_a_stop_that_was_triggered_in_a_gap_has_the_worst_price(exchange: PaperExchange) -> None:
    book = usual_book()
    match = await matcher(exchange, book)
    await exchange.accept("me", written("s", "SELL", 90, 3, kind="STOP_LOSS_LIMIT", stop=95), PAIR)
    await match.look()
    await match.meet((), NOW_MS)

    other = await matcher(exchange, book, "other", NOW_MS + LEASE_MS)
    missed = (tape(1, 95, 1), tape(2, 96, 2, buyer_is_maker=False), tape(3, 99, 9, buyer_is_maker=False))
    await other.meet(missed, NOW_MS, is_replay=True)

    assert await stands(exchange, "s") == ("FILLED", 3, 270)


async def test_orders_of_others_are_theirs(exchange: PaperExchange) -> None:
    match = await matcher(exchange, usual_book())
    await exchange.accept("me", written("a", "BUY", 101, 5), PAIR)
    await exchange.accept("you", written("a", "BUY", 101, 5), PAIR)
    await match.look()
    await match.meet((), NOW_MS)

    assert await stands(exchange, "a") == ("FILLED", 5, 505)
    yours = await exchange.find("you", SYMBOL, "a")
    assert yours is not None
    assert yours.order.status == "FILLED"  # nobody's paper takes from another's market
    assert [each.order_id for each in await exchange.fills("you", SYMBOL, 9)] == [yours.order.order_id]


async def test_what_was_printed_before_an_order_arrived_is_not_for_it(exchange: PaperExchange) -> None:
    match = await matcher(exchange, usual_book())
    await exchange.accept("me", written("a", "BUY", 99, 2), PAIR)
    await exchange.accept("me", written("s", "SELL", 90, 3, kind="STOP_LOSS_LIMIT", stop=95), PAIR)
    await match.look()
    await match.meet((), NOW_MS + 500)  # the market was not in step when they should have arrived

    await match.meet((tape(1, 94, 9, at_ms=NOW_MS + 499),), NOW_MS + 600)
    other = await matcher(exchange, usual_book(), "other", NOW_MS + LEASE_MS)
    await other.meet((tape(1, 94, 9, at_ms=NOW_MS + 499),), NOW_MS + 600, is_replay=True)
    assert [(await stands(exchange, each))[0] for each in "as"] == ["NEW", "NEW"]

    await other.meet((tape(2, 94, 9, at_ms=NOW_MS + 500),), NOW_MS + 600, is_replay=True)
    assert await stands(exchange, "a") == ("FILLED", 2, 198)


async def test_where_orders_stand_is_written_once_a_second_and_with_every_match(exchange: PaperExchange) -> None:
    match = await matcher(exchange, usual_book())
    await exchange.accept("me", written("a", "BUY", 99, 4), PAIR)
    await match.look()
    assert await match.meet((), NOW_MS) == {"me"}

    async def left() -> tuple[Decimal | None, int | None]:
        row = await exchange.find("me", SYMBOL, "a")
        other = SymbolMatcher(SYMBOL, PAIR, exchange.store, START, RATES, 0, usual_book())
        await other.load()
        assert row is not None
        return row.ahead, other.seen.tape_id if other.seen else None

    assert await match.meet((tape(1, 99, 1),), NOW_MS + FLUSH_MS - 1) == frozenset()
    assert await left() == (5, None)
    assert await match.meet((tape(2, 99, 1),), NOW_MS + FLUSH_MS) == frozenset()
    assert await left() == (3, 2)
    assert await match.meet((tape(3, 99, 1), tape(4, 99, 3)), NOW_MS + FLUSH_MS + 1) == {"me"}
    assert await left() == (0, 4)
    assert await match.meet((tape(5, 101, 1),), NOW_MS + 3 * FLUSH_MS) == frozenset()
    assert await left() == (0, 5)


async def test_what_was_in_the_market_while_nobody_watched_expires(exchange: PaperExchange) -> None:
    match = await matcher(exchange, usual_book())
    await exchange.accept("me", written("a", "BUY", 99, 2), PAIR)
    await match.look()
    await match.meet((), NOW_MS)
    await exchange.accept("you", written("b", "BUY", 99, 2), PAIR)
    await match.look()

    assert await match.expire_unwatched(tape(70_000, 99, 1), NOW_MS) == {"me"}

    row = await exchange.find("me", SYMBOL, "a")
    assert row is not None
    assert (row.order.status, row.reason) == ("EXPIRED", NOT_WATCHED)
    assert await balances(exchange) == {"AB": (10, 0), "XY": (1000, 0)}
    assert match.seen == SeenPrint(70_000, NOW_MS)
    assert match.has_orders  # one that had not arrived has missed nothing


async def test_the_right_to_match_can_be_given_back_and_survives_a_clock_that_is_set_back(
    exchange: PaperExchange,
) -> None:
    first = await matcher_token(exchange.store, "me", NOW_MS)
    assert first is not None
    await let_go(exchange.store, first)
    second = await matcher_token(exchange.store, "other", NOW_MS)
    await let_go(exchange.store, first)  # long after it was another's

    assert (first, second) == (1, 2)
    assert await matcher_token(exchange.store, "me", NOW_MS) is None
    assert await matcher_token(exchange.store, "other", NOW_MS + 1) == 2
    assert await matcher_token(exchange.store, "me", NOW_MS - 3_600_000) == 3


async def test_a_cancel_that_is_noticed_names_whose_it_was(exchange: PaperExchange) -> None:
    match = await matcher(exchange, usual_book())
    await exchange.accept("me", written("a", "BUY", 90, 2), PAIR)
    assert await match.look() == frozenset()
    await exchange.cancel("me", Target(SYMBOL, "a"), PAIR)

    assert await match.look() == {"me"}
    assert not match.has_orders
