"""One production per key within a process. All callers that wait share its result."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Generic, TypeVar

from mcp_binance_server.clock import Clock
from mcp_binance_server.errors import AppError, EngineUnavailable

ValueT = TypeVar("ValueT")

CLOSE_SECS = 5.0


@dataclass(slots=True, eq=False)
class _Flight(Generic[ValueT]):
    task: asyncio.Task[ValueT]
    trusted_until: float
    traceback: TracebackType | None = None

    @property
    def failed_for_one(self) -> bool:
        """Whether the failure concerns only the caller that started the production.

        Waiting callers then do not get it.
        """
        error = None if self.task.cancelled() else self.task.exception()
        return isinstance(error, AppError) and error.concerns_one

    def landed(self) -> ValueT:
        if self.task.cancelled():
            raise EngineUnavailable(operation="single_flight")
        error = self.task.exception()
        if error is not None:
            # Each raise would append to the shared traceback, so start from the producer's own traceback.
            raise error.with_traceback(self.traceback)
        return self.task.result()


class Flights(Generic[ValueT]):
    """Productions in progress.

    Each production is a task, so cancelling a caller cancels neither the production nor other callers.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._newest: dict[str, _Flight[ValueT]] = {}
        self._tasks: set[asyncio.Task[ValueT]] = set()
        self._closed = False

    def is_under_way(self, key: str) -> bool:
        """Return True if a production is in progress that a new caller would wait for."""
        flight = self._newest.get(key)
        return flight is not None and flight.trusted_until > self._clock.monotonic_ms()

    async def join(self, key: str, produce: Callable[[], Awaitable[ValueT]], *, lock_ms: int) -> ValueT:
        """Wait for the production in progress while it is trusted. Otherwise start a new production."""
        while (flight := self._newest.get(key)) is not None:
            left_ms = flight.trusted_until - self._clock.monotonic_ms()
            if left_ms <= 0:
                break
            # The timeout only wakes this caller. The clock decides whether to trust the production.
            await asyncio.wait((flight.task,), timeout=left_ms / 1000)
            if flight.task.done() and not flight.failed_for_one:
                return flight.landed()
        flight = self._launch(key, produce, lock_ms)
        await asyncio.wait((flight.task,))
        return flight.landed()

    def begin(self, key: str, produce: Callable[[], Awaitable[ValueT]], *, lock_ms: int) -> None:
        """Start a production without a waiting caller, unless a production is in progress.

        Its failure is not reported.
        """
        if key not in self._newest:
            self._launch(key, produce, lock_ms)

    async def close(self) -> None:
        """Cancel every production. Waiting callers get EngineUnavailable."""
        self._closed = True
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=CLOSE_SECS)

    def _launch(self, key: str, produce: Callable[[], Awaitable[ValueT]], lock_ms: int) -> _Flight[ValueT]:
        if self._closed:
            raise EngineUnavailable(operation="single_flight")

        async def fly() -> ValueT:
            return await produce()

        def land(task: asyncio.Task[ValueT]) -> None:
            self._tasks.discard(task)
            if self._newest.get(key) is flight:
                del self._newest[key]
            if not task.cancelled() and (error := task.exception()) is not None:
                flight.traceback = error.__traceback__

        task = asyncio.get_running_loop().create_task(fly())
        flight = _Flight(task, self._clock.monotonic_ms() + lock_ms)
        self._tasks.add(task)
        self._newest[key] = flight
        task.add_done_callback(land)
        return flight
