"""How long the loop that runs is held, in CPU of its own thread: a busy machine does not add to it."""

import asyncio
import gc
from collections.abc import Generator
from contextlib import contextmanager
from time import thread_time

from mcp_binance_server.cli.serve import calm


class Turns:
    """How much CPU the thread of the loop spends in one turn of it, at most."""

    def __init__(self) -> None:
        self.longest_secs = 0.0
        self._last = thread_time()
        self._loop = asyncio.get_running_loop()
        self._handle = self._loop.call_soon(self._turn)

    def _turn(self) -> None:
        now = thread_time()
        self.longest_secs = max(self.longest_secs, now - self._last)
        self._last = now
        self._handle = self._loop.call_soon(self._turn)

    def stop(self) -> float:
        self._handle.cancel()
        return self.longest_secs


@contextmanager
def collecting_as_a_server() -> Generator[None]:
    """Collect garbage as a server of ours does; what the tests hold would be walked for a tenth of a second."""
    before = gc.get_threshold()
    gc.collect()
    calm()
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()
