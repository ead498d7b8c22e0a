"""Rows as CSV for a spreadsheet: no cell of it is a formula, and no file is replaced unless that was asked for."""

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

# What begins a formula in a spreadsheet; the wide ones do in some languages.
_LIVE = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")  # noqa: RUF001 - these very signs are meant
_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?")


def as_csv(header: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Return a table; a text that a spreadsheet would calculate begins with an apostrophe, a number stays one."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(map(_dead, row) for row in rows)
    return out.getvalue()


def _dead(text: str) -> str:
    return f"'{text}" if text.lstrip(" ").startswith(_LIVE) and not _NUMBER.fullmatch(text) else text


@dataclass(frozen=True, slots=True)
class AnswerTable:
    """The rows of a tool's structured answer: under which member they are, and their columns."""

    member: str
    columns: tuple[str, ...]

    @staticmethod
    def of(schema: Mapping[str, Any] | None) -> "AnswerTable | None":
        """Return the first list of rows that an answer has by its schema; None where it has none."""
        described = schema or {}
        for member, each in described.get("properties", {}).items():
            name = str(each.get("items", {}).get("$ref", "")).rpartition("/")[2]
            if columns := described.get("$defs", {}).get(name, {}).get("properties"):
                return AnswerTable(member, tuple(columns))
        return None

    def text(self, answers: Sequence[Mapping[str, Any]]) -> str:
        """Return the rows of all answers, one after the other."""
        rows = ([_cell(row.get(name)) for name in self.columns] for each in answers for row in each[self.member])
        return as_csv(self.columns, rows)

    def count(self, answers: Sequence[Mapping[str, Any]]) -> int:
        return sum(len(each[self.member]) for each in answers)


def _cell(value: object) -> str:
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value, ensure_ascii=False)


def refuse_existing(file: str, *, replaces: bool) -> None:
    """Find out before anything is asked whether a file may be written.

    Raises:
        SettingsError: it is there already.
    """
    if file != STANDARD_OUTPUT and not replaces and Path(file).expanduser().exists():
        raise SettingsError(problems=(f"--csv {file}: it is there already; --replace writes over it",))


def save(file: str, text: str, *, replaces: bool) -> None:
    """Write a table, by default to a file that is not there yet.

    Raises:
        SettingsError: it cannot be written.
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
