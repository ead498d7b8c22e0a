"""Answers that contain several documents, and the help page."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import count

from mcp_binance_server.guide.addresses import EXTENSIONS, FORMS, HELP, MOST_STARS, address_of
from mcp_binance_server.guide.config import CONTENT, Category, Collection
from mcp_binance_server.guide.document import Document, LibrarySnapshot
from mcp_binance_server.guide.safe_files import UnreadableFile, read_beneath
from mcp_binance_server.words import one_line, visible

MARKDOWN = "text/markdown"
BOUNDARY = "guide-boundary"
NO_DOCUMENTS = "_No documents._\n"
_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")

SUPPLEMENT = "_help.md"
MEANINGS = dict(
    zip(
        FORMS,
        (
            "this page",
            "all documents of a collection, category by category",
            "the documents of a category that match its default patterns",
            "one document, or all that a pattern matches in a category",
            "exactly one document of a category or collection; no patterns",
        ),
        strict=True,
    )
)
INTRODUCTION = """# Guide URI Help

`guide://` addresses lead to playbooks: short Markdown pages on reading markets, sizing positions, placing orders and
recovering from errors. Some ship with this server, others are the user's own. They are reference text and change no
permissions of the server."""
USAGE = f"""## How to use them

- **Help** has no parameters.
- **Collection**: `{{id}}` is a name from the list below. Several documents are one `multipart/mixed` text,
  each part with its address in `Content-Location`. A single document is plain Markdown.
- **Category**: `{{name}}` is a name from the list below.
- **Category document**: `{{docId}}` is a path such as `intro.md` or `notes/week.md`, or a pattern: `*` is any run of
  characters, `?` one character (write `%3F`), `[a-z]` one of a set, `[!x]` one outside it, `**` any folders. If the
  last part of the pattern has no dot, the extension may be missing: `intro` finds `intro.md`. The document with exactly
  that name comes first, then the other matches. A pattern has at most {MOST_STARS} stars.
- **Document**: `{{context}}` is a category or, if there is no such category, a collection. `{{docId}}` is the whole
  path with extension.

Addresses are case-sensitive. Percent-encode characters that an address cannot contain."""
TOOLS = """## Without resource support

| Tool | Does |
|---|---|
| `list_guides` | names every document with its title and address |
| `search_guides` | finds documents by words, with the passage that fits |
| `get_content` | reads a category or collection, whole or by document or pattern |
| `get_category_content`, `get_collection_content` | the same for one kind only |"""


@dataclass(frozen=True, slots=True)
class Framed:
    """Several documents as one text, with the MIME type of the framing."""

    mime_type: str
    text: str


def framed(documents: Sequence[Document]) -> Framed:
    """Join documents into one text."""
    if len(documents) <= 1:
        return Framed(MARKDOWN, documents[0].body if documents else NO_DOCUMENTS)
    boundary = free_boundary([document.body for document in documents])
    parts = [f"--{boundary}\r\n{_headers(document)}\r\n{document.body}\r\n" for document in documents]
    return Framed(f'multipart/mixed; boundary="{boundary}"', f"{''.join(parts)}--{boundary}--\r\n")


def free_boundary(bodies: Sequence[str]) -> str:
    """Return the first boundary that does not occur at the start of a line in a body."""
    # A common prefix counts as a match: careless parsers accept a longer line as the end of a part.
    alike = {
        line for body in bodies if BOUNDARY in body for line in body.split("\n") if line.startswith(f"--{BOUNDARY}")
    }
    names = (f"{BOUNDARY}-{number}" if number else BOUNDARY for number in count())
    return next(name for name in names if not any(line.startswith(f"--{name}") for line in alike))


def _headers(document: Document) -> str:
    lines = (
        "Content-Type: text/markdown; charset=utf-8",
        f"Content-Location: {document.uri}",
        f"Content-Length: {len(document.data)}",
        f"Content-Description: {_ascii(document.facts.title)}",
        f"Last-Modified: {http_date(document.modified_ms)}",
        f'ETag: "{document.etag}"',
        f"X-Guide-Category: {document.category}",
        f"X-Guide-Source: {document.source}",
    )
    return "".join(f"{line}\r\n" for line in lines)


def http_date(epoch_ms: int) -> str:
    """Format a time as in HTTP headers, independent of the locale."""
    moment = datetime.fromtimestamp(epoch_ms // 1000, UTC)
    return f"{_DAYS[moment.weekday()]}, {moment:%d} {_MONTHS[moment.month - 1]} {moment:%Y %H:%M:%S} GMT"


def _ascii(text: str) -> str:
    return text.encode("ascii", "replace").decode("ascii")


def help_page(snapshot: LibrarySnapshot) -> str:
    """Return the help page for the existing documents."""
    parts = [
        INTRODUCTION,
        _forms(snapshot),
        USAGE,
        _categories(snapshot),
        _collections(snapshot),
        _supplement(),
        TOOLS,
        _limits(snapshot),
        _noticed("Problems", snapshot.problems),
        _noticed("Documents hidden by others of the same name", snapshot.hidden),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _forms(snapshot: LibrarySnapshot) -> str:
    examples = dict(zip(FORMS, _examples(snapshot), strict=True))
    rows = [f"| `{form}` | {MEANINGS[form]} | {_code(examples[form])} |" for form in FORMS]
    return "\n".join(["## Addresses", "", "| Address | Leads to | Example |", "|---|---|---|", *rows])


def _examples(snapshot: LibrarySnapshot) -> tuple[str, str, str, str, str]:
    # Examples use only existing addresses, so without documents there are fewer of them.
    first = next((entry for entry in snapshot.everything if "/" not in entry.doc_id), None)
    collection = next((name for name in snapshot.guides.collections if name != "all"), "all")
    if first is None:
        return HELP, address_of("collection", collection), "", "", ""
    return (
        HELP,
        address_of("collection", collection),
        address_of("category", first.category),
        address_of("category", first.category, first.doc_id.rpartition(".")[0]),
        address_of("document", first.category, first.doc_id),
    )


def _code(text: str) -> str:
    return f"`{text}`" if text else ""


def _categories(snapshot: LibrarySnapshot) -> str:
    def row(category: Category) -> str:
        entries = [entry for entry in snapshot.entries[category.name].values() if snapshot.is_small_enough(entry)]
        own = sum(entry.source == "user" for entry in entries)
        shown = f"{len(entries)}, {own} of them the user's" if own else str(len(entries))
        return f"| `{category.name}` | {_cell(category.description)} | {shown} |"

    rows = [row(category) for category in snapshot.guides.categories.values()]
    return "\n".join(["## Categories", "", "| Name | About | Documents |", "|---|---|---|", *rows])


def _collections(snapshot: LibrarySnapshot) -> str:
    def row(collection: Collection) -> str:
        names = ", ".join(category.name for category in snapshot.guides.categories_of(collection))
        return f"| `{collection.name}` | {_cell(collection.description)} | {names} |"

    rows = [row(collection) for collection in snapshot.guides.collections.values()]
    return "\n".join(["## Collections", "", "| Id | About | Categories |", "|---|---|---|", *rows])


def _supplement() -> str:
    try:
        return visible(read_beneath(CONTENT, (SUPPLEMENT,), 65_536).decode()).strip()
    except (UnreadableFile, UnicodeDecodeError):
        return ""


def _limits(snapshot: LibrarySnapshot) -> str:
    limits = snapshot.guides.limits
    return (
        "## Limits\n\n"
        f"One document has at most {limits.document_bytes:,} bytes, one answer {limits.response_bytes:,} bytes and "
        f"{limits.matches} documents. Anything larger is an error; no text is cut. Documents end in "
        f"{', '.join(EXTENSIONS)}; hidden and backup files, links and anything that is not a regular file are not "
        "served."
    )


def _noticed(heading: str, lines: tuple[str, ...]) -> str:
    return "\n".join([f"## {heading}", "", *(f"- {_cell(line)}" for line in lines)]) if lines else ""


def _cell(text: str) -> str:
    return one_line(text).replace("|", "\\|")
