"""Running of a rehearsal's commands."""

import os
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from release_rehearsal.readiness import StepFailed

ROOT = Path(__file__).parents[2]
LINES_TOLD = 12
COLOUR = re.compile(r"\x1b\[[\d;]*m")
# Remove a developer's own keys, settings and paths from the environment.
OWN = ("BINANCE_", "MCP_", "PYTHON")
AROUND = {name: value for name, value in os.environ.items() if not name.startswith(OWN)}  # noqa: TID251


def run(command: list[str], *, cwd: Path = ROOT, around: Mapping[str, str] = MappingProxyType({})) -> str:
    """Run a command and return its output.

    Raises:
        StepFailed: the command cannot start, or its exit code is not 0.
    """
    short = " ".join(command)[:160]
    try:
        done = subprocess.run(  # noqa: S603 - ours
            command, cwd=cwd, env={**AROUND, **around}, stdin=subprocess.DEVNULL, capture_output=True, text=True,
            check=False,
        )  # fmt: skip
    except OSError as error:
        raise StepFailed(f"{short} does not start: {error.strerror}") from None
    if done.returncode:
        told = f"{done.stdout}{done.stderr}".strip().splitlines()[-LINES_TOLD:]
        raise StepFailed("\n".join((f"{short} exited with {done.returncode}", *told)))
    return COLOUR.sub("", done.stdout or done.stderr)


def last_line(said: str) -> str:
    """Return the last line that is not empty."""
    lines = [line for line in said.splitlines() if line.strip()]
    return lines[-1].strip() if lines else "no output"
