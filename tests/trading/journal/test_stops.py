"""Whose stop it is: an account's holds that account alone, everybody's holds all, and each is lifted by itself."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from mcp_binance_server.trading.journal.chain import append
from mcp_binance_server.trading.journal.ledger import STOP_FILE, HostLedger, TradingIsStopped
from mcp_binance_server.trading.journal.records import NewIntent, Stopped
from mcp_binance_server.trading.journal.stops import ALL_ACCOUNTS, lift_row
from mcp_binance_server.trading.journal.store import FILE, opened_store
from mcp_binance_server.trading.journal.watching import OrderWatch
from mcp_binance_server.trading.judgement.stop import TradingTroubles
from support.terms import NOW_MS, intent

pytestmark = pytest.mark.anyio

ANN, BOB = "paper-ann", "k-bob"
FIRE, FLOOD = Stopped("a fire", NOW_MS, ANN), Stopped("a flood", NOW_MS + 1, ALL_ACCOUNTS)


@pytest.fixture
async def ledger(tmp_path: Path) -> AsyncGenerator[HostLedger]:
    async with opened_store(tmp_path / "trading") as store:
        yield HostLedger(store, "me")


async def claimed(ledger: HostLedger, number: int, account: str) -> NewIntent:
    new = intent(number, account=account)
    await ledger.claim(new, (), NOW_MS)
    return new


async def leaves(ledger: HostLedger, number: int, account: str) -> bool:
    """Whether an order passes both places that look: the claim, and the gate."""
    try:
        await ledger.mark_sent((await claimed(ledger, number, account)).preview_id, NOW_MS)
    except TradingIsStopped:
        return False
    return True


async def test_the_stop_of_an_account_holds_its_claims_and_its_gate_and_nobody_elses(ledger: HostLedger) -> None:
    anns, bobs = await claimed(ledger, 1, ANN), await claimed(ledger, 2, BOB)

    assert await ledger.stop("a fire", "a test", NOW_MS, ANN) == FIRE

    with pytest.raises(TradingIsStopped) as caught:
        await ledger.mark_sent(anns.preview_id, NOW_MS)
    assert caught.value.stopped == FIRE
    with pytest.raises(TradingIsStopped):
        await claimed(ledger, 3, ANN)
    await ledger.mark_sent(bobs.preview_id, NOW_MS)
    assert await leaves(ledger, 4, BOB)
    assert [await ledger.stopped(each) for each in (ANN, BOB, ALL_ACCOUNTS)] == [FIRE, None, None]


async def test_the_past_of_an_order_tells_the_stop_of_its_own_account(ledger: HostLedger) -> None:
    await ledger.stop("a fire", "a test", NOW_MS, ANN)

    told = [(await ledger.past(intent(account=each).terms, (), NOW_MS, None)).stopped for each in (ANN, BOB)]

    assert told == [FIRE, None]


async def test_everybodys_stop_holds_all_and_is_told_before_an_accounts_own(ledger: HostLedger) -> None:
    await ledger.stop("a fire", "a test", NOW_MS, ANN)
    await ledger.stop("a flood", "a test", NOW_MS + 1)

    assert [await ledger.stopped(each) for each in (ANN, BOB)] == [FLOOD, FLOOD]
    assert await ledger.stops() == [FLOOD, FIRE]
    assert [await leaves(ledger, number, each) for number, each in enumerate((ANN, BOB))] == [False, False]


async def test_a_file_holds_every_account_and_is_no_reason_to_forget_a_stop(ledger: HostLedger) -> None:
    (ledger.store.folder / STOP_FILE).touch()

    assert [await leaves(ledger, number, each) for number, each in enumerate((ANN, BOB))] == [False, False]
    await ledger.stop("a fire", "a test", NOW_MS, ANN)
    (ledger.store.folder / STOP_FILE).unlink()

    assert [await leaves(ledger, number, each) for number, each in enumerate((ANN, BOB))] == [False, True]


async def test_a_journal_that_is_not_whole_holds_every_account(tmp_path: Path) -> None:
    async with opened_store(tmp_path) as store:
        await leaves(HostLedger(store, "me"), 1, ANN)
        store.db.execute("UPDATE event SET state='ACKED' WHERE seq=1")
    async with opened_store(tmp_path) as store:
        ledger = HostLedger(store, "me")
        (stopped,) = await ledger.stops()

        assert (stopped.account, f"{FILE} was changed" in stopped.why) == (ALL_ACCOUNTS, True)
        assert [await ledger.stopped(each) for each in (ANN, BOB)] == [stopped, stopped]


async def test_one_account_is_resumed_by_itself_and_nothing_of_everybodys_is(ledger: HostLedger) -> None:
    await ledger.stop("a fire", "a test", NOW_MS, ANN)
    await ledger.stop("too dear", "a test", NOW_MS, BOB)
    (ledger.store.folder / STOP_FILE).touch()

    await ledger.resume("a person", NOW_MS, ANN)

    assert [each.account for each in await ledger.stops()] == [ALL_ACCOUNTS, BOB]
    assert (ledger.store.folder / STOP_FILE).exists()


async def test_without_a_name_every_stop_is_lifted_and_it_is_written_which(ledger: HostLedger) -> None:
    await ledger.stop("a fire", "a test", NOW_MS, ANN)
    await ledger.stop("a flood", "a test", NOW_MS + 1)

    await ledger.resume("a person", NOW_MS + 2)

    rows = await ledger.store.read(lambda rows: rows.execute("SELECT state, facts FROM event ORDER BY seq").fetchall())
    assert await ledger.stops() == []
    assert [state for state, _ in rows] == ["STOPPED", "STOPPED", "RESUMED"]
    assert f'"lifted":{{"":{NOW_MS + 1},"{ANN}":{NOW_MS}}}' in rows[-1][1].replace(" ", "")


async def test_a_stop_that_came_during_everybodys_outlives_it(ledger: HostLedger) -> None:
    await ledger.stop("a flood", "a test", NOW_MS)
    await ledger.stop("a fire", "a test", NOW_MS + 1, ANN)

    await ledger.store.write(lambda rows: lift_row(rows, ledger.store, "another machine", NOW_MS + 2, ALL_ACCOUNTS))

    assert await ledger.stops() == [Stopped("a fire", NOW_MS + 1, ANN)]


async def reject(ledger: HostLedger, number: int, account: str) -> None:
    new = await claimed(ledger, number, account)
    await ledger.mark_sent(new.preview_id, NOW_MS)
    await ledger.move(new.preview_id, "REJECTED", {}, NOW_MS)


@pytest.mark.parametrize(("resumed", "left"), [(None, 0), (ANN, 0), (BOB, 2), (ALL_ACCOUNTS, 0)])
async def test_what_went_wrong_is_counted_by_account_and_forgiven_by_account(
    ledger: HostLedger, resumed: str | None, left: int
) -> None:
    watch = OrderWatch(ledger.store)
    for number in range(3):
        await reject(ledger, number, ANN if number < 2 else BOB)
    assert await watch.troubled(NOW_MS) == [BOB, ANN]
    assert await watch.troubles(NOW_MS, ANN) == TradingTroubles(0, 2, None)
    assert await watch.troubles(NOW_MS, BOB) == TradingTroubles(0, 1, None)

    await ledger.resume("a person", NOW_MS, resumed)

    assert await watch.troubles(NOW_MS, ANN) == TradingTroubles(0, left, None)


async def test_a_resuming_of_an_older_version_has_forgiven_everybody(ledger: HostLedger) -> None:
    await reject(ledger, 1, ANN)

    await ledger.store.write(lambda rows: append(rows, NOW_MS, "", "RESUMED", {"by": "a person"}))

    assert await OrderWatch(ledger.store).troubles(NOW_MS, ANN) == TradingTroubles(0, 0, None)
