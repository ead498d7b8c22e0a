"""Live market data for paper orders. One process matches all orders in the shared tables, symbol by symbol."""

import logging
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from secrets import token_hex

import anyio
import anyio.abc

from mcp_binance_server.clock import Clock
from mcp_binance_server.domain.access import acting_for
from mcp_binance_server.domain.account import Commission
from mcp_binance_server.domain.symbols import Symbol
from mcp_binance_server.errors import AppError
from mcp_binance_server.exchange.server_time import ServerTime
from mcp_binance_server.exchange.spot.directory import Directory
from mcp_binance_server.exchange.spot.rest import SpotClient
from mcp_binance_server.feeds.hub import Hub
from mcp_binance_server.services.trading.paper_symbol import Bell, FeedBook, PaperSymbol
from mcp_binance_server.trading.judgement.preview import USUAL
from mcp_binance_server.trading.paper.account import Pair
from mcp_binance_server.trading.paper.exchange import PaperExchange
from mcp_binance_server.trading.paper.matcher import LEASE_MS, LeaseLost, MatchingRight, RowRight, SymbolMatcher
from mcp_binance_server.trading.paper.tables import file_version, open_marks, open_symbols

LOG = logging.getLogger(__name__)

Told = Callable[[frozenset[str]], Awaitable[None]]
"""Callback with the accounts whose orders have changed."""

# Polling interval of the tables, in ms: with open orders, and without.
LOOK_MS, IDLE_MS = 50, 500
RENEW_MS = LEASE_MS // 4
# Shortest time between two matches of a symbol, in ms. Faster events are matched together.
PAUSE_MS = 20
RETRY_MS = 1_000
# Time for which a symbol is followed after its last order, in ms. While it is followed, the quantity taken from its
# book is known.
LINGER_MS = 10_000


@dataclass(eq=False)
class _MatchedSymbol:
    bell: Bell
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    has_changed: bool = True
    """Whether to check the tables for new and cancelled orders."""
    untold: frozenset[str] = frozenset()
    used_ms: float = 0.0
    complaint: str = ""


@dataclass(eq=False)
class PaperFeed:
    """Matching of all symbols with open paper orders, in the process that holds the matching lease.

    Orders of a symbol without a live market wait. An error of the exchange for one symbol does not end the other
    orders.
    """

    hub: Hub | None
    client: SpotClient
    directory: Directory
    exchange: PaperExchange
    time: ServerTime
    clock: Clock
    told: Told
    rates: Commission = USUAL
    owner: str = field(default_factory=lambda: token_hex(8))
    right: MatchingRight | None = None
    """Right to match.

    None selects the lease in the journal's file; then the matching process notifies for all processes.
    """
    _followed: dict[Symbol, _MatchedSymbol] = field(default_factory=dict[Symbol, _MatchedSymbol])
    _symbols: frozenset[Symbol] = frozenset()
    _version: tuple[int, int] | None = None
    _marks: frozenset[tuple[str, int, str, str]] = frozenset()
    _token: int | None = None
    _renewed_ms: float | None = None
    _complaint: str = ""

    def __post_init__(self) -> None:
        self._bell = Bell(self.clock)
        self._right = self.right or RowRight(self.exchange.store)

    @asynccontextmanager
    async def running(self) -> AsyncGenerator["PaperFeed"]:
        """Match while the context is open. On exit, another process can take over."""
        if self.hub is None:
            yield self
            return
        async with anyio.create_task_group() as tasks:
            with acting_for(""):  # orders of all parties are matched
                tasks.start_soon(self._run, self.hub, tasks)
            try:
                yield self
            finally:
                tasks.cancel_scope.cancel()

    def wake(self) -> None:
        """Check the tables now, because an order was placed or cancelled here."""
        self._bell.ring()

    async def _run(self, hub: Hub, tasks: anyio.abc.TaskGroup) -> None:
        try:
            while True:
                try:
                    await self._look(hub, tasks)
                    self._complaint = ""
                except Exception as error:  # noqa: BLE001 - orders wait until it works again
                    self._drop()
                    self._complaint = complain("paper orders are not matched", error, self._complaint)
                await self._bell.wait(LOOK_MS if self._symbols or self._followed else IDLE_MS)
        finally:
            with anyio.CancelScope(shield=True), suppress(AppError):
                if self._token is not None:
                    await self._right.give_back(self._token)

    async def _look(self, hub: Hub, tasks: anyio.abc.TaskGroup) -> None:
        version = await self.exchange.store.read(file_version)
        if version != self._version:
            self._symbols = await self.exchange.store.read(open_symbols)
            self._version = version
            for each in self._followed.values():
                each.has_changed = True
                each.bell.ring()
            await self._notify_remote_matches()
        now_ms = self.clock.monotonic_ms()
        for symbol, each in [*self._followed.items()]:
            if symbol in self._symbols:
                each.used_ms = now_ms
            elif now_ms - each.used_ms >= LINGER_MS:
                self._followed.pop(symbol).scope.cancel()
        if not self._symbols and not self._followed:
            await self._give_back()
        elif self._renewed_ms is None or now_ms - self._renewed_ms >= RENEW_MS:
            await self._renew(now_ms)
        if self._token is not None:
            for symbol in self._symbols - self._followed.keys():
                followed = self._followed[symbol] = _MatchedSymbol(Bell(self.clock), used_ms=now_ms)
                tasks.start_soon(self._follow, hub, symbol, followed, self._token)

    async def _notify_remote_matches(self) -> None:
        """Notify about orders that another worker has matched, because that worker writes to another journal."""
        if self.right is None:
            return
        before, self._marks = self._marks, await self.exchange.store.read(open_marks)
        changed = frozenset(account for account, *_ in before - self._marks)
        if changed and self._token is None:
            await self.told(changed)

    async def _renew(self, now_ms: float) -> None:
        token = await self._right.take(self.owner, self.clock.now_ms())
        if token != self._token:
            # Even if this process holds the lease again, another process may have matched in between.
            self._drop()
        self._token, self._renewed_ms = token, now_ms

    async def _give_back(self) -> None:
        token, self._token, self._renewed_ms = self._token, None, None
        if token is not None:
            await self._right.give_back(token)

    def _drop(self) -> None:
        for each in self._followed.values():
            each.scope.cancel()
        self._followed.clear()
        self._version = self._renewed_ms = None

    async def _follow(self, hub: Hub, symbol: Symbol, followed: _MatchedSymbol, token: int) -> None:
        with followed.scope:
            while True:
                try:
                    await self._match(hub, symbol, followed, token)
                except LeaseLost:
                    break
                except Exception as error:  # noqa: BLE001 - only this symbol is delayed
                    followed.complaint = complain(f"paper orders of {symbol} are delayed", error, followed.complaint)
                await self.clock.sleep_ms(RETRY_MS)
            if self._token == token:
                self._drop()
                self.wake()

    async def _match(self, hub: Hub, symbol: Symbol, followed: _MatchedSymbol, token: int) -> None:
        """Match until the feed is closed. Return at once if the symbol has no feed."""
        rules = await self.directory.find(symbol)
        if not rules.is_trading:
            return
        with hub.following(symbol, followed.bell.ring) as feed:
            if feed is None:
                return
            store, start = self.exchange.store, self.exchange.start
            pair = Pair(rules.base, rules.quote)
            matcher = SymbolMatcher(symbol, pair, store, start, self.rates, token, FeedBook(feed), rules.step)
            await matcher.load()
            market = PaperSymbol(matcher, feed, self.client, self.time)
            while feed.state != "closed":
                if followed.has_changed:
                    followed.has_changed = False
                    followed.untold |= await matcher.look()
                followed.untold |= await market.meet()
                if followed.untold:
                    await self.told(followed.untold)
                    followed.untold = frozenset()
                followed.complaint = ""
                await self.clock.sleep_ms(PAUSE_MS)
                await followed.bell.wait(self._patience_ms(matcher))

    def _patience_ms(self, matcher: SymbolMatcher) -> float:
        arrival_ms = matcher.next_arrival_ms
        return IDLE_MS if arrival_ms is None else min(IDLE_MS, max(1, arrival_ms - self.time.now_ms()))


def complain(what: str, error: Exception, before: str) -> str:
    """Log an error unless it equals the last one logged, and return its text."""
    told = error.message if isinstance(error, AppError) else f"unexpected {type(error).__name__}"
    if told != before:
        is_ours = not isinstance(error, AppError)
        LOG.warning("%s: %s", what, told, exc_info=error if is_ours else None)
    return told
