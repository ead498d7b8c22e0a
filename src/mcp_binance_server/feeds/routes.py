"""Event handlers of a symbol's streams: decode an event, add its arrival time and pass it to the feed."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol

import msgspec

from mcp_binance_server.analytics.flow.book_events import QuoteState
from mcp_binance_server.domain.symbols import Symbol
from mcp_binance_server.exchange.spot.streams import DepthEventWire, QuoteEventWire, TickerEventWire, TradeEventWire
from mcp_binance_server.exchange.wire import UNREADABLE
from mcp_binance_server.feeds.feed import SymbolFeed

# A timestamp this far in the future cannot be the exchange's.
AHEAD_MS = 60_000
EARLY_MS, LATE_MS = 100, 1_000
# Errors of the decoder and of our own checks.
NONSENSE = (*UNREADABLE, ValueError)


class ExchangeClock(Protocol):
    """Clock with the exchange's time."""

    def now_ms(self) -> int: ...

    def earliest_ms(self) -> int: ...

    def witness(self, event_ms: int) -> bool: ...


Route = Callable[[msgspec.Raw], None]
ClockDoubt = Literal["odd", "refuted"]

_DEPTH = msgspec.json.Decoder(DepthEventWire)
_QUOTE = msgspec.json.Decoder(QuoteEventWire)
_TRADE = msgspec.json.Decoder(TradeEventWire)
_TICKER = msgspec.json.Decoder(TickerEventWire)


@dataclass(frozen=True, slots=True)
class Routes:
    """The four streams of one symbol.

    `refused` is called for an invalid event, and `put_in_step` for a book that needs a snapshot. `doubt_time` is
    called for an event that seems late or early, because ages depend on the exchange's clock. An event from the future
    proves that the clock is wrong; with that clock, old data would look new.
    """

    feed: SymbolFeed
    time: ExchangeClock
    put_in_step: Callable[[SymbolFeed], None]
    refused: Callable[[Symbol], None]
    doubt_time: Callable[[ClockDoubt], None]

    def by_name(self) -> dict[str, Route]:
        """Return the event handlers by stream name. The book's stream comes first."""
        stem = self.feed.symbol.lower()
        return {
            f"{stem}@depth@100ms": self.depth,
            f"{stem}@aggTrade": self.trade,
            f"{stem}@bookTicker": self.quote,
            f"{stem}@ticker": self.ticker,
        }

    def depth(self, data: msgspec.Raw) -> None:
        now_ms = self.time.now_ms()
        try:
            event = _DEPTH.decode(data)
            self._check(event.symbol, event.event_time, now_ms)
            delta = event.to_domain()
            behind_ms = now_ms - event.event_time
            if self.time.witness(event.event_time):
                self.doubt_time("refuted")
            elif not -EARLY_MS <= behind_ms <= LATE_MS:
                self.doubt_time("odd")
        except NONSENSE:
            self.feed.on_malformed()
            self.refused(self.feed.symbol)
        else:
            self.feed.on_depth(delta, now_ms)
        if self.feed.needs_snapshot:
            self.put_in_step(self.feed)

    def trade(self, data: msgspec.Raw) -> None:
        now_ms = self.time.now_ms()
        try:
            event = _TRADE.decode(data)
            self._check(event.symbol, event.time, now_ms)
            trade = event.to_domain()
        except NONSENSE:
            self._refuse()  # the next trade's ID shows the gap
        else:
            self.feed.on_trade(trade, now_ms)

    def quote(self, data: msgspec.Raw) -> None:
        now_ms = self.time.now_ms()
        try:
            event = _QUOTE.decode(data)
            self._check(event.symbol, 0, now_ms)
        except NONSENSE:
            self.feed.quotes.clear()
            self._refuse()
        else:
            state = QuoteState(float(event.bid), float(event.bid_size), float(event.ask), float(event.ask_size))
            self.feed.on_quote(event.update_id, state, now_ms)

    def ticker(self, data: msgspec.Raw) -> None:
        now_ms = self.time.now_ms()
        try:
            event = _TICKER.decode(data)
            self._check(event.symbol, event.close_time, now_ms)
            ticker = event.to_domain()
        except NONSENSE:
            self.feed.ticker = None
            self._refuse()
        else:
            self.feed.on_ticker(ticker, now_ms)

    def _check(self, symbol: str, time_ms: int, now_ms: int) -> None:
        if symbol != self.feed.symbol or time_ms > now_ms + AHEAD_MS:
            raise ValueError("an event of another symbol, or from the future")

    def _refuse(self) -> None:
        self.feed.counts.malformed += 1
        self.refused(self.feed.symbol)
