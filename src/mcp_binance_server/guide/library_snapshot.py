"""The documents at one moment: plain records that pages and tools are made from."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from mcp_binance_server.guide.addresses import address_of
from mcp_binance_server.guide.config import Guides
from mcp_binance_server.guide.document import Facts, Source


class Stamp(NamedTuple):
    """What tells one version of a file from another without reading it."""

    modified_ns: int
    changed_ns: int
    size: int
    inode: int


@dataclass(frozen=True, eq=False)
class Entry:
    """A document that can be asked for: where it lies, which version, and what it says of itself."""

    category: str
    doc_id: str
    source: Source
    root: Path
    parts: tuple[str, ...]
    stamp: Stamp
    facts: Facts

    @cached_property
    def uri(self) -> str:
        return address_of("category", self.category, self.doc_id)


@dataclass(frozen=True)
class Shelf:
    """All documents at one moment, by category and id in path order; what is wrong, and which stand behind others."""

    guides: Guides
    entries: Mapping[str, Mapping[str, Entry]]
    problems: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()

    @cached_property
    def everything(self) -> tuple[Entry, ...]:
        return tuple(entry for entries in self.entries.values() for entry in entries.values())

    def is_small_enough(self, entry: Entry) -> bool:
        return entry.stamp.size <= self.guides.limits.document_bytes


@dataclass(frozen=True, slots=True)
class Hit:
    """A document that fits a query: the passage, the heading above it, and a score of which more is better."""

    entry: Entry
    heading: str
    snippet: str
    score: float
