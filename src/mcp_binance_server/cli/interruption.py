"""Ctrl-C handling. The first Ctrl-C cancels a command, and the process exits after a grace period."""

import os
import signal
import threading
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from types import FrameType
from typing import Any, TypeVar, TypeVarTuple

import anyio

# The exit must come within a second. The system needs the rest of the time to remove the process.
MOMENT_SECS = 0.8
# Running requests have two seconds. After that only threads remain, and threads cannot be cancelled.
TERMINATED_SECS = 3.0
# Time for an order in progress to finish and to be recorded.
ORDERS_SECS = 16.0
INTERRUPTED = 128 + signal.SIGINT  # the exit code that a shell reports

T = TypeVar("T")
Ts = TypeVarTuple("Ts")


class ExitWatchdog:
    """Watchdog that exits the process `secs` after `begin`, or at the second call of `begin`.

    Without it, the process would wait for threads that cannot be cancelled, such as name resolution or drawing a chart.
    """

    def __init__(self, code: int = INTERRUPTED, secs: float = MOMENT_SECS) -> None:
        self.has_begun = False
        self._code = code
        self._secs = secs
        # Bare locks, because signal handlers call `begin`. The interrupted code could already hold a higher-level lock.
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
    """Run a coroutine to its end. Ctrl-C cancels the coroutine, and after `secs` the process exits.

    Raises:
        KeyboardInterrupt: Ctrl-C was pressed.
    """
    last_moment = ExitWatchdog(secs=secs)

    async def interruptible() -> T:
        with _heard_first(last_moment):
            return await main(*arguments)

    try:
        return anyio.run(interruptible, backend_options=backend_options)
    except Exception:
        # Ctrl-C caused these errors, so they are not reported.
        if last_moment.has_begun:
            raise KeyboardInterrupt from None
        raise


def sigterm_handler(secs: float = TERMINATED_SECS) -> Callable[[], None]:
    """Return a SIGTERM handler that exits the process after `secs`, even if a thread still blocks."""
    return ExitWatchdog(0, secs).begin


def longest_end(usual_secs: float, *, has_orders: bool) -> float:
    """Return the grace period of a shutdown in seconds. With trading it is longer, for orders in progress."""
    return ORDERS_SECS if has_orders else usual_secs


@contextmanager
def _heard_first(last_moment: ExitWatchdog) -> Generator[None]:
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
        if not last_moment.has_begun:  # without this, the handler would stay for a second Ctrl-C
            signal.signal(signal.SIGINT, usual)
