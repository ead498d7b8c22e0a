"""The way of each stream's events to their feed: decoded, stamped, handed over; what cannot be read is counted."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import msgspec

from mcp_binance_server.analytics.book_events import QuoteState
from mcp_binance_server.exchange.stream_wire import DepthEventWire, QuoteEventWire, TickerEventWire
from mcp_binance_server.exchange.wire import AggregateTradeWire
from mcp_binance_server.feeds.feed import SymbolFeed


class Now(Protocol):
    """The exchange's time at which something arrived."""

    def now_ms(self) -> int: ...


Route = Callable[[msgspec.Raw], None]

_DEPTH = msgspec.json.Decoder(DepthEventWire)
_QUOTE = msgspec.json.Decoder(QuoteEventWire)
_TRADE = msgspec.json.Decoder(AggregateTradeWire)
_TICKER = msgspec.json.Decoder(TickerEventWire)


@dataclass(frozen=True, slots=True)
class Routes:
    """The four streams of one symbol; `put_in_step` is called whenever its book needs a snapshot."""

    feed: SymbolFeed
    time: Now
    put_in_step: Callable[[SymbolFeed], None]

    def by_name(self) -> dict[str, Route]:
        """Return the streams by name, the book's first."""
        stem = self.feed.symbol.lower()
        return {
            f"{stem}@depth@100ms": self.depth,
            f"{stem}@aggTrade": self._counted(self.trade),
            f"{stem}@bookTicker": self._counted(self.quote),
            f"{stem}@ticker": self._counted(self.ticker),
        }

    def depth(self, data: msgspec.Raw) -> None:
        try:
            event = _DEPTH.decode(data)
        except msgspec.MsgspecError:
            self.feed.on_malformed()
        else:
            self.feed.on_depth(event.to_domain(), self.time.now_ms())
        if self.feed.needs_snapshot:
            self.put_in_step(self.feed)

    def trade(self, data: msgspec.Raw) -> None:
        self.feed.on_trade(_TRADE.decode(data).to_domain(), self.time.now_ms())

    def quote(self, data: msgspec.Raw) -> None:
        event = _QUOTE.decode(data)
        state = QuoteState(float(event.bid), float(event.bid_size), float(event.ask), float(event.ask_size))
        self.feed.on_quote(event.update_id, state, self.time.now_ms())

    def ticker(self, data: msgspec.Raw) -> None:
        self.feed.on_ticker(_TICKER.decode(data).to_domain(), self.time.now_ms())

    def _counted(self, take: Route) -> Route:
        def guarded(data: msgspec.Raw) -> None:
            try:
                take(data)
            except ValueError:  # what msgspec raises is one, and so is a price that is no number
                self.feed.counts.malformed += 1

        return guarded
