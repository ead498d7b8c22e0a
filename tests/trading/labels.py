"""Points at which a process can be killed: every call and return in the code of trading, every statement to SQLite.

Found by the interpreter's own profiling hook; the code under test knows nothing of it.
"""

import os
import signal
import sqlite3
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any, ClassVar

import mcp_binance_server.trading

TRADING = str(Path(mcp_binance_server.trading.__file__).parent) + os.sep
# Arithmetic and words: between two of their lines nothing changes that outlives the process.
PURE = tuple(
    TRADING + name
    for name in (
        "judgement/", "errors.py", "lifecycle.py", "journal/chain.py", "journal/records.py", "paper/account.py",
        "paper/market.py",
    )
)  # fmt: skip


@dataclass(frozen=True)
class Label:
    """A point in the code, and the how manyeth time that a process comes to it."""

    name: str
    time: int = 0


class Labels:
    """Counts how often a process comes to each point, and kills it at one of them; or tells them all.

    It is called for every call and return there is: what is no point must cost next to nothing.
    """

    owners: ClassVar[tuple[type, ...]] = (sqlite3.Connection,)
    """A call of one of their methods is a point."""

    def __init__(self, hear: Callable[[str], None], kill_at: Label | None) -> None:
        self._hear, self._kill_at = hear, kill_at
        self._met = Counter[str]()
        self._lock = threading.Lock()
        self._short: dict[str, str] = {}

    def watch(self) -> None:
        """Begin, in this thread and in every one that is started from now on."""
        threading.setprofile(self._meet)
        sys.setprofile(self._meet)

    def short(self, file: str) -> str:
        """Return how labels call a file; nothing if its calls are no points."""
        return file.removeprefix(TRADING) if file.startswith(TRADING) and not file.startswith(PURE) else ""

    def names(self, frame: FrameType, event: str, arg: Any) -> Iterable[str]:  # noqa: ANN401 - the hook's own type
        """Name the points that a process is at, when it calls a method of an owner or returns from one."""
        if not isinstance(arg.__self__, sqlite3.Connection):
            return ()
        # A statement by its line, and a transaction by what is done in it.
        work = getattr(frame.f_locals.get("work"), "__qualname__", "")
        return (f"{event} {arg.__name__} in {frame.f_code.co_qualname}:{frame.f_lineno} {work}",)

    def last_act(self, name: str, frame: FrameType) -> None:
        """Do what belongs to a point before the process dies at it."""

    def _meet(self, frame: FrameType, event: str, arg: Any) -> None:  # noqa: ANN401 - the hook's own type
        if event in ("call", "return"):
            code = frame.f_code
            short = self._short.get(code.co_filename)
            if short is None:
                short = self._short[code.co_filename] = self.short(code.co_filename)
            # What begins so is a part of a line, or a record that is made.
            if not short or code.co_name.startswith(("<", "__")):
                return
            names: Iterable[str] = (f"{event} {short}:{code.co_qualname}",)
        elif isinstance(getattr(arg, "__self__", None), self.owners):
            names = self.names(frame, event, arg)
        else:
            return
        for name in names:
            with self._lock:
                time, self._met[name] = self._met[name], self._met[name] + 1
            if self._kill_at is None:
                self._hear(name)
            elif self._kill_at == Label(name, time):
                self.last_act(name, frame)
                self._hear(name)
                os.kill(os.getpid(), signal.SIGKILL)
