"""Routes of stream events to their feed: decoded, stamped, passed on; events that make no sense are counted."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol

import msgspec

from mcp_binance_server.analytics.flow.book_events import QuoteState
from mcp_binance_server.domain.symbols import Symbol
from mcp_binance_server.exchange.spot.streams import DepthEventWire, QuoteEventWire, TickerEventWire, TradeEventWire
from mcp_binance_server.exchange.wire import UNREADABLE
from mcp_binance_server.feeds.feed import SymbolFeed

# A timestamp this far ahead of the exchange's own clock does not come from the exchange.
AHEAD_MS = 60_000
EARLY_MS, LATE_MS = 100, 1_000
# Errors of decoding, and of our own checks.
NONSENSE = (*UNREADABLE, ValueError)


class Now(Protocol):
    """The exchange's time when an event arrived."""

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

    `refused` is called for each event that makes no sense, `put_in_step` for a book that needs a snapshot, and
    `doubt_time` for events that seem to arrive late or too early: the clock must be right before ages are computed from
    it. An event from the future refutes the clock, by which old data would look young.
    """

    feed: SymbolFeed
    time: Now
    put_in_step: Callable[[SymbolFeed], None]
    refused: Callable[[Symbol], None]
    doubt_time: Callable[[ClockDoubt], None]

    def by_name(self) -> dict[str, Route]:
        """Return the routes by name of the stream, the book's first."""
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
            self._refuse()  # the next trade's ID reveals the gap
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
