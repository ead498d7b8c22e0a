"""A document, and a snapshot of all documents."""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal, NamedTuple, cast

from mcp_binance_server.guide.addresses import address_of
from mcp_binance_server.guide.config import Guides
from mcp_binance_server.guide.strict_yaml import YamlRefused, load_yaml
from mcp_binance_server.words import one_line, visible

Source = Literal["builtin", "user"]
FRONT_MATTER_BYTES = 8_192
MOST_TAGS = 20
LONGEST_TAG = 40
LANGUAGES = {
    ".txt": "text", ".json": "json", ".yaml": "yaml", ".yml": "yaml", ".csv": "csv", ".toml": "toml",
}  # fmt: skip
_FRONT = re.compile(r"---[ \t]*\n(.*?\n)?---[ \t]*(?:\n|$)", re.DOTALL)
_HEADING = re.compile(r"#{1,6}[ \t]+(.+)")
_TICKS = re.compile(r"`{3,}")


@dataclass(frozen=True, slots=True)
class Facts:
    """Title, description and tags from the front matter of a document. `mistake` explains unreadable front matter."""

    title: str
    description: str = ""
    tags: tuple[str, ...] = ()
    mistake: str = ""


@dataclass(frozen=True)
class Document:
    """A document ready to be sent."""

    category: str
    doc_id: str
    source: Source
    facts: Facts
    body: str
    modified_ms: int

    @property
    def uri(self) -> str:
        return address_of("category", self.category, self.doc_id)

    @cached_property
    def data(self) -> bytes:
        return self.body.encode()

    @property
    def etag(self) -> str:
        return hashlib.sha256(self.data).hexdigest()[:12]


def read_text(doc_id: str, text: str) -> tuple[Facts, str]:
    """Split a document into its facts and its body. Invisible characters are removed."""
    text = visible(text)
    extension = _extension(doc_id)
    if extension in LANGUAGES:
        return Facts(title=doc_id), _fenced(text, LANGUAGES[extension])
    said, body, mistake = _front_matter(text)
    title = _word(said, "title") or _first_heading(body) or doc_id
    tags = said.get("tags")
    listed = cast("list[object]", tags) if isinstance(tags, list) else []
    words = tuple(one_line(str(tag), LONGEST_TAG) for tag in listed[:MOST_TAGS])
    return Facts(title, _word(said, "description"), words, mistake), body


def headings(body: str) -> list[tuple[int, str]]:
    """Return the headings of a body with their offsets. A # inside a fenced code block is not a heading."""
    found: list[tuple[int, str]] = []
    at, fence = 0, ""
    for line in body.split("\n"):
        if fence:
            fence = "" if line.startswith(fence) else fence
        elif line.startswith(("```", "~~~")):
            fence = line[:3]
        elif heading := _HEADING.match(line):
            found.append((at, _heading_text(heading[1])))
        at += len(line) + 1
    return found


def _heading_text(written: str) -> str:
    text = one_line(written)
    less = text.rstrip("#")  # the last marks of "## Title ##" close the heading; "## C#" has no closing marks
    return less.rstrip() if less.endswith(" ") else text


def _extension(doc_id: str) -> str:
    return doc_id[doc_id.rfind(".") :].lower()


def _front_matter(text: str) -> tuple[dict[str, object], str, str]:
    # Unreadable front matter is treated as text, so that the document is served whole.
    found = _FRONT.match(text, 0, FRONT_MATTER_BYTES)
    if found is None:
        return {}, text, ""
    try:
        said = load_yaml(found[1] or "").value
    except YamlRefused as refused:
        return {}, text, f"front matter, line {refused.line + 1}: {refused.problem}"
    if not isinstance(said, dict):
        return {}, text, ""
    return cast("dict[str, object]", said), text[found.end() :].lstrip("\n"), ""


def _word(said: dict[str, object], key: str) -> str:
    value = said.get(key)
    return one_line(value) if isinstance(value, str) else ""


def _first_heading(body: str) -> str:
    return next((text for _, text in headings(body[:FRONT_MATTER_BYTES])), "")


def _fenced(text: str, language: str) -> str:
    longest = max((len(run) for run in _TICKS.findall(text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{text if text.endswith(chr(10)) or not text else text + chr(10)}{fence}\n"


class Stamp(NamedTuple):
    """File metadata that changes with each version of the file."""

    modified_ns: int
    changed_ns: int
    size: int
    inode: int


@dataclass(frozen=True, eq=False)
class Entry:
    """An available document: location, version and facts."""

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
class LibrarySnapshot:
    """All documents at one moment by category and ID, in path order. It also lists problems and hidden duplicates."""

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
    """A search result: the document, the matching passage, the heading above it, and a score. Higher is better."""

    entry: Entry
    heading: str
    snippet: str
    score: float
