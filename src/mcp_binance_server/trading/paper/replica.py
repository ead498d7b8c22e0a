"""Tables of paper accounts in the memory of one worker, built from a log that all workers share.

Each write is recorded as SQL statements. All workers apply the same statements to equal rows, so they get equal orders
and fills with equal numbers.
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
# Generation of the accounts. A new generation starts when the engine's memory, and thus all accounts, were lost.
LIFE = """CREATE TABLE paper_life (
  one INTEGER PRIMARY KEY CHECK (one = 1), life TEXT NOT NULL, began_ms INTEGER NOT NULL, follows INTEGER NOT NULL)"""
# A log entry may contain only these statements. Other statements would let a writer of the shared state open files of
# this machine.
WRITES = ("INSERT ", "UPDATE ", "DELETE ")
SAVEPOINT, ROLLBACK_TO = "SAVEPOINT ", "ROLLBACK TO "
BEGIN = LogMark()


@dataclass(frozen=True, slots=True)
class PaperLife:
    """Start of this generation of paper accounts. With `follows_lost`, earlier accounts were lost."""

    life: str
    began_ms: int
    follows_lost: bool


class _RecordedRows(sqlite3.Connection):
    """SQLite connection that can record its writes. Writes that are rolled back to a savepoint leave the record."""

    told: list[Statement] | None = None
    _changes: int = 0
    """Recorded changes of rows. Like `total_changes`, it includes those that were rolled back."""
    _undone: int = 0
    """Those of the recorded changes that were rolled back."""
    _before: int = 0
    _savepoints: dict[str, tuple[int, int]]
    """By name: the number of statements and of lasting changes when the savepoint was set."""

    def execute(self, sql: str, parameters: Any = (), /) -> sqlite3.Cursor:  # noqa: ANN401 - the signature of sqlite3
        done = super().execute(sql, parameters)
        if self.told is None:
            return done
        if sql.startswith(WRITES):
            self.told.append((sql, [*parameters]))
            self._changes += max(0, done.rowcount)
        elif sql.startswith(SAVEPOINT):
            self._savepoints[sql.removeprefix(SAVEPOINT)] = len(self.told), self._changes - self._undone
        elif sql.startswith(ROLLBACK_TO):
            length, lasting = self._savepoints[sql.removeprefix(ROLLBACK_TO)]
            del self.told[length:]
            self._undone = self._changes - lasting
        return done

    def take_down(self) -> None:
        """Start recording."""
        self.told, self._changes, self._undone, self._before = [], 0, 0, self.total_changes
        self._savepoints = {}

    def has_changed(self) -> bool:
        """Return True if rows were written since the recording started, and not rolled back.

        Raises:
            RuntimeError: a write was not recorded, so other workers could not repeat it.
        """
        if self.total_changes - self._before != self._changes:
            raise RuntimeError("paper rows were written without execute")
        return self._changes > self._undone


@dataclass(eq=False)
class PaperReplica:
    """Rows at one position of the log. Each commit also moves the position."""

    mark: LogMark = BEGIN
    life: PaperLife | None = None
    """Generation of the accounts; None before the first write."""
    has_lost: bool = False
    """Whether this process has seen accounts that are now lost."""
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
        """Run read-only work.

        Raises:
            JournalUnavailable: a row is invalid.
        """
        self.undo()
        return self._done(work)

    def attempt(self, work: Callable[[Rows], WorkT], now_ms: int) -> tuple[WorkT, bytes]:
        """Run work that writes, and return the log entry for other workers.

        Then call `keep` or `undo`. If the work wrote nothing, the entry is empty. After empty or failed work there is
        nothing to undo.

        Raises:
            JournalUnavailable: a row is invalid.
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
        """Commit the writes of an attempt, because they are now in the log."""
        self._db.execute("COMMIT")
        self.mark, self.life = end, self._life()

    def undo(self) -> None:
        """Roll back the writes of an attempt."""
        if self._db.in_transaction:
            self._db.execute("ROLLBACK")

    def apply(self, part: LogPart) -> None:
        """Apply the writes of other workers, all or nothing.

        Raises:
            JournalUnavailable: they cannot be applied here.
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
                    reason="paper data of another server cannot be read",
                    fix="Run the same version on all servers",
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
        """Record the generation with the first entry. With the next entry, record whether older accounts were lost."""
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
        reason="invalid row of a paper account", fix="Run the same version on all servers that share the state"
    )
