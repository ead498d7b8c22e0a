"""Copy of the last written event, in a file next to the journal. It shows whether an older copy replaced the journal.

The file is written after the commit and not synced, so it can be behind the journal but never ahead. It is synced only
when a person accepts the journal. Otherwise a power cut could restore the old file, which would make the accepted
journal look like an older copy.
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
# Windows cannot read a locked byte, so lock a byte that is never written.
_LOCKED_AT = 4096
_FIELDS = 4


@dataclass(frozen=True, slots=True)
class LastWritten:
    """Number, time and hash of the last event."""

    seq: int
    at_ms: int
    hash: str

    @property
    def line(self) -> str:
        """Content of the file. Its length is constant, because it overwrites the previous content."""
        told = f"{self.seq:016} {self.at_ms:016} {self.hash}"
        return f"{told} {_sum(told)}\n"

    @classmethod
    def parse(cls, line: str) -> "LastWritten | None":
        """Parse the content of the file, or return None if it is incomplete or corrupt."""
        parts = line.split()
        if len(parts) != _FIELDS or not (parts[0] + parts[1]).isdecimal():
            return None
        found = cls(int(parts[0]), int(parts[1]), parts[2])
        return found if found.line == line else None


def read_last(folder: Path) -> LastWritten | None:
    """Return the content of the file; None if it is missing or unreadable."""
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
    """Return the event in the file if the journal lacks it.

    In this case the journal is an older copy or another journal.
    """
    last = read_last(folder)
    return None if last is None or _is_in(rows, last) else last


def keep_up(rows: Rows, folder: Path, told: LastWritten | None = None) -> LastWritten | None:
    """Write the newest event to the file, unless this process has already written it.

    Return the event. The file is not changed if it names an event that the journal lacks. Errors are ignored, because
    this commit is already on the disk and the next commit writes the file again.
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
    """Accept the journal in its current state."""
    with suppress(OSError):  # emptied, not removed: Windows does not remove open files
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
