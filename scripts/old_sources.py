"""Report sources of docs/comparison.md that were read more than 90 days ago: `scripts/old_sources.py YYYY-MM-DD`."""

import re
import sys
from collections.abc import Iterator
from datetime import date
from pathlib import Path

PAGE = Path(__file__).parent.parent / "docs" / "comparison.md"
LONGEST_DAYS = 90
_ROW = re.compile(r"^\| \*\*(.+?)\*\* \| [^|]+ \| (\d{4}-\d\d-\d\d) \|", re.MULTILINE)


def read_on(page: str) -> Iterator[tuple[str, date]]:
    """Yield each compared server with the day on which its sources were read."""
    for name, day in _ROW.findall(page):
        yield name, date.fromisoformat(day)


def old_sources(page: str, today: date) -> list[str]:
    """Return a line for each server whose sources were read too long ago."""
    return [f"{name} was read on {day}" for name, day in read_on(page) if (today - day).days > LONGEST_DAYS]


def main() -> int:
    """Print the old sources; their number decides the exit status."""
    found = old_sources(PAGE.read_text(encoding="utf-8"), date.fromisoformat(sys.argv[1]))
    sys.stdout.writelines(f"docs/comparison.md: {line}\n" for line in found)
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
