"""Our command in a terminal of its own: what it shows, and keys that are pressed."""

import os
import pty
import re
import select
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Self

from support.process import COMMAND, PATIENCE_SECS, clean_environment
from support.warm import WarmProcess

CTRL_C = b"\x03"
# Makes the terminal the one that sends signals, and becomes the command.
TAKE_THE_TERMINAL = """
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""


class Screen:
    """A running command and all that it has shown so far."""

    def __init__(
        self,
        *arguments: str,
        environment: Mapping[str, str] | None = None,
        folder: Path | None = None,
        command: tuple[str, ...] = COMMAND,
        warm: bool = False,
    ) -> None:
        """Start it; a warm one is always our command, see support/warm.py."""
        self._keys, theirs = pty.openpty()
        self._shown = b""
        own = clean_environment({"TERM": "xterm", "COLUMNS": "100", **(environment or {})})
        self._process = (
            WarmProcess([*arguments], None, (theirs, theirs, theirs), own, folder=folder, in_terminal=True)
            if warm
            else subprocess.Popen(
                [sys.executable, "-c", TAKE_THE_TERMINAL, *command, *arguments],
                stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True, cwd=folder, env=own,
            )
        )  # fmt: skip
        os.close(theirs)

    @property
    def shown(self) -> str:
        return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", self._shown.decode(errors="replace")).replace("\r\n", "\n")

    @property
    def pid(self) -> int:
        return self._process.pid

    def wait_for(self, text: str, patience_secs: float = PATIENCE_SECS) -> str:
        """Read until the text stands on the screen, and return all of it."""
        while text not in self.shown:
            ready, _, _ = select.select([self._keys], [], [], patience_secs)
            assert ready, f"no {text!r} within {patience_secs} s: {self.shown}"
            assert self._read(), f"ended without {text!r}: {self.shown}"
        return self.shown

    def press(self, keys: bytes) -> None:
        os.write(self._keys, keys)

    def wait(self, patience_secs: float = PATIENCE_SECS) -> int:
        """Wait for the end, and return the exit code."""
        # A terminal that nobody reads fills up, and its command would wait for ever.
        while self._keys >= 0 and select.select([self._keys], [], [], patience_secs)[0] and self._read():
            pass
        return self._process.wait(patience_secs)

    def hang_up(self) -> None:
        """Close the terminal's window."""
        os.close(self._keys)
        self._keys = -1

    def _read(self) -> bool:
        try:
            chunk = os.read(self._keys, 65536)
        except OSError:  # the other side was closed
            return False
        self._shown += chunk
        return bool(chunk)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        if self._keys >= 0:
            os.close(self._keys)
