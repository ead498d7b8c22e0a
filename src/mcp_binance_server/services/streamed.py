"""What a reader need not ask for, because a stream has told it: the ticker, the book and the trades of live symbols."""

from dataclasses import dataclass
from typing import TypeVar

from mcp_binance_server.analytics.thresholds import DEFAULTS, Thresholds
from mcp_binance_server.domain.book import BookSnapshot
from mcp_binance_server.domain.market import Origin, Ticker, Trade
from mcp_binance_server.domain.observations import Observation
from mcp_binance_server.domain.symbols import SymbolRules
from mcp_binance_server.exchange.networks import Network, host_of
from mcp_binance_server.exchange.server_time import ServerTime
from mcp_binance_server.feeds.feed import SymbolFeed
from mcp_binance_server.feeds.hub import Hub

ValueT = TypeVar("ValueT")


@dataclass(frozen=True, slots=True)
class Streamed:
    """Reads the feeds that somebody else has opened, while they are as fresh as an answer would be."""

    hub: Hub | None
    network: Network
    time: ServerTime
    thresholds: Thresholds = DEFAULTS

    def ticker(self, rules: SymbolRules) -> Observation[Ticker] | None:
        """Return the last 24 hours, if they were told a moment ago."""
        feed = self._fresh(rules)
        if feed is None or feed.ticker is None or not self._is_fresh(feed.ticker.close_time_ms):
            return None
        return self._told(feed.ticker, rules, feed.ticker.close_time_ms)

    def book(self, rules: SymbolRules, levels: int) -> Observation[BookSnapshot] | None:
        """Return the best levels of a book that is in step."""
        feed = self._fresh(rules)
        return None if feed is None else self._told(feed.book.top(levels), rules, feed.book_ms)

    def trades(self, rules: SymbolRules, count: int) -> Observation[tuple[Trade, ...]] | None:
        """Return the newest aggregate trades, if so many are held and none among them is missing."""
        feed = self._fresh(rules)
        newest = None if feed is None else feed.tape.last(count)
        if feed is None or newest is None:
            return None
        return self._told(newest, rules, max(feed.book_ms, newest[-1].time_ms if newest else 0))

    def _fresh(self, rules: SymbolRules) -> SymbolFeed | None:
        feed = self.hub.peek(rules.symbol) if self.hub else None
        if feed is None or not feed.is_live or feed.is_late(self.thresholds.stale_ms):
            return None
        return feed if self._is_fresh(feed.book_ms) else None

    def _is_fresh(self, at_ms: int) -> bool:
        return self.time.now_ms() - at_ms <= self.thresholds.stale_ms

    def _told(self, value: ValueT, rules: SymbolRules, at_ms: int) -> Observation[ValueT]:
        origin: Origin = "simulated_stream" if self.network.simulated else "streamed"
        return Observation(value, rules, host_of(self.network.stream_url or self.network.rest_url), origin, at_ms)
