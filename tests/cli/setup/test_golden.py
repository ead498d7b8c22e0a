"""What `setup --dry-run` shows for every client on every system, kept as files and read in review."""

from pathlib import PurePath, PureWindowsPath

import pytest

from mcp_binance_server.cli.setup.clients import CLIENTS, Launcher, Machine
from mcp_binance_server.cli.setup.command import CLIENT_NAMES
from support.golden import Golden
from support.setups import MACHINES, Terminalist, run


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("system", MACHINES)
def test_a_dry_run_shows_the_file_and_what_would_be_in_it(client: str, system: str, golden: Golden) -> None:
    person = Terminalist()

    code = run(MACHINES[system], person, client, dry_run=True)

    assert code == 0
    assert person.seen.endswith("Nothing was written (--dry-run).\n")
    golden.check(f"setup/{system}-{client}.txt", person.seen)


def test_every_client_of_the_command_is_known_and_no_other() -> None:
    assert tuple(CLIENTS) == CLIENT_NAMES


@pytest.mark.parametrize(
    ("client", "environment", "expected"),
    [
        ("claude-desktop", {"XDG_CONFIG_HOME": "/x"}, "/x/Claude/claude_desktop_config.json"),
        ("claude-code", {"CLAUDE_CONFIG_DIR": "/x"}, "/x/.claude.json"),
        ("codex", {"CODEX_HOME": "/x"}, "/x/config.toml"),
        ("vscode", {"XDG_CONFIG_HOME": "/x"}, "/x/Code/User/mcp.json"),
        ("opencode", {"XDG_CONFIG_HOME": "/x"}, "/x/opencode/opencode.json"),
        ("opencode", {"OPENCODE_CONFIG": "/x/mine.json"}, "/x/mine.json"),
        ("cline", {"CLINE_MCP_SETTINGS_PATH": "/x/mcp.json"}, "/x/mcp.json"),
        ("vibe", {"VIBE_HOME": "/x"}, "/x/config.toml"),
        ("zed", {"XDG_CONFIG_HOME": "/x"}, "/x/zed/settings.json"),
    ],
)
def test_a_client_that_is_told_another_folder_is_found_there(
    client: str, environment: dict[str, str], expected: str
) -> None:
    machine = Machine("linux", "/home/ann", Launcher("x"), environment)

    assert CLIENTS[client].file(machine) == PurePath(expected)


def test_a_claude_from_the_store_reads_a_file_of_its_own() -> None:
    folder = r"C:\Users\ann\AppData\Local\Packages\Claude_pzs8sxrjxfjjc\LocalCache\Roaming\Claude"
    machine = Machine("windows", r"C:\Users\ann", Launcher("x"), claude_packages=(folder,))

    assert CLIENTS["claude-desktop"].file(machine) == PureWindowsPath(folder) / "claude_desktop_config.json"
