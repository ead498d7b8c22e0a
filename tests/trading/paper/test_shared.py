"""Accounts on paper that workers share: each write is everybody's or nobody's, whatever befalls one of them."""

import asyncio
import zlib
from collections.abc import AsyncGenerator
from decimal import Decimal
from pathlib import Path

import msgspec
import pytest

from mcp_binance_server.domain.market import Trade
from mcp_binance_server.domain.money import Price, Quantity
from mcp_binance_server.domain.order_requests import Amendment, Replacement, Target
from mcp_binance_server.errors import EngineUnavailable
from mcp_binance_server.state.memory import MemoryEngine
from mcp_binance_server.trading.errors import InsufficientBalance, JournalUnavailable
from mcp_binance_server.trading.journal.schema import Rows
from mcp_binance_server.trading.paper.matcher import LEASE_MS, LeaseLost
from mcp_binance_server.trading.paper.shared import DAY_MS, NAME, LeaseRight, SharedTables, opened_shared_tables
from support.clock import FakeClock
from trading.paper.generated import PAIR, START, SYMBOL
from trading.paper.shared_floor import FaultyEngine, agree, all_rows, exchange_of, matcher_of, order, workers_on

pytestmark = pytest.mark.anyio

Pair = tuple[SharedTables, SharedTables]


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def engine(clock: FakeClock) -> MemoryEngine:
    return MemoryEngine(clock)


@pytest.fixture
def faulty(engine: MemoryEngine) -> FaultyEngine:
    """Return the way of the first worker to the engine."""
    return FaultyEngine(engine)


@pytest.fixture
async def pair(engine: MemoryEngine, faulty: FaultyEngine) -> AsyncGenerator[Pair]:
    async with workers_on([faulty, engine]) as (one, other):
        yield one, other


async def names(tables: SharedTables) -> list[str]:
    found = await exchange_of(tables).orders("ann", SYMBOL, 99)
    return [each.order.client_order_id for each in found]


def count_orders(rows: Rows) -> int:
    return rows.execute("SELECT COUNT(*) FROM paper_order").fetchone()[0]


def printed(number: int, price: int, quantity: int, *, buys: bool) -> Trade:
    amounts = Price(Decimal(price)), Quantity(Decimal(quantity))
    return Trade(number, *amounts, FakeClock().now_ms(), not buys, number, number)


async def test_what_one_worker_accepts_the_other_reads_and_ends(pair: Pair) -> None:
    one, other = map(exchange_of, pair)

    placed = await one.accept("ann", order("a"), PAIR)
    read = await other.find("ann", SYMBOL, "a")
    ended = await other.cancel("ann", Target(SYMBOL, "a"), PAIR)

    assert read == placed
    assert [each.order.status for each in ended] == ["CANCELED"]
    assert [each.order.status for each in await one.orders("ann", SYMBOL, 9)] == ["CANCELED"]
    assert (await one.account("ann")).free == START


async def test_two_who_place_at_once_have_numbers_of_their_own(pair: Pair, faulty: FaultyEngine) -> None:
    one, other = map(exchange_of, pair)
    faulty.before = [lambda: other.accept("bob", order("b"), PAIR)]

    late = await one.accept("ann", order("a"), PAIR)
    first = await other.find("bob", SYMBOL, "b")

    assert first is not None
    assert (first.order.order_id, late.order.order_id) == (1, 2)
    assert await agree([*pair])


async def test_the_last_of_the_money_is_spent_once(pair: Pair, faulty: FaultyEngine) -> None:
    one, other = map(exchange_of, pair)
    everything = order("a", price=int(START["XY"]), quantity=1)
    faulty.before = [lambda: other.accept("ann", order("b", price=int(START["XY"]), quantity=1), PAIR)]

    with pytest.raises(InsufficientBalance):
        await one.accept("ann", everything, PAIR)

    assert await names(pair[0]) == await names(pair[1]) == ["b"]


async def test_a_replacement_that_cannot_be_paid_for_is_placed_for_nobody(pair: Pair) -> None:
    one, other = map(exchange_of, pair)
    await one.accept("ann", order("old"), PAIR)

    found = await one.replace("ann", Replacement(Target(SYMBOL, "old"), order("new", price=10**9)), PAIR)

    assert found.new is None
    assert found.refusal
    assert await names(pair[0]) == await names(pair[1]) == ["old"]
    assert (await other.account("ann")).free == START
    later = await one.accept("ann", order("later"), PAIR)
    assert await other.find("ann", SYMBOL, "later") == later
    assert await agree([*pair])


async def test_work_that_takes_a_part_back_is_repeated_without_it(pair: Pair, engine: MemoryEngine) -> None:
    one, before = pair[0], pair[0].replica.mark

    def see(rows: Rows, symbol: str) -> None:
        rows.execute("INSERT OR REPLACE INTO paper_tape VALUES (?,1,1)", (symbol,))

    def nothing(rows: Rows) -> None:
        rows.execute("SAVEPOINT whole")
        see(rows, "taken back")
        rows.execute("ROLLBACK TO whole")

    def some(rows: Rows) -> None:
        see(rows, "before")
        rows.execute("SAVEPOINT outer")
        see(rows, "outer")
        rows.execute("SAVEPOINT inner")
        see(rows, "inner")
        rows.execute("ROLLBACK TO inner")
        see(rows, "after inner")
        rows.execute("ROLLBACK TO outer")
        see(rows, "after")

    await one.write(nothing)
    assert (await engine.read_log(NAME, after=before)).entries == ()
    await one.write(some)

    assert [row[0] for row in (await all_rows(pair[1]))["paper_tape"]] == ["after", "before"]
    assert await agree([*pair])


async def test_an_entry_whose_answer_was_lost_is_found_and_is_there_once(pair: Pair, faulty: FaultyEngine) -> None:
    one = exchange_of(pair[0])
    faulty.loses_answer = True
    with pytest.raises(EngineUnavailable):
        await one.accept("ann", order("a"), PAIR)

    again = await one.accept("ann", order("a"), PAIR)

    assert again.order.order_id == 1
    assert await names(pair[0]) == await names(pair[1]) == ["a"]
    assert await agree([*pair])


async def test_what_was_not_found_cannot_arrive_later(pair: Pair, faulty: FaultyEngine) -> None:
    faulty.is_late = True
    with pytest.raises(EngineUnavailable):
        await exchange_of(pair[0]).accept("ann", order("a"), PAIR)

    found = await exchange_of(pair[0]).find("ann", SYMBOL, "a")

    assert found is None
    assert faulty.late_part is not None
    assert not faulty.late_part.is_appended
    assert await names(pair[0]) == await names(pair[1]) == []


async def test_a_worker_that_is_stopped_while_it_writes_agrees_again(pair: Pair, faulty: FaultyEngine) -> None:
    reached = asyncio.Event()

    async def stay() -> None:
        reached.set()
        await asyncio.Event().wait()

    faulty.before = [stay]
    writing = asyncio.create_task(exchange_of(pair[0]).accept("ann", order("a"), PAIR))
    await reached.wait()
    writing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await writing
    await exchange_of(pair[1]).accept("ann", order("b"), PAIR)

    assert await names(pair[0]) == ["b"]
    assert await agree([*pair])


async def test_while_the_engine_is_away_nothing_is_taken_and_nothing_shown(pair: Pair, faulty: FaultyEngine) -> None:
    one = exchange_of(pair[0])
    await one.accept("ann", order("a"), PAIR)
    before = pair[0].replica.mark
    faulty.is_away = True

    for ask in (one.accept("ann", order("b"), PAIR), one.account("ann"), one.reset("ann")):
        with pytest.raises(EngineUnavailable):
            await ask
    assert pair[0].replica.mark == before
    faulty.is_away = False

    assert await names(pair[0]) == ["a"]
    assert await agree([*pair])


async def test_work_that_fails_or_writes_nothing_leaves_no_entry(pair: Pair, engine: MemoryEngine) -> None:
    one = exchange_of(pair[0])
    await one.accept("ann", order("a"), PAIR)
    before = pair[0].replica.mark

    with pytest.raises(InsufficientBalance):
        await one.accept("ann", order("b", price=10**9), PAIR)
    assert await one.cancel("ann", Target(SYMBOL, "nobody"), PAIR) == []
    with pytest.raises(JournalUnavailable):
        await pair[0].write(lambda rows: rows.execute("DELETE FROM paper_order") and int("x"))
    with pytest.raises(RuntimeError, match="execute"):
        await pair[0].write(lambda rows: rows.cursor().execute("DELETE FROM paper_order"))

    assert (await engine.read_log(NAME, after=before)).entries == ()
    assert await names(pair[0]) == ["a"]


async def test_one_matches_at_a_time_and_who_lost_the_right_writes_nothing(
    pair: Pair, engine: MemoryEngine, clock: FakeClock
) -> None:
    one, other = LeaseRight(pair[0]), LeaseRight(pair[1])
    await exchange_of(pair[0]).accept("ann", order("a", "SELL", 101, 1), PAIR)
    stale = await matcher_of(pair[0], one, "one")
    await stale.meet((), clock.now_ms())
    assert await one.take("one", 0) == stale.token
    clock.advance(LEASE_MS - 1)
    assert await other.take("other", 0) is None
    clock.advance(1)

    newer = await matcher_of(pair[1], other, "other")
    end = pair[1].replica.mark
    with pytest.raises(LeaseLost):
        await stale.meet((printed(1, 105, 9, buys=True),), clock.now_ms())

    assert newer.token > stale.token
    assert (await engine.read_log(NAME, after=end)).entries == ()
    assert await one.take("one", 0) is None
    assert await newer.meet((printed(1, 105, 9, buys=True),), clock.now_ms()) == {"ann"}
    await one.give_back(stale.token)
    assert await one.take("one", 0) is None
    await other.give_back(newer.token)
    assert await one.take("one", 0) is not None
    assert await agree([*pair])


async def test_a_match_that_is_written_again_gives_no_more_than_is_left(pair: Pair, faulty: FaultyEngine) -> None:
    one, other = map(exchange_of, pair)
    await one.accept("ann", order("a", "SELL", 105, 5), PAIR)
    matcher = await matcher_of(pair[0], LeaseRight(pair[0]))
    now_ms = FakeClock().now_ms()
    await matcher.meet((), now_ms)
    smaller = Amendment(Target(SYMBOL, "a"), Quantity(Decimal(3)))
    # The first try is beaten by the amendment, the second by anything: each begins from what was met.
    faulty.before = [lambda: other.amend("ann", smaller, PAIR), lambda: other.accept("bob", order("b"), PAIR)]

    await matcher.meet((printed(1, 106, 9, buys=True),), now_ms)

    (found,) = await one.orders("ann", SYMBOL, 9)
    fills = await other.fills("ann", SYMBOL, 9)
    assert (found.order.status, found.order.executed) == ("FILLED", 3)
    assert [each.quantity for each in fills] == [3]
    assert await agree([*pair])


async def test_a_long_log_is_trimmed_and_who_comes_late_or_was_away_has_the_same(
    pair: Pair, engine: MemoryEngine
) -> None:
    one, away = pair
    await exchange_of(away).accept("bob", order("first"), PAIR)
    one.trim_at = 5
    for number in range(23):
        await exchange_of(one).accept("ann", order(f"a{number}", quantity=1), PAIR)

    kept = (await engine.read_log(NAME, after=one.replica.mark)).kept
    async with opened_shared_tables(engine) as late:
        assert await agree([one, away, late])
        placed = await exchange_of(late).accept("ann", order("next", quantity=1), PAIR)

    assert kept <= 2 * one.trim_at
    assert placed.order.order_id == 25
    assert (await engine.read_log(NAME, after=one.replica.mark)).is_whole is False
    assert await agree([one, away])


async def test_what_ended_a_month_ago_is_forgotten_everywhere_and_numbers_go_on(pair: Pair, clock: FakeClock) -> None:
    one, other = pair
    exchange = exchange_of(one, clock)
    await exchange.accept("ann", order("old"), PAIR)
    await exchange.accept("ann", order("stands"), PAIR)
    await exchange.accept("bob", order("gone"), PAIR)
    await exchange.cancel("ann", Target(SYMBOL, "old"), PAIR)
    await exchange.cancel("bob", Target(SYMBOL, "gone"), PAIR)
    clock.advance(29 * DAY_MS)
    await exchange.accept("ann", order("new"), PAIR)
    clock.advance(2 * DAY_MS)
    one.trim_at = 1

    placed = await exchange.accept("ann", order("last"), PAIR)

    assert placed.order.order_id == 5
    assert await names(one) == await names(other) == ["stands", "new", "last"]
    found = await all_rows(one)
    assert {row[0] for row in found["paper_account"]} == {"ann"}
    assert await agree([one, other])


async def test_what_is_too_large_for_a_snapshot_is_forgotten_sooner(pair: Pair, clock: FakeClock) -> None:
    one, other = pair
    exchange = exchange_of(one, clock)
    for number in range(40):
        await exchange.accept("ann", order(f"a{number}"), PAIR)
        await exchange.cancel("ann", Target(SYMBOL, f"a{number}"), PAIR)
        clock.advance(DAY_MS // 2)
    one.trim_at, one.most_bytes = 1, 500

    await exchange.accept("ann", order("last"), PAIR)

    left = await names(other)
    assert 1 < len(left) < 40
    assert left[-1] == "last"
    assert await agree([one, other])


async def test_an_emptied_engine_begins_anew_for_all_and_says_so(
    pair: Pair, faulty: FaultyEngine, clock: FakeClock
) -> None:
    one, other = pair
    await exchange_of(one).accept("ann", order("a", "SELL", 101, 1), PAIR)
    await exchange_of(other).accept("bob", order("b"), PAIR)
    matcher = await matcher_of(one, LeaseRight(one), "one")
    before = one.replica.life
    assert one.loss == ""
    faulty.inner = other.engine = MemoryEngine(clock)

    with pytest.raises(LeaseLost):
        await matcher.meet((printed(1, 105, 9, buys=True),), clock.now_ms())
    assert (await exchange_of(one).account("ann")).free == START
    assert await names(other) == []
    assert all(not rows for rows in (await all_rows(one)).values())
    assert "started again on 2026-07-21 at 00:02 UTC" in one.loss
    clock.advance(60_000)
    await exchange_of(other).accept("ann", order("c"), PAIR)

    async with opened_shared_tables(other.engine) as late:
        assert await agree([one, other, late])
        lives = [each.replica.life for each in (one, other, late)]
        said = {each.loss for each in (one, other, late)}
    assert lives[0] is not None
    assert before is not None
    assert (lives[0].life != before.life, lives[0].follows_lost, before.follows_lost) == (True, True, False)
    assert lives[0] == lives[1] == lives[2]
    assert len(said) == 1
    assert "started again on 2026-07-21 at 00:03 UTC" in said.pop()
    clock.advance(31 * DAY_MS)
    assert one.loss == ""


async def test_a_worker_that_knows_of_the_loss_tells_one_that_began_without_it(
    pair: Pair, faulty: FaultyEngine, clock: FakeClock
) -> None:
    one, _ = pair
    await exchange_of(one).accept("ann", order("a"), PAIR)
    faulty.inner = MemoryEngine(clock)

    async with opened_shared_tables(faulty.inner) as fresh:
        await exchange_of(fresh).accept("ann", order("b"), PAIR)
        unaware = fresh.loss
        await exchange_of(one).accept("ann", order("c"), PAIR)
        await names(fresh)
        told = fresh.loss

    assert (unaware, "started again" in told) == ("", True)


async def test_those_who_read_at_once_look_at_the_log_once(pair: Pair, faulty: FaultyEngine) -> None:
    await asyncio.gather(*(exchange_of(pair[0]).account(f"v{number}") for number in range(20)))
    assert len(faulty.reached) <= 2
    await exchange_of(pair[1]).accept("ann", order("a"), PAIR)

    assert await names(pair[0]) == ["a"]
    assert len(faulty.reached) <= 3


async def test_an_entry_that_cannot_be_done_here_is_refused_and_nothing_of_it_is_done(
    pair: Pair, engine: MemoryEngine
) -> None:
    one, other = pair
    await exchange_of(other).accept("ann", order("a"), PAIR)
    assert await names(one) == ["a"]
    end = one.replica.mark
    await engine.append_log(NAME, b"no entry of ours", after=end, tag="x" * 32, ttl_ms=DAY_MS)

    with pytest.raises(JournalUnavailable, match="same version"):
        await names(one)

    assert one.replica.mark == end


@pytest.mark.parametrize(
    "sql",
    ["DELETE FROM paper_order", "ATTACH DATABASE ? AS foreign_file", "DROP TABLE paper_order", "PRAGMA query_only=ON"],
)
async def test_an_entry_that_does_more_than_write_rows_is_refused(
    pair: Pair, engine: MemoryEngine, tmp_path: Path, sql: str
) -> None:
    one, other = pair
    await exchange_of(other).accept("ann", order("a"), PAIR)
    assert await names(one) == ["a"]
    file = tmp_path / "written"
    given = [str(file)] if "?" in sql else []
    entry = zlib.compress(msgspec.msgpack.encode([("COMMIT", []), (sql, given), ("BEGIN", [])]))
    await engine.append_log(NAME, entry, after=one.replica.mark, tag="x" * 32, ttl_ms=DAY_MS)

    with pytest.raises(JournalUnavailable, match="same version"):
        await names(one)

    assert not file.exists()
    assert one.replica.read(count_orders) == 1
