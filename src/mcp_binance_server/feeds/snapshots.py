"""Loading of snapshots that sync books, and throttled logging of errors."""

import logging
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from math import inf
from random import Random

import anyio.abc

from mcp_binance_server.clock import Clock
from mcp_binance_server.domain.access import acting_for
from mcp_binance_server.domain.market import BookSnapshot
from mcp_binance_server.domain.symbols import Symbol
from mcp_binance_server.errors import AppError, RateLimited
from mcp_binance_server.feeds.book import Joined
from mcp_binance_server.feeds.feed import SymbolFeed
from mcp_binance_server.feeds.routes import ExchangeClock
from mcp_binance_server.state.fair_turns import FairTurn, FairTurns

LOG = logging.getLogger(__name__)

# Interval of log lines per symbol, because a line for each event would add nothing.
SAID_EACH_MS = 60_000
# After this time without an error, the backoff starts over.
CALM_MS = 60_000
FIRST_REST_MS, LONGEST_REST_MS = 500, 30_000
MOST_SYMBOLS = 2_000

SNAPSHOT_LEVELS = 1_000
AT_ONCE = 2
MOST_WAITING = 10_000
FIRST_PAUSE_MS, LONGEST_PAUSE_MS = 250, 30_000

Fetch = Callable[[Symbol], Awaitable[BookSnapshot | None]]
"""Callback that returns a snapshot, or None if another process will sync the book."""


@dataclass(slots=True)
class FeedTroubles:
    """Totals since the start, for monitoring."""

    refused: int = 0
    restarts: int = 0


@dataclass(slots=True)
class _Record:
    unsaid: int = 0
    said_ms: float | None = None
    last_ms: float = 0.0
    is_new: bool = False
    steps: int = 0


@dataclass(eq=False)
class Troubles:
    """Backoff per symbol. The first error causes no delay. Each further error causes a longer delay."""

    clock: Clock
    random: Random = field(default_factory=Random, repr=False)
    totals: FeedTroubles = field(default_factory=FeedTroubles)
    _records: dict[Symbol, _Record] = field(default_factory=dict[Symbol, _Record], repr=False)

    def refused(self, symbol: Symbol) -> None:
        """Count an invalid event."""
        self.totals.refused += 1
        record = self._note(symbol)
        if self._may_say(record):
            LOG.warning("%s: ignored invalid stream events (%d)", symbol, record.unsaid)
            record.unsaid = 0

    def failed(self, symbol: Symbol, error: Exception) -> None:
        """Count a feed that restarts after a defect."""
        self.totals.restarts += 1
        record = self._note(symbol)
        if self._may_say(record):
            LOG.error("%s: its feed failed and restarts (%d)", symbol, record.unsaid, exc_info=error)
            record.unsaid = 0

    def rest_ms(self, symbol: Symbol) -> float:
        """Return the delay before a symbol's book is requested again, in milliseconds."""
        record = self._records.get(symbol)
        if record is None:
            return 0
        if self.clock.monotonic_ms() - record.last_ms > CALM_MS:
            del self._records[symbol]
            return 0
        if not record.is_new:
            return 0
        record.is_new = False
        record.steps += 1
        if record.steps == 1:
            return 0
        longest = min(LONGEST_REST_MS, FIRST_REST_MS * 2 ** min(record.steps - 2, 10))
        return self.random.uniform(longest / 2, longest)

    def _note(self, symbol: Symbol) -> _Record:
        if len(self._records) >= MOST_SYMBOLS:
            self._records.pop(next(iter(self._records)))
        record = self._records.setdefault(symbol, _Record())
        record.unsaid += 1
        record.is_new = True
        record.last_ms = self.clock.monotonic_ms()
        return record

    def _may_say(self, record: _Record) -> bool:
        if record.said_ms is not None and record.last_ms - record.said_ms < SAID_EACH_MS:
            return False
        record.said_ms = record.last_ms
        return True


@dataclass(eq=False)
class Snapshots:
    """Loader of snapshots. It retries until a feed's book is in sync."""

    fetch: Fetch
    time: ExchangeClock
    clock: Clock
    joined: Callable[[SymbolFeed], None]
    troubles: Troubles
    random: Random = field(default_factory=Random, repr=False)
    wanted_by: Callable[[Symbol], Iterable[str]] = field(default=lambda _symbol: (), repr=False)
    """Callback that returns the parties that read a symbol. The snapshot waits in the queue of each of these parties.
    """
    _pending: set[Symbol] = field(default_factory=set[Symbol], repr=False)

    def __post_init__(self) -> None:
        self._turns = FairTurns(self.clock, at_a_time=AT_ONCE, most_waiting=MOST_WAITING)

    def request(self, feed: SymbolFeed, tasks: anyio.abc.TaskGroup) -> None:
        """Start to sync a feed, if this has not started yet."""
        if feed.symbol not in self._pending:
            self._pending.add(feed.symbol)
            tasks.start_soon(self._serve, feed)

    def want(self, symbol: Symbol) -> None:
        """Add the symbol to the current party's queue as well."""
        self._turns.join(symbol)

    async def _serve(self, feed: SymbolFeed) -> None:
        try:
            failures = 0
            while feed.needs_snapshot:
                if rest_ms := self.troubles.rest_ms(feed.symbol):
                    await self.clock.sleep_ms(rest_ms)
                turn = self._asked(feed.symbol)
                await self._turns.wait(turn, inf)
                try:
                    pause_ms = await self._guarded(feed, failures) if feed.needs_snapshot else 0
                finally:
                    self._turns.end(turn)
                failures += 1
                if pause_ms:
                    await self.clock.sleep_ms(pause_ms)
        finally:
            self._pending.discard(feed.symbol)

    def _asked(self, symbol: Symbol) -> FairTurn:
        first, *others = sorted(self.wanted_by(symbol)) or [""]
        with acting_for(first):
            turn = self._turns.ask(symbol)
        for party in others:
            with acting_for(party):
                self._turns.join(symbol)
        return turn

    async def _guarded(self, feed: SymbolFeed, failures: int) -> float:
        try:
            return await self._try(feed, failures)
        except Exception as error:  # noqa: BLE001 - an error here must not affect other symbols
            self.troubles.failed(feed.symbol, error)
            feed.restart()
            return 0

    async def _try(self, feed: SymbolFeed, failures: int) -> float:
        """Load one snapshot. Return the delay until the next attempt in ms, or 0 if the book is in sync."""
        longest = min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** min(failures, 10))
        asked_at = self.clock.monotonic_ms()
        try:
            snapshot = await self.fetch(feed.symbol)
        except RateLimited as error:
            return error.retry_after_secs * 1000 + self.random.uniform(0, 1_000)
        except AppError as error:
            LOG.info("no snapshot of %s: %s", feed.symbol, error.message)
            return self.random.uniform(longest / 2, longest)
        if snapshot is None:
            return self.random.uniform(longest / 2, longest)
        as_of_ms = self.time.earliest_ms() - round(self.clock.monotonic_ms() - asked_at)
        outcome = feed.on_snapshot(snapshot, asked=SNAPSHOT_LEVELS, time_ms=self.time.now_ms(), as_of_ms=as_of_ms)
        if isinstance(outcome, Joined):
            self.joined(feed)
            return 0
        return self.random.uniform(longest / 2, longest)
