"""One SQLite file and the thread that alone speaks to it: a commit is on the disk, and never blocks the event loop.

A rollback journal that is kept, with full syncs. Not WAL: several clients of one user start several servers on one
file, and SQLite before 3.51.3 can corrupt a WAL file that two of them write and checkpoint at a time.
https://www.sqlite.org/wal.html#walresetbug
"""

import os
import re
import sqlite3
import stat
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import anyio
import anyio.to_thread

from mcp_binance_server.trading.errors import JournalUnavailable
from mcp_binance_server.trading.journal.schema import TooNew, bring_up_to_date

Rows = sqlite3.Connection
"""What a piece of work in the store's thread is given."""
WorkT = TypeVar("WorkT")

FILE = "trading.db"
BUSY_SECS = 5.0
# Locks of these are not to be relied on: https://www.sqlite.org/howtocorrupt.html#_filesystems_with_broken_or_missing_lock_implementations
NETWORK_FILE_SYSTEMS = frozenset(
    {"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "ceph", "glusterfs", "lustre", "fuse.sshfs", "fuse.rclone",
     "fuse.s3fs", "fuse.glusterfs", "davfs", "fuse.davfs2"}
)  # fmt: skip
# A blank in a name of /proc/self/mountinfo is written \\040.
_OCTAL = re.compile(r"\\([0-7]{3})")


@dataclass(eq=False)
class Store:
    """The open file; `write` is one transaction, all of it or nothing."""

    folder: Path
    db: Rows
    inode: int
    version_found: int
    lock: anyio.CapacityLimiter

    async def write(self, work: Callable[[Rows], WorkT]) -> WorkT:
        """Do the work in one transaction that has the write lock from its begin: nobody else reads what it changes.

        Raises:
            JournalUnavailable: it cannot be written; nothing was.
        """
        return await anyio.to_thread.run_sync(self._written, work, limiter=self.lock)

    async def read(self, work: Callable[[Rows], WorkT]) -> WorkT:
        """Do work that changes nothing.

        Raises:
            JournalUnavailable: it cannot be read.
        """
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
        return done

    def _read(self, work: Callable[[Rows], WorkT]) -> WorkT:
        try:
            return work(self.db)
        except sqlite3.Error as error:
            raise unavailable(self.folder, error) from error

    def _require_same_file(self) -> None:
        # What is written to a file that was replaced or removed is gone with this process.
        try:
            found = (self.folder / FILE).stat().st_ino
        except OSError:
            found = None
        if found != self.inode:
            raise JournalUnavailable(reason="the file was moved or replaced while in use", fix="Restart this server")


@asynccontextmanager
async def opened_store(folder: Path) -> AsyncGenerator[Store]:
    """Open the journal of a folder, made if need be, and bring it up to date.

    Raises:
        JournalUnavailable: the folder or file cannot be used.
    """
    store = await anyio.to_thread.run_sync(_open, folder)
    try:
        yield store
    finally:
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(store.db.close, limiter=store.lock)


def unavailable(folder: Path, error: sqlite3.Error) -> JournalUnavailable:
    """Say in one line what is wrong with the file, and what helps."""
    told = str(error)
    for sign, reason, fix in (
        ("full", "the disk is full", "Free some space; nothing is lost"),
        ("readonly", "it cannot be written", f"Give this user the right to write in {folder}"),
        ("unable to open", "it cannot be opened", f"Give this user the right to write in {folder}"),
        ("locked", "another program holds it", "End the program that has it open"),
        ("not a database", "it is no journal", f"Move {FILE} away, or restore a backup"),
        ("malformed", "it is damaged", f"Restore a backup of {FILE}, then run mcp-binance-server journal --verify"),
        ("disk I/O", "the disk reports an error", "Look at the disk; nothing more is written"),
    ):
        if sign in told:
            return JournalUnavailable(reason=reason, fix=fix)
    return JournalUnavailable(reason=told, fix="Run mcp-binance-server journal --verify")


def file_system(path: Path, mounts: str | None = None) -> str | None:
    """Name the file system that a path is on; None where this system does not say."""
    if mounts is None:
        try:
            mounts = Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="replace")
        except OSError:
            return None
    best, kind = "", None
    for line in mounts.splitlines():
        before, dash, after = line.partition(" - ")
        at = _OCTAL.sub(lambda found: chr(int(found[1], 8)), before.split(" ")[4]) if dash else ""
        if at and len(at) >= len(best) and (at == "/" or path == Path(at) or Path(at) in path.parents):
            best, kind = at, after.split(" ")[0]
    return kind


def _open(folder: Path) -> Store:
    path = folder / FILE
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        _require_private(folder, path)
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
        inode = path.stat().st_ino
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise JournalUnavailable(reason=reason, fix=f"Give this user the right to write in {folder}") from error
    try:
        db = sqlite3.connect(path, isolation_level=None, timeout=BUSY_SECS, check_same_thread=False)
    except sqlite3.Error as error:
        raise unavailable(folder, error) from error
    try:
        return Store(folder, db, inode, _prepared(db), anyio.CapacityLimiter(1))
    except sqlite3.Error as error:
        db.close()
        raise unavailable(folder, error) from error
    except TooNew as error:
        db.close()
        raise JournalUnavailable(
            reason=f"it was written by a newer version (tables {error})", fix="Update mcp-binance-server"
        ) from error


def _prepared(db: Rows) -> int:
    db.execute("PRAGMA journal_mode=PERSIST")
    db.execute("PRAGMA synchronous=FULL")
    if sys.platform == "darwin":
        db.execute("PRAGMA fullfsync=ON")  # fsync alone does not reach the platter there
    return bring_up_to_date(db)


def _require_private(folder: Path, path: Path) -> None:
    kind = file_system(folder.resolve())
    if kind in NETWORK_FILE_SYSTEMS:
        raise JournalUnavailable(
            reason=f"it is on a network file system ({kind}), whose locks cannot be relied on",
            fix="Set MCP_BINANCE_TRADING_DIR to a folder on a local disk",
        )
    if sys.platform == "win32":
        return
    for each in (folder, path):
        if each.exists() and each.stat().st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            raise JournalUnavailable(reason=f"others can write {each.name}", fix=f"chmod go-w {each}")
