"""A book that stops changing while the exchange goes on answering."""

from copy import copy
from dataclasses import dataclass

from binance_simulator.exchange import SimulatedExchange
from binance_simulator.market.book import Top
from binance_simulator.market.listing import Symbol
from binance_simulator.market.source import Changes, Depth, Event, Span, Stream, Tape
from binance_simulator.market.synthetic import BUCKET_MS, Market


@dataclass(frozen=True, slots=True)
class FrozenSource:
    """The market of a symbol as it was at one moment. Its trades go on."""

    market: Market
    unit: Symbol
    at_ms: int

    @property
    def tape(self) -> Tape:
        return self.market.tape(self.unit)

    def top(self, now_ms: int) -> Top | None:
        del now_ms
        return self.market.top(self.unit, self.at_ms)

    def update_id(self, now_ms: int) -> int:
        del now_ms
        return self.market.update_id(self.unit, self.at_ms)

    def depth(self, limit: int, now_ms: int) -> Depth:
        del now_ms
        return self.market.depth(self.unit, limit, self.at_ms)

    def changes(self, start_ms: int, end_ms: int) -> Changes | None:
        del start_ms, end_ms
        return None

    def events(self, stream: Stream, span: Span) -> list[Event] | None:
        del stream, span
        return None


def freeze(exchange: SimulatedExchange, name: str) -> None:
    """Stop the book of a symbol where the streams have sent all its changes."""
    market = exchange.stage.market
    now_ms = exchange.now_ms() // BUCKET_MS * BUCKET_MS
    source = FrozenSource(copy(market), market.unit(exchange.listing.symbols[name]), now_ms)
    market.sources = {**market.sources, name: source}
