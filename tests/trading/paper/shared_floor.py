"""Workers that share tables on paper, on one engine or each with its own way to one server, and what they hold."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from decimal import Decimal
from functools import partial
from itertools import pairwise
from typing import Any

from mcp_binance_server.domain.money import Price, Quantity
from mcp_binance_server.domain.order_requests import Side, WrittenOrder
from mcp_binance_server.errors import EngineUnavailable
from mcp_binance_server.state.engine import Lease, StateEngine
from mcp_binance_server.state.logs import LogMark, LogPart
from mcp_binance_server.state.memory import MemoryEngine
from mcp_binance_server.trading.journal.store import Rows
from mcp_binance_server.trading.paper.exchange import PaperExchange
from mcp_binance_server.trading.paper.matcher import MatchingRight, SymbolMatcher
from mcp_binance_server.trading.paper.replica import SHARED
from mcp_binance_server.trading.paper.shared import LeaseRight, SharedTables, opened_shared_tables
from mcp_binance_server.trading.paper.store import PaperStore
from support.clock import FakeClock
from support.state_server import StateServer
from trading.paper.displayed import Displayed, usual_book
from trading.paper.generated import PAIR, RATES, START, STEP, SYMBOL

Written = dict[str, list[tuple[Any, ...]]]
# Who matches has another token in a fleet, and on one host there is no life to be told.
ALIKE = tuple(each for each in SHARED if each not in ("paper_matcher", "paper_life"))


async def all_rows(store: PaperStore, tables: tuple[str, ...] = SHARED) -> Written:
    """Return what the tables hold, for whoever asks there."""

    def work(rows: Rows) -> Written:
        return {each: rows.execute(f"SELECT * FROM {each} ORDER BY 1, 2").fetchall() for each in tables}  # noqa: S608 - names of ours

    return await store.read(work)


async def agree(workers: list[SharedTables]) -> bool:
    """Tell whether every worker holds the same."""
    found = [await all_rows(each) for each in workers]
    return all(one == other for one, other in pairwise(found))


def order(name: str, side: Side = "BUY", price: int = 90, quantity: int = 2) -> WrittenOrder:
    return WrittenOrder(name, SYMBOL, side, "LIMIT", "GTC", Quantity(Decimal(quantity)), Price(Decimal(price)))


def exchange_of(store: PaperStore, clock: FakeClock | None = None) -> PaperExchange:
    return PaperExchange(store, START, 0, (clock or FakeClock()).now_ms)


async def matcher_of(
    store: PaperStore, right: MatchingRight, owner: str = "me", book: Displayed | None = None
) -> SymbolMatcher:
    """Take the right to match, and load what is open."""
    token = await right.take(owner, FakeClock().now_ms())
    assert token is not None
    made = SymbolMatcher(SYMBOL, PAIR, store, START, RATES, token, book or usual_book(), STEP)
    await made.load()
    return made


class FaultyEngine(MemoryEngine):
    """One worker's way to an engine, out of order for once: something comes before an entry, or its answer is lost."""

    def __init__(self, inner: StateEngine) -> None:
        super().__init__(FakeClock())
        self.inner = inner
        self.before: list[Callable[[], Awaitable[object]]] = []
        self.reached: list[str] = []
        self.is_away = self.loses_answer = False
        self.is_late = False
        """Whether the next entry arrives only with the one that follows it."""
        self.late_part: LogPart | None = None
        self._late: list[Callable[[], Awaitable[LogPart]]] = []

    def now_ms(self) -> int:
        return self.inner.now_ms()

    async def lease(self, name: str, owner: str, *, ttl_ms: int) -> Lease | None:
        return await self.inner.lease(name, owner, ttl_ms=ttl_ms)

    async def release(self, lease: Lease) -> bool:
        return await self.inner.release(lease)

    async def read_log(self, log: str, *, after: LogMark) -> LogPart:
        self._reach("read_log")
        return await self.inner.read_log(log, after=after)

    async def trim_log(self, log: str, snapshot: bytes, *, at: LogMark, ttl_ms: int) -> bool:
        self._reach("trim_log")
        return await self.inner.trim_log(log, snapshot, at=at, ttl_ms=ttl_ms)

    async def append_log(self, log: str, entry: bytes, *, after: LogMark, tag: str, ttl_ms: int) -> LogPart:
        self._reach("append_log")
        if self.before:
            await self.before.pop(0)()
        arrive = partial(self.inner.append_log, log, entry, after=after, tag=tag, ttl_ms=ttl_ms)
        if self.is_late:
            self.is_late = False
            self._late.append(arrive)
            raise EngineUnavailable(operation="append_log")
        part = await arrive()
        while self._late:
            self.late_part = await self._late.pop()()
        if self.loses_answer:
            self.loses_answer = False
            raise EngineUnavailable(operation="append_log")
        return part

    def _reach(self, operation: str) -> None:
        self.reached.append(operation)
        if self.is_away:
            raise EngineUnavailable(operation=operation)


@asynccontextmanager
async def workers_on(engines: Sequence[StateEngine]) -> AsyncGenerator[list[SharedTables]]:
    """Open the tables of one worker on each engine."""
    async with AsyncExitStack() as stack:
        yield [await stack.enter_async_context(opened_shared_tables(each)) for each in engines]


@asynccontextmanager
async def workers_of(server: StateServer | None, count: int) -> AsyncGenerator[list[SharedTables]]:
    """Open workers on one real server, or without one in the memory of this process."""
    if server is None:
        async with workers_on([MemoryEngine(FakeClock())] * count) as workers:
            yield workers
        return
    from mcp_binance_server.state.redis import RedisEngine

    engines: list[StateEngine] = [RedisEngine.from_url(server.url) for _ in range(count)]
    for each in engines:
        await each.start()
    try:
        async with workers_on(engines) as workers:
            yield workers
    finally:
        for each in engines:
            await each.close()


def rights_of(workers: list[SharedTables]) -> list[LeaseRight]:
    return [LeaseRight(each) for each in workers]
