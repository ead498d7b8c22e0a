"""Asking for help costs next to nothing: no command loads its parts before it runs."""

import os
import subprocess
import sys
from collections.abc import Sequence

import pytest

from support.process import COMMAND, clean_environment

HEAVY = ("pydantic", "mcp", "httpx2", "anyio", "msgspec", "mcp_binance_server.settings", "mcp_binance_server.app")
# Measured: help 1.3 and completion 1.8 times an interpreter that parses arguments, loading the settings alone 4.
PLAIN = (sys.executable, "-c", "import argparse, dataclasses, json, pathlib, typing")
MOST_CPU = 3.0
MOST_ROUNDS = 8


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


def cpu_secs(command: Sequence[str]) -> float:
    """Return the processor time of one run of a command that succeeds."""
    before = os.times()
    subprocess.run(command, capture_output=True, timeout=60, check=True, env=without_measuring())
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


@pytest.mark.parametrize("arguments", [["--help"], ["setup", "--help"], ["doctor", "--help"], ["completion", "bash"]])
def test_help_is_quick(arguments: list[str]) -> None:
    plain, ours = [cpu_secs(PLAIN)], [cpu_secs([*COMMAND, *arguments])]

    # The least is the command's own time; what a run takes more now and then is its neighbours'.
    while min(ours) > MOST_CPU * min(plain) and len(ours) < MOST_ROUNDS:
        plain.append(cpu_secs(PLAIN))
        ours.append(cpu_secs([*COMMAND, *arguments]))

    assert min(ours) <= MOST_CPU * min(plain), f"{ours} beside {plain}"
