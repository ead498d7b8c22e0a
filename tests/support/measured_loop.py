"""The command on an event loop that measures each of its turns: `python -m support.measured_loop --http --port 0`.

At every SIGUSR1, and at its end, it prints what the longest turns since the last time took. What is measured is the
time of the loop's own thread on the processor, collections of garbage included: a busy
machine adds to it by being slower only.
"""

import asyncio
import json
import selectors
import signal
import sys
from asyncio import events
from collections.abc import Callable
from dataclasses import dataclass, field
from heapq import heappushpop
from time import thread_time

from mcp_binance_server.cli import serve_http
from mcp_binance_server.cli.main import main

MOST_KEPT = 12
WORTH_NAMING_MS = 2.0


@dataclass
class Seen:
    """The longest turns, each with the longest single step in it."""

    turns: int = 0
    longest: list[tuple[float, float, str]] = field(default_factory=lambda: [(0.0, 0.0, "")] * MOST_KEPT)

    def told(self) -> str:
        """Return the measurements, longest first, and start again."""
        named = [
            {"ms": round(ms, 2), "step_ms": round(step_ms, 2), "step": step}
            for ms, step_ms, step in sorted(self.longest, reverse=True)
            if ms
        ]
        told = json.dumps({"turns": self.turns, "longest": named})
        self.__init__()
        return told


class MeasuringSelector(selectors.DefaultSelector):
    """Waits for sockets as always; what the thread does between two waits is one turn of its loop."""

    def __init__(self, seen: Seen) -> None:
        super().__init__()
        self._seen = seen
        self._began = thread_time()
        self._naming = 0.0
        self._step_ms, self._step = 0.0, ""

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        self._seen.turns += 1
        took_ms = (thread_time() - self._began - self._naming) * 1000
        heappushpop(self._seen.longest, (took_ms, self._step_ms, self._step))
        ready = super().select(timeout)
        self._began, self._naming, self._step_ms, self._step = thread_time(), 0.0, 0.0, ""
        return ready

    def run(self, handle: events.Handle) -> None:
        began = thread_time()
        _run(handle)
        ended = thread_time()
        took_ms = (ended - began) * 1000
        if took_ms > max(self._step_ms, WORTH_NAMING_MS):
            self._step_ms, self._step = took_ms, repr(handle)[:300]
            self._naming += thread_time() - ended  # a result of a megabyte is written whole before it is cut


_run: Callable[[events.Handle], None] = getattr(events.Handle, "_run")  # noqa: B009 - as below


def measured_loop(seen: Seen) -> asyncio.AbstractEventLoop:
    selector = MeasuringSelector(seen)

    def run(handle: events.Handle) -> None:
        selector.run(handle)

    setattr(events.Handle, "_run", run)  # noqa: B010 - no public name tells when a step begins and ends
    return asyncio.SelectorEventLoop(selector)


def tell(seen: Seen) -> None:
    sys.stdout.write(f"{seen.told()}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    seen = Seen()
    setattr(serve_http, "fastest_loop", lambda: {"loop_factory": lambda: measured_loop(seen)})  # noqa: B010 - as above

    def asked(_number: int, _frame: object) -> None:
        tell(seen)

    signal.signal(signal.SIGUSR1, asked)
    code = main(sys.argv[1:])
    tell(seen)
    sys.exit(code)
