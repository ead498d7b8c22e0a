"""What may stand in for the simulated market of one symbol: a member of the crowd, or a recording."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from mcp_binance_server.simulator.market.book import Level, Top
from mcp_binance_server.simulator.market.candles import Trade
from mcp_binance_server.simulator.market.intervals import Stream
from mcp_binance_server.simulator.market.listing import Symbol
from mcp_binance_server.simulator.market.noise import Lru


class Span(NamedTuple):
    """The events after `start_ms`, up to and including `end_ms`."""

    start_ms: int
    end_ms: int


class Event(NamedTuple):
    """One event as it goes out, without an envelope, and how many update ids it covers."""

    text: str
    ids: int = 1


@dataclass(frozen=True, slots=True)
class Depth:
    """A snapshot of the book, best levels first."""

    update_id: int
    bids: list[Level]
    asks: list[Level]


@dataclass(frozen=True, slots=True)
class Changes:
    """What happened to the book over a span: the ids it covers, and the last quantity of every level it touched."""

    first_id: int
    last_id: int
    bids: dict[int, int]
    asks: dict[int, int]


class Tape(Protocol):
    """The trades of a symbol, by time and by id."""

    def until(self, now_ms: int) -> int:
        """Return the first moment whose trades nobody can have seen yet."""
        ...

    def forward(self, start_ms: int, end_ms: int) -> Iterator[Trade]:
        """Yield the trades with start <= time < end, oldest first."""
        ...

    def backward(self, end_ms: int) -> Iterator[Trade]:
        """Yield the trades before `end_ms`, newest first."""
        ...

    def time_of_trade(self, identity: int) -> int:
        """Return a moment at or shortly before the trade."""
        ...

    def time_of_aggregate(self, identity: int) -> int:
        """Return a moment at or shortly before the aggregate trade."""
        ...


class Source(Protocol):
    """Book and trades of one symbol at any moment; candles and 24 hour figures stay with the simulated market."""

    @property
    def unit(self) -> Symbol:
        """The symbol in the units that ticks and lots count here."""
        ...

    @property
    def tape(self) -> Tape: ...

    def top(self, now_ms: int) -> Top | None:
        """Return the best bid and ask."""
        ...

    def update_id(self, now_ms: int) -> int:
        """Return the id of the newest change to the book."""
        ...

    def depth(self, limit: int, now_ms: int) -> Depth:
        """Return up to `limit` levels a side."""
        ...

    def changes(self, start_ms: int, end_ms: int) -> Changes | None:
        """Return what changed after the start, up to and including the end; None when nothing did."""
        ...

    def events(self, stream: Stream, span: Span) -> list[Event] | None:
        """Return the events of a stream that it tells in its own words; None leaves them to be made as usual."""
        ...


Sources = dict[str, Source]
Said = Lru[tuple[str, Span], tuple[Event, ...]]
