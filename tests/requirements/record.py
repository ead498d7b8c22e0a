"""What a requirement is, and the few words the tables are written in."""

from dataclasses import dataclass
from typing import Literal, NamedTuple

Document = Literal["resources", "prompts", "guide", "chart tools", "data model", "rulings"]
Kind = Literal[
    "requirement",
    "success criterion",
    "scenario",
    "acceptance",
    "edge case",
    "tool schema",
    "validation rule",
    "error",
    "format",
    "ruling",
]
State = Literal["covered", "planned"]


@dataclass(frozen=True, slots=True)
class Requirement:
    """One thing a contract asks for; `divergence` says where a ruling departs from its letter."""

    id: str
    document: Document
    kind: Kind
    behaviour: str
    state: State
    divergence: str | None = None


class Row(NamedTuple):
    """One line of a table, before its section says the kind and its contract the document."""

    name: str
    behaviour: str
    state: State
    divergence: str | None


class Section(NamedTuple):
    """Lines of one kind."""

    kind: Kind
    rows: tuple[Row, ...]


def covered(name: str, behaviour: str, divergence: str | None = None) -> Row:
    """State a requirement that at least one test must name."""
    return Row(name, behaviour, "covered", divergence)


def planned(name: str, behaviour: str, divergence: str | None = None) -> Row:
    """State a requirement that no test names yet."""
    return Row(name, behaviour, "planned", divergence)


def section(kind: Kind, *rows: Row) -> Section:
    """Group lines of one kind under a heading."""
    return Section(kind, rows)


def contract(document: Document, *sections: Section) -> tuple[Requirement, ...]:
    """Turn one document's sections into records, in the order they are written."""
    return tuple(
        Requirement(row.name, document, part.kind, row.behaviour, row.state, row.divergence)
        for part in sections
        for row in part.rows
    )
