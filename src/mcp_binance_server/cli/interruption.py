"""Ctrl-C: pressed once, a command ends by itself; what has not ended after a moment is ended."""

import os
import signal
import threading
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from types import FrameType
from typing import Any, TypeVar, TypeVarTuple

import anyio

# Under the second that a person is promised, with some left for the system to take the process away.
MOMENT_SECS = 0.8
# Answers in hand may leave for two seconds; what is left then is threads that cannot be woken.
TERMINATED_SECS = 3.0
# An order that is under way is waited for, and what became of it written down.
ORDERS_SECS = 16.0
INTERRUPTED = 128 + signal.SIGINT  # as a shell says it

T = TypeVar("T")
Ts = TypeVarTuple("Ts")


class LastMoment:
    """Ends the process a moment after it was told to begin, or when it is told once more.

    A thread that asks a name server cannot be woken, nor one that draws, and a process waits for its threads.
    """

    def __init__(self, code: int = INTERRUPTED, secs: float = MOMENT_SECS) -> None:
        self.has_begun = False
        self._code = code
        self._secs = secs
        # Bare locks: signal handlers begin it, and whatever has a lock inside could be held by whom they interrupt.
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
    """Run a coroutine to its end; Ctrl-C cancels it, and ends what has not ended after so many seconds.

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
        # What breaks while everything is cancelled is no news to whoever cancelled it.
        if last_moment.has_begun:
            raise KeyboardInterrupt from None
        raise


def told_to_end(secs: float = TERMINATED_SECS) -> Callable[[], None]:
    """Return what to do at SIGTERM: have the process ended in a while, whatever still holds it then."""
    return LastMoment(0, secs).begin


def longest_end(usual_secs: float, *, has_orders: bool) -> float:
    """Return how long an end may take; nobody gives up an order that is under way after a moment."""
    return ORDERS_SECS if has_orders else usual_secs


@contextmanager
def _heard_first(last_moment: LastMoment) -> Generator[None]:
    """Begin the last moment at Ctrl-C, before the loop does what it does about it."""
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
        if not last_moment.has_begun:  # else it stays, for whoever presses again while the process ends
            signal.signal(signal.SIGINT, usual)
