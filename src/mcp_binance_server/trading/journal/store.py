"""One SQLite file, used by one thread only. Commits are durable and never block the event loop.

The rollback journal is persistent, with full syncs. WAL is not used, because several servers can share one file. SQLite
before 3.51.3 can corrupt a WAL file that two servers write and checkpoint at the same time.
https://www.sqlite.org/wal.html#walresetbug
"""

import os
import sqlite3
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

import anyio
import anyio.to_thread

from mcp_binance_server.state.party_round import PartyRound
from mcp_binance_server.trading.errors import JournalUnavailable
from mcp_binance_server.trading.journal.chain import broken_lately
from mcp_binance_server.trading.journal.folder import keep_way_to, require_private
from mcp_binance_server.trading.journal.last_written import LastWritten, keep_up
from mcp_binance_server.trading.journal.schema import NEWEST, Rows, bring_up_to_date, require_known

WorkT = TypeVar("WorkT")

FILE = "trading.db"
# Errors caused by a value that this program did not write.
SENSELESS = (ArithmeticError, ValueError, TypeError, KeyError)
BUSY_SECS = 5.0


@dataclass(eq=False)
class Store:
    """The open journal file. `write` runs one transaction, all or nothing."""

    folder: Path
    db: Rows
    inode: int
    version_found: int
    broken_at: int | None
    """Number of the first recent event that breaks the hash chain."""
    lock: anyio.CapacityLimiter = field(default_factory=lambda: anyio.CapacityLimiter(1))
    turns: PartyRound = field(default_factory=PartyRound)
    """Round-robin queue of the callers whose work waits for the thread."""
    _told: LastWritten | None = None

    async def write(self, work: Callable[[Rows], WorkT]) -> WorkT:
        """Run the work in one transaction.

        The transaction holds the write lock from its start, so no other process writes in between.

        Raises:
            JournalUnavailable: the file cannot be written; nothing was written.
        """
        async with self.turns.turn():
            return await anyio.to_thread.run_sync(self._written, work, limiter=self.lock)

    async def read(self, work: Callable[[Rows], WorkT]) -> WorkT:
        """Run read-only work.

        Raises:
            JournalUnavailable: the file cannot be read.
        """
        async with self.turns.turn():
            return await anyio.to_thread.run_sync(self._read, work, limiter=self.lock)

    def _written(self, work: Callable[[Rows], WorkT]) -> WorkT:
        try:
            self._require_same_file()
            self.db.execute("BEGIN IMMEDIATE")
            try:
                done = work(self.db)
                self.db.execute("COMMIT")
            except BaseException:
                if self.db.in_transaction:
                    self.db.execute("ROLLBACK")
                raise
        except sqlite3.Error as error:
            raise unavailable(self.folder, error) from error
        except SENSELESS as error:
            raise _senseless() from error
        self._told = keep_up(self.db, self.folder, self._told)
        return done

    def _read(self, work: Callable[[Rows], WorkT]) -> WorkT:
        try:
            return work(self.db)
        except sqlite3.Error as error:
            raise unavailable(self.folder, error) from error
        except SENSELESS as error:
            raise _senseless() from error

    def _require_same_file(self) -> None:
        # Data written to a replaced or removed file would be lost when this process ends.
        try:
            found = (self.folder / FILE).stat().st_ino
        except OSError:
            found = None
        if found != self.inode:
            raise JournalUnavailable(reason="the file was moved or replaced while in use", fix="Restart this server")


def _senseless() -> JournalUnavailable:
    return JournalUnavailable(
        reason="it has an invalid row",
        fix=f"Restore a backup of {FILE}, then run mcp-binance-server journal --verify",
    )


@asynccontextmanager
async def opened_store(folder: Path) -> AsyncGenerator[Store]:
    """Open the journal of a folder; create or migrate it if necessary.

    Raises:
        JournalUnavailable: the folder or file cannot be used.
    """
    async with _closing(await anyio.to_thread.run_sync(_open, folder)) as store:
        yield store


@asynccontextmanager
async def read_store(folder: Path) -> AsyncGenerator[Store]:
    """Open the journal of a folder for reading. Nothing is created or migrated.

    Raises:
        FileNotFoundError: there is no journal.
        JournalUnavailable: it cannot be read.
    """
    async with _closing(await anyio.to_thread.run_sync(_open_to_read, folder)) as store:
        yield store


@asynccontextmanager
async def _closing(store: Store) -> AsyncGenerator[Store]:
    try:
        yield store
    finally:
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(store.db.close, limiter=store.lock)


def unavailable(folder: Path, error: sqlite3.Error) -> JournalUnavailable:
    """Return an error that states in one line the problem of the file and the remedy."""
    told = str(error)
    for sign, reason, fix in (
        ("full", "the disk is full", "Free disk space; nothing is lost"),
        ("readonly", "it cannot be written", f"Give this user the right to write in {folder}"),
        ("unable to open", "it cannot be opened", f"Give this user the right to write in {folder}"),
        ("locked", "another program has locked it", "End the program that has it open"),
        ("not a database", "it is not a journal", f"Move {FILE} away, or restore a backup"),
        ("malformed", "it is damaged", f"Restore a backup of {FILE}, then run mcp-binance-server journal --verify"),
        ("disk I/O", "the disk reports an error", "Check the disk; nothing more is written"),
    ):
        if sign in told:
            return JournalUnavailable(reason=reason, fix=fix)
    return JournalUnavailable(reason=told, fix="Run mcp-binance-server journal --verify")


def _open(folder: Path) -> Store:
    path = folder / FILE
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        require_private(folder, path)
        if not path.exists():
            keep_way_to(folder)
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
        inode = path.stat().st_ino
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise JournalUnavailable(reason=reason, fix=f"Give this user the right to write in {folder}") from error
    return _connected(folder, inode, _prepared)


def _open_to_read(folder: Path) -> Store:
    try:
        inode = (folder / FILE).stat().st_ino
    except PermissionError as error:
        raise JournalUnavailable(reason="it cannot be opened", fix=f"Run this as the owner of {folder}") from error
    store = _connected(folder, inode, _known)
    return store if store.version_found == NEWEST else _copied(store)


def _copied(store: Store) -> Store:
    """Return a migrated copy of an older journal in memory. The file is not changed."""
    copy = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    try:
        store.db.backup(copy)
        bring_up_to_date(copy)
        copy.execute("PRAGMA query_only=ON")
    except sqlite3.Error as error:
        copy.close()
        raise unavailable(store.folder, error) from error
    finally:
        store.db.close()
    return replace(store, db=copy)


def _connected(folder: Path, inode: int, prepare: Callable[[Rows], int]) -> Store:
    # Do not open it read-only: the transaction of a killed writer must be rolled back first.
    uri = f"{(folder / FILE).absolute().as_uri()}?mode=rw"
    try:
        db = sqlite3.connect(uri, isolation_level=None, timeout=BUSY_SECS, check_same_thread=False, uri=True)
    except sqlite3.Error as error:
        raise unavailable(folder, error) from error
    try:
        return Store(folder, db, inode, prepare(db), broken_lately(db))
    except BaseException as error:
        db.close()
        if isinstance(error, sqlite3.Error):
            raise unavailable(folder, error) from error
        if isinstance(error, SENSELESS):  # a message that quotes damaged data is not valid text
            raise _senseless() from error
        raise


def _known(db: Rows) -> int:
    db.execute("PRAGMA query_only=ON")
    if not (found := require_known(db)):
        raise FileNotFoundError(FILE)  # another process is about to create it
    return found


def _prepared(db: Rows) -> int:
    make_durable(db)
    return bring_up_to_date(db)


def make_durable(db: Rows) -> None:
    """Make each commit durable before it returns."""
    db.execute("PRAGMA journal_mode=PERSIST")
    db.execute("PRAGMA synchronous=FULL")
    if sys.platform == "darwin":
        db.execute("PRAGMA fullfsync=ON")  # on macOS, fsync alone does not reach the disk
