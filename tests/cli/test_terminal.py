"""What a person sees who starts a command by hand, in a terminal."""

import os
import pty
import sys

import pytest

from support.process import run_warm


@pytest.mark.skipif(sys.platform == "win32", reason="a pseudo-terminal is a Unix thing")
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], ["waiting for a client", "mcp-binance-server demo"]),
        (["demo"], ["no key, no network, no real money", "--method resources/read", '"mcpServers"', "Ctrl-C"]),
    ],
)
def test_a_person_at_a_terminal_is_told_what_to_do(arguments: list[str], words: list[str]) -> None:
    terminal, end = pty.openpty()
    os.write(terminal, b"\x04")  # Ctrl-D: the end of input

    done = run_warm(*arguments, stdin=end)

    os.close(end)
    os.close(terminal)
    assert done.stdout == b""
    assert all(word in done.stderr.decode() for word in words)
    assert done.returncode == 0
