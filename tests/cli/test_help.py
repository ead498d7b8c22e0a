"""Asking for help costs next to nothing: no command loads its parts before it runs."""

import os
import subprocess
import sys

import pytest

from support.process import COMMAND, clean_environment

HEAVY = ("pydantic", "mcp", "httpx2", "anyio", "msgspec", "mcp_binance_server.settings", "mcp_binance_server.app")
MOST_CPU_SECS = 0.4


def without_measuring() -> dict[str, str]:
    # A measured run puts its own modules into every child.
    return {name: value for name, value in clean_environment({}).items() if not name.startswith("COVERAGE_")}


def test_the_parser_loads_nothing_that_a_command_needs() -> None:
    code = (
        "import sys; from mcp_binance_server.cli.main import parser; parser(); "
        f"print([m for m in {HEAVY!r} if m in sys.modules])"
    )
    command = [sys.executable, "-c", code]

    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True, env=without_measuring())

    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("arguments", [["--help"], ["setup", "--help"], ["doctor", "--help"], ["completion", "bash"]])
def test_help_is_quick(arguments: list[str]) -> None:
    before = os.times()

    done = subprocess.run([*COMMAND, *arguments], capture_output=True, timeout=60, check=True, env=without_measuring())

    after = os.times()
    spent = after.children_user + after.children_system - before.children_user - before.children_system
    assert done.stdout
    assert spent < MOST_CPU_SECS
