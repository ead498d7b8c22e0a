"""HTML page as a flat list of headings, quotes, code blocks and tables, read in one linear pass.

The documentation is flat, so a tree is not needed. A tree would also be dangerous: at each tag, an HTML5 tree builder
searches the whole stack of open elements. A page with 200,000 nested elements would keep it busy for minutes.
"""

import html
import re
import unicodedata
from dataclasses import dataclass, field

from mcp_binance_server.words import visible

MOST_CHARACTERS = 2 * 1024 * 1024
# The page has about 27,000 tags; each costs a few microseconds.
MOST_TAGS = 100_000

_TOKEN = re.compile(r"<!--|<(/?)([a-zA-Z][a-zA-Z0-9]*+)(?=[\s/>])[^<>]*+>")
_HEADING = re.compile(r"h[1-6]")
_UNREAD = frozenset({"script", "style", "textarea", "title"})
_CELLS = frozenset({"td", "th"})
_ENDS_CELL = frozenset({"td", "th", "tr", "thead", "tbody", "table"})
_DROPPED_CATEGORIES = frozenset({"So", "Sk", "Cf", "Cs", "Co", "Cn"})
_EMOJI_STYLE = "\ufe0f"


class UnreadablePage(ValueError):
    """The page cannot be the documentation. The message gives the reason."""


@dataclass(frozen=True, slots=True)
class Heading:
    level: int
    text: str


@dataclass(frozen=True, slots=True)
class QuoteBlock:
    text: str


@dataclass(frozen=True, slots=True)
class Code:
    text: str


@dataclass(frozen=True, slots=True)
class Table:
    """A table: rows of cells. The header is the first row of header cells, in lower case."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


Block = Heading | QuoteBlock | Code | Table


def read_blocks(page: str) -> list[Block]:
    """Return the blocks of a page in order.

    Raises:
        UnreadablePage: the page is too large or has too many tags.
    """
    if len(page) > MOST_CHARACTERS:
        raise UnreadablePage(f"it is larger than {MOST_CHARACTERS} characters")
    if page.count("<") > MOST_TAGS:
        raise UnreadablePage(f"it has more than {MOST_TAGS} tags")
    reader = _MarkupReader()
    place = 0
    while (token := _TOKEN.search(page, place)) is not None:
        reader.text(page[place : token.start()])
        name = (token[2] or "").lower()
        if not name:
            place = _after(page, "-->", token.end())
        elif name in _UNREAD and not token[1]:
            place = _after(page, f"</{name}", token.end())
        else:
            place = token.end()
            reader.close(name) if token[1] else reader.open(name)
    return reader.blocks


def plain(text: str) -> str:
    """Resolve entities, remove emoji and collapse white space in a text."""
    resolved = visible(_unescaped(text))
    if not resolved.isascii():
        kept = (each for each in resolved if unicodedata.category(each) not in _DROPPED_CATEGORIES)
        resolved = "".join(kept).replace(_EMOJI_STYLE, "")
    return " ".join(resolved.split())


def _unescaped(text: str) -> str:
    if "&" not in text:
        return text
    try:
        return html.unescape(text)
    except ValueError:  # the character reference has thousands of digits
        return text


def _after(page: str, end: str, place: int) -> int:
    found = page.find(end, place)
    return len(page) if found < 0 else found + len(end)


@dataclass(slots=True)
class _MarkupReader:
    """Parser state: the element whose text is collected, and the open table."""

    blocks: list[Block] = field(default_factory=list[Block])
    _wanted: str = ""
    _pieces: list[str] = field(default_factory=list[str])
    _header: tuple[str, ...] = ()
    _rows: list[tuple[str, ...]] = field(default_factory=list[tuple[str, ...]])
    _row: list[str] = field(default_factory=list[str])
    _row_is_header: bool = False
    _in_table: bool = False

    def text(self, piece: str) -> None:
        if self._wanted and piece:
            self._pieces.append(piece)

    def open(self, name: str) -> None:
        if self._in_table and name in _ENDS_CELL:
            self._end_cell()
            if name == "tr":
                self._end_row()
        if name == "table":
            self._end_table()
            self._in_table = True
        elif self._in_table and name in _CELLS:
            self._collect(name)
            self._row_is_header = self._row_is_header or name == "th"
        elif _HEADING.fullmatch(name):
            self._end_table()  # the table's end tag is missing: a heading cannot be inside a table
            self._collect(name)
        elif name in {"pre", "blockquote"}:
            self._collect(name)

    def close(self, name: str) -> None:
        if self._in_table and name in _ENDS_CELL:
            self._end_cell()
            if name == "tr":
                self._end_row()
            elif name == "table":
                self._end_table()
        elif name == self._wanted:
            text = "".join(self._pieces)
            if name == "pre":
                self.blocks.append(Code(visible(_unescaped(text))))
            elif name == "blockquote":
                self.blocks.append(QuoteBlock(plain(text)))
            else:
                self.blocks.append(Heading(int(name[1]), plain(text)))
            self._wanted = ""

    def _collect(self, name: str) -> None:
        self._wanted = name
        self._pieces = []

    def _end_cell(self) -> None:
        if self._wanted in _CELLS:
            self._row.append(plain("".join(self._pieces)))
            self._wanted = ""

    def _end_row(self) -> None:
        if self._row_is_header and not self._header:
            self._header = tuple(cell.lower() for cell in self._row)
        elif self._row:
            self._rows.append(tuple(self._row))
        self._row, self._row_is_header = [], False

    def _end_table(self) -> None:
        if self._in_table:
            self._end_cell()
            self._end_row()
            self.blocks.append(Table(self._header, tuple(self._rows)))
        self._header, self._rows, self._row = (), [], []
        self._row_is_header = self._in_table = False
