"""Golden files: output for clients, stored as text and read in review. `--golden-write` rewrites them."""

import json
from difflib import unified_diff
from itertools import islice
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent.parent / "snapshots"
MOST_LINES, LONGEST_LINE = 60, 400


def golden_text(name: str) -> str:
    """Return a golden file as it was reviewed."""
    return (FOLDER / name).read_text(encoding="utf-8")


class Golden:
    """Compares a value with the file of its name."""

    def __init__(self, *, write: bool) -> None:
        self._write = write

    def check(self, name: str, value: object) -> None:
        path = FOLDER / name
        text = (
            value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False, sort_keys=True) + "\n"
        )
        if self._write:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        if not path.exists():
            pytest.fail(f"There is no golden file {name}; run pytest --golden-write and read what it wrote.")
        __tracebackhide__ = True  # the line of the test says more
        reviewed = path.read_text(encoding="utf-8")
        if text != reviewed:
            shown = difference(reviewed, text)
            raise AssertionError(f"{name} changed; if that is meant, run pytest --golden-write\n{shown}")


def difference(reviewed: str, text: str) -> str:
    """Return the difference of two texts, cut after so many lines."""
    lines = unified_diff(reviewed.splitlines(), text.splitlines(), "reviewed", "now", lineterm="", n=2)
    shown = [line if len(line) <= LONGEST_LINE else f"{line[:LONGEST_LINE]}…" for line in islice(lines, MOST_LINES)]
    if not shown:
        return "only line ends differ"
    if more := sum(1 for _ in lines):
        shown.append(f"… {more} more lines")
    return "\n".join(shown)
