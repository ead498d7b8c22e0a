"""Background work that outlives its caller. Callers share one run per name. Shutdown waits for the run."""

import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import anyio
import anyio.abc

from mcp_binance_server.trading.errors import JournalUnavailable

LOG = logging.getLogger(__name__)

ResultT = TypeVar("ResultT")

# Longest wait at shutdown for an order in progress, in ms. The stdio transport has already waited two seconds.
LAST_MS = 13_000


@dataclass(eq=False)
class _BackgroundTask(Generic[ResultT]):
    work: Callable[[], Awaitable[ResultT]]
    done: anyio.Event = field(default_factory=anyio.Event)
    found: list[ResultT] = field(default_factory=list[ResultT])
    failure: Exception | None = None

    async def do(self) -> None:
        try:
            with anyio.CancelScope(shield=True):
                self.found.append(await self.work())
        except Exception as error:  # noqa: BLE001 - each caller gets it
            self.failure = error
        finally:
            self.done.set()

    async def result(self) -> ResultT:
        await self.done.wait()
        if self.failure is not None:
            raise self.failure
        return self.found[0]


@dataclass(eq=False)
class BackgroundTasks(Generic[ResultT]):
    """Background tasks by name."""

    last_ms: int = LAST_MS
    _tasks: anyio.abc.TaskGroup | None = None
    _is_over: bool = False
    _breakable: set[anyio.CancelScope] = field(default_factory=set[anyio.CancelScope])
    _under_way: dict[str, _BackgroundTask[ResultT]] = field(default_factory=dict[str, _BackgroundTask[ResultT]])

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """Accept work. On exit, accept no more and wait a limited time for work in progress."""
        async with anyio.create_task_group() as tasks:
            self._tasks = tasks
            try:
                yield
            finally:
                self._tasks = None
                with anyio.CancelScope(shield=True):
                    await self._last()
                tasks.cancel_scope.cancel()

    @property
    def is_ending(self) -> bool:
        return self._tasks is None

    def is_under_way(self, name: str) -> bool:
        return name in self._under_way

    async def run(self, name: str, work: Callable[[], Awaitable[ResultT]]) -> ResultT:
        """Run the work, or join a run in progress with the same name, and return its result.

        Raises:
            JournalUnavailable: this process is ending; nothing was started.
        """
        errand = self._under_way.get(name)
        if errand is None:
            if self._tasks is None:
                raise ended()
            errand = self._under_way[name] = _BackgroundTask(work)
            self._tasks.start_soon(self._do, name, errand)
        return await errand.result()

    async def wait(self, name: str) -> None:
        """Wait for work of this name if it is in progress."""
        if (errand := self._under_way.get(name)) is not None:
            await errand.done.wait()

    @contextmanager
    def breakable(self) -> Generator[None]:
        """Mark a part of the work that waits for other systems. Shutdown cancels only such parts."""
        with anyio.CancelScope() as scope:
            self._breakable.add(scope)
            if self._is_over:
                scope.cancel()
            try:
                yield
            finally:
                self._breakable.remove(scope)

    def beside(self, work: Callable[[], Awaitable[None]]) -> None:
        """Start work in the background; shutdown cancels it."""
        if self._tasks is not None:
            self._tasks.start_soon(_logged, work)

    async def _do(self, name: str, errand: _BackgroundTask[ResultT]) -> None:
        try:
            await errand.do()
        finally:
            del self._under_way[name]

    async def _last(self) -> None:
        if self._under_way:
            told = "an order is in progress: waiting up to %.0f s for its outcome (Ctrl-C stops the server at once)"
            LOG.warning(told, self.last_ms / 1000)
        with anyio.move_on_after(self.last_ms / 1000):
            await self._all_done()
        self._is_over = True
        for scope in self._breakable:
            scope.cancel()
        await self._all_done()

    async def _all_done(self) -> None:
        while self._under_way:
            await next(iter(self._under_way.values())).done.wait()


def ended() -> JournalUnavailable:
    return JournalUnavailable(reason="the server is shutting down", fix="Start it again")


async def _logged(work: Callable[[], Awaitable[None]]) -> None:
    try:
        await work()
    except Exception:  # A bug in one order must not end the other orders.
        LOG.exception("background task failed")
