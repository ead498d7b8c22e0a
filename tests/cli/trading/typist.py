"""Somebody at a terminal of their own: a command as a process that the terminal controls, and keys pressed."""

import os
import pty
import subprocess
import sys
from typing import Self

from support.process import PATIENCE_SECS
from support.setups import read_until

# A terminal controls a process once it asks for that; what a shell does for its commands is done here.
CONTROLLED = """import fcntl, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
from mcp_binance_server.cli.main import main
sys.exit(main())
"""


class Typist:
    """One command at a terminal; what was shown is kept."""

    def __init__(self, *arguments: str) -> None:
        self._terminal, end = pty.openpty()
        self._process = subprocess.Popen(
            [sys.executable, "-c", CONTROLLED, *arguments], stdin=end, stdout=end, stderr=end, start_new_session=True
        )
        os.close(end)
        self.seen = ""

    def answers(self, question: str, text: str) -> Self:
        """Wait for a question and type an answer."""
        self.seen += read_until(self._terminal, question)
        os.write(self._terminal, f"{text}\n".encode())
        return self

    def leaves(self) -> int:
        """Read on to the end; return the exit code."""
        while True:
            try:
                said = os.read(self._terminal, 4096)
            except OSError:  # as Linux tells the end of a terminal
                break
            if not said:
                break
            self.seen += said.decode()
        os.close(self._terminal)
        return self._process.wait(PATIENCE_SECS)
