"""CSV export for spreadsheets, protected against formula injection and accidental overwriting."""

import csv
import io
import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, cast

from mcp_binance_server.domain.periods import candle_opens, epoch_ms, moment_of
from mcp_binance_server.errors import SettingsError

STANDARD_OUTPUT = "-"
SIDE, LIST = "side", "list"
FIRST_CANDLE = "first_open_time"
# Lists of both sides of a book, whose levels have no names.
BOOK = {"bids": "bid", "asks": "ask"}

# Characters that start a formula. Spreadsheets in some languages also accept full-width ones.
_LIVE = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")  # noqa: RUF001 - the full-width signs are intended
_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?")

Answer = Mapping[str, Any]
CsvRow = dict[str, Any]


def as_csv(header: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Return a table as CSV. Text that looks like a formula gets a leading apostrophe. Numbers are not changed."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(map(_dead, header))
    writer.writerows(map(_dead, row) for row in rows)
    return out.getvalue()


def _dead(text: str) -> str:
    return f"'{text}" if text.lstrip(" ").startswith(_LIVE) and not _NUMBER.fullmatch(text) else text


@dataclass(frozen=True, slots=True)
class AnswerTable:
    """The lists with rows in a tool's structured answer, and the columns that every row has."""

    members: tuple[str, ...]
    columns: tuple[str, ...]

    @staticmethod
    def of(schema: Mapping[str, Any] | None) -> "AnswerTable | None":
        """Return the lists of rows in an answer's schema, or None if there are none."""
        described = schema or {}
        properties: Mapping[str, Any] = described.get("properties", {})
        found: list[str] = []
        columns: tuple[str, ...] = ()
        for member, each in properties.items():
            items = each.get("items", {})
            name = str(items.get("$ref", "")).rpartition("/")[2]
            named = described.get("$defs", {}).get(name, {}).get("properties")
            is_list = items.get("type") in ("object", "array") or (member == "rows" and "columns" in properties)
            if named or is_list:
                found.append(member)
                columns = columns or tuple(named or ())
        return AnswerTable(tuple(found), columns) if found else None

    def text(self, answers: Sequence[Answer]) -> str:
        """Return the rows of all answers as CSV."""
        rows = [*self._rows(answers)]
        columns = self._named(rows) or _names(answers[0])
        return as_csv(columns, ([_cell(row.get(name)) for name in columns] for row in rows))

    def count(self, answers: Sequence[Answer]) -> int:
        return sum(1 for _ in self._rows(answers))

    def has_rows(self, answers: Sequence[Answer]) -> bool:
        """Return True if the answers have a list of rows, even an empty one."""
        return any(member in each for each in answers for member in self.members)

    def _rows(self, answers: Sequence[Answer]) -> Iterator[CsvRow]:
        used = [name for name in self.members if any(each.get(name) for each in answers)]
        for answer in answers:
            for member in used:
                first = {SIDE: BOOK[member]} if member in BOOK else {LIST: member} if len(used) > 1 else {}
                for row in _rows_of(answer, member):
                    yield {**first, **row}

    def _named(self, rows: Sequence[CsvRow]) -> list[str]:
        """Return the columns of the schema and of the rows, with those of a nested object in its place."""
        inner = {name: _keys(rows, name) for name in self.columns}
        known = dict.fromkeys(each for name in self.columns for each in (inner[name] or (name,)))
        further = dict.fromkeys(each for row in rows for each in row if each not in self.columns)
        leading = [each for each in further if each in (SIDE, LIST)]
        return [*dict.fromkeys((*leading, *known, *further))]


def _keys(rows: Sequence[CsvRow], name: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(each for row in rows for each in row.get(name, {}))) if _nests(rows, name) else ()


def _nests(rows: Sequence[CsvRow], name: str) -> bool:
    return any(isinstance(row.get(name), Mapping) for row in rows)


def _rows_of(answer: Answer, member: str) -> Iterator[CsvRow]:
    names = _names(answer)
    for row in _timed(answer, answer.get(member) or []):
        if isinstance(row, Mapping):
            given = cast("CsvRow", row)
            yield {**given, **_inner(given)}
        else:
            cells = row.split(",") if isinstance(row, str) else _scaled(cast("Sequence[object]", row), answer)
            yield dict(zip(names, cells, strict=True))


def _names(answer: Answer) -> list[str]:
    named = str(answer.get("columns", "price,quantity"))
    return (f"open_time,{named}" if FIRST_CANDLE in answer else named).split(",")


def _timed(answer: Answer, rows: list[Any]) -> list[Any]:
    """Return the rows; those of candles begin with their opening time."""
    if not rows or FIRST_CANDLE not in answer:
        return rows
    first_ms = epoch_ms(datetime.fromisoformat(answer[FIRST_CANDLE]))
    even = [moment_of(each).isoformat() for each in candle_opens(first_ms, answer["interval"], len(rows))]
    opens = answer["open_times"] or [each.replace("+00:00", "Z") for each in even]
    return [f"{at},{row}" for at, row in zip(opens, rows, strict=True)]


def _inner(row: CsvRow) -> CsvRow:
    nested = [cast("CsvRow", each) for each in row.values() if isinstance(each, Mapping)]
    return {name: value for each in nested for name, value in each.items()}


def _scaled(level: Sequence[object], answer: Answer) -> list[object]:
    if "price_scale" not in answer:
        return [*level]
    scales = (Decimal(answer["price_scale"]), Decimal(answer["qty_scale"]))
    return [f"{Decimal(str(each)) * scale:f}" for each, scale in zip(level, scales, strict=True)]


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
