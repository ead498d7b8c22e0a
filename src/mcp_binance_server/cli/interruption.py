"""Ctrl-C: the first one cancels a command; after a grace period the process exits."""

import os
import signal
import threading
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from types import FrameType
from typing import Any, TypeVar, TypeVarTuple

import anyio

# Below the promised second, with a rest for the system to remove the process.
MOMENT_SECS = 0.8
# Answers in progress have two seconds to finish; after that only threads remain, which cannot be cancelled.
TERMINATED_SECS = 3.0
# Time to wait for an order in progress and the record of its outcome.
ORDERS_SECS = 16.0
INTERRUPTED = 128 + signal.SIGINT  # the exit code that a shell reports

T = TypeVar("T")
Ts = TypeVarTuple("Ts")


class LastMoment:
    """Watchdog that ends the process a moment after `begin`, or at the second call of `begin`.

    A thread that resolves a name or draws a chart cannot be cancelled, and a process waits for its threads.
    """

    def __init__(self, code: int = INTERRUPTED, secs: float = MOMENT_SECS) -> None:
        self.has_begun = False
        self._code = code
        self._secs = secs
        # Bare locks, because signal handlers call `begin`: a lock inside another object could be held by interrupted
        # code.
        self._gate, self._never = threading.Lock(), threading.Lock()
        self._gate.acquire()
        self._never.acquire()
        threading.Thread(target=self._wait, name="last moment", daemon=True).start()

    def begin(self) -> None:
        if self.has_begun:
            os._exit(self._code)
        self.has_begun = True
        self._gate.release()

    def _wait(self) -> None:
        self._gate.acquire()
        self._never.acquire(timeout=self._secs)
        os._exit(self._code)


def run(
    main: Callable[[*Ts], Awaitable[T]],
    *arguments: *Ts,
    secs: float = MOMENT_SECS,
    backend_options: dict[str, Any] | None = None,
) -> T:
    """Run a coroutine to its end. Ctrl-C cancels it; after `secs` the process exits.

    Raises:
        KeyboardInterrupt: Ctrl-C was pressed.
    """
    last_moment = LastMoment(secs=secs)

    async def interruptible() -> T:
        with _heard_first(last_moment):
            return await main(*arguments)

    try:
        return anyio.run(interruptible, backend_options=backend_options)
    except Exception:
        # Errors during the cancellation are a consequence of Ctrl-C and not worth a report.
        if last_moment.has_begun:
            raise KeyboardInterrupt from None
        raise


def told_to_end(secs: float = TERMINATED_SECS) -> Callable[[], None]:
    """Return the SIGTERM handler: the process exits after `secs`, even if something still blocks."""
    return LastMoment(0, secs).begin


def longest_end(usual_secs: float, *, has_orders: bool) -> float:
    """Return the grace period of a shutdown in seconds; orders in progress need longer."""
    return ORDERS_SECS if has_orders else usual_secs


@contextmanager
def _heard_first(last_moment: LastMoment) -> Generator[None]:
    """Start the watchdog at Ctrl-C, before the event loop's own handler."""
    usual = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(usual):
        yield
        return

    def pressed(number: int, frame: FrameType | None) -> None:
        last_moment.begin()
        usual(number, frame)

    signal.signal(signal.SIGINT, pressed)
    try:
        yield
    finally:
        if not last_moment.has_begun:  # otherwise it stays, for a second Ctrl-C during the shutdown
            signal.signal(signal.SIGINT, usual)
