"""The file of the journal: what it is refused for, in one clear line, and that nothing in it is lost."""

import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

from mcp_binance_server.domain.access import acting_for
from mcp_binance_server.trading.errors import JournalUnavailable
from mcp_binance_server.trading.journal.agreements import Agreements
from mcp_binance_server.trading.journal.chain import Event, broken_link, link
from mcp_binance_server.trading.journal.folder import file_system
from mcp_binance_server.trading.journal.integrity import examine
from mcp_binance_server.trading.journal.ledger import HostLedger
from mcp_binance_server.trading.journal.owner import is_dead, owner, sweep
from mcp_binance_server.trading.journal.records import Stopped
from mcp_binance_server.trading.journal.schema import NEWEST, VERSIONS
from mcp_binance_server.trading.journal.stops import ALL_ACCOUNTS
from mcp_binance_server.trading.journal.store import FILE, opened_store, read_store
from mcp_binance_server.trading.judgement.charges import charges
from mcp_binance_server.trading.judgement.policy import read_policy
from support.systems import MODES, MOVED_WHILE_OPEN
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


@MODES
async def test_the_folder_and_the_file_are_their_owners_alone(tmp_path: Path) -> None:
    folder = tmp_path / "state" / "trading"

    async with opened_store(folder):
        assert (folder.stat().st_mode & 0o777, (folder / FILE).stat().st_mode & 0o777) == (0o700, 0o600)


@MODES
@pytest.mark.parametrize("name", ["", FILE])
async def test_what_others_can_write_is_refused(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "trading"
    assert await opens(folder) is None
    (folder / name).chmod(0o722 if not name else 0o622)

    error = await opens(folder)

    assert error is not None
    assert error.reason.startswith("other users can write")
    assert error.fix.startswith("chmod go-w ")


@pytest.mark.parametrize(
    ("kept", "spoilt", "reason"),
    [(0, b"no database" * 1000, "it is not a journal"), (4096, b"\xff" * 20_000, "it is damaged")],
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


async def test_a_damage_that_is_no_text_is_said_too(tmp_path: Path) -> None:
    assert await opens(tmp_path) is None
    whole = (tmp_path / FILE).read_bytes()
    (tmp_path / FILE).write_bytes(whole.replace(b"ON event (about", b"ON \xb3vent (about"))

    error = await opens(tmp_path)

    assert error is not None
    assert error.reason == "it has an invalid row"


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


@pytest.mark.skipif(shutil.which("unshare") is None, reason="a small disk of one's own takes Linux")
async def test_a_disk_that_is_really_full_is_said_and_loses_nothing(tmp_path: Path) -> None:
    program = (
        "import anyio, sys; from pathlib import Path\n"
        "from mcp_binance_server.trading.errors import JournalUnavailable\n"
        "from mcp_binance_server.trading.journal.ledger import HostLedger\n"
        "from mcp_binance_server.trading.journal.store import opened_store\n"
        "from mcp_binance_server.trading.journal.integrity import examine\n"
        "from support.terms import NOW_MS, intent\n"
        "async def main():\n"
        "    async with opened_store(Path(sys.argv[1])) as store:\n"
        "        for number in range(1000):\n"
        "            try: await HostLedger(store, 'me').claim(intent(number), (), NOW_MS)\n"
        "            except JournalUnavailable as error: reason = error.reason; break\n"
        "    async with opened_store(Path(sys.argv[1])) as store:\n"
        "        found = await examine(store)\n"
        "        print(number, found.orders, found.problems, await HostLedger(store, '').stopped(), reason)\n"
        "anyio.run(main)\n"
    )
    mount = f'mount -t tmpfs -o mode=0700,size=200k none {tmp_path} && exec {sys.executable} -c "$0" {tmp_path}'
    told = await anyio.run_process(
        ["unshare", "-rm", "sh", "-c", mount, program], check=False, env={"PYTHONPATH": ":".join(sys.path)}
    )
    if b"unshare" in told.stderr or b"mount" in told.stderr:
        pytest.skip("this user may not mount a disk of their own")

    written, kept, *rest = told.stdout.decode().split(maxsplit=2)

    assert rest == ["() None the disk is full\n"], told.stderr
    assert written == kept != "0"


@MODES
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
    with closing(sqlite3.connect(folder / FILE, isolation_level=None)) as db:
        db.execute(f"PRAGMA user_version={NEWEST + 1}")
    before = (folder / FILE).read_bytes()

    error = await opens(folder)

    assert error is not None
    assert error.message.startswith("The order journal cannot be used: it was written by a newer version")
    assert error.fix == "Update mcp-binance-server"
    assert (folder / FILE).read_bytes() == before


EVERYTHING = "SELECT name, sql FROM sqlite_master ORDER BY name"


GONE = {each.split()[2] for statements in VERSIONS for each in statements if each.startswith("DROP TABLE")}
# What a later version has made of a table that is gone, back into it.
INTO_OLD = {"stop": "INSERT INTO stop SELECT 1, why, since_ms FROM account_stop WHERE account=''"}


def tables_of(version: int) -> list[str]:
    """Name the tables that a version brought and that still are."""
    named = [each.split()[2] for each in VERSIONS[version] if each.startswith("CREATE TABLE")]
    return [each for each in named if each not in GONE]


def taken_back(path: Path, version: int) -> dict[str, list[tuple[object, ...]]]:
    """Make an older version of a journal, and return what is in each of its tables."""
    db = sqlite3.connect(path)
    for later in range(NEWEST - 1, version - 1, -1):
        for statement in reversed(VERSIONS[later]):
            verb, what, name, *more = statement.split()
            if verb == "ALTER":
                db.execute(f"ALTER TABLE {name} DROP COLUMN {more[2]}")
            elif verb == "DROP":
                db.execute(next(each for each in VERSIONS[0] if each.startswith(f"CREATE TABLE {name} ")))
                db.execute(INTO_OLD[name])
            elif verb == "CREATE":
                db.execute(f"DROP {what} IF EXISTS {name}")
    db.execute(f"PRAGMA user_version={version}")
    db.commit()
    found = contents(db, version)
    db.close()
    return found


def contents(db: sqlite3.Connection, version: int) -> dict[str, list[tuple[object, ...]]]:
    """Return what is in the tables of a version, but for the columns that came later."""
    names = [name for each in range(version) for name in tables_of(each)]
    later = [each.split() for since in VERSIONS[version:] for each in since if each.startswith("ALTER")]

    def columns(name: str) -> str:
        listed = (row[1] for row in db.execute(f"PRAGMA table_info({name})"))
        return ", ".join(each for each in listed if not any((w[2], w[5]) == (name, each) for w in later))

    query = "SELECT {} FROM {} ORDER BY 1"
    return {name: db.execute(query.format(columns(name), name)).fetchall() for name in names}


# First version of the tables in which a stop says whether it allows exits.
WITH_EXITS = 6


@pytest.mark.parametrize("version", range(1, NEWEST))
async def test_an_older_file_is_brought_up_to_date_with_all_that_is_in_it(tmp_path: Path, version: int) -> None:
    async with opened_store(tmp_path) as store:
        ledger = HostLedger(store, "me")
        for number in range(3):
            new = intent(number)
            await ledger.claim(new, charges(new.terms, read_policy(b""), "policy"), NOW_MS)
        await ledger.mark_sent(intent(1).preview_id, NOW_MS)
        await Agreements(store).wait(intent(9).preview_id, "me", intent(9).terms, NOW_MS)
        await ledger.stop("a fire", "a test", NOW_MS)
        newest = store.db.execute(EVERYTHING).fetchall()
    before = taken_back(tmp_path / FILE, version)
    assert all(before[name] for name in tables_of(0))

    async with opened_store(tmp_path) as store:
        assert store.version_found == version
        assert store.db.execute("PRAGMA user_version").fetchone() == (NEWEST,)
        assert contents(store.db, version) == before
        assert store.db.execute(EVERYTHING).fetchall() == newest
        ledger = HostLedger(store, "me")
        # Whether an older stop allows exits is unknown: it does not.
        stopped = Stopped("a fire", NOW_MS, ALL_ACCOUNTS, allows_exits=version >= WITH_EXITS)
        assert await ledger.stops() == [stopped]
        assert await ledger.stopped(intent(4).terms.account) == stopped
        await ledger.resume("a person", NOW_MS)
        assert (await ledger.claim(intent(1), (), NOW_MS)) == (await ledger.find(intent(1).preview_id), False)
        assert (await ledger.claim(intent(4), (), NOW_MS))[1]
        assert (await examine(store)).problems == ()


def put_another_there(path: Path) -> None:
    copy = path.read_bytes()
    path.unlink()
    path.write_bytes(copy)


def move_away(path: Path) -> None:
    path.rename(path.with_suffix(".away"))


@MOVED_WHILE_OPEN
@pytest.mark.parametrize("change", [put_another_there, move_away])
async def test_a_file_that_was_moved_or_replaced_while_in_use_is_not_written(
    tmp_path: Path, change: Callable[[Path], None]
) -> None:
    folder = tmp_path / "trading"
    async with opened_store(folder) as store:
        ledger = HostLedger(store, "me")
        await ledger.claim(intent(1), (), NOW_MS)
        change(folder / FILE)

        with pytest.raises(JournalUnavailable) as caught:
            await ledger.claim(intent(2), (), NOW_MS)

    assert caught.value.reason == "the file was moved or replaced while in use"
    assert caught.value.fix == "Restart this server"


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


async def test_any_name_of_a_folder_will_do(tmp_path: Path) -> None:
    folder = tmp_path / "a?mode=ro#b%20c d"

    async with opened_store(folder) as store:
        await HostLedger(store, "me").claim(intent(), (), NOW_MS)

    assert (folder / FILE).is_file()
    async with read_store(folder) as store:
        assert (await examine(store)).events == 1


async def test_who_reads_cannot_write(tmp_path: Path) -> None:
    assert await opens(tmp_path) is None

    async with read_store(tmp_path) as store:
        with pytest.raises(JournalUnavailable):
            await HostLedger(store, "me").claim(intent(), (), NOW_MS)


async def test_what_a_killed_writer_left_half_done_is_undone_by_who_reads(tmp_path: Path) -> None:
    async with opened_store(tmp_path) as store:
        for number in range(40):
            await HostLedger(store, "me").claim(intent(number), (), NOW_MS)
    program = (
        "import os, sqlite3, sys\n"
        "db = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
        "for each in ('journal_mode=PERSIST', 'cache_size=1'): db.execute(f'PRAGMA {each}')\n"
        "db.execute('BEGIN IMMEDIATE')\n"
        "db.execute(\"UPDATE event SET facts=facts || 'x', at_ms=1\")\n"
        "db.execute('DELETE FROM intent')\n"
        "os._exit(0)\n"
    )
    before = (tmp_path / FILE).read_bytes()
    await anyio.run_process([sys.executable, "-c", program, str(tmp_path / FILE)])
    assert (tmp_path / FILE).read_bytes() != before

    async with read_store(tmp_path) as store:
        found = await examine(store)

    assert (found.events, found.orders, found.problems) == (40, 40, ())


async def test_a_visitor_with_much_to_write_does_not_hold_up_another(tmp_path: Path) -> None:
    done: list[str] = []
    async with opened_store(tmp_path / "trading") as store:

        async def note(party: str) -> None:
            with acting_for(party):
                await HostLedger(store, "me").note("NOTED", {}, NOW_MS)
            done.append(party)

        async with anyio.create_task_group() as tasks:
            for _ in range(100):
                tasks.start_soon(note, "busy")
            await anyio.lowlevel.checkpoint()
            tasks.start_soon(note, "modest")

    assert done.index("modest") < 5
