"""Microprices of watched symbols. They are fitted to the feed's last hour, at most once a minute."""

from dataclasses import dataclass, field
from functools import partial

import anyio.to_thread

from mcp_binance_server.analytics.book.microprice import Microprice, TouchMoment, fit_microprice
from mcp_binance_server.domain.symbols import Symbol, SymbolRules
from mcp_binance_server.feeds.feed import SymbolFeed

KEPT_MS = 60_000
MOST_KEPT = 500


@dataclass(frozen=True, slots=True)
class _Fitted:
    at_ms: int
    microprice: Microprice


@dataclass(frozen=True, slots=True)
class Microprices:
    """The newest fit of each symbol."""

    _kept: dict[Symbol, _Fitted] = field(default_factory=dict[Symbol, _Fitted], repr=False)

    async def of(self, rules: SymbolRules, feed: SymbolFeed, now_ms: int) -> Microprice:
        """Return the cached fit of the last minute, or a new fit."""
        kept = self._kept.get(rules.symbol)
        if kept is not None and 0 <= now_ms - kept.at_ms < KEPT_MS:
            return kept.microprice
        moments = [TouchMoment(each.time_ms, each.mid, each.lean) for each in feed.seconds.since(0)]
        # This counts thousands of pairs. It runs in a thread, so that book events do not wait.
        fitted = await anyio.to_thread.run_sync(partial(fit_microprice, moments, float(rules.tick)))
        self._kept[rules.symbol] = _Fitted(now_ms, fitted)
        while len(self._kept) > MOST_KEPT:
            del self._kept[next(iter(self._kept))]
        return fitted
