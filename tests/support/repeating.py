"""The command that repeats a failed test or run: its name, and every seed that it drew from."""

import shlex
import sys

import pytest

from support.tiers import NIGHT

# Options that change what a test draws, or how much of it.
DRAWN_BY = ("--hypothesis-profile", "--hypothesis-seed")


def command_of(config: pytest.Config, nodeid: str) -> str:
    """Return one shell command that runs a test with the same seeds."""
    words = ["scripts/test", nodeid]
    seed = config.getoption("randomly_seed", None)
    if isinstance(seed, int):
        words.append(f"--randomly-seed={seed}")
    given = {option: config.getoption(option, None) for option in DRAWN_BY}
    words += [f"{option}={value}" for option, value in given.items() if value]
    if (scale := config.getoption("scale", 1)) != 1:
        words.append(f"--scale={scale}")
    if (tier := config.getoption("tier", None)) == NIGHT:
        words.append(f"--tier={tier}")
    return shlex.join(words)


def print_run_command(seed: object, *words: object) -> None:
    """Print the seed of a failed run of a program, and the command that repeats it."""
    sys.stderr.write(f"seed {seed}; repeat with: {shlex.join(map(str, words))}\n")
