"""One symbol's page, watched: when what it shows has changed, and who is to be told."""

import logging
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from decimal import Decimal

import anyio

from mcp_binance_server.domain.market import Ticker
from mcp_binance_server.domain.symbols import SymbolRules
from mcp_binance_server.errors import AppError
from mcp_binance_server.feeds.errors import StreamsFull
from mcp_binance_server.feeds.feed import FeedState
from mcp_binance_server.feeds.hub import CRASH_PAUSE_MS, Tell
from mcp_binance_server.services.following import FeedNews, Following, TickerNews, Wish, following_known
from mcp_binance_server.services.live import LiveService

LOG = logging.getLogger(__name__)

# A page is told to have changed at most so often.
PAUSE_MS = 1_000
_TICKER = Wish(frozenset({"ticker"}), book_levels=0)
Shown = tuple[Decimal | int, ...]
End = Callable[[AppError], None]
"""Told, once, why a page is not told of any more; brief, and it never raises."""


def shown(ticker: Ticker) -> Shown:
    """Return what the page says of a ticker but the time: that the window of 24 hours has moved on is no news."""
    return (
        ticker.last_price, ticker.change, ticker.change_percent, ticker.high, ticker.low, ticker.volume,
        ticker.quote_volume, ticker.weighted_average, ticker.trade_count,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Waiter:
    """Somebody who waits for a page: how to tell that it has changed, and that they will not be told again."""

    tell: Tell
    end: End


@dataclass(eq=False)
class PageWatch:
    """Who of one party waits for a page, and what of it they have been told."""

    reader: Following
    held: ExitStack
    waiting: dict[object, Waiter] = field(default_factory=dict[object, Waiter])
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    _state: FeedState | None = None
    _newest: tuple[int, Shown] | None = None
    _told: tuple[int, Shown] | None = None

    @classmethod
    def of(cls, live: LiveService, rules: SymbolRules) -> "PageWatch":
        """Begin to follow a symbol.

        Raises:
            NotStreamed: it has no live market.
            StreamsFull: as many symbols are streamed as may be.
        """
        held = ExitStack()
        watch = cls(held.enter_context(following_known(live, (rules,), _TICKER)), held)
        watch.has_changed()  # what is known by now, whoever subscribes can read
        return watch

    def has_changed(self) -> bool:
        """Tell, once, whether the page differs from what was told last; after a lost stream it may have, so it has."""
        for news in self.reader.news():
            if isinstance(news, TickerNews):
                self._newest = news.lost, shown(news.view.ticker)
            elif isinstance(news, FeedNews):
                self._state = news.state
        # Until the book is in step a page is asked for, and could be older than the news of it.
        if self._state != "live" or self._newest == self._told:
            return False
        self._told = self._newest
        return True

    async def run(self) -> StreamsFull | None:
        """Tell everybody who waits, until stopped; return why, if another party needed the symbol's place."""
        with self.scope:
            while True:
                try:
                    if self.has_changed():
                        self._tell_all()
                        await self.reader.clock.sleep_ms(PAUSE_MS)
                except StreamsFull as given_away:
                    return given_away
                except Exception:  # a page that cannot be told of must not end the others
                    LOG.exception("a page's news could not be told")
                    await self.reader.clock.sleep_ms(CRASH_PAUSE_MS)
                await self.reader.wait()
        return None

    def _tell_all(self) -> None:
        for key, waiter in tuple(self.waiting.items()):
            try:
                waiter.tell()
            except Exception:  # nor one who waits the others who wait
                LOG.exception("somebody who waited for a page could not be told")
                self.waiting.pop(key, None)

    def stop(self) -> None:
        self.scope.cancel()
        self.held.close()
