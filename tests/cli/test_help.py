"""Asking for help costs next to nothing: no command loads its parts before it runs."""

import subprocess
import sys

import pytest

from support.process import COMMAND, clean_environment

HEAVY = ("pydantic", "mcp", "httpx2", "anyio", "msgspec", "mcp_binance_server.settings", "mcp_binance_server.app")
# Measured: help 114 and completion 174, of which a bare interpreter takes 26; serving takes over a thousand.
MOST_MODULES = 230


def without_measuring() -> dict[str, str]:
    # A measured run puts its own modules into every child.
    return {
        name: value
        for name, value in clean_environment({}).items()
        if not name.startswith(("COVERAGE_", "MCP_TEST_LINES"))
    }


def test_the_parser_loads_nothing_that_a_command_needs() -> None:
    code = (
        "import sys; from mcp_binance_server.cli.main import parser; parser(); "
        f"print([m for m in {HEAVY!r} if m in sys.modules])"
    )
    command = [sys.executable, "-c", code]

    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True, env=without_measuring())

    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("arguments", [["--help"], ["setup", "--help"], ["doctor", "--help"], ["completion", "bash"]])
def test_help_loads_little(arguments: list[str]) -> None:
    command = [sys.executable, "-X", "importtime", *COMMAND[1:], *arguments]

    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True, env=without_measuring())

    loaded = [line.rpartition("|")[2].strip() for line in done.stderr.splitlines() if line.startswith("import time:")]
    assert done.stdout
    assert "argparse" in loaded
    assert not {*HEAVY} & {*loaded}
    assert len(loaded) < MOST_MODULES
