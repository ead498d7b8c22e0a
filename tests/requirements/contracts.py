"""Read from the contract documents which entries the tables must have."""

import re
from collections import Counter
from collections.abc import Iterator
from typing import Final

from requirements.record import Document

SUBJECTS: Final[dict[str, Document]] = {
    "Resources API Contract": "resources",
    "Prompts API Contract": "prompts",
    "Specification: MCP Resources - guide:// URI Scheme": "guide",
    "MCP Tools Specification": "chart tools",
    "Data Model: MCP Server Integration": "data model",
}


def subject(text: str) -> Document | None:
    """Tell which contract a document is from its title."""
    first, _, _ = text.lstrip("\ufeff\n").partition("\n")
    return SUBJECTS.get(first.removeprefix("# ").strip())


def demanded_ids(document: Document, text: str) -> frozenset[str]:
    """List the ids of everything in a document that carries a number, a heading or a name."""
    return frozenset(
        (
            *re.findall(r"\b(?:FR|SC)-\d{3}\b", text),
            *(f"guide/{_slug(title)}" for title in _lines(r"#{3,4} (?:Requirement|Scenario): *(.+)", text)),
            *(f"charts/{name}" for name in _lines(r"## Tool \d+: *(\w+)", text)),
            *_acceptance_ids(document, text),
            *(_data_model_ids(text) if document == "data model" else ()),
        )
    )


def _acceptance_ids(document: Document, text: str) -> Iterator[str]:
    story = ""
    counts: Counter[str] = Counter()
    for line in text.splitlines():
        if heading := re.search(r"\(User Story (\d+)\)", line):
            story = heading[1]
        elif re.match(r"\d+\. \*\*Given\*\*", line):
            # A story may continue under a second heading that counts from one again.
            counts[story] += 1
            yield f"{document}/us{story}-{counts[story]}"


def _data_model_ids(text: str) -> Iterator[str]:
    yield from (f"data-model/{_slug(title)}" for title in _lines(r"\d+\. \*\*(.+?)\*\*:", text))
    yield from (f"data-model/prompt-{_slug(name)}" for name in _lines(r"\d+\. `(\w+)`", text))


def _lines(pattern: str, text: str) -> list[str]:
    return re.findall(f"^{pattern}", text, re.MULTILINE)


def _slug(title: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")
