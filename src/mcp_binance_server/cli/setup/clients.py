"""Supported MCP clients, and the path of each client's configuration file."""

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePath, PurePosixPath, PureWindowsPath
from typing import Literal

from mcp_binance_server.installation import MODULE, PACKAGE, way_of
from mcp_binance_server.own_folders import config_folder

System = Literal["linux", "macos", "windows"]

Form = Literal["json", "jsonc", "toml", "toml list"]
# Start timeout that setup writes, in seconds. A first start by uvx downloads the package.
START_SECS = 60
USUAL_START_SECS = 30.0


@dataclass(frozen=True, slots=True)
class Launcher:
    """A command that starts this server independent of the client's PATH."""

    command: str
    args: tuple[str, ...] = ()

    @property
    def may_be_slow(self) -> bool:
        """Whether the first start may download the package."""
        return bool(self.args) and self.args[-1] == PACKAGE


@dataclass(frozen=True, slots=True)
class Machine:
    """Facts about the machine that determine the clients' paths.

    `claude_packages` are the folders of Claude from the Microsoft Store.
    """

    system: System
    home: str
    launcher: Launcher
    environment: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    claude_packages: tuple[str, ...] = ()

    def path(self, text: str) -> PurePath:
        return PureWindowsPath(text) if self.system == "windows" else PurePosixPath(text)

    def home_folder(self) -> PurePath:
        return self.path(self.home)

    def named_folder(self, variable: str, otherwise: PurePath) -> PurePath:
        """Return the folder in an environment variable, or the default folder."""
        return self.path(named) if (named := self.environment.get(variable)) else otherwise

    def config_folder(self) -> PurePath:
        """Return the folder for settings of desktop applications on this system."""
        if self.system == "windows":
            return self.named_folder("APPDATA", self.home_folder() / "AppData" / "Roaming")
        if self.system == "macos":
            return self.home_folder() / "Library" / "Application Support"
        return self.named_folder("XDG_CONFIG_HOME", self.home_folder() / ".config")


def this_machine(environment: Mapping[str, str], which: Callable[[str], str | None]) -> Machine:
    """Return the facts of this machine."""
    system = system_of(sys.platform)
    launcher = find_launcher(sys.argv[0], sys.executable, sys.prefix, environment, which)
    packages = Path(environment.get("LOCALAPPDATA", "")) / "Packages" if system == "windows" else None
    found = sorted(map(str, packages.glob("Claude_*/LocalCache/Roaming/Claude"))) if packages else []
    return Machine(system, str(Path.home()), launcher, environment, tuple(found))


def own_folder(machine: Machine) -> Path:
    """Return the folder of this program's own files."""
    platform = "win32" if machine.system == "windows" else "posix"
    folder = config_folder({"HOME": machine.home, **machine.environment}, platform)
    return folder or Path(machine.home) / ".config" / PACKAGE


def system_of(platform: str) -> System:
    return "windows" if platform == "win32" else "macos" if platform == "darwin" else "linux"


def find_launcher(
    argv0: str, executable: str, prefix: str, environment: Mapping[str, str], which: Callable[[str], str | None]
) -> Launcher:
    """Return the permanent full path of the command. Desktop applications have a different PATH."""
    if way_of(prefix) == "uvx":
        if uvx := which("uvx"):
            return Launcher(uvx, (PACKAGE,))
        if uv := environment.get("UV") or which("uv"):
            return Launcher(uv, ("tool", "run", PACKAGE))
    script = PurePath(argv0).name.removesuffix(".exe")
    if script in {PACKAGE, "binance-provider"} and (found := which(argv0) or which(script)):
        return Launcher(str(Path(found).absolute()))
    return Launcher(executable, ("-m", MODULE))


@dataclass(frozen=True, slots=True)
class StartTimeout:
    """Longest wait of a client for a server to start. `field` in an entry changes it, in units of `unit_secs`."""

    secs: float = USUAL_START_SECS
    field: str = ""
    unit_secs: float = 1.0
    is_short: bool = False
    """Whether setup writes the field for every launcher. If not, only for launchers that can download the package."""


@dataclass(frozen=True, slots=True)
class Client:
    """One MCP client.

    `extra` are its fields in addition to command, args and env. `commands` are programs that show that the client is
    installed if it has no configuration file.
    """

    name: str
    title: str
    file: Callable[[Machine], PurePath]
    table: str
    form: Form
    restart: str
    extra: Mapping[str, object] = field(default_factory=dict[str, object])
    commands: tuple[str, ...] = ()
    start: StartTimeout = StartTimeout()
    env: str = "env"
    """Name of the field with the environment variables."""
    has_one_list: bool = False
    """Whether the command and its arguments are one list."""
    limit: str = ""
    """Condition under which the client starts servers, for the report of `doctor`."""
    is_essential: bool = False
    """Whether a new entry gets the short list of tools."""
    links_pictures: bool = False
    """Whether a new entry asks for links to charts: the client passes pictures to the model as text."""


def _claude_desktop(machine: Machine) -> PurePath:
    # Claude from the Microsoft Store reads a different file: github.com/anthropics/claude-code/issues/26073
    folder = machine.path(machine.claude_packages[0]) if machine.claude_packages else machine.config_folder() / "Claude"
    return folder / "claude_desktop_config.json"


def _claude_code(machine: Machine) -> PurePath:
    return machine.named_folder("CLAUDE_CONFIG_DIR", machine.home_folder()) / ".claude.json"


def _vscode(machine: Machine) -> PurePath:
    return machine.config_folder() / "Code" / "User" / "mcp.json"


def _codex(machine: Machine) -> PurePath:
    return machine.named_folder("CODEX_HOME", machine.home_folder() / ".codex") / "config.toml"


def _opencode(machine: Machine) -> PurePath:
    # On every system: https://opencode.ai/docs/config
    folder = machine.named_folder("XDG_CONFIG_HOME", machine.home_folder() / ".config") / "opencode"
    return machine.named_folder("OPENCODE_CONFIG", folder / "opencode.json")


def _cline(machine: Machine) -> PurePath:
    file = machine.home_folder().joinpath(".cline", "data", "settings", "cline_mcp_settings.json")
    return machine.named_folder("CLINE_MCP_SETTINGS_PATH", file)


def _vibe(machine: Machine) -> PurePath:
    return machine.named_folder("VIBE_HOME", machine.home_folder() / ".vibe") / "config.toml"


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
            "Quit and restart Claude Desktop; closing its window is not enough.",
        ),
        Client(
            "claude-code",
            "Claude Code",
            _claude_code,
            "mcpServers",
            "json",
            "End running sessions first: they overwrite this file. New ones show the server under /mcp.",
            {"type": "stdio"},
            commands=("claude",),
        ),
        Client(
            "cursor",
            "Cursor",
            _at_home(".cursor", "mcp.json"),
            "mcpServers",
            "json",
            "Cursor reloads the file itself: see Settings, Tools & MCP.",
            commands=("cursor",),
            is_essential=True,
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
            "Restart Codex; /mcp shows the server.",
            commands=("codex",),
            start=StartTimeout(10, "startup_timeout_sec"),
        ),
        Client(
            "gemini",
            "Gemini CLI",
            _at_home(".gemini", "settings.json"),
            "mcpServers",
            "jsonc",
            "Restart Gemini CLI; /mcp shows the server. In a folder that is not trusted it is disabled: /permissions.",
            commands=("gemini",),
            start=StartTimeout(600, "timeout", 0.001),
            limit="only in trusted folders",
        ),
        Client(
            "qwen",
            "Qwen Code",
            _at_home(".qwen", "settings.json"),
            "mcpServers",
            "jsonc",
            "Restart Qwen Code; /mcp shows the server.",
            commands=("qwen",),
        ),
        Client(
            "opencode",
            "opencode",
            _opencode,
            "mcp",
            "jsonc",
            "Restart opencode; opencode mcp list shows the server.",
            {"type": "local"},
            commands=("opencode",),
            start=StartTimeout(5, "timeout", 0.001, is_short=True),
            env="environment",
            has_one_list=True,
        ),
        Client(
            "cline",
            "Cline",
            _cline,
            "mcpServers",
            "json",
            "Restart the Cline CLI. The extension in an editor has a file of its own: Configure MCP Servers.",
            commands=("cline",),
            start=StartTimeout(60, "timeout"),
            links_pictures=True,
        ),
        Client(
            "continue",
            "Continue",
            _at_home(".continue", "mcpServers", "mcp-binance-server.json"),
            "mcpServers",
            "json",
            "Reload Continue's configuration in the editor; MCP servers work in agent mode.",
            links_pictures=True,
        ),
        Client(
            "vibe",
            "Mistral Vibe",
            _vibe,
            "mcp_servers",
            "toml list",
            "Restart Vibe; /mcp shows the server.",
            {"transport": "stdio"},
            commands=("vibe",),
            start=StartTimeout(10, "startup_timeout_sec"),
        ),
        Client(
            "zed",
            "Zed",
            _zed,
            "context_servers",
            "jsonc",
            "Zed reloads the file itself: see the settings of its agent panel.",
            {"source": "custom"},
            commands=("zed", "zeditor"),
        ),
    )
}
