"""Whether a journal is whole: whatever was changed in it is named, and a copy is what was copied."""

import sqlite3
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import anyio
import pytest

from mcp_binance_server.trading.errors import JournalUnavailable
from mcp_binance_server.trading.journal.integrity import IntegrityReport, back_up, examine
from mcp_binance_server.trading.journal.ledger import HostLedger
from mcp_binance_server.trading.journal.store import FILE, opened_store, read_store
from support.systems import MODES
from support.terms import NOW_MS, intent, reported

pytestmark = pytest.mark.anyio

AT = "2026-07-21 00:02:03 UTC"
NOT_AFTER = "does not match the previous event: it was changed, or an earlier one is missing"


async def traded(folder: Path, orders: int = 3) -> None:
    """Write orders that were sent, taken and filled: four events each."""
    async with opened_store(folder) as store:
        ledger = HostLedger(store, "me")
        for number in range(orders):
            await fill(ledger, number)


async def fill(ledger: HostLedger, number: int) -> None:
    new = intent(number)
    await ledger.claim(new, (), NOW_MS)
    await ledger.mark_sent(new.preview_id, NOW_MS)
    await ledger.move(new.preview_id, "ACKED", {}, NOW_MS)
    await ledger.follow(new.preview_id, reported("FILLED", "0.001"), NOW_MS)


async def examined(folder: Path) -> IntegrityReport:
    async with read_store(folder) as store:
        return await examine(store)


async def test_a_journal_as_it_was_written_is_whole(tmp_path: Path) -> None:
    await traded(tmp_path)

    assert await examined(tmp_path) == IntegrityReport(events=12, orders=3, problems=())


def changed(statement: str) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        db = sqlite3.connect(folder / FILE)
        db.execute(statement.replace("FIRST", f"'{intent(0).preview_id}'"))
        db.commit()
        db.close()

    return change


def order_says(stands: str, told: str) -> str:
    return f"order {intent(0).client_order_id}: the order table has {stands}, its events have {told}"


FILLED = "ACKED FILLED, 0.001 for 60"
TERMS = f"terms {sha256(intent(0).terms.to_json().encode()).hexdigest()[:8]}"


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ('UPDATE event SET facts=\'{"reason":""}\' WHERE seq=7', f"event 7 of {AT} {NOT_AFTER}"),
        ("UPDATE event SET facts='no JSON' WHERE seq=7", f"event 7 of {AT} {NOT_AFTER}"),
        ("UPDATE event SET facts='[]' WHERE seq=7", f"event 7 of {AT} {NOT_AFTER}"),
        ("UPDATE event SET about='x' WHERE seq=7", f"event 7 of {AT} {NOT_AFTER}"),
        ("DELETE FROM event WHERE seq=7", f"event 8 of {AT} {NOT_AFTER}"),
        ("DELETE FROM event WHERE seq=1", f"event 2 of {AT} {NOT_AFTER}"),
        ("DELETE FROM event WHERE seq=12", f"event 12 of {AT} was recorded here and is missing: an older copy?"),
        (
            "UPDATE intent SET executed='9' WHERE id=FIRST",
            order_says(f"ACKED FILLED, 9 for 60, {TERMS}", f"{FILLED}, {TERMS}"),
        ),
        (
            "UPDATE intent SET state='NOT_SENT' WHERE id=FIRST",
            order_says(f"NOT_SENT FILLED, 0.001 for 60, {TERMS}", f"{FILLED}, {TERMS}"),
        ),
        (
            "UPDATE intent SET terms='{}' WHERE id=FIRST",
            order_says(f"{FILLED}, terms 44136fa3", f"{FILLED}, {TERMS}"),
        ),
        ("DELETE FROM intent WHERE id=FIRST", f"event 1 of {AT} belongs to an order missing from the order table"),
    ],
)
async def test_what_was_changed_is_named(tmp_path: Path, change: str, problem: str) -> None:
    await traded(tmp_path)
    changed(change)(tmp_path)

    assert problem in (await examined(tmp_path)).problems


@pytest.mark.slow
async def test_a_server_that_writes_meanwhile_is_no_problem(tmp_path: Path) -> None:
    await traded(tmp_path)
    found: list[IntegrityReport] = []

    async with opened_store(tmp_path) as store, anyio.create_task_group() as group:

        async def keep_looking() -> None:
            while True:
                found.append(await examined(tmp_path))

        group.start_soon(keep_looking)
        for number in range(10, 40):
            await fill(HostLedger(store, "me"), number)
        group.cancel_scope.cancel()

    assert found
    assert {each.problems for each in found} == {()}


def names(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir())


@MODES
async def test_a_copy_is_whole_its_owners_alone_and_replaces_nothing(tmp_path: Path) -> None:
    folder, copy = tmp_path / "trading", tmp_path / "copy.db"
    await traded(folder)

    async with read_store(folder) as store:
        found = await back_up(store, copy)
        with pytest.raises(FileExistsError):
            await back_up(store, copy)

    assert found == IntegrityReport(events=12, orders=3, problems=())
    assert copy.stat().st_mode & 0o777 == 0o600
    assert names(tmp_path) == ["copy.db", "trading"]
    (tmp_path / "new").mkdir(mode=0o700)
    copy.rename(tmp_path / "new" / FILE)
    assert await examined(tmp_path / "new") == found


async def test_a_copy_holds_what_is_committed_and_waits_for_nobody(tmp_path: Path) -> None:
    folder = tmp_path / "trading"
    await traded(folder)
    writer = sqlite3.connect(folder / FILE, isolation_level=None)
    writer.execute("BEGIN IMMEDIATE")
    writer.execute("DELETE FROM event")

    async with read_store(folder) as store:
        found = await back_up(store, tmp_path / "copy.db")
    writer.execute("ROLLBACK")
    writer.close()

    assert found == IntegrityReport(events=12, orders=3, problems=())


@pytest.mark.slow
async def test_a_copy_of_a_damaged_file_is_not_kept(tmp_path: Path) -> None:
    folder = tmp_path / "trading"
    await traded(folder, 40)

    async with read_store(folder) as store:
        whole = (folder / FILE).read_bytes()
        # The counter of changes too, or what was read before would be believed.
        (folder / FILE).write_bytes(whole[:24] + b"\xff" * 4 + whole[28:-8192] + b"\xff" * 8192)
        with pytest.raises(JournalUnavailable) as caught:
            await back_up(store, tmp_path / "copy.db")

    assert caught.value.reason == "it is damaged"
    assert not (tmp_path / "copy.db").exists()


async def test_a_copy_of_a_changed_journal_says_so(tmp_path: Path) -> None:
    folder = tmp_path / "trading"
    await traded(folder)
    changed("UPDATE event SET at_ms=1 WHERE seq=5")(folder)

    async with read_store(folder) as store:
        found = await back_up(store, tmp_path / "copy.db")

    assert found.problems == (f"event 5 of 1970-01-01 00:00:00 UTC {NOT_AFTER}",)
