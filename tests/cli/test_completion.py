"""Completion offers what the parser takes, and every shell can read it."""

import shutil
import subprocess
from pathlib import Path
from typing import cast

import pytest

from mcp_binance_server.cli.arguments import SHELLS, completion, parser
from mcp_binance_server.cli.setup.command import CLIENT_NAMES
from support.process import COMMAND, clean_environment

ASK = """source "$1"; shift
COMP_WORDS=(mcp-binance-server "$@"); COMP_CWORD=$#
_shtab_mcp_binance_server 2>/dev/null
printf '%s\\n' "${COMPREPLY[@]}"
"""


def script(shell: str, folder: Path) -> Path:
    path = folder / f"completion.{shell}"
    path.write_text(completion(shell), encoding="utf-8")
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
        (["completion", ""], set(SHELLS)),
    ],
)
def test_bash_offers_what_can_follow(typed: list[str], offered: set[str], tmp_path: Path) -> None:
    assert bash(tmp_path, *typed) == offered


def test_bash_offers_every_command_and_every_option_of_the_first_word(tmp_path: Path) -> None:
    actions = parser()._actions
    commands = next(each for each in actions if each.dest == "command")

    assert bash(tmp_path, "") == set(cast("dict[str, object]", commands.choices))
    assert bash(tmp_path, "-") == {flag for each in actions for flag in each.option_strings}


def test_a_path_is_completed_as_a_path(tmp_path: Path) -> None:
    (tmp_path / "tokens.txt").touch()
    (tmp_path / "recorded").mkdir()

    assert bash(tmp_path, "token", "list", "--file", f"{tmp_path}/tok") == {f"{tmp_path}/tokens.txt"}
    assert bash(tmp_path, "simulator", "--replay", f"{tmp_path}/") == {f"{tmp_path}/recorded"}


def test_both_names_of_the_program_are_completed() -> None:
    scripts = {shell: completion(shell).splitlines() for shell in SHELLS}

    assert scripts["bash"][-2].replace("mcp-binance-server", "binance-provider") == scripts["bash"][-1]
    assert scripts["zsh"][0] == "#compdef mcp-binance-server binance-provider"
    assert scripts["fish"][-1] == "complete -c binance-provider -w mcp-binance-server"


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

    assert done.stdout.decode() == completion(shell)
    assert b"\r" not in done.stdout
