"""Persistence of each symbol's score history: load at opening, save every five minutes and at the end."""

import logging
from collections import deque
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from hashlib import sha256

import anyio
import anyio.to_thread

from mcp_binance_server.analytics.market.symbol_scores import SymbolScores
from mcp_binance_server.clock import Clock
from mcp_binance_server.domain.symbols import Symbol
from mcp_binance_server.errors import EngineUnavailable
from mcp_binance_server.feeds.feed import SymbolFeed
from mcp_binance_server.feeds.score_record import RefusedRecord, ScoreRecord, Series, decode, encode, length
from mcp_binance_server.feeds.score_store import ScoreStore

LOG = logging.getLogger(__name__)

EVERY_MS = 5 * 60 * 1000
# A shutdown waits only this long for the last writes. Otherwise up to five minutes are lost.
LAST_SECS = 2.0


@dataclass(eq=False)
class _StoredScores:
    """A symbol's history, with digests of the stored record and of the history after its last sync.

    Writing sets a new time. It is skipped while both are unchanged, so that old data does not look new.
    """

    feed: SymbolFeed
    shelved: bytes = field(init=False)
    settled: bytes = field(init=False)

    def __post_init__(self) -> None:
        self.shelved, self.settled = _mark({}), _mark(self.feed.pasts.series())


@dataclass(frozen=True, slots=True)
class _KeepingTurn:
    kept: _StoredScores
    may_write: bool
    is_last: bool = False


class ScorePersistence:
    """Load and save queue for the histories of open symbols.

    One symbol is handled at a time, so that writes stay in order. The longer of two histories wins. A new process
    therefore continues the stored history instead of overwriting it. In a fleet only a symbol's leader writes. A
    failing store is logged once.
    """

    def __init__(self, shelf: ScoreStore, clock: Clock, leads: Callable[[Symbol], bool] = lambda _: True) -> None:
        self._shelf, self._clock, self._leads = shelf, clock, leads
        self._open: dict[Symbol, _StoredScores] = {}
        self._turns: deque[_KeepingTurn] = deque()
        self._woken = anyio.Event()
        self._has_warned = False

    @asynccontextmanager
    async def running(self) -> AsyncGenerator["ScorePersistence"]:
        """Keep histories until the block ends, then write them. All symbols must be closed by then."""
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._work)
                tasks.start_soon(self._remind)
                try:
                    yield self
                finally:
                    tasks.cancel_scope.cancel()
        finally:
            with anyio.move_on_after(LAST_SECS, shield=True):
                await self._finish()

    def opened(self, feed: SymbolFeed) -> None:
        """Load a symbol's stored history and start to save it."""
        kept = self._open[feed.symbol] = _StoredScores(feed)
        self._enqueue(_KeepingTurn(kept, may_write=False))

    def closing(self, symbol: Symbol) -> None:
        """Write a closed symbol's history for the last time."""
        kept = self._open.pop(symbol)
        self._enqueue(_KeepingTurn(kept, self._leads(symbol), is_last=True))

    async def _finish(self) -> None:
        for turn in [each for each in self._turns if each.is_last]:
            if not await self._is_done(turn):
                return

    def _enqueue(self, turn: _KeepingTurn) -> None:
        self._turns.append(turn)
        self._woken.set()

    async def _remind(self) -> None:
        while True:
            await self._clock.sleep_until_ms(self._clock.monotonic_ms() + EVERY_MS)
            waiting = {each.kept for each in self._turns}
            for symbol, kept in self._open.items():
                if kept not in waiting:
                    self._enqueue(_KeepingTurn(kept, self._leads(symbol)))
            try:
                await self._shelf.tidy()
            except (OSError, EngineUnavailable) as error:
                self._warn(error)

    async def _work(self) -> None:
        while True:
            await self._woken.wait()
            while self._turns:
                await self._is_done(self._turns[0])
                self._turns.popleft()  # remove it only now: if the end interrupts it, `_finish` repeats it
            self._woken = anyio.Event()

    async def _is_done(self, turn: _KeepingTurn) -> bool:
        try:
            await self._settle(turn)
        except (OSError, EngineUnavailable, ValueError) as error:
            self._warn(error)
            return False
        return True

    async def _settle(self, turn: _KeepingTurn) -> None:
        kept, now_ms = turn.kept, self._clock.now_ms()
        there, here = await self._stored(kept.feed.symbol, now_ms), kept.feed.pasts.series()
        is_ours = _mark(there) == kept.shelved
        if not is_ours and length(there) > length(here):
            if not turn.is_last:
                self._take(kept, there)
        elif turn.may_write and (_mark(here) != kept.settled or (not is_ours and length(here) > length(there))):
            await self._write(kept, here, now_ms)

    async def _stored(self, symbol: Symbol, now_ms: int) -> Series:
        data = await self._shelf.read(symbol)
        if data is None:
            return {}
        record = decode(data, market=self._shelf.market, symbol=symbol, now_ms=now_ms)
        if isinstance(record, RefusedRecord):
            _pass_over(symbol, record.reason)
            return {}
        return record.series

    def _take(self, kept: _StoredScores, series: Series) -> None:
        kept.shelved = _mark(series)  # also for an unusable record, because it would be unusable again
        try:
            kept.feed.pasts = SymbolScores.restored(series)
        except ValueError as error:
            _pass_over(kept.feed.symbol, str(error))
        else:
            kept.settled = _mark(kept.feed.pasts.series())

    async def _write(self, kept: _StoredScores, series: Series, now_ms: int) -> None:
        record = ScoreRecord(self._shelf.market, kept.feed.symbol, now_ms, series)
        # Encode in a thread: it takes several milliseconds, in which no event could be handled.
        await self._shelf.write(kept.feed.symbol, await anyio.to_thread.run_sync(encode, record))
        kept.shelved = kept.settled = _mark(series)

    def _warn(self, error: Exception) -> None:
        if not self._has_warned:
            self._has_warned = True
            where = "MCP_BINANCE_STATE_DIR: " if isinstance(error, OSError) else ""
            LOG.warning(
                "%spast values for analyses cannot be stored and are lost when the server stops: %s", where, error
            )


def _pass_over(symbol: Symbol, reason: str) -> None:
    LOG.info("stored past values of %s are not used: %s", symbol, reason)


def _mark(series: Series) -> bytes:
    known = sha256()
    for name, values in sorted(series.items()):
        known.update(f"{name} {len(values)}\n".encode() + values.tobytes())
    return known.digest()
