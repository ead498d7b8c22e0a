"""An older copy in the journal's place, and a past that was changed: trading stops, and a person starts it again."""

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from mcp_binance_server.trading.journal.chain import Event, all_events
from mcp_binance_server.trading.journal.last_written import LAST_FILE, LastWritten, missing_from, read_last
from mcp_binance_server.trading.journal.ledger import HostLedger, TradingIsStopped
from mcp_binance_server.trading.journal.records import Stopped
from mcp_binance_server.trading.journal.store import FILE, opened_store
from support.systems import MODES
from support.terms import NOW_MS, intent

pytestmark = pytest.mark.anyio

OLDER = (
    f"{FILE} is an older copy or another journal: event 3 of 2026-07-21 00:02 UTC is missing. "
    "Compare your orders with the exchange's, then resume"
)


async def claim(folder: Path, *numbers: int) -> None:
    async with opened_store(folder) as store:
        for number in numbers:
            await HostLedger(store, "me").claim(intent(number), (), NOW_MS + number)


async def stopped(folder: Path) -> Stopped | None:
    async with opened_store(folder) as store:
        return await HostLedger(store, "me").stopped()


async def events_in(folder: Path) -> list[Event]:
    async with opened_store(folder) as store:
        return await store.read(lambda rows: [*all_events(rows)])


async def restored(folder: Path) -> list[Event]:
    """Put a copy with one event in the place of a journal with three; return the three."""
    await claim(folder, 1)
    shutil.copy(folder / FILE, folder / "copy")
    await claim(folder, 2, 3)
    lost = await events_in(folder)
    (folder / "copy").replace(folder / FILE)
    return lost


@MODES
async def test_the_last_event_is_in_a_file_of_the_owners_alone(tmp_path: Path) -> None:
    await claim(tmp_path, 1, 2)

    last = (await events_in(tmp_path))[-1]
    assert read_last(tmp_path) == LastWritten(last.seq, last.at_ms, last.hash)
    assert (tmp_path / LAST_FILE).stat().st_mode & 0o777 == 0o600


async def test_an_older_copy_stops_every_order_until_a_person_accepts_it(tmp_path: Path) -> None:
    await restored(tmp_path)

    async with opened_store(tmp_path) as store:
        ledger = HostLedger(store, "me")
        assert await ledger.stopped() == Stopped(OLDER, NOW_MS + 3, allows_exits=False)
        with pytest.raises(TradingIsStopped):
            await ledger.claim(intent(4), (), NOW_MS)
        with pytest.raises(TradingIsStopped):
            await ledger.mark_sent(intent(1).preview_id, NOW_MS)
        await ledger.move(intent(1).preview_id, "NOT_SENT", {}, NOW_MS)  # what is known of the past is still written

        await ledger.resume("a person", NOW_MS + 9)

        assert await ledger.stopped() is None
        assert (await ledger.claim(intent(4), (), NOW_MS))[1]
    found = await events_in(tmp_path)
    assert [each.state for each in found] == ["PREPARED", "NOT_SENT", "RESUMED", "ACCEPTED", "PREPARED"]
    assert found[3].told == {"by": "a person", "why": OLDER}
    assert await stopped(tmp_path) is None


async def test_a_copy_that_outgrows_what_is_missing_is_an_older_copy_still(tmp_path: Path) -> None:
    await restored(tmp_path)

    async with opened_store(tmp_path) as store:
        for number in range(5):
            await HostLedger(store, "me").note("DECLINED", {}, NOW_MS + number)

    assert await stopped(tmp_path) == Stopped(OLDER, NOW_MS + 3, allows_exits=False)


async def test_a_copy_that_is_put_back_under_a_running_server_stops_it_at_once(tmp_path: Path) -> None:
    await claim(tmp_path, 1)
    older = (tmp_path / FILE).read_bytes()
    async with opened_store(tmp_path) as store:
        ledger = HostLedger(store, "me")
        for number in (2, 3):
            await ledger.claim(intent(number), (), NOW_MS + number)

        (tmp_path / FILE).write_bytes(older)

        with pytest.raises(TradingIsStopped) as caught:
            await ledger.claim(intent(4), (), NOW_MS)
    assert caught.value.stopped.why == OLDER


async def test_a_journal_that_is_gone_is_not_begun_anew_in_silence(tmp_path: Path) -> None:
    await claim(tmp_path, 1, 2, 3)
    (tmp_path / FILE).unlink()

    assert await stopped(tmp_path) == Stopped(OLDER, NOW_MS + 3, allows_exits=False)


async def test_without_the_file_nothing_is_missing(tmp_path: Path) -> None:
    await restored(tmp_path)
    (tmp_path / LAST_FILE).unlink()

    assert await stopped(tmp_path) is None


def halved(line: bytes) -> bytes:
    return line[: len(line) // 2]


def mixed(line: bytes) -> bytes:
    return line[:10] + b"9" * 6 + line[16:]


def with_a_tail(line: bytes) -> bytes:
    return line + b"left over"


def nothing(_line: bytes) -> bytes:
    return b""


def noise(line: bytes) -> bytes:
    return b"\xff\x00" * len(line)


@pytest.mark.parametrize("torn", [halved, mixed, with_a_tail, nothing, noise])
async def test_a_torn_file_says_nothing_and_is_mended(tmp_path: Path, torn: Callable[[bytes], bytes]) -> None:
    await claim(tmp_path, 1)
    (tmp_path / LAST_FILE).write_bytes(torn((tmp_path / LAST_FILE).read_bytes()))

    assert await stopped(tmp_path) is None
    await claim(tmp_path, 2)

    last = read_last(tmp_path)
    assert last is not None
    assert last.seq == 2


async def test_an_order_does_not_fail_for_the_file(tmp_path: Path) -> None:
    (tmp_path / LAST_FILE).mkdir()

    await claim(tmp_path, 1)

    assert len(await events_in(tmp_path)) == 1


async def test_of_two_processes_the_slower_does_not_take_the_file_back(tmp_path: Path) -> None:
    async with opened_store(tmp_path) as one, opened_store(tmp_path) as other:
        seen: list[int] = []
        for number in range(10):
            store = other if number % 3 else one
            await HostLedger(store, "me").claim(intent(number), (), NOW_MS)
            last = read_last(tmp_path)
            assert last is not None
            seen.append(last.seq)

    assert seen == [*range(1, 11)]


async def test_a_changed_past_stops_every_order_until_a_person_accepts_it(tmp_path: Path) -> None:
    await claim(tmp_path, 1, 2, 3)
    with closing(sqlite3.connect(tmp_path / FILE, isolation_level=None)) as db:
        db.execute("UPDATE event SET facts='{}' WHERE seq=2")

    async with opened_store(tmp_path) as store, opened_store(tmp_path) as command:
        ledger = HostLedger(store, "me")
        told = await ledger.stopped()
        assert told == Stopped(
            f"event 2 of 2026-07-21 00:02 UTC does not match the previous event: {FILE} was changed by another "
            "program. Compare your orders with the exchange's, then resume",
            NOW_MS + 2,
            allows_exits=False,
        )
        with pytest.raises(TradingIsStopped):
            await ledger.claim(intent(4), (), NOW_MS)

        await HostLedger(command, "").resume("a person", NOW_MS)

        assert (await ledger.claim(intent(4), (), NOW_MS))[1]
    assert await stopped(tmp_path) is None


async def test_a_start_looks_at_the_newest_events_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mcp_binance_server.trading.journal.chain.CHECKED_AT_OPEN", 5)
    await claim(tmp_path, *range(1, 11))

    found: dict[int, bool] = {}
    for seq in (4, 5, 6, 10):
        copy = tmp_path / str(seq)
        shutil.copytree(tmp_path, copy, ignore=shutil.ignore_patterns("[0-9]*"))
        with closing(sqlite3.connect(copy / FILE, isolation_level=None)) as db:
            db.execute("UPDATE event SET at_ms=1 WHERE seq=?", (seq,))
        found[seq] = await stopped(copy) is not None

    assert found == {4: False, 5: False, 6: True, 10: True}


async def test_what_is_missing_is_known_without_writing(tmp_path: Path) -> None:
    lost = await restored(tmp_path)

    async with opened_store(tmp_path) as store:
        missing = await store.read(lambda rows: missing_from(rows, tmp_path))

    assert missing == LastWritten(lost[-1].seq, lost[-1].at_ms, lost[-1].hash)
