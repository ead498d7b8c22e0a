"""The tool that installed this program, and its commands for use in messages."""

import re
import sys
from pathlib import Path, PurePath
from typing import Literal

PACKAGE = "mcp-binance-server"
MODULE = "mcp_binance_server"
Way = Literal["uvx", "uv tool", "pipx", "pip"]
# uvx runs programs from a cache, which can be emptied at any time: https://docs.astral.sh/uv/concepts/cache/
_IN_UV_CACHE = re.compile(r"(archive|builds|environments)-v\d+")


def way_of(prefix: str = sys.prefix) -> Way:
    """Return the tool that created an environment. uv and pipx leave a marker file in the environment."""
    if any(_IN_UV_CACHE.fullmatch(part) for part in PurePath(prefix).parts):
        return "uvx"
    if (Path(prefix) / "uv-receipt.toml").is_file():
        return "uv tool"
    return "pipx" if (Path(prefix) / "pipx_metadata.json").is_file() else "pip"


def with_extra(extra: str, prefix: str = sys.prefix) -> str:
    """Return the command that installs this program with an optional extra."""
    named = f"'{PACKAGE}[{extra}]'"
    commands: dict[Way, str] = {
        "uvx": f"uvx --from {named} {PACKAGE}",
        "uv tool": f"uv tool install --force {named}",
        "pipx": f"pipx install --force {named}",
        "pip": f"pip install {named}",
    }
    return commands[way_of(prefix)]


def with_package(package: str, prefix: str = sys.prefix) -> str:
    """Return the command that adds a package to this program's environment."""
    commands: dict[Way, str] = {
        "uvx": f"uvx --with {package} {PACKAGE}",
        "uv tool": f"uv tool install --force --with {package} {PACKAGE}",
        "pipx": f"pipx inject {PACKAGE} {package}",
        "pip": f"pip install {package}",
    }
    return commands[way_of(prefix)]


def reinstall_command(prefix: str = sys.prefix) -> str:
    """Return the command that reinstalls this program with its dependencies."""
    commands: dict[Way, str] = {
        "uvx": f"uvx --refresh {PACKAGE} --version",
        "uv tool": f"uv tool install --force {PACKAGE}",
        "pipx": f"pipx reinstall {PACKAGE}",
        "pip": f"pip install --force-reinstall {PACKAGE}",
    }
    return commands[way_of(prefix)]


def own_command(argv0: str | None = None, prefix: str = sys.prefix) -> str:
    """Return the command that started this process."""
    if way_of(prefix) == "uvx":
        return f"uvx {PACKAGE}"
    script = PurePath(sys.argv[0] if argv0 is None else argv0).name.removesuffix(".exe")
    return script if script in {PACKAGE, "binance-provider"} else f"python -m {MODULE}"
