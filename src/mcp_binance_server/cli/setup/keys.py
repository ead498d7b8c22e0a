"""Keys asked for without echo and stored where only their owner can read them."""

import importlib
import importlib.util
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from mcp_binance_server.cli.setup.files import write_private
from mcp_binance_server.domain.access import mask
from mcp_binance_server.errors import SettingsError
from mcp_binance_server.key_file import IN_KEYRING, NAMES, PAIR, SERVICE, keyring_user, read_keys, written

ATTEMPTS = 3
API_KEY = re.compile(r"[A-Za-z0-9]{64}")
HELP = """Keys are optional: without one, everything public works. Use one that can only
read: 'Enable Reading' ticked, trading and withdrawals not. What you type is not
shown."""


@dataclass(frozen=True, slots=True)
class Talk:
    """A conversation with whoever sits at the terminal."""

    say: Callable[[str], None]
    ask: Callable[[str], str]
    ask_secret: Callable[[str], str]


@dataclass(frozen=True, slots=True)
class KeyPlace:
    """Where the keys of a network are kept."""

    path: Path
    in_keyring: bool = False

    def stored(self) -> dict[str, str]:
        """Return what is kept; nothing if there is no file.

        Raises:
            SettingsError: there is one, and it cannot be used.
        """
        return read_keys(self.path) if self.path.is_file() else {}

    def store(self, keys: Mapping[str, str]) -> None:
        """Keep the keys, in the file or in the keyring with the file pointing there."""
        if self.in_keyring:
            keyring = importlib.import_module("keyring")
            for name, value in keys.items():
                keyring.set_password(SERVICE, keyring_user(self.path, name), value)
            keys = dict.fromkeys(keys, IN_KEYRING)
        write_private(self.path, written(keys))


def has_keyring() -> bool:
    """Tell whether the package that reaches the keyring happens to be installed."""
    return importlib.util.find_spec("keyring") is not None


def ask_for_keys(talk: Talk, kept: Mapping[str, str], help_url: str) -> dict[str, str]:
    """Ask for a Binance key, its secret and a key of chart-img.com; an empty answer keeps what there is.

    Raises:
        SettingsError: what was typed is no key, three times over.
    """
    talk.say(f"\n{HELP}\nKeys are made at {help_url}\n\n")
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
        talk.say(f"That has {len(api_key)} characters; an API key is 64 letters and digits.\n")
    raise SettingsError(problems=("no API key was given; nothing was stored",))


def _ask_secret(talk: Talk) -> dict[str, str]:
    for _ in range(ATTEMPTS):
        secret = talk.ask_secret("Its secret, or the path of its private key (PEM): ").strip().strip("\"'")
        file = _file(secret)
        if file is not None:
            return {"BINANCE_PRIVATE_KEY_FILE": str(file)}
        if secret and secret.isascii() and secret.isprintable() and not re.search(r"[\s/\\]", secret):
            return {"BINANCE_SECRET_KEY": secret}
        talk.say("That is neither a secret nor a file that exists.\n")
    raise SettingsError(problems=("no secret was given; nothing was stored",))


def _file(text: str) -> Path | None:
    try:
        path = Path(text).expanduser()
        return path.absolute() if text and path.is_file() else None
    except (OSError, ValueError, RuntimeError):
        return None
