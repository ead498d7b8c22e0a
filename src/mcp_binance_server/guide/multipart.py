"""One document is Markdown; several are one multipart/mixed text that any MIME parser reads back."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import count

from mcp_binance_server.guide.document import Document

MARKDOWN = "text/markdown"
BOUNDARY = "guide-boundary"
NO_DOCUMENTS = "_No documents._\n"
_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


@dataclass(frozen=True, slots=True)
class Framed:
    """Documents as one text, and the MIME type that says how to read it."""

    mime_type: str
    text: str


def framed(documents: Sequence[Document]) -> Framed:
    """Put documents into one text."""
    if len(documents) <= 1:
        return Framed(MARKDOWN, documents[0].body if documents else NO_DOCUMENTS)
    boundary = free_boundary([document.body for document in documents])
    parts = [f"--{boundary}\r\n{_headers(document)}\r\n{document.body}\r\n" for document in documents]
    return Framed(f'multipart/mixed; boundary="{boundary}"', f"{''.join(parts)}--{boundary}--\r\n")


def free_boundary(bodies: Sequence[str]) -> str:
    """Return the contract's boundary, or the next one that starts no line of any body."""
    # A prefix is enough to count: careless parsers end a part at a longer line that starts alike.
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
    """Write a moment as HTTP headers do, whatever the locale."""
    moment = datetime.fromtimestamp(epoch_ms // 1000, UTC)
    return f"{_DAYS[moment.weekday()]}, {moment:%d} {_MONTHS[moment.month - 1]} {moment:%Y %H:%M:%S} GMT"


def _ascii(text: str) -> str:
    return text.encode("ascii", "replace").decode("ascii")
