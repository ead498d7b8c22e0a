"""How whoever works on a request learns that its client has left, without a task that waits for it."""

from asyncio import Future
from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager, nullcontext

import anyio
from starlette.types import Scope

LEAVING = "mcp_binance_server.leaving"
"""Where a connection leaves it in the scope of a request; another server's connection does not."""


class Leaving:
    """The end of one request's client: told by the connection, it ends the work that was begun for that client."""

    __slots__ = ("_has_left", "_wait", "_work")

    def __init__(self) -> None:
        self._has_left = False
        self._wait: Future[None] | None = None
        self._work: anyio.CancelScope | None = None

    @property
    def has_left(self) -> bool:
        return self._has_left

    def tell(self) -> None:
        self._has_left = True
        if self._wait is not None and not self._wait.done():
            self._wait.set_result(None)
        if self._work is not None:
            self._work.cancel()

    def ends_wait(self, wait: Future[None]) -> None:
        """Have somebody wait no longer as soon as the client has left."""
        self._wait = wait

    @contextmanager
    def ends_this(self) -> Generator[None]:
        """Cancel what is done in here as soon as the client has left."""
        with anyio.CancelScope() as work:
            if self._has_left:
                work.cancel()
            self._work = work
            try:
                yield
            finally:
                self._work = None


def ends_with_client(scope: Scope) -> AbstractContextManager[None]:
    """Cancel what is done in here as soon as the client of a request has left."""
    leaving: Leaving | None = scope.get(LEAVING)
    return nullcontext() if leaving is None else leaving.ends_this()
