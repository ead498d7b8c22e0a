"""Events in their table: added at the end of the chain, read in order. Work for the store's thread."""

from collections.abc import Iterator, Mapping
from typing import Any

from mcp_binance_server.trading.journal.chain import Event, link
from mcp_binance_server.trading.journal.store import Rows


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


def events_from(rows: Rows, seq: int = 1) -> Iterator[Event]:
    """Return the events from one on, the oldest first."""
    return (Event(*row) for row in rows.execute("SELECT * FROM event WHERE seq>=? ORDER BY seq", (seq,)))
