"""Paper accounts shared by the workers of a fleet: one log in the state engine, and tables in each worker's memory.

Only the log decides whether a write exists. A worker that has read the whole log appends its entry, then commits the
write to its tables. If another worker has written first, this worker applies the new entries and repeats its own work.
The log is kept only in the engine's memory.
"""

import logging
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import TypeVar, TypeVarTuple
from uuid import uuid4

import anyio
import anyio.to_thread

from mcp_binance_server.domain.periods import moment_of
from mcp_binance_server.errors import EngineUnavailable
from mcp_binance_server.state.engine import MAX_SHELVED_BYTES, Lease, StateEngine
from mcp_binance_server.state.logs import LogPart
from mcp_binance_server.state.party_round import PartyRound
from mcp_binance_server.trading.errors import JournalUnavailable
from mcp_binance_server.trading.journal.store import Rows
from mcp_binance_server.trading.paper.matcher import LEASE_MS
from mcp_binance_server.trading.paper.replica import PaperReplica
from mcp_binance_server.trading.paper.tables import forget_old, is_matcher, name_matcher

LOG = logging.getLogger(__name__)

WorkT = TypeVar("WorkT")
GivenT = TypeVarTuple("GivenT")

# Number of the version of the tables. Each version has a log of its own.
NAME = "paper:2"
MATCHER = "paper-matcher"
DAY_MS = 86_400_000
KEEP_MS = 30 * DAY_MS
HOUR_MS = 3_600_000
# Number of entries that triggers a snapshot, and the most entries without a snapshot. The next snapshot drops entries.
TRIM_AT, MOST_ENTRIES = 1_000, 20_000
LOST = (
    "paper accounts started again on {:%Y-%m-%d at %H:%M} UTC: the shared state was emptied, "
    "and all earlier paper orders and balances are gone"
)
# Most attempts of a write. An attempt fails if another worker wrote first.
TRIES = 50


@dataclass(eq=False)
class SharedTables:
    """Tables of a worker. Each operation first applies the new entries of the log. Operations run one at a time."""

    engine: StateEngine
    replica: PaperReplica = field(default_factory=PaperReplica)
    trim_at: int = TRIM_AT
    most_bytes: int = MAX_SHELVED_BYTES
    keep_ms: int = KEEP_MS
    """Retention in ms: of the log after its last entry, of an order after its end."""
    turns: PartyRound = field(default_factory=PartyRound)
    lock: anyio.CapacityLimiter = field(default_factory=lambda: anyio.CapacityLimiter(1))
    _begun: int = 0
    _ended: int = 0
    """Reads of the log: the number started, and the number of the last one finished."""
    _kept: int = 0
    _is_in_doubt: bool = False
    """Whether an entry of this worker may still reach the log."""

    async def read(self, work: Callable[[Rows], WorkT]) -> WorkT:
        """Run read-only work. It sees everything that was written before the call.

        Raises:
            EngineUnavailable: the writes of other workers cannot be read.
            JournalUnavailable: a row is invalid.
        """
        came = self._begun
        async with self.turns.turn():
            if self._ended <= came:  # one read of the log serves all waiting callers
                await self._catch_up()
            return await self._in_thread(self.replica.read, work)

    async def write(self, work: Callable[[Rows], WorkT]) -> WorkT:
        """Run work in one transaction of all workers. The work is repeated while other workers write first.

        Raises:
            EngineUnavailable: the write failed. It may be in the log; the next answer of the engine shows this.
            JournalUnavailable: a row is invalid, or too much is kept.
        """
        async with self.turns.turn():
            await self._catch_up()
            if self._kept >= MOST_ENTRIES:
                raise JournalUnavailable(
                    reason="the paper accounts are too large to share", fix="Empty the state engine"
                )
            for _ in range(TRIES):
                done, entry = await self._in_thread(self.replica.attempt, work, self.engine.now_ms())
                if not entry:
                    return done
                part = await self._added(entry)
                if part.is_appended:
                    if part.kept % self.trim_at == 0:
                        with suppress(EngineUnavailable):  # the write is done, so trim the log another time
                            await self._trim()
                    return done
                await self._in_thread(self.replica.apply, part)
        raise EngineUnavailable(operation="paper")

    @property
    def loss(self) -> str:
        """Message that all accounts were lost, otherwise "".

        It is shown for `keep_ms`. It may be outdated until the next read.
        """
        life, now_ms = self.replica.life, self.engine.now_ms()
        began_ms = now_ms if life is None else life.began_ms
        is_told = self.replica.has_lost or (life is not None and life.follows_lost)
        if not is_told or now_ms - began_ms > self.keep_ms:
            return ""
        return LOST.format(moment_of(began_ms))

    async def _catch_up(self) -> None:
        self._begun += 1
        number = self._begun
        if self._is_in_doubt:
            # This entry moves the end of the log. So the uncertain earlier entry can no longer be appended.
            part = await self._append(b"")
            self._is_in_doubt = False
            if part.is_appended:
                self.replica.mark = part.end
        else:
            part = await self.engine.read_log(NAME, after=self.replica.mark)
        if part.is_whole or part.entries:
            await self._in_thread(self.replica.apply, part)
        self._kept, self._ended = part.kept, number

    async def _added(self, entry: bytes) -> LogPart:
        """Append an attempt's entry to the log.

        Then commit the attempt. Undo the attempt if another worker has written first.
        """
        try:
            part = await self._append(entry)
        except BaseException:
            self._is_in_doubt = True
            self.replica.undo()
            raise
        if part.is_appended:
            self.replica.keep(part.end)
        else:
            self.replica.undo()
        return part

    async def _append(self, entry: bytes) -> LogPart:
        return await self.engine.append_log(NAME, entry, after=self.replica.mark, tag=uuid4().hex, ttl_ms=self.keep_ms)

    async def _trim(self) -> None:
        """Replace old entries with a snapshot. If the snapshot is too large, delete finished orders sooner."""
        keep_ms = self.keep_ms
        while True:
            await self._forget(self.engine.now_ms() - keep_ms)
            snapshot = await self._in_thread(self.replica.snapshot)
            if len(snapshot) <= self.most_bytes:
                break
            keep_ms //= 2
            if keep_ms < HOUR_MS:
                LOG.error("the paper accounts are too large: %s bytes", len(snapshot))
                return
        await self.engine.trim_log(NAME, snapshot, at=self.replica.mark, ttl_ms=self.keep_ms)

    async def _forget(self, before_ms: int) -> None:
        def work(rows: Rows) -> None:
            forget_old(rows, before_ms)

        _, entry = await self._in_thread(self.replica.attempt, work, self.engine.now_ms())
        if entry and not (part := await self._added(entry)).is_appended:
            await self._in_thread(self.replica.apply, part)  # repeated at the next trim

    async def _in_thread(self, do: Callable[[*GivenT], WorkT], *given: *GivenT) -> WorkT:
        return await anyio.to_thread.run_sync(do, *given, limiter=self.lock)


@dataclass(eq=False)
class LeaseRight:
    """Matching lease in the state engine.

    A new holder first records its token, which stops all other processes from matching.
    """

    tables: SharedTables
    _lease: Lease | None = None

    async def take(self, owner: str, _now_ms: int, /) -> int | None:
        lease = self._lease = await self.tables.engine.lease(MATCHER, owner, ttl_ms=LEASE_MS)
        if lease is None:
            return None
        token = int(lease.token)
        if await self.tables.read(lambda rows: is_matcher(rows, token)):
            return token
        return token if await self.tables.write(lambda rows: name_matcher(rows, owner, token)) else None

    async def give_back(self, token: int, /) -> None:
        if self._lease is not None and self._lease.token == str(token):
            await self.tables.engine.release(self._lease)


@asynccontextmanager
async def opened_shared_tables(engine: StateEngine) -> AsyncGenerator[SharedTables]:
    """Open the tables that all servers on one engine share. The first read queries the engine."""
    tables = SharedTables(engine)
    try:
        yield tables
    finally:
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(tables.replica.close, limiter=tables.lock)
