"""Golden files: what a client sees, kept as text and read in review; `--golden-write` writes them anew."""

import json
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent.parent / "snapshots"


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
        assert text == path.read_text(encoding="utf-8"), f"{name} changed; if that is meant, run pytest --golden-write"
