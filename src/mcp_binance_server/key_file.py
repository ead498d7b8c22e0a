"""The key file: NAME=VALUE lines that only the owner can read, one file per network.

The value `@keyring` refers to a password in the operating system's keyring.
"""

import os
import stat
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from mcp_binance_server.errors import SettingsError
from mcp_binance_server.own_folders import config_folder

VARIABLE = "MCP_BINANCE_KEY_FILE"
# Take a key and its secret from the same source, because halves of two pairs do not match.
PAIR = ("BINANCE_API_KEY", "BINANCE_SECRET_KEY", "BINANCE_API_SECRET", "BINANCE_PRIVATE_KEY_FILE")
NAMES = (*PAIR, "CHART_IMG_API_KEY")
IN_KEYRING = "@keyring"
SERVICE = "mcp-binance-server"
OTHERS = stat.S_IRWXG | stat.S_IRWXO
LARGEST_BYTES = 65_536

Fetch = Callable[[str, str], str | None]


def usual_key_file(folder: Path, network: str) -> Path:
    """Return the path of a network's key file. Each network has its own."""
    return folder / f"keys-{network}.env"


def with_keys(found: Mapping[str, str]) -> dict[str, str]:
    """Return the environment with the keys of its key file added.

    Raises:
        SettingsError: the file cannot be used.
    """
    path = key_file_of(found)
    return dict(found) if path is None else {**found, **added(found, read_keys(path)), VARIABLE: str(path)}


def key_file_of(found: Mapping[str, str]) -> Path | None:
    """Return the key file in the environment.

    The default is the network's file in the configuration folder, if it exists.
    """
    if named := found.get(VARIABLE, "").strip():
        return Path(named).expanduser()
    folder = config_folder(found)
    usual = None if folder is None else usual_key_file(folder, found.get("BINANCE_NETWORK", "").strip() or "mainnet")
    return usual if usual is not None and usual.is_file() else None


def read_keys(path: Path, fetch: Fetch | None = None) -> dict[str, str]:
    """Read the keys of a file that only its owner can read.

    Raises:
        SettingsError: the file cannot be used; the message names the line and shows no value.
    """
    try:
        with path.open("rb") as file:
            mode, text = os.fstat(file.fileno()).st_mode, file.read(LARGEST_BYTES).decode("utf-8-sig")
    except OSError as error:
        raise _refused(path, error.strerror or "it cannot be read") from None
    except UnicodeDecodeError:
        raise _refused(path, "it is not a text file") from None
    if os.name == "posix" and mode & OTHERS:
        raise _refused(path, f"other users can read it; fix it with: chmod 600 '{path}'")
    found = dict(_pair(path, number, line) for number, line in enumerate(text.splitlines(), 1) if _says(line))
    return {name: _looked_up(path, name, value, fetch) for name, value in found.items() if value}


def written(keys: Mapping[str, str]) -> str:
    """Return the text of a key file."""
    lines = (f"{name}={keys[name]}" for name in NAMES if keys.get(name))
    return "\n".join(("# Keys of mcp-binance-server. Keep this file private.", *lines, ""))


def added(environment: Mapping[str, str], keys: Mapping[str, str]) -> dict[str, str]:
    """Return the keys of a file, without those that the environment sets."""
    own = _set(environment)
    has_pair = not own.isdisjoint(PAIR)
    return {name: value for name, value in keys.items() if name not in own and not (has_pair and name in PAIR)}


def keyring_user(path: Path, name: str) -> str:
    """Return the keyring's user name for a value: the file name and the variable."""
    return f"{path.stem}:{name}"


def _set(environment: Mapping[str, str]) -> set[str]:
    return {name for name, value in environment.items() if value.strip()}


def _says(line: str) -> bool:
    return bool(line.strip()) and not line.lstrip().startswith("#")


def _pair(path: Path, number: int, line: str) -> tuple[str, str]:
    name, is_pair, value = line.strip().removeprefix("export ").partition("=")
    name, value = name.strip(), value.strip()
    if not is_pair:
        raise _refused(path, f"line {number} is not NAME=VALUE")
    if name not in NAMES:
        raise _refused(path, f"line {number} does not set one of {_listed(NAMES)}")
    if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'":
        value = value[1:-1]
    return name, value


def _looked_up(path: Path, name: str, value: str, fetch: Fetch | None) -> str:
    if value != IN_KEYRING:
        return value
    kept = (fetch or _from_keyring)(SERVICE, keyring_user(path, name))
    if kept is None:
        raise _refused(path, f"{name} is missing from the keyring; store it again with: mcp-binance-server setup")
    return kept


def _from_keyring(service: str, user: str) -> str | None:
    import importlib  # noqa: PLC0415 - imported only for keys in a keyring

    try:
        return importlib.import_module("keyring").get_password(service, user)
    except ImportError:
        reason = "it points to the keyring, but the package keyring is not installed"
        raise SettingsError(problems=(f"{VARIABLE}: {reason}",)) from None


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names)


def _refused(path: Path, reason: str) -> SettingsError:
    return SettingsError(problems=(f"{VARIABLE}: {path}: {reason}",))
