"""CSV export for spreadsheets, protected against formula injection and accidental overwriting."""

import csv
import io
import json
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mcp_binance_server.errors import SettingsError

STANDARD_OUTPUT = "-"

# Characters that start a formula. Spreadsheets in some languages also accept full-width ones.
_LIVE = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")  # noqa: RUF001 - the full-width signs are intended
_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?")


def as_csv(header: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Return a table as CSV. Text that looks like a formula gets a leading apostrophe. Numbers are not changed."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(map(_dead, row) for row in rows)
    return out.getvalue()


def _dead(text: str) -> str:
    return f"'{text}" if text.lstrip(" ").startswith(_LIVE) and not _NUMBER.fullmatch(text) else text


@dataclass(frozen=True, slots=True)
class AnswerTable:
    """The field with the rows in a tool's structured answer, and its columns."""

    member: str
    columns: tuple[str, ...]

    @staticmethod
    def of(schema: Mapping[str, Any] | None) -> "AnswerTable | None":
        """Return the first list of rows in an answer's schema, or None if there is none."""
        described = schema or {}
        for member, each in described.get("properties", {}).items():
            name = str(each.get("items", {}).get("$ref", "")).rpartition("/")[2]
            if columns := described.get("$defs", {}).get(name, {}).get("properties"):
                return AnswerTable(member, tuple(columns))
        return None

    def text(self, answers: Sequence[Mapping[str, Any]]) -> str:
        """Return the rows of all answers as CSV."""
        rows = ([_cell(row.get(name)) for name in self.columns] for each in answers for row in each[self.member])
        return as_csv(self.columns, rows)

    def count(self, answers: Sequence[Mapping[str, Any]]) -> int:
        return sum(len(each[self.member]) for each in answers)


def _cell(value: object) -> str:
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value, ensure_ascii=False)


def refuse_existing(file: str, *, replaces: bool) -> None:
    """Check that the output file can be created, before any request is sent.

    Raises:
        SettingsError: the file exists.
    """
    if file != STANDARD_OUTPUT and not replaces and Path(file).expanduser().exists():
        raise SettingsError(problems=(f"--csv {file}: the file exists; --replace overwrites it",))


def save(file: str, text: str, *, replaces: bool) -> None:
    """Save a table. An existing file is replaced only on request.

    Raises:
        SettingsError: the file cannot be written.
    """
    if file == STANDARD_OUTPUT:
        sys.stdout.buffer.write(text.encode())
        sys.stdout.flush()
        return
    try:
        with Path(file).expanduser().open("wb" if replaces else "xb") as out:
            out.write(text.encode())
    except OSError as error:
        raise SettingsError(problems=(f"--csv {file}: {error.strerror}",)) from None
