"""Completion offers what the parser takes, and every shell can read it."""

import shutil
import subprocess
from pathlib import Path

import pytest

from mcp_binance_server.cli.arguments import SHELLS, parser
from mcp_binance_server.cli.completion import WRITERS, places
from mcp_binance_server.cli.setup.command import CLIENT_NAMES
from support.process import COMMAND, clean_environment

ASK = """source "$1"; shift
COMP_WORDS=(mcp-binance-server "$@"); COMP_CWORD=$#
_mcp_binance_server
printf '%s\\n' "${COMPREPLY[@]}"
"""


def script(shell: str, folder: Path) -> Path:
    path = folder / f"completion.{shell}"
    path.write_text(WRITERS[shell](tuple(places(parser()))), encoding="utf-8")
    return path


def bash(folder: Path, *typed: str) -> set[str]:
    """Return what bash offers for the last of these words."""
    command = ["bash", "-c", ASK, "bash", str(script("bash", folder)), *typed]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert done.stderr == ""
    return set(done.stdout.split())


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        (["de"], {"demo"}),
        (["setup", "--client", ""], set(CLIENT_NAMES)),
        (["setup", "--dry-run", "--client", "c"], {"claude-desktop", "claude-code", "cursor", "codex"}),
        (["--log-level", ""], {"DEBUG", "INFO", "WARNING", "ERROR"}),
        (["demo", "--h"], {"--help", "--http"}),
        (["token", "new", "--s"], {"--scope"}),
        (["completion", ""], {*SHELLS, "-h", "--help"}),
        (["simulator", "--replay", ""], set[str]()),
    ],
)
def test_bash_offers_what_can_follow(typed: list[str], offered: set[str], tmp_path: Path) -> None:
    assert bash(tmp_path, *typed) == offered


def test_bash_offers_every_command_and_option_of_the_first_word(tmp_path: Path) -> None:
    root = next(places(parser()))

    assert bash(tmp_path, "") == {*root.words, *(name for flag in root.flags for name in flag.names)}
    assert root.words["doctor"] == "find out what does not work and how to fix it"


def test_fish_offers_what_can_follow(tmp_path: Path) -> None:
    fish = shutil.which("fish")
    if fish is None:
        pytest.skip("fish is not installed")
    asked = f'source {script("fish", tmp_path)}; complete -C "mcp-binance-server setup --client cu"'

    done = subprocess.run([fish, "--no-config", "-c", asked], capture_output=True, text=True, timeout=60, check=True)

    assert [line.split("\t")[0] for line in done.stdout.splitlines()] == ["cursor"]


@pytest.mark.parametrize("shell", SHELLS)
def test_every_shell_can_read_its_script(shell: str, tmp_path: Path) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")

    done = subprocess.run(
        [shell, "-n", str(script(shell, tmp_path))], capture_output=True, text=True, timeout=60, check=False
    )

    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("shell", SHELLS)
def test_the_command_prints_the_script_with_line_ends_of_unix(shell: str) -> None:
    command = [*COMMAND, "completion", shell]

    done = subprocess.run(command, capture_output=True, timeout=60, check=True, env=clean_environment({}))

    assert done.stdout.decode() == WRITERS[shell](tuple(places(parser())))
    assert b"\r" not in done.stdout
