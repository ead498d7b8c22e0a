"""Full-text search by SQLite FTS5 in memory: over the documents, and over short fixed texts."""

import re
import threading
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from mcp_binance_server.guide.document import Entry, Hit, LibrarySnapshot, headings
from mcp_binance_server.guide.library import Library
from mcp_binance_server.guide.safe_files import UnreadableFile
from mcp_binance_server.words import one_line

if TYPE_CHECKING:
    import sqlite3

# Longest indexed text. Longer documents are books, and their beginning describes the subject.
INDEXED_CHARACTERS = 65_536
SNIPPET_CHARACTERS = 240
MOST_WORDS = 16
# Stop words. If they counted, pages with many of them would be favoured.
_QUESTION_WORDS = """
a after am an and any are as at be before by can could did do does every for from get getting had has have help how i if
in into is it its made make many may me most much my of on one only or our please say should show so tell than that the
their them then there these they this to too up us use want was we were what when where which who why will with would
you your
"""
EMPTY = frozenset(_QUESTION_WORDS.split())
_WORD = re.compile(r"\w+")
_MARKUP = re.compile(r"[*`#|>]+|^[ \t]*-+[ \t]", re.MULTILINE)
_TABLE = "CREATE VIRTUAL TABLE pages USING fts5(title, headings, tags, body, tokenize='porter unicode61')"
# Column weights: the title counts four times, headings and tags three times as much as the body. FTS5 ranks lower
# values first.
_RANKED = """
SELECT rowid, rank FROM pages WHERE pages MATCH ? AND rank MATCH 'bm25(4.0, 3.0, 3.0, 1.0)' ORDER BY rank, rowid
"""
_IN_TITLE = "SELECT rowid FROM pages WHERE pages MATCH ?"
_PASSAGE = "SELECT snippet(pages, 3, '', '', '', 40), body FROM pages WHERE pages MATCH ? AND rowid = ?"

_TEXTS = "CREATE VIRTUAL TABLE texts USING fts5(title, body, tokenize='porter unicode61')"
# A word in a title counts four times as much as one in the body.
_RANKED_TEXTS = "SELECT rowid FROM texts WHERE texts MATCH ? AND rank MATCH 'bm25(4.0, 1.0)' ORDER BY rank, rowid"


def asked_words(query: str) -> list[str]:
    """Return the words of a query without stop words. If nothing is left, return all words."""
    words = _WORD.findall(query)
    return ([word for word in words if word.lower() not in EMPTY] or words)[:MOST_WORDS]


class TextIndex:
    """A table of short texts that do not change, each with a title; built at the first search."""

    def __init__(self, texts: Sequence[tuple[str, str]]) -> None:
        self._texts = texts
        self._database: sqlite3.Connection | None = None

    def search(self, query: str, limit: int) -> list[int]:
        """Return the positions of the best texts for the words of a query; any one of the words is enough."""
        if not (words := asked_words(query)):
            return []
        if self._database is None:
            self._database = _opened(_TEXTS)
            self._database.executemany("INSERT INTO texts (title, body) VALUES (?, ?)", self._texts)
        found = self._database.execute(_RANKED_TEXTS, (_either(words),)).fetchmany(limit)
        return [row - 1 for (row,) in found]


class Index:
    """Full-text index, synced with the snapshot. If one file changes, only its page is updated."""

    def __init__(self, library: Library) -> None:
        self._library = library
        self._lock = threading.Lock()
        self._database: sqlite3.Connection | None = None
        self._snapshot: LibrarySnapshot | None = None
        self._rows: dict[Entry, int] = {}
        self._next_row = 1

    def search(self, snapshot: LibrarySnapshot, query: str, allowed: Sequence[Entry], limit: int) -> list[Hit]:
        """Return the best matches among the allowed documents. A match contains at least one word of the query."""
        words = asked_words(query)
        if not words:
            return []
        with self._lock:
            database = self._in_step(snapshot)
            wanted = {self._rows[entry]: entry for entry in allowed if entry in self._rows}
            either = _either(words)
            told = _told_in_titles(database, words)
            ranked = [(row, rank - told[row]) for row, rank in database.execute(_RANKED, (either,)) if row in wanted]
            ranked.sort(key=lambda found: found[1])
            return [_hit(database, either, wanted[row], row, rank) for row, rank in ranked[:limit]]

    def close(self) -> None:
        """Close the database, unless a search in another thread still uses it."""
        if self._lock.acquire(blocking=False):
            try:
                if self._database is not None:
                    self._database.close()
            finally:
                self._lock.release()

    def _in_step(self, snapshot: LibrarySnapshot) -> "sqlite3.Connection":
        database = self._database or self._created()
        if snapshot is not self._snapshot:
            now = {entry: None for entry in snapshot.everything if snapshot.is_small_enough(entry)}
            gone = [(entry, row) for entry, row in self._rows.items() if entry not in now]
            for entry, row in gone:
                database.execute("DELETE FROM pages WHERE rowid = ?", (row,))
                del self._rows[entry]
            for entry in now:
                if entry not in self._rows:
                    self._add(database, snapshot, entry)
            self._snapshot = snapshot
        return database

    def _created(self) -> "sqlite3.Connection":
        self._database = _opened(_TABLE)
        return self._database

    def _add(self, database: "sqlite3.Connection", snapshot: LibrarySnapshot, entry: Entry) -> None:
        try:
            document = self._library.read(snapshot, entry)
        except UnreadableFile:  # a request for this address will report the reason
            return
        body = document.body[:INDEXED_CHARACTERS]
        told = "\n".join(text for _, text in headings(body))
        facts = document.facts
        values = (self._next_row, f"{facts.title}\n{facts.description}", told, "\n".join(facts.tags), body)
        database.execute("INSERT INTO pages (rowid, title, headings, tags, body) VALUES (?, ?, ?, ?, ?)", values)
        self._rows[entry] = self._next_row
        self._next_row += 1


def _opened(table: str) -> "sqlite3.Connection":
    # Imported late: a server without searches does not pay for it.
    import sqlite3  # noqa: PLC0415

    database = sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)
    database.execute(table)
    return database


def _either(words: Sequence[str]) -> str:
    return " OR ".join(f'"{word}"' for word in words)


def _told_in_titles(database: "sqlite3.Connection", words: Sequence[str]) -> Counter[int]:
    """Count the query words in the title and description of each page.

    BM25 gives no weight to a word that is on most pages. In a small library typical queries consist of such words.
    """
    told = Counter[int]()
    for word in {word.lower() for word in words}:
        told.update(row for (row,) in database.execute(_IN_TITLE, (f'title : "{word}"',)))
    return told


def _hit(database: "sqlite3.Connection", either: str, entry: Entry, row: int, rank: float) -> Hit:
    passage, body = database.execute(_PASSAGE, (either, row)).fetchone()
    middle = body.find(passage) + len(passage) // 2
    above = [text for place, text in headings(body) if place <= middle]
    return Hit(
        entry, above[-1] if above else "", one_line(_MARKUP.sub("", passage), SNIPPET_CHARACTERS), round(-rank, 2)
    )
