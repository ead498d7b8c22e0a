"""The live market as an analysis asks for it: a feed held while it is read, and a book from there or by REST."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from mcp_binance_server.analytics.book.report import BookView, NoFeed
from mcp_binance_server.analytics.envelope import Unknown
from mcp_binance_server.analytics.thresholds import DEFAULTS, Thresholds
from mcp_binance_server.domain.symbols import SymbolRules
from mcp_binance_server.exchange.networks import Network
from mcp_binance_server.exchange.server_time import ServerTime
from mcp_binance_server.exchange.spot.rest import SpotClient
from mcp_binance_server.feeds.feed import SymbolFeed
from mcp_binance_server.feeds.hub import Hub
from mcp_binance_server.services.market.service import MarketService


@dataclass(frozen=True, slots=True)
class Watch:
    """A symbol that is being read: its rules, and its feed if it has one."""

    rules: SymbolRules
    feed: SymbolFeed | None
    no_feed: NoFeed | None
    now_ms: int
    thresholds: Thresholds = DEFAULTS
    lag_ms: int = 0

    @property
    def unknown(self) -> Unknown:
        """Why nothing is known of what only a stream can tell."""
        return Unknown("stream_late" if self.no_feed == "late" else "upstream_unavailable")

    @property
    def live(self) -> SymbolFeed | None:
        """The feed, once its book can be relied on and is not older than may be shown at all."""
        feed = self.feed
        if feed is None or not feed.is_live:
            return None
        return feed if feed.age_ms(self.now_ms) <= self.thresholds.dead_ms else None


@dataclass(frozen=True, slots=True)
class LiveService:
    """Opens feeds for those who read them; without streams every book is asked for.

    Its thresholds are those of every analysis of the live market.
    """

    market: MarketService
    client: SpotClient
    time: ServerTime
    network: Network
    hub: Hub | None
    thresholds: Thresholds = DEFAULTS

    @asynccontextmanager
    async def watching(self, text: str, *, wait_ms: int = 0) -> AsyncGenerator[Watch]:
        """Hold the feed of the symbol a caller wrote, and wait a little for its first book if asked to."""
        rules = await self.market.rules(text)
        if self.hub is None or not rules.is_trading:
            yield Watch(rules, None, "off", self.time.now_ms(), self.thresholds)
            return
        with self.hub.reading(rules.symbol) as opened:
            if opened is not None and wait_ms:
                await self.hub.wait_until_live(rules.symbol, wait_ms)
            # Meanwhile another party may have needed its place.
            feed = None if opened is None or opened.state == "closed" else opened
            if feed is not None and feed.is_late(self.thresholds.dead_ms):
                yield Watch(rules, None, "late", self.time.now_ms(), self.thresholds, feed.lag_ms)
                return
            yield Watch(rules, feed, None if feed else "full", self.time.now_ms(), self.thresholds)

    async def book(self, watch: Watch, levels: int) -> BookView:
        """Return the symbol's book: as it stands here while that is fresh, else as the exchange answers now."""
        feed = watch.live
        if feed is not None:
            return self._live_view(watch.rules, feed, levels)
        reading = await self.client.depth(watch.rules.symbol, levels)
        return BookView(
            rules=watch.rules,
            snapshot=reading.value,
            is_live=False,
            as_of_ms=reading.at_ms,
            age_ms=max(0, self.time.now_ms() - reading.at_ms),
            gaps=0,
            no_feed=watch.no_feed,
            lag_ms=watch.lag_ms,
            thresholds=self.thresholds,
        )

    def _live_view(self, rules: SymbolRules, feed: SymbolFeed, levels: int) -> BookView:
        counts = feed.counts
        return BookView(
            rules=rules,
            snapshot=feed.book.top(levels),
            is_live=True,
            as_of_ms=feed.book_ms,
            age_ms=feed.age_ms(self.time.now_ms()),
            gaps=counts.gaps + counts.lost,
            thresholds=self.thresholds,
        )
