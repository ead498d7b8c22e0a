"""Answer of a call for all symbols of a market, as one column of texts per field."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Generic, Protocol, TypeVar

import msgspec

from mcp_binance_server.domain.board import BoardField
from mcp_binance_server.domain.market import Origin
from mcp_binance_server.errors import ExchangeUnavailable
from mcp_binance_server.exchange.wire import UNREADABLE

RowT = TypeVar("RowT")


@dataclass(frozen=True, slots=True)
class BoardPart:
    """Columns of equal length, with one text per symbol; `dropped` counts the unreadable rows that were left out."""

    host: str
    origin: Origin
    at_ms: int
    """The exchange's time of the request."""
    columns: dict[BoardField, list[str]] = field(repr=False)
    dropped: int


class BoardRowWire(Protocol):
    """A row of an answer for all symbols; `texts` has the order of `FIELDS`, and the symbol is first."""

    FIELDS: ClassVar[tuple[BoardField, ...]]

    def texts(self) -> tuple[str, ...]: ...


@dataclass(frozen=True, slots=True)
class RowsRead(Generic[RowT]):
    """The readable rows of an answer, and the number of unreadable ones."""

    rows: list[RowT] = field(repr=False)
    dropped: int


def read_rows(rows: Sequence[msgspec.Raw], shape: type[RowT]) -> RowsRead[RowT]:
    """Decode each row separately, so that one unreadable row does not discard the answer."""
    decode = msgspec.json.Decoder(shape).decode
    read: list[RowT] = []
    for row in rows:
        try:
            read.append(decode(row))
        except UNREADABLE:
            continue
    return RowsRead(read, len(rows) - len(read))


class BoardColumns:
    """Columns built in batches of rows, because a thousand rows at once would block the event loop for too long."""

    def __init__(self, shape: type[BoardRowWire]) -> None:
        self._shape = shape
        self._told: dict[str, tuple[str, ...]] = {}
        self._asked = 0

    def add(self, rows: Sequence[msgspec.Raw]) -> None:
        """Add rows; of rows with the same symbol the first is kept."""
        self._asked += len(rows)
        for row in read_rows(rows, self._shape).rows:
            texts = row.texts()
            self._told.setdefault(texts[0], texts)

    @property
    def dropped(self) -> int:
        return self._asked - len(self._told)

    def columns(self) -> dict[BoardField, list[str]]:
        """Return the columns by field.

        Raises:
            ExchangeUnavailable: there were rows, but none of them could be read.
        """
        if self._asked and not self._told:
            raise ExchangeUnavailable(reason="no row of the answer could be read")
        fields = self._shape.FIELDS
        columns = [list(texts) for texts in zip(*self._told.values(), strict=True)] or [[] for _ in fields]
        return dict(zip(fields, columns, strict=True))
