"""The file of the journal: what it is refused for, in one clear line, and that nothing in it is lost."""

import os
import sqlite3
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from mcp_binance_server.trading.errors import JournalUnavailable
from mcp_binance_server.trading.journal.chain import Event, broken_link, link
from mcp_binance_server.trading.journal.folder import file_system
from mcp_binance_server.trading.journal.ledger import HostLedger
from mcp_binance_server.trading.journal.owner import is_dead, owner, sweep
from mcp_binance_server.trading.journal.schema import NEWEST, VERSIONS
from mcp_binance_server.trading.journal.store import FILE, opened_store
from support.terms import NOW_MS, intent

pytestmark = pytest.mark.anyio

MOUNTS = """22 1 0:20 / / rw - ext4 /dev/a rw
30 22 0:30 / /home rw shared:1 - nfs4 server:/home rw
31 30 0:31 / /home/me/my\\040disk rw - xfs /dev/b rw
"""


async def opens(folder: Path) -> JournalUnavailable | None:
    try:
        async with opened_store(folder):
            return None
    except JournalUnavailable as error:
        return error


async def test_the_folder_and_the_file_are_their_owners_alone(tmp_path: Path) -> None:
    folder = tmp_path / "state" / "trading"

    async with opened_store(folder):
        assert (folder.stat().st_mode & 0o777, (folder / FILE).stat().st_mode & 0o777) == (0o700, 0o600)


@pytest.mark.parametrize("name", ["", FILE])
async def test_what_others_can_write_is_refused(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "trading"
    assert await opens(folder) is None
    (folder / name).chmod(0o722 if not name else 0o622)

    error = await opens(folder)

    assert error is not None
    assert error.reason.startswith("others can write")
    assert error.fix.startswith("chmod go-w ")


@pytest.mark.parametrize(
    ("kept", "spoilt", "reason"),
    [(0, b"no database" * 1000, "it is no journal"), (4096, b"\xff" * 20_000, "it is damaged")],
)
async def test_a_file_that_is_no_journal_is_left_as_it_is(
    tmp_path: Path, kept: int, spoilt: bytes, reason: str
) -> None:
    folder = tmp_path / "trading"
    async with opened_store(folder) as store:
        await HostLedger(store, "me").claim(intent(), (), NOW_MS)
    (folder / FILE).write_bytes((folder / FILE).read_bytes()[:kept] + spoilt)
    before = (folder / FILE).read_bytes()

    error = await opens(folder)
    if error is None:
        async with opened_store(folder) as store:
            with pytest.raises(JournalUnavailable) as caught:
                await HostLedger(store, "me").claim(intent(2), (), NOW_MS)
        error = caught.value

    assert error.reason == reason
    assert (folder / FILE).read_bytes() == before


async def test_a_full_disk_is_said_and_loses_nothing(tmp_path: Path) -> None:
    async with opened_store(tmp_path / "trading") as store:
        ledger = HostLedger(store, "me")
        await ledger.claim(intent(0), (), NOW_MS)
        (pages,) = store.db.execute("PRAGMA page_count").fetchone()
        store.db.execute(f"PRAGMA max_page_count={pages}")
        written = 1
        refusal = None
        while refusal is None:
            try:
                await ledger.claim(intent(written), (), NOW_MS)
                written += 1
            except JournalUnavailable as error:
                refusal = error.reason
        store.db.execute("PRAGMA max_page_count=1000000")

        assert refusal == "the disk is full"
        events = await store.read(lambda rows: [Event(*row) for row in rows.execute("SELECT * FROM event")])
        assert (len(events), broken_link(events)) == (written, None)
        assert (await ledger.claim(intent(written), (), NOW_MS))[1]


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such rights")
async def test_a_folder_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    folder = tmp_path / "trading"
    assert await opens(folder) is None
    program = (
        "import anyio, os, sys; from pathlib import Path\n"
        "from mcp_binance_server.trading.journal.store import opened_store\n"
        "from mcp_binance_server.trading.errors import JournalUnavailable\n"
        "async def main():\n"
        "    await anyio.to_thread.run_sync(int)\n"
        "    if os.getuid() == 0: os.setuid(65534)\n"
        "    try:\n"
        "        async with opened_store(Path(sys.argv[1])): print('opened')\n"
        "    except JournalUnavailable as error: print(error.reason)\n"
        "anyio.run(main)\n"
    )
    folder.chmod(0o555)
    for each in (tmp_path, *tmp_path.parents):
        if each.stat().st_uid == os.getuid() and each != Path("/"):
            each.chmod(each.stat().st_mode | 0o055)

    told = await anyio.run_process([sys.executable, "-c", program, str(folder)], check=False)
    folder.chmod(0o700)

    assert told.stdout.decode().strip() in {"Permission denied", "it cannot be opened", "it cannot be written"}, (
        told.stderr
    )


async def test_a_newer_file_is_left_alone(tmp_path: Path) -> None:
    folder = tmp_path / "trading"
    assert await opens(folder) is None
    with sqlite3.connect(folder / FILE) as db:
        db.execute(f"PRAGMA user_version={NEWEST + 1}")
    before = (folder / FILE).read_bytes()

    error = await opens(folder)

    assert error is not None
    assert error.message.startswith("The journal of orders cannot be used: it was written by a newer version")
    assert error.fix == "Update mcp-binance-server"
    assert (folder / FILE).read_bytes() == before


@pytest.mark.parametrize("version", range(1, NEWEST))
async def test_an_older_file_is_brought_up_to_date_with_all_that_is_in_it(tmp_path: Path, version: int) -> None:
    folder = tmp_path / "trading"
    folder.mkdir(mode=0o700)
    first = link(None, NOW_MS, "", "STARTED", {})
    db = sqlite3.connect(folder / FILE)
    for statements in VERSIONS[:version]:
        for statement in statements:
            db.execute(statement)
    db.execute(f"PRAGMA user_version={version}")
    row = (first.seq, first.at_ms, first.about, first.state, first.facts, first.prev, first.hash)
    db.execute("INSERT INTO event VALUES (?,?,?,?,?,?,?)", row)
    db.commit()
    db.close()
    (folder / FILE).chmod(0o600)

    async with opened_store(folder) as store:
        assert store.version_found == version
        await HostLedger(store, "me").claim(intent(), (), NOW_MS)
        events = await store.read(lambda rows: [Event(*each) for each in rows.execute("SELECT * FROM event")])
        assert store.db.execute("PRAGMA user_version").fetchone() == (NEWEST,)

    assert [each.state for each in events] == ["STARTED", "PREPARED"]
    assert broken_link(events) is None


async def test_a_file_that_was_replaced_while_in_use_is_not_written(tmp_path: Path) -> None:
    folder = tmp_path / "trading"
    async with opened_store(folder) as store:
        ledger = HostLedger(store, "me")
        await ledger.claim(intent(1), (), NOW_MS)
        copy = (folder / FILE).read_bytes()
        (folder / FILE).unlink()
        (folder / FILE).write_bytes(copy)

        with pytest.raises(JournalUnavailable) as caught:
            await ledger.claim(intent(2), (), NOW_MS)

    assert caught.value.reason == "the file was moved or replaced while in use"


@pytest.mark.parametrize(
    ("path", "kind"), [("/srv", "ext4"), ("/home/you", "nfs4"), ("/home/me/my disk/x", "xfs"), ("/homestead", "ext4")]
)
def test_the_file_system_of_a_path_is_found(path: str, kind: str) -> None:
    assert file_system(Path(path), MOUNTS) == kind


def on_nfs(_path: Path) -> str:
    return "nfs4"


async def test_a_network_file_system_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mcp_binance_server.trading.journal.folder.file_system", on_nfs)

    error = await opens(tmp_path / "trading")

    assert error is not None
    assert "network file system (nfs4)" in error.reason
    assert "MCP_BINANCE_TRADING_DIR" in error.fix


async def test_several_who_open_a_new_file_at_once_make_it_once(tmp_path: Path) -> None:
    async with anyio.create_task_group() as group:
        for _ in range(8):
            group.start_soon(opens, tmp_path / "trading")

    assert await opens(tmp_path / "trading") is None


def changed(events: list[Event], at: int, **members: object) -> list[Event]:
    return [replace(each, **members) if index == at else each for index, each in enumerate(events)]


def test_a_changed_past_is_seen() -> None:
    events: list[Event] = []
    for number in range(5):
        events.append(link(events[-1] if events else None, NOW_MS + number, "x", "STATE", {"number": number}))
    assert broken_link(events) is None

    spoilt = {
        "facts": changed(events, 2, facts="{}"),
        "state": changed(events, 2, state="OTHER"),
        "at_ms": changed(events, 2, at_ms=1),
        "about": changed(events, 2, about="y"),
        "hash": changed(events, 2, hash="0" * 64),
        "left out": [*events[:2], *events[3:]],
        "put in": [*events[:3], events[1], *events[3:]],
    }

    assert {name: broken_link(each) is not None for name, each in spoilt.items()} == dict.fromkeys(spoilt, True)


def test_an_owner_lives_until_its_process_ends(tmp_path: Path) -> None:
    program = (
        "import sys, time; from pathlib import Path\n"
        "from mcp_binance_server.trading.journal.owner import owner\n"
        "with owner(Path(sys.argv[1])) as name:\n"
        "    print(name, flush=True); time.sleep(60)\n"
    )
    with (
        subprocess.Popen([sys.executable, "-c", program, str(tmp_path)], stdout=subprocess.PIPE, text=True) as process,
        owner(tmp_path) as mine,
    ):
        assert process.stdout is not None
        name = process.stdout.readline().strip()
        assert (is_dead(tmp_path, name), is_dead(tmp_path, mine)) == (False, False)
        process.kill()
        process.wait()

        assert is_dead(tmp_path, name)
        sweep(tmp_path)

        assert [each.stem for each in tmp_path.glob("*.lock")] == [mine]
    assert is_dead(tmp_path, mine)
