"""Board: all pairs of one market at one moment, as the exchange wrote them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

from mcp_binance_server.domain.market import Origin

BoardMarket = Literal["spot", "perpetual"]
BoardField = Literal[
    "symbol", "base", "quote", "last", "open", "high", "low", "change_percent", "quote_volume", "trades", "closed_ms",
    "bid", "ask", "mark", "index", "funding", "next_funding_ms", "marked_ms", "interval_hours", "underlying", "tick",
]  # fmt: skip
"""Fields of a row. `funding` is the estimated rate at `next_funding_ms`. Settlements are `interval_hours` apart."""

FIELDS: tuple[BoardField, ...] = get_args(BoardField)
# Separator of the texts in a column. No name or number of the exchange contains a line feed.
_BETWEEN = "\n"


@dataclass(frozen=True, slots=True)
class BoardRow:
    """One pair: its position on the board and its texts. A text that the exchange did not send is empty."""

    place: int
    texts: Mapping[BoardField, str]

    def __getitem__(self, name: BoardField) -> str:
        return self.texts.get(name, "")

    @property
    def symbol(self) -> str:
        return self["symbol"]


@dataclass(frozen=True, slots=True)
class Board:
    """All pairs of a market in columns. Each column is one text with a line per pair.

    Columns need a hundredth of the objects that rows need. A query parses only the fields that it names. Exact numbers
    are parsed only for the rows that are shown.
    """

    market: BoardMarket
    host: str
    at_ms: int
    """The exchange's time of the request; the oldest one if there were several requests."""
    count: int
    fields: Mapping[str, str] = field(repr=False)

    @classmethod
    def of(cls, market: BoardMarket, host: str, at_ms: int, columns: Mapping[BoardField, Sequence[str]]) -> "Board":
        """Build a board from columns of equal length.

        Raises:
            ValueError: the lengths differ, or a text has more than one line.
        """
        count = len(columns["symbol"])
        fields = {name: _BETWEEN.join(texts) for name, texts in columns.items()}
        for name, texts in columns.items():
            if len(texts) != count or (count and fields[name].count(_BETWEEN) != count - 1):
                raise ValueError(f"{name} has not one line for each of {count} pairs")
        return cls(market, host, at_ms, count, fields)

    def texts(self, name: BoardField) -> list[str]:
        """Return the texts of a field, one per pair in board order. If the board lacks the field, they are empty."""
        if name not in self.fields or not self.count:
            return [""] * self.count
        return self.fields[name].split(_BETWEEN)

    def rows(self, places: Iterable[int]) -> list[BoardRow]:
        """Return whole rows for the few positions that are shown."""
        columns: dict[BoardField, list[str]] = {name: self.texts(name) for name in FIELDS if name in self.fields}
        return [BoardRow(place, {name: texts[place] for name, texts in columns.items()}) for place in places]


@dataclass(frozen=True, slots=True)
class BoardView:
    """A board, the source of the answer, its age, and the reason if it could not be refreshed in time."""

    board: Board
    origin: Origin
    age_ms: int
    failure: str | None = None
