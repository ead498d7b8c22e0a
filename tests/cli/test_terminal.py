"""What a person sees who starts a command by hand, in a terminal."""

import os
import pty
import subprocess
import sys

import pytest

from support.process import COMMAND, clean_environment


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
    process = subprocess.Popen(
        [*COMMAND, *arguments],
        stdin=end,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=clean_environment({}),
    )
    os.close(end)
    os.write(terminal, b"\x04")  # Ctrl-D: the end of input
    output, shown = process.communicate(timeout=60)
    os.close(terminal)

    assert output == ""
    assert all(word in shown for word in words)
    assert process.returncode == 0
