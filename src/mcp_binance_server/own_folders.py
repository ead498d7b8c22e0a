"""Default folders for this program's own files."""

import sys
from collections.abc import Mapping
from pathlib import Path


def config_folder(found: Mapping[str, str], platform: str = sys.platform) -> Path | None:
    """Return the folder of guide.yaml and the key files, or None for a user without a home folder."""
    return _own_folder(found, "APPDATA" if platform == "win32" else "", "XDG_CONFIG_HOME", ".config")


def state_folder(found: Mapping[str, str], platform: str = sys.platform) -> Path | None:
    """Return the default folder for persistent state, or None for a user without a home folder."""
    return _own_folder(found, "LOCALAPPDATA" if platform == "win32" else "", "XDG_STATE_HOME", ".local/state")


def _own_folder(found: Mapping[str, str], on_windows: str, named: str, at_home: str) -> Path | None:
    usual = found.get(on_windows) if on_windows else f"{found['HOME']}/{at_home}" if found.get("HOME") else None
    home = found.get(named) or usual
    return Path(home) / "mcp-binance-server" if home else None


def own_file(found: Mapping[str, str], name: str) -> Path | None:
    """Return the default path of one of this program's files, or None if the file does not exist."""
    folder = config_folder(found)
    return folder / name if folder is not None and (folder / name).is_file() else None
