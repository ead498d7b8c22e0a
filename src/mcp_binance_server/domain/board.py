"""Every pair of one market at one moment, as the exchange wrote it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

from mcp_binance_server.domain.market import Origin

BoardMarket = Literal["spot", "perpetual"]
BoardField = Literal[
    "symbol", "base", "quote", "last", "open", "high", "low", "change_percent", "quote_volume", "trades", "closed_ms",
    "bid", "ask", "mark", "index", "funding", "next_funding_ms", "marked_ms", "interval_hours", "underlying", "tick",
]  # fmt: skip
"""What a row may say. `funding` is the estimate for the settlement at `next_funding_ms`, once in `interval_hours`."""

FIELDS: tuple[BoardField, ...] = get_args(BoardField)
# What no text of the exchange contains: its names are words, its numbers digits.
_BETWEEN = "\n"


@dataclass(frozen=True, slots=True)
class BoardRow:
    """One pair: its place on the board, and what it says there; empty where the exchange said nothing."""

    place: int
    texts: Mapping[BoardField, str]

    def __getitem__(self, name: BoardField) -> str:
        return self.texts.get(name, "")

    @property
    def symbol(self) -> str:
        return self["symbol"]


@dataclass(frozen=True, slots=True)
class Board:
    """Each field as one text with a line per pair: a hundredth of the objects that rows would be.

    Numbers are made only of the fields that a question names, and exact ones only of what is shown.
    """

    market: BoardMarket
    host: str
    at_ms: int
    """The exchange's time when it was asked; the oldest, where it was asked several things."""
    count: int
    fields: Mapping[str, str] = field(repr=False)

    @classmethod
    def of(cls, market: BoardMarket, host: str, at_ms: int, columns: Mapping[BoardField, Sequence[str]]) -> "Board":
        """Lay out columns of equal length.

        Raises:
            ValueError: they are not, or a text has more than one line.
        """
        count = len(columns["symbol"])
        fields = {name: _BETWEEN.join(texts) for name, texts in columns.items()}
        for name, texts in columns.items():
            if len(texts) != count or (count and fields[name].count(_BETWEEN) != count - 1):
                raise ValueError(f"{name} has not one line for each of {count} pairs")
        return cls(market, host, at_ms, count, fields)

    def texts(self, name: BoardField) -> list[str]:
        """Return what each pair says under a field, by place; empty texts where the board has no such field."""
        if name not in self.fields or not self.count:
            return [""] * self.count
        return self.fields[name].split(_BETWEEN)

    def rows(self, places: Iterable[int]) -> list[BoardRow]:
        """Return whole rows, for the few that are shown."""
        columns: dict[BoardField, list[str]] = {name: self.texts(name) for name in FIELDS if name in self.fields}
        return [BoardRow(place, {name: texts[place] for name, texts in columns.items()}) for place in places]


@dataclass(frozen=True, slots=True)
class BoardView:
    """A board, who answered, how old it is, and why it is no newer where it should be."""

    board: Board
    origin: Origin
    age_ms: int
    failure: str | None = None
