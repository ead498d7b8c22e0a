"""The clients we can set up: where each keeps its servers, in which form, and how it takes notice."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Literal

from mcp_binance_server.cli.setup.machine import Machine

Form = Literal["json", "jsonc", "toml"]
# Seconds; a first start by uvx may have to download the package.
CODEX_PATIENCE = 60


@dataclass(frozen=True, slots=True)
class Client:
    """One client; `extra` are fields that its entries have besides command, args and env.

    `commands` are programs that tell that the client is installed, though it has no file yet.
    """

    name: str
    title: str
    file: Callable[[Machine], PurePath]
    table: str
    form: Form
    restart: str
    extra: Mapping[str, object] = field(default_factory=dict[str, object])
    commands: tuple[str, ...] = ()


def _claude_desktop(machine: Machine) -> PurePath:
    # As a package of the Microsoft Store it reads a file of its own: github.com/anthropics/claude-code/issues/26073
    folder = machine.path(machine.claude_packages[0]) if machine.claude_packages else machine.config_folder() / "Claude"
    return folder / "claude_desktop_config.json"


def _claude_code(machine: Machine) -> PurePath:
    return machine.named_folder("CLAUDE_CONFIG_DIR", machine.home_folder()) / ".claude.json"


def _vscode(machine: Machine) -> PurePath:
    return machine.config_folder() / "Code" / "User" / "mcp.json"


def _codex(machine: Machine) -> PurePath:
    return machine.named_folder("CODEX_HOME", machine.home_folder() / ".codex") / "config.toml"


def _zed(machine: Machine) -> PurePath:
    if machine.system == "windows":
        return machine.config_folder() / "Zed" / "settings.json"
    folder = machine.home_folder() / ".config"
    return (folder if machine.system == "macos" else machine.config_folder()) / "zed" / "settings.json"


def _at_home(*parts: str) -> Callable[[Machine], PurePath]:
    return lambda machine: machine.home_folder().joinpath(*parts)


CLIENTS: Mapping[str, Client] = {
    client.name: client
    for client in (
        Client(
            "claude-desktop",
            "Claude Desktop",
            _claude_desktop,
            "mcpServers",
            "json",
            "Quit Claude Desktop and start it again; closing its window is not enough.",
        ),
        Client(
            "claude-code",
            "Claude Code",
            _claude_code,
            "mcpServers",
            "json",
            "End running sessions first, they rewrite this file; new ones show the server under /mcp.",
            {"type": "stdio"},
            commands=("claude",),
        ),
        Client(
            "cursor",
            "Cursor",
            _at_home(".cursor", "mcp.json"),
            "mcpServers",
            "json",
            "Cursor takes notice by itself: see Settings, Tools & MCP.",
            commands=("cursor",),
        ),
        Client(
            "vscode",
            "VS Code",
            _vscode,
            "servers",
            "jsonc",
            "Run 'MCP: List Servers' in VS Code and start the server; Copilot must be in agent mode.",
            {"type": "stdio"},
            commands=("code",),
        ),
        Client(
            "windsurf",
            "Windsurf",
            _at_home(".codeium", "windsurf", "mcp_config.json"),
            "mcpServers",
            "json",
            "Press Refresh in Windsurf's list of MCP servers.",
            commands=("windsurf",),
        ),
        Client(
            "codex",
            "Codex",
            _codex,
            "mcp_servers",
            "toml",
            "Start Codex anew; /mcp shows the server.",
            commands=("codex",),
        ),
        Client(
            "gemini",
            "Gemini CLI",
            _at_home(".gemini", "settings.json"),
            "mcpServers",
            "jsonc",
            "Start Gemini CLI anew; /mcp shows the server.",
            commands=("gemini",),
        ),
        Client(
            "zed",
            "Zed",
            _zed,
            "context_servers",
            "jsonc",
            "Zed takes notice by itself: see the settings of its agent panel.",
            {"source": "custom"},
            commands=("zed", "zeditor"),
        ),
    )
}
