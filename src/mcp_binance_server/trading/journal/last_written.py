"""The last event that was written, in a file beside the journal: an older copy in the journal's place is noticed by it.

It is written after the commit and not synced, so it may be behind what is on the disk, and never ahead of it. Only what
a person accepts is synced: otherwise a power cut brings back the line that calls their journal an older copy.
"""

import os
import sqlite3
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from mcp_binance_server.trading.journal.owner import hold
from mcp_binance_server.trading.journal.schema import Rows

LAST_FILE = "trading.last"
_FLAGS = os.O_CREAT | os.O_RDWR | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
# On Windows what is locked cannot be read: lock what is never written.
_LOCKED_AT = 4096
_FIELDS = 4


@dataclass(frozen=True, slots=True)
class LastWritten:
    """Which event was the last, and when."""

    seq: int
    at_ms: int
    hash: str

    @property
    def line(self) -> str:
        """The content of the file, always as long: it is written over the one before."""
        told = f"{self.seq:016} {self.at_ms:016} {self.hash}"
        return f"{told} {_sum(told)}\n"

    @classmethod
    def parse(cls, line: str) -> "LastWritten | None":
        """Read such a line; one that was cut off or mixed up says nothing."""
        parts = line.split()
        if len(parts) != _FIELDS or not (parts[0] + parts[1]).isdecimal():
            return None
        found = cls(int(parts[0]), int(parts[1]), parts[2])
        return found if found.line == line else None


def read_last(folder: Path) -> LastWritten | None:
    """Return what the file says; None if there is none that can be read."""
    try:
        file = os.open(folder / LAST_FILE, os.O_RDONLY)
    except OSError:
        return None
    try:
        return _read(file)
    except OSError:
        return None
    finally:
        os.close(file)


def missing_from(rows: Rows, folder: Path) -> LastWritten | None:
    """Return the event that was written here once and is not in the journal: it is an older copy, or another."""
    last = read_last(folder)
    return None if last is None or _is_in(rows, last) else last


def keep_up(rows: Rows, folder: Path, told: LastWritten | None = None) -> LastWritten | None:
    """Write down the newest event, unless it was the last one told, and return it; what is missing stays missing.

    Whatever goes wrong here is for the next commit to make good: the one that was made is on the disk.
    """
    with suppress(OSError, sqlite3.Error):
        newest = _newest(rows)
        if newest is None or newest == told:
            return newest
        file = os.open(folder / LAST_FILE, _FLAGS, 0o600)
        try:
            os.lseek(file, _LOCKED_AT, os.SEEK_SET)
            hold(file)
            os.lseek(file, 0, os.SEEK_SET)
            stands = _read(file)
            if stands is None or (stands.seq < newest.seq and _is_in(rows, stands)):
                os.lseek(file, 0, os.SEEK_SET)
                os.ftruncate(file, os.write(file, newest.line.encode()))
        finally:
            os.close(file)
        return newest
    return None


def accept(rows: Rows, folder: Path) -> None:
    """Take the journal as it is for the right one."""
    with suppress(OSError):  # emptied, not removed: Windows does not remove what somebody has open
        file = os.open(folder / LAST_FILE, _FLAGS | os.O_TRUNC, 0o600)
        try:
            keep_up(rows, folder)
            os.fsync(file)
        finally:
            os.close(file)


def _read(file: int) -> LastWritten | None:
    return LastWritten.parse(os.read(file, _LOCKED_AT).decode("ascii", "replace"))


def _newest(rows: Rows) -> LastWritten | None:
    row = rows.execute("SELECT seq, at_ms, hash FROM event ORDER BY seq DESC LIMIT 1").fetchone()
    return None if row is None else LastWritten(*row)


def _is_in(rows: Rows, last: LastWritten) -> bool:
    return rows.execute("SELECT 1 FROM event WHERE seq=? AND hash=?", (last.seq, last.hash)).fetchone() is not None


def _sum(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:16]
