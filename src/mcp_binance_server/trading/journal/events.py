"""Events in their table: added at the end of the chain, read in order. Work for the store's thread."""

from collections.abc import Iterator, Mapping
from typing import Any

from mcp_binance_server.trading.journal.chain import Event, broken_link, link
from mcp_binance_server.trading.journal.schema import Rows

ACCEPTED = "ACCEPTED"
"""A person takes the journal as it is, although events are missing from it or were changed."""
# Half a second's work on an old machine.
CHECKED_AT_OPEN = 20_000
PAGE = 1_000


def append(rows: Rows, now_ms: int, about: str, state: str, facts: Mapping[str, Any]) -> Event:
    """Add one event to the chain."""
    event = link(last_event(rows), now_ms, about, state, facts)
    rows.execute(
        "INSERT INTO event VALUES (?,?,?,?,?,?,?)",
        (event.seq, event.at_ms, event.about, event.state, event.facts, event.prev, event.hash),
    )
    return event


def last_event(rows: Rows) -> Event | None:
    row = rows.execute("SELECT * FROM event ORDER BY seq DESC LIMIT 1").fetchone()
    return None if row is None else Event(*row)


def all_events(rows: Rows, after: int = 0) -> Iterator[Event]:
    """Return the events behind one, the oldest first, a page at a time: whoever writes need not wait for the reader."""
    while page := rows.execute("SELECT * FROM event WHERE seq>? ORDER BY seq LIMIT ?", (after, PAGE)).fetchall():
        yield from (Event(*row) for row in page)
        after = page[-1][0]


def broken_lately(rows: Rows) -> int | None:
    """Return the first of the newest events that does not follow on the one before it; a start must not take long.

    What a person has accepted is not looked at again, except by who asks whether all is whole.
    """
    (newest,) = rows.execute("SELECT coalesce(max(seq), 0) FROM event").fetchone()
    (accepted,) = rows.execute("SELECT coalesce(max(seq), 0) FROM event WHERE state=?", (ACCEPTED,)).fetchone()
    start = max(newest - CHECKED_AT_OPEN, accepted)
    row = rows.execute("SELECT * FROM event WHERE seq=?", (start,)).fetchone()
    return broken_link(all_events(rows, start), None if row is None else Event(*row))
