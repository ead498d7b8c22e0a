"""The tables of accounts on paper in one worker's memory, made of a log that all workers share.

What work writes is taken down statement by statement. The rows that it began from are the same everywhere, and so are
those that come of it: the numbers that orders and fills are given included.
"""

import sqlite3
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar
from uuid import uuid4

import msgspec

from mcp_binance_server.state.logs import LogMark, LogPart
from mcp_binance_server.trading.errors import JournalUnavailable
from mcp_binance_server.trading.journal.schema import Rows, bring_up_to_date
from mcp_binance_server.trading.journal.store import SENSELESS

WorkT = TypeVar("WorkT")
Statement = tuple[str, list[Any]]

SHARED = ("paper_account", "paper_order", "paper_fill", "paper_matcher", "paper_tape", "paper_life")
# Which accounts these are: another life means that those of before were lost with the engine's memory.
LIFE = """CREATE TABLE paper_life (
  one INTEGER PRIMARY KEY CHECK (one = 1), life TEXT NOT NULL, began_ms INTEGER NOT NULL, follows INTEGER NOT NULL)"""
# All that an entry may do here. With anything else, whoever writes the state could open files of this machine.
WRITES = ("INSERT ", "UPDATE ", "DELETE ")
BEGIN = LogMark()


@dataclass(frozen=True, slots=True)
class PaperLife:
    """Since when accounts on paper are what they are, and whether others were lost before them."""

    life: str
    began_ms: int
    follows_lost: bool


class _RecordedRows(sqlite3.Connection):
    """Rows that take down what is written to them while they are asked to."""

    told: list[Statement] | None = None
    _changes: int = 0
    _before: int = 0

    def execute(self, sql: str, parameters: Any = (), /) -> sqlite3.Cursor:  # noqa: ANN401 - as the library has it
        done = super().execute(sql, parameters)
        if self.told is not None and sql.startswith(WRITES):
            self.told.append((sql, [*parameters]))
            self._changes += max(0, done.rowcount)
        return done

    def take_down(self) -> None:
        """Begin to take down."""
        self.told, self._changes, self._before = [], 0, self.total_changes

    def has_changed(self) -> bool:
        """Tell whether rows were written since.

        Raises:
            RuntimeError: not all of it was taken down, so that others could not do the same.
        """
        if self.total_changes - self._before != self._changes:
            raise RuntimeError("rows on paper were written by something else than execute")
        return bool(self._changes)


@dataclass(eq=False)
class PaperReplica:
    """Rows as of a place in the log. Its transactions end in the same step as that place is moved."""

    mark: LogMark = BEGIN
    life: PaperLife | None = None
    """Which accounts these are; None before anything was written."""
    has_lost: bool = False
    """Whether accounts that were known here are gone."""
    _db: _RecordedRows = field(init=False)

    def __post_init__(self) -> None:
        self._db = sqlite3.connect(
            ":memory:", isolation_level=None, check_same_thread=False, factory=_RecordedRows, cached_statements=256
        )
        bring_up_to_date(self._db)
        self._db.execute(LIFE)

    def close(self) -> None:
        self._db.close()

    def read(self, work: Callable[[Rows], WorkT]) -> WorkT:
        """Do work that changes nothing.

        Raises:
            JournalUnavailable: a row makes no sense.
        """
        self.undo()
        return self._done(work)

    def attempt(self, work: Callable[[Rows], WorkT], now_ms: int) -> tuple[WorkT, bytes]:
        """Do work that writes, and return the entry by which others do the same; `keep` or `undo` what it did.

        Work that has failed, or has written nothing, leaves nothing to undo: the entry is empty.

        Raises:
            JournalUnavailable: a row makes no sense.
        """
        db = self._db
        self.undo()
        db.execute("BEGIN")
        db.take_down()
        try:
            done = self._done(work)
            if not db.has_changed():
                self.undo()
                return done, b""
            self._tell_life(now_ms)
            return done, zlib.compress(msgspec.msgpack.encode(db.told), 1)
        except BaseException:
            self.undo()
            raise
        finally:
            db.told = None

    def keep(self, end: LogMark) -> None:
        """Keep what an attempt wrote, now that it is in the log."""
        self._db.execute("COMMIT")
        self.mark, self.life = end, self._life()

    def undo(self) -> None:
        """Forget what an attempt wrote; also one that nobody waited for."""
        if self._db.in_transaction:
            self._db.execute("ROLLBACK")

    def apply(self, part: LogPart) -> None:
        """Do what others have written: all of it, or nothing.

        Raises:
            JournalUnavailable: it cannot be done here.
        """
        self.undo()
        db = self._db
        db.execute("BEGIN")
        try:
            if part.is_whole:
                self._begin_with(part.snapshot)
            for entry in part.entries:
                for sql, parameters in _statements(entry):
                    db.execute(sql, parameters)
            db.execute("COMMIT")
        except BaseException as error:
            self.undo()
            if isinstance(error, (sqlite3.Error, zlib.error, msgspec.MsgspecError, *SENSELESS)):
                raise JournalUnavailable(
                    reason="what another server wrote on paper cannot be read here",
                    fix="Run the same version on all of them",
                ) from error
            raise
        before, self.life, self.mark = self.life, self._life(), part.end
        if before is not None and (self.life is None or self.life.life != before.life):
            self.has_lost = True

    def snapshot(self) -> bytes:
        """Return all rows as one value."""
        found = {table: self._db.execute(f"SELECT * FROM {table}").fetchall() for table in SHARED}
        return zlib.compress(msgspec.msgpack.encode(found))

    def _life(self) -> PaperLife | None:
        row = self._db.execute("SELECT life, began_ms, follows FROM paper_life").fetchone()
        return None if row is None else PaperLife(row[0], row[1], bool(row[2]))

    def _done(self, work: Callable[[Rows], WorkT]) -> WorkT:
        try:
            return work(self._db)
        except (sqlite3.Error, *SENSELESS) as error:
            raise _senseless() from error

    def _begin_with(self, snapshot: bytes | None) -> None:
        rows: dict[str, list[list[Any]]] = {} if snapshot is None else _decoded(snapshot, dict[str, list[list[Any]]])
        for table in SHARED:
            self._db.execute(f"DELETE FROM {table}")
            if found := rows.get(table):
                self._db.executemany(f"INSERT INTO {table} VALUES ({','.join('?' * len(found[0]))})", found)

    def _tell_life(self, now_ms: int) -> None:
        """Write with the first entry which accounts these are, and with the next one that others were lost."""
        if self.life is None:
            self._db.execute("INSERT INTO paper_life VALUES (1,?,?,?)", (uuid4().hex, now_ms, self.has_lost))
        elif self.has_lost and not self.life.follows_lost:
            self._db.execute("UPDATE paper_life SET follows=1")


def _statements(entry: bytes) -> list[Statement]:
    found = _decoded(entry, list[Statement]) if entry else []
    if not all(sql.startswith(WRITES) for sql, _ in found):
        raise ValueError("an entry does more than write rows")
    return found


def _decoded(value: bytes, kind: type[WorkT]) -> WorkT:
    return msgspec.msgpack.decode(zlib.decompress(value), type=kind)


def _senseless() -> JournalUnavailable:
    return JournalUnavailable(
        reason="a row on paper makes no sense", fix="Run the same version on all servers that share the state"
    )
