"""What people are told to type works as it stands, in an empty home and against the offline exchange."""

import json
import os
import pty
import shutil
import subprocess
import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from support.pages import ROOT, blocks, name_of
from support.process import PATIENCE_SECS, Process, clean_environment
from support.setups import read_until
from support.state_server import BINARY, state_server
from support.warm_command import NAME, warm_command

# Why a command on a page is not run here, by how it begins.
NOT_RUN = {
    "uv tool install": "it downloads what it installs",
    "claude mcp add": "it needs Claude Code",
    "mcp-binance-server setup --trading": "it asks at a terminal: tests/cli/trading",
    "mcp-binance-server approve --new": "it asks at a terminal: tests/cli/trading",
    "BINANCE_NETWORK=testnet MCP_BINANCE_TRADING=practice": "it needs a key: test_practice.py",
    "BINANCE_NETWORK=mainnet MCP_BINANCE_TRADING=live": "it needs a key and limits: test_practice.py",
}
SERVER = "mcp-binance-server --http"
GUIDED = "mcp-binance-server setup"
TOLD = [
    *(ROOT / name for name in ("README.md", "docs/quickstart.md", "docs/setup.md", "docs/troubleshooting.md")),
    ROOT / "docs" / "hosting.md",
    *sorted((ROOT / "docs" / "how-to").glob("*.md")),
]
COMMANDS = {f"{name_of(page)}:{block.line}": block.commands for page in TOLD for block in blocks(page, "sh", "console")}
BLOCKS = [pytest.param(commands, id=place) for place, commands in COMMANDS.items()]
# Where a command of ours is told first, it starts as it is installed; where it is told again, it is forked warm.
FIRST_TOLD = {
    command.split()[1]: place
    for place, commands in reversed(COMMANDS.items())
    for command in commands
    if command.startswith(f"{NAME} ")
}


@pytest.fixture(scope="module")
def exchange() -> Iterator[dict[str, str]]:
    with Process("simulator", warm=True) as simulator:
        told = json.loads(simulator.line())
        yield {"BINANCE_REST_URL": told["rest"], "BINANCE_STREAM_URL": told["streams"]}
        simulator.terminate()


@pytest.fixture(scope="module")
def warm() -> Iterator[Path]:
    with TemporaryDirectory() as folder, warm_command(Path(folder)) as first_on_path:
        yield first_on_path


@pytest.fixture
def environment(request: pytest.FixtureRequest, exchange: dict[str, str], warm: Path, tmp_path: Path) -> dict[str, str]:
    path = f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin"
    if request.node.callspec.id not in FIRST_TOLD.values():
        path = f"{warm}:{path}"
    return clean_environment({**exchange, "PATH": path, "HOME": str(tmp_path), "XDG_CONFIG_HOME": ""})


def is_run(command: str) -> bool:
    return not command.startswith(tuple(NOT_RUN))


@pytest.mark.flood  # each starts processes, whose lines other tests count
@pytest.mark.parametrize("commands", BLOCKS)
def test_a_block_of_commands_works(commands: list[str], environment: dict[str, str], tmp_path: Path) -> None:
    assert commands, "a block without a command is not one for a shell"
    runnable = [command for command in commands if is_run(command)]
    if any(command.startswith("openssl") for command in runnable) and not shutil.which("openssl"):
        pytest.skip("openssl is not installed")
    for command in runnable:
        if command.startswith(SERVER):
            with shared_state(command) as state:
                assert_serves(command, {**environment, **state}, tmp_path)
            continue
        if command == GUIDED:
            assert_sets_up(command, environment, tmp_path)
            continue
        done = subprocess.run(
            ["bash", "-euc", command],  # noqa: S607 - a shell is what the page is about
            input="y\n", capture_output=True, text=True, timeout=PATIENCE_SECS, check=False,
            env=environment, cwd=tmp_path,
        )  # fmt: skip
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
        if "setup --client" in command and "--dry-run" not in command:
            assert any("mcp-binance-server" in file.read_text() for file in tmp_path.rglob("*") if file.is_file())


def assert_sets_up(command: str, environment: dict[str, str], home: Path) -> None:
    terminal, end = pty.openpty()
    process = subprocess.Popen(
        ["bash", "-euc", command],  # noqa: S607 - as above
        stdin=end, stdout=end, stderr=end, env=environment, cwd=home, start_new_session=True,
    )  # fmt: skip
    os.close(end)
    keys = {"API key (Enter: none): ": "", "key (Enter: none): ": ""}
    answers = {"Which one do you use? ": "Cursor", **keys, "[y/N] ": "y"}
    for question, answer in answers.items():
        read_until(terminal, question)
        os.write(terminal, f"{answer}\n".encode())
    read_until(terminal, "doctor")

    assert process.wait(PATIENCE_SECS) == 0
    os.close(terminal)
    assert "mcp-binance-server" in (home / ".cursor" / "mcp.json").read_text(encoding="utf-8")


@contextmanager
def shared_state(command: str) -> Generator[dict[str, str]]:
    """Run what several workers share, where a command starts several; its address is the test's, not the page's."""
    if "--workers" not in command:
        yield {}
        return
    if BINARY is None:
        pytest.skip("several workers are not started here: no redis-server or valkey-server is installed")
    with state_server() as server:
        yield {"MCP_BINANCE_STATE_URL": server.url}


def assert_serves(command: str, environment: dict[str, str], folder: Path) -> None:
    free = [*command.replace("--port 3000", "").split(), "--port", "0"]
    with subprocess.Popen(free, stderr=subprocess.PIPE, text=True, env=environment, cwd=folder) as server:
        assert server.stderr is not None
        first = server.stderr.readline()
        server.terminate()
        server.stderr.read()

    assert first.startswith(f"MCP at http{'s' if '--tls-cert' in command else ''}://127.0.0.1:")


@pytest.mark.parametrize("beginning", NOT_RUN)
def test_an_exception_stands_on_some_page(beginning: str) -> None:
    told = [command for page in TOLD for block in blocks(page, "sh", "console") for command in block.commands]

    assert any(command.startswith(beginning) for command in told)
