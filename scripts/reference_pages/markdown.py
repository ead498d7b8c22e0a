"""Markdown tables that every renderer shows in the same way."""

from collections.abc import Iterable, Sequence

BEGINS = "<!-- Written by scripts/reference from the code. Change the code, not this page. -->"


def page(title: str, *parts: str) -> str:
    return "\n\n".join((BEGINS, f"# {title}", *(part for part in parts if part))) + "\n"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table without empty columns."""
    filled = [tuple(row) for row in rows]
    told = [place for place in range(len(head)) if place == 0 or any(row[place] for row in filled)]
    lines = [_line([head[place] for place in told]), "|" + "---|" * len(told)]
    return "\n".join([*lines, *(_line([cell(row[place]) for place in told]) for row in filled)])


def cell(text: str) -> str:
    """Return text for a table cell, on one line with escaped bars."""
    return " ".join(text.split()).replace("|", r"\|")


def code(text: object) -> str:
    return f"`{text}`"


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
