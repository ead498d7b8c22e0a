"""How long the loop that runs is held, in CPU of its own thread: a busy machine adds to it by being slower only."""

import asyncio
import gc
import json
from collections.abc import Generator
from contextlib import contextmanager
from statistics import median
from time import process_time, thread_time

from mcp_binance_server.loading import tune_gc

# What the work below takes on a common machine: 2.6 to 5.2 where the bars were set, by what its neighbours did.
USUAL_MS = 4.0
_WORK = json.dumps([{"price": str(number), "sides": [number, {"size": number / 7}]} for number in range(2_000)])


def slowness() -> float:
    """Return how many times longer than usual this machine takes for something just now; 1 when it is quicker."""
    return max(1.0, median(_work_ms() for _ in range(5)) / USUAL_MS)


def _work_ms() -> float:
    began = thread_time()
    assert len(sorted(json.loads(_WORK), key=lambda row: row["price"])) == 2_000
    return (thread_time() - began) * 1000


class Turns:
    """How much CPU the thread of the loop spends in one turn of it, at most, if the machine is as quick as usual.

    `longest_beside_secs` counts every thread: one that keeps the interpreter to itself holds the loop up as well.
    """

    def __init__(self) -> None:
        self.longest_secs = 0.0
        self.longest_beside_secs = 0.0
        self._slowness = slowness()
        self._last, self._last_of_all = thread_time(), process_time()
        self._loop = asyncio.get_running_loop()
        self._handle = self._loop.call_soon(self._turn)

    def _turn(self) -> None:
        now, of_all = thread_time(), process_time()
        self.longest_secs = max(self.longest_secs, now - self._last)
        self.longest_beside_secs = max(self.longest_beside_secs, of_all - self._last_of_all)
        self._last, self._last_of_all = now, of_all
        self._handle = self._loop.call_soon(self._turn)

    def stop(self) -> float:
        self._handle.cancel()
        slow = max(self._slowness, slowness())
        self.longest_secs, self.longest_beside_secs = self.longest_secs / slow, self.longest_beside_secs / slow
        return self.longest_secs


@contextmanager
def collecting_as_a_server() -> Generator[None]:
    """Collect garbage as a server of ours does; what the tests hold would be walked for a tenth of a second."""
    before = gc.get_threshold()
    gc.collect()
    tune_gc()
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()
