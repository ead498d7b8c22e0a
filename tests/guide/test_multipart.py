"""Several documents in one text: any MIME parser gives back the same bytes."""

from email.message import Message
from email.parser import BytesParser
from email.utils import parsedate_to_datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_binance_server.guide.document import Document, Facts
from mcp_binance_server.guide.help import Framed, framed, free_boundary
from mcp_binance_server.words import visible
from support.requirement import requirement


def document(body: str, doc_id: str = "a.md", title: str = "A") -> Document:
    return Document("desk", doc_id, "user", Facts(title), body, 1_794_664_800_000)


def parts_of(text: Framed) -> list[Message]:
    parsed = BytesParser().parsebytes(f"Content-Type: {text.mime_type}\r\n\r\n".encode() + text.text.encode())
    assert parsed.is_multipart()
    assert parsed.defects == []
    return [part for part in parsed.walk() if part is not parsed]


def body_of(part: Message) -> bytes:
    payload = part.get_payload(decode=True)
    assert isinstance(payload, bytes)
    return payload


@requirement("guide/multipart-metadata", "guide/multipart-boundary")
def test_each_part_says_what_it_is() -> None:
    text = framed([document("# Größe\n", "notes/größe 1.md", "Größe"), document("two")])

    assert text.mime_type == 'multipart/mixed; boundary="guide-boundary"'
    assert text.text.startswith("--guide-boundary\r\nContent-Type: text/markdown; charset=utf-8\r\n")
    assert text.text.endswith("two\r\n--guide-boundary--\r\n")
    first, _ = parts_of(text)
    assert dict(first.items()) == {
        "Content-Type": "text/markdown; charset=utf-8",
        "Content-Location": "guide://category/desk/notes/gr%C3%B6%C3%9Fe%201.md",
        "Content-Length": str(len("# Größe\n".encode())),
        "Content-Description": "Gr??e",
        "Last-Modified": "Sat, 14 Nov 2026 14:00:00 GMT",
        "ETag": '"502ab1b696c6"',
        "X-Guide-Category": "desk",
        "X-Guide-Source": "user",
    }
    assert parsedate_to_datetime(first["Last-Modified"]).timestamp() == 1_794_664_800


@requirement("guide/single-document-response")
def test_one_document_is_itself_and_none_says_so() -> None:
    assert framed([document("# A\n")]) == Framed("text/markdown", "# A\n")
    assert framed([]) == Framed("text/markdown", "_No documents._\n")


@requirement("ruling/31")
@pytest.mark.parametrize(
    ("bodies", "boundary"),
    [
        (["plain", "in the --guide-boundary middle"], "guide-boundary"),
        (["--guide-boundary", "x"], "guide-boundary-1"),
        (["x\n--guide-boundary--\n", "--guide-boundary-1"], "guide-boundary-2"),
        (["--guide-boundary-1\n--guide-boundary-2"], "guide-boundary-3"),
        (["--guide-boundaryish"], "guide-boundary-1"),
        (["--guide-boundary-10"], "guide-boundary-2"),
    ],
)
def test_the_boundary_gives_way_to_a_document_that_has_it(bodies: list[str], boundary: str) -> None:
    assert free_boundary(bodies) == boundary


LINES = (
    "--guide-boundary", "--guide-boundary--", "--guide-boundary-1", "--guide-boundary-1--", "--guide-boundary-2 ",
    " --guide-boundary", "--guide-boundary\t", "--", "", "From x", ".", "Content-Type: text/html", "# Größe 币 🙂",
    "a\tb",     "--guide-boundary-11", "--guide-boundary-1x",
)  # fmt: skip
lines = st.one_of(st.sampled_from(LINES), st.text(max_size=20))
bodies = st.lists(lines, max_size=8).map("\n".join).map(visible)


@pytest.mark.night
@requirement("ruling/31", "guide/multiple-documents-response")
@pytest.mark.flood
@settings(max_examples=250)
@given(st.lists(bodies, min_size=2, max_size=5), st.text(max_size=20))
def test_what_is_framed_parses_back_to_the_same_bytes(texts: list[str], title: str) -> None:
    documents = [document(text, title=visible(title).replace("\n", " ")) for text in texts]

    parts = parts_of(framed(documents))

    assert [body_of(part) for part in parts] == [text.encode() for text in texts]
    assert [int(part["Content-Length"]) for part in parts] == [len(text.encode()) for text in texts]
    assert all(part["X-Guide-Source"] == "user" for part in parts)
