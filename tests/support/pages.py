"""The Markdown of this project: its pages, their headings, links and blocks, as a reader of Markdown sees them."""

import logging
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token

# A record for every rule that looks at a line of a page: most of what a collection writes, and no secret among it.
logging.getLogger("markdown_it").setLevel(logging.INFO)

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block: its language, its text, and the line it starts at."""

    language: str
    text: str
    line: int

    @property
    def commands(self) -> list[str]:
        """What is to be typed: in a console the lines behind a $, else all of them."""
        lines = self.text.splitlines()
        if self.language == "console":
            return [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]
        return [line for line in lines if line]


def _text(path: Path) -> str:
    return re.sub(r"\A---\n.*?\n---\n", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)


@cache
def _tokens(path: Path) -> list[Token]:
    return MarkdownIt("commonmark").enable("table").parse(_text(path))


@cache
def _fences(path: Path) -> list[Token]:
    # What stands in a line does not matter here and takes most of the time; this is asked while tests are collected.
    return [token for token in MarkdownIt("commonmark").disable("inline").parse(_text(path)) if token.type == "fence"]


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def blocks(path: Path, *languages: str) -> list[Block]:
    """Return the fenced blocks of a page in these languages."""
    return [
        Block(token.info, token.content, (token.map or [0])[0] + 1)
        for token in _fences(path)
        if token.info in languages
    ]


def links(path: Path) -> Iterator[str]:
    """Return where links and pictures of a page lead."""
    for token in _tokens(path):
        for child in token.children or ():
            target = child.attrs.get("href") or child.attrs.get("src")
            if isinstance(target, str):
                yield target


@cache
def anchors(path: Path) -> frozenset[str]:
    """Return what can stand behind a # in an address of this page."""
    tokens = _tokens(path)
    titles = [after.content for token, after in pairwise(tokens) if token.type == "heading_open"]
    return frozenset(re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles)
