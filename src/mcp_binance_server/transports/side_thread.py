"""A thread for what cannot be woken, such as reading a pipe: at the end nobody waits for it."""

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from queue import SimpleQueue
from typing import Generic, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class _Job(Generic[T]):
    """Something to do, and who waits for it."""

    def __init__(self, work: Callable[[], T]) -> None:
        self._work = work
        self._loop = asyncio.get_running_loop()
        self.outcome: asyncio.Future[T] = self._loop.create_future()

    def do(self) -> None:
        try:
            done = partial(self._succeed, self._work())
        except BaseException as failure:  # noqa: BLE001 - it is for whoever waits
            done = partial(self._fail, failure)
        with suppress(RuntimeError):  # the loop is gone, and who waited with it
            self._loop.call_soon_threadsafe(done)

    # Who waited may have left, even after one has looked: Ctrl-C cancels between any two steps of this thread.
    def _succeed(self, result: T) -> None:
        with suppress(asyncio.InvalidStateError):
            self.outcome.set_result(result)

    def _fail(self, failure: BaseException) -> None:
        with suppress(asyncio.InvalidStateError):
            self.outcome.set_exception(failure)


class SideThread:
    """Does one thing after another, each to its end, also if nobody waits for it any more.

    The threads of anyio would not do: the process waits for them when it ends, and they perhaps for a client.
    """

    def __init__(self, name: str) -> None:
        self._jobs: SimpleQueue[_Job[object] | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)
        self._thread.start()

    async def run(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Have something done; cancelled, it is done all the same."""
        job = _Job(partial(work, *args, **kwargs))
        self._jobs.put(job)  # pyright: ignore[reportArgumentType] - what it returns is between the job and its owner
        return await job.outcome

    def close(self) -> None:
        """Let the thread end when it has done what it was given."""
        self._jobs.put(None)

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            job.do()
