"""Atomic file writes and the storage of keys."""

import importlib
import importlib.util
import os
import re
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from mcp_binance_server.clock import Clock
from mcp_binance_server.domain.access import mask
from mcp_binance_server.errors import SettingsError
from mcp_binance_server.key_file import IN_KEYRING, NAMES, PAIR, SERVICE, keyring_user, read_keys, written

PRIVATE = 0o600

ATTEMPTS = 3
API_KEY = re.compile(r"[A-Za-z0-9]{64}")
HELP = """Keys are optional: public data needs none. Use a key that can only read:
'Enable Reading' ticked, trading and withdrawals not. Your input is not shown."""


def read_text(path: Path) -> str | None:
    """Return a file's text with its line endings unchanged, or None if it does not exist.

    Raises:
        OSError: the file cannot be read.
        UnicodeDecodeError: the file is not UTF-8.
    """
    try:
        return path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return None


def keep_copy(path: Path, clock: Clock) -> Path:
    """Copy a file into its folder, with the time in the new name and the same permissions."""
    stamp = datetime.fromtimestamp(clock.now_ms() / 1000, UTC).strftime("%Y%m%dT%H%M%SZ")
    copy = path.with_name(f"{path.name}.{stamp}.bak")
    number = 1
    while copy.exists():
        number += 1
        copy = path.with_name(f"{path.name}.{stamp}-{number}.bak")
    _write_beside(copy, path.read_bytes(), path.stat().st_mode & 0o777)
    return copy


def write_text(path: Path, text: str, *, mode: int | None = None) -> None:
    """Write a file atomically.

    An existing file keeps its mode unless `mode` is given. A symbolic link stays a link.
    """
    target = path.resolve()
    target.parent.mkdir(parents=True, exist_ok=True)
    if mode is None:
        mode = target.stat().st_mode & 0o777 if target.exists() else PRIVATE
    _write_beside(target, text.encode(), mode)


def write_private(path: Path, text: str) -> None:
    """Write a file that only its owner can read. A new folder is private as well."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    write_text(path, text, mode=PRIVATE)


def _write_beside(target: Path, content: bytes, mode: int) -> None:
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")  # private from its creation
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        Path(name).chmod(mode)
        Path(name).replace(target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


@dataclass(frozen=True, slots=True)
class Talk:
    """Functions that ask and print at the terminal."""

    say: Callable[[str], None]
    ask: Callable[[str], str]
    ask_secret: Callable[[str], str]


@dataclass(frozen=True, slots=True)
class KeyPlace:
    """Storage of a network's keys: a file or the keyring."""

    path: Path
    in_keyring: bool = False

    def stored(self) -> dict[str, str]:
        """Return the stored keys. Return none if the file does not exist.

        Raises:
            SettingsError: the file exists, but cannot be used.
        """
        return read_keys(self.path) if self.path.is_file() else {}

    def store(self, keys: Mapping[str, str]) -> None:
        """Store the keys in the file. With a keyring, the file has only a reference to it."""
        if self.in_keyring:
            keyring = importlib.import_module("keyring")
            for name, value in keys.items():
                keyring.set_password(SERVICE, keyring_user(self.path, name), value)
            keys = dict.fromkeys(keys, IN_KEYRING)
        write_private(self.path, written(keys))


def has_keyring() -> bool:
    """Return whether the keyring package is installed."""
    return importlib.util.find_spec("keyring") is not None


def ask_for_keys(talk: Talk, kept: Mapping[str, str], help_url: str) -> dict[str, str]:
    """Ask for a Binance key, its secret and a chart-img.com key. An empty answer keeps the stored value.

    Raises:
        SettingsError: three answers in a row were invalid.
    """
    talk.say(f"\n{HELP}\nMake a key at {help_url}\n\n")
    keys = {name: kept[name] for name in NAMES if name in kept}
    if api_key := _ask_api_key(talk, keys.get("BINANCE_API_KEY")):
        secret = _ask_secret(talk)
        keys = {name: value for name, value in keys.items() if name not in PAIR}
        keys |= {"BINANCE_API_KEY": api_key, **secret}
    has_chart_key = "kept" if "CHART_IMG_API_KEY" in keys else "none"
    if chart_key := talk.ask_secret(f"chart-img.com key (Enter: {has_chart_key}): ").strip():
        keys["CHART_IMG_API_KEY"] = chart_key
    return keys


def _ask_api_key(talk: Talk, kept: str | None) -> str:
    otherwise = f"keep {mask(kept)}" if kept else "none"
    for _ in range(ATTEMPTS):
        api_key = talk.ask_secret(f"Binance API key (Enter: {otherwise}): ").strip().strip("\"'")
        if not api_key or API_KEY.fullmatch(api_key):
            return api_key
        talk.say(f"This has {len(api_key)} characters; an API key is 64 letters and digits.\n")
    raise SettingsError(problems=("no API key was entered; nothing was stored",))


def _ask_secret(talk: Talk) -> dict[str, str]:
    for _ in range(ATTEMPTS):
        secret = talk.ask_secret("Its secret, or the path of its private key (PEM): ").strip().strip("\"'")
        file = _file(secret)
        if file is not None:
            return {"BINANCE_PRIVATE_KEY_FILE": str(file)}
        if secret and secret.isascii() and secret.isprintable() and not re.search(r"[\s/\\]", secret):
            return {"BINANCE_SECRET_KEY": secret}
        talk.say("This is neither a secret nor an existing file.\n")
    raise SettingsError(problems=("no secret was entered; nothing was stored",))


def _file(text: str) -> Path | None:
    try:
        path = Path(text).expanduser()
        return path.absolute() if text and path.is_file() else None
    except (OSError, ValueError, RuntimeError):
        return None


@dataclass(eq=False)
class UnreadableConfig(Exception):
    """A configuration file that cannot be edited. `line` and `column` start at 1."""

    line: int
    column: int
    problem: str

    def __str__(self) -> str:
        return f"{self.line}:{self.column}: {self.problem}"

    @classmethod
    def at(cls, text: str, offset: int, problem: str) -> "UnreadableConfig":
        before = text[:offset]
        return cls(before.count("\n") + 1, offset - (before.rfind("\n") + 1) + 1, problem)
