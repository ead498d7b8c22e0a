"""Hash chain of journal events, and its table.

Each event contains the hash of the previous event, so a change is detected.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any

from mcp_binance_server.trading.journal.schema import Rows

GENESIS = "0" * 64
ACCEPTED = "ACCEPTED"
"""Event: a person accepts the journal although events are missing from it or were changed."""
# Number of events that are checked when the journal opens. This takes half a second on an old machine.
CHECKED_AT_OPEN = 20_000
PAGE = 1_000


@dataclass(frozen=True, slots=True)
class Event:
    """One event of the journal. `about` is the preview ID of an intent, or "" if the event concerns no intent."""

    seq: int
    at_ms: int
    about: str
    state: str
    facts: str
    prev: str
    hash: str

    @property
    def told(self) -> dict[str, Any]:
        return json.loads(self.facts)


def link(last: Event | None, at_ms: int, about: str, state: str, facts: Mapping[str, object]) -> Event:
    """Return a new event that follows `last` in the chain."""
    text = json.dumps(facts, sort_keys=True, separators=(",", ":"))
    prev = GENESIS if last is None else last.hash
    seq = 1 if last is None else last.seq + 1
    bare = Event(seq, at_ms, about, state, text, prev, "")
    return replace(bare, hash=_hash(bare))


def broken_link(events: Iterable[Event], after: Event | None = None) -> int | None:
    """Return the number of the first event that breaks the chain, or None if the chain is intact."""
    first, prev = (1, GENESIS) if after is None else (after.seq + 1, after.hash)
    for seq, each in enumerate(events, first):
        if (each.seq, each.prev, each.hash) != (seq, prev, _hash(each)):
            return each.seq
        prev = each.hash
    return None


def _hash(event: Event) -> str:
    # Written as JSON, so that two different events never have the same text.
    told = [event.seq, event.prev, event.at_ms, event.about, event.state, event.facts]
    return sha256(json.dumps(told).encode()).hexdigest()


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
    """Yield the events after number `after`, oldest first. They are read in pages, so that writers do not wait."""
    while page := rows.execute("SELECT * FROM event WHERE seq>? ORDER BY seq LIMIT ?", (after, PAGE)).fetchall():
        yield from (Event(*row) for row in page)
        after = page[-1][0]


def broken_lately(rows: Rows) -> int | None:
    """Return the number of the first recent event that breaks the chain.

    Older events are skipped to keep the start short. Events that a person has accepted are skipped too. A full check
    reads both.
    """
    (newest,) = rows.execute("SELECT coalesce(max(seq), 0) FROM event").fetchone()
    (accepted,) = rows.execute("SELECT coalesce(max(seq), 0) FROM event WHERE state=?", (ACCEPTED,)).fetchone()
    start = max(newest - CHECKED_AT_OPEN, accepted)
    row = rows.execute("SELECT * FROM event WHERE seq=?", (start,)).fetchone()
    return broken_link(all_events(rows, start), None if row is None else Event(*row))
