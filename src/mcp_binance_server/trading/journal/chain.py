"""Events that follow on each other: each holds the hash of the one before, so that a changed past is seen. Pure."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any

GENESIS = "0" * 64


@dataclass(frozen=True, slots=True)
class Event:
    """One line of the journal; `about` is an intent, or "" where it concerns none."""

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
    """Return the event that follows on the last one."""
    text = json.dumps(facts, sort_keys=True, separators=(",", ":"))
    prev = GENESIS if last is None else last.hash
    seq = 1 if last is None else last.seq + 1
    bare = Event(seq, at_ms, about, state, text, prev, "")
    return replace(bare, hash=_hash(bare))


def broken_link(events: Iterable[Event], after: Event | None = None) -> int | None:
    """Return the number of the first event that does not follow on the one before it; None if all do."""
    first, prev = (1, GENESIS) if after is None else (after.seq + 1, after.hash)
    for seq, each in enumerate(events, first):
        if (each.seq, each.prev, each.hash) != (seq, prev, _hash(each)):
            return each.seq
        prev = each.hash
    return None


def _hash(event: Event) -> str:
    # As JSON: no two different events are the same text.
    told = [event.seq, event.prev, event.at_ms, event.about, event.state, event.facts]
    return sha256(json.dumps(told).encode()).hexdigest()
