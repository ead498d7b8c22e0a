"""Integrity check and backup of a journal. Measures the commit time of its disk."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from secrets import token_hex
from statistics import median
from typing import Any

import anyio.to_thread

from mcp_binance_server.clock import Clock
from mcp_binance_server.domain.periods import moment_of
from mcp_binance_server.trading.journal.chain import PAGE, Event, all_events, broken_link
from mcp_binance_server.trading.journal.last_written import missing_from
from mcp_binance_server.trading.journal.records import NEXT
from mcp_binance_server.trading.journal.schema import Rows
from mcp_binance_server.trading.journal.store import Store, make_durable, unavailable

_MOST_PROBLEMS = 20
_COMMITS = 5


@dataclass(frozen=True, slots=True)
class IntegrityReport:
    """Number of events and orders in a journal, with the problems found."""

    events: int
    orders: int
    problems: tuple[str, ...]


async def examine(store: Store) -> IntegrityReport:
    """Check every event and every order. A server may write at the same time.

    Raises:
        JournalUnavailable: the file cannot be read to its end.
    """
    return await store.read(lambda rows: _examined(rows, store.folder))


async def back_up(store: Store, file: Path) -> IntegrityReport:
    """Copy a snapshot of the journal to a new file and check the copy.

    Raises:
        OSError: the file exists already, or cannot be created.
        JournalUnavailable: the journal cannot be read, or the copy cannot be written.
    """
    return await store.read(lambda rows: _copied(rows, file))


async def commit_ms(folder: Path, clock: Clock) -> float:
    """Measure the commit time of the folder's disk in ms, with a temporary file.

    Raises:
        JournalUnavailable: nothing can be written there.
    """
    return await anyio.to_thread.run_sync(_committed, folder, clock)


def _committed(folder: Path, clock: Clock) -> float:
    file, took_ms = folder / f"probe-{token_hex(4)}.db", list[float]()
    try:
        with closing(sqlite3.connect(file, isolation_level=None)) as db:
            make_durable(db)
            db.execute("CREATE TABLE probe (number INTEGER)")
            for number in range(_COMMITS):
                started_ms = clock.monotonic_ms()
                db.execute("INSERT INTO probe VALUES (?)", (number,))
                took_ms.append(clock.monotonic_ms() - started_ms)
    except sqlite3.Error as error:
        raise unavailable(folder, error) from error
    finally:
        for each in (file, file.with_name(f"{file.name}-journal")):
            with suppress(OSError):
                each.unlink()
    return median(took_ms)


def _copied(rows: Rows, file: Path) -> IntegrityReport:
    os.close(os.open(file, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    try:
        with closing(sqlite3.connect(file, isolation_level=None)) as copy:
            rows.backup(copy)
            return _examined(copy, None)
    except BaseException:
        file.unlink(missing_ok=True)
        raise


def _examined(rows: Rows, folder: Path | None) -> IntegrityReport:
    (told,) = rows.execute("PRAGMA quick_check(1)").fetchone()
    if told != "ok":
        raise unavailable(folder or Path(), sqlite3.DatabaseError(f"malformed: {told}"))
    problems = [*_of_the_chain(rows), *_of_the_orders(rows)]
    if folder is not None and (missing := missing_from(rows, folder)) is not None:
        problems.insert(0, f"{_event(missing.seq, missing.at_ms)} was recorded here and is missing: an older copy?")
    (events,) = rows.execute("SELECT count(*) FROM event").fetchone()
    (orders,) = rows.execute("SELECT count(*) FROM intent").fetchone()
    left = len(problems) - _MOST_PROBLEMS
    return IntegrityReport(events, orders, (*problems[:_MOST_PROBLEMS], *([f"and {left:,} more"] if left > 0 else [])))


def _of_the_chain(rows: Rows) -> Iterator[str]:
    if (seq := broken_link(all_events(rows))) is not None:
        (at_ms,) = rows.execute("SELECT at_ms FROM event WHERE seq=?", (seq,)).fetchone()
        yield f"{_event(seq, at_ms)} does not match the previous event: it was changed, or an earlier one is missing"


def _of_the_orders(rows: Rows) -> Iterator[str]:
    """Compare each order with its events. Yield the differences."""
    query = (
        "SELECT id, client_order_id, state, status, executed, spent, legs, terms FROM intent WHERE id>? "
        "ORDER BY id LIMIT ?"
    )
    after = ""
    while True:
        # Take one snapshot per page of orders and events. A snapshot of all orders would block writers.
        rows.execute("BEGIN")
        try:
            page = rows.execute(query, (after, PAGE // 10)).fetchall()
            for intent, name, *stands in page:
                found = rows.execute("SELECT * FROM event WHERE about=? ORDER BY seq", (intent,))
                if stands != (told := _told([Event(*row) for row in found])):
                    yield f"order {name}: the order table has {_words(stands)}, its events have {_words(told)}"
        finally:
            rows.execute("COMMIT")
        if not page:
            break
        after = page[-1][0]
    lost = rows.execute(
        "SELECT seq, at_ms FROM event WHERE state IN ('PREPARED', 'ADOPTED') "
        "AND NOT EXISTS (SELECT 1 FROM intent WHERE id=about)"
    )
    yield from (f"{_event(seq, at_ms)} belongs to an order missing from the order table" for seq, at_ms in lost)


def _told(events: list[Event]) -> list[str]:
    state, status, executed, spent, legs, terms = "", "", "0", "0", "[]", ""
    for each in events:
        facts = _facts(each)
        state = each.state if each.state in NEXT else state
        terms = terms or str(facts.get("terms", ""))
        if each.state == "STATUS":
            status, executed, spent = (str(facts.get(name)) for name in ("status", "executed", "spent"))
            legs = str(facts.get("legs", "[]"))
    return [state, status, executed, spent, legs, terms]


def _facts(event: Event) -> dict[str, Any]:
    try:
        return dict(event.told)
    except (ValueError, TypeError):
        return {}  # the check of the chain reports this


def _words(stands: list[str]) -> str:
    state, status, executed, spent, legs, terms = stands
    agreed = sha256(terms.encode()).hexdigest()[:8]
    listed = "" if legs == "[]" else f", its list {legs}"
    return f"{' '.join(filter(None, (state, status))) or 'nothing'}, {executed} for {spent}{listed}, terms {agreed}"


def _event(seq: int, at_ms: int) -> str:
    return f"event {seq} of {moment_of(at_ms):%Y-%m-%d %H:%M:%S} UTC"
