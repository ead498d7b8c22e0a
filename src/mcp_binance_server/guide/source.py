"""Where the configuration comes from, read again when its file changes."""

import logging
from pathlib import Path

from mcp_binance_server.guide.config import Guides, builtin_guides

LOG = logging.getLogger(__name__)

_Version = tuple[int, int, int] | None


class ConfigSource:
    """The configuration in force; a file that cannot be used leaves the last good one standing."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._seen: _Version | bool = False
        self._guides = builtin_guides()
        self._mistakes: tuple[str, ...] = ()

    def guides(self) -> tuple[Guides, tuple[str, ...]]:
        """Return what is configured now, and the mistakes that keep a newer file from being used."""
        if self._path is not None and (version := _version(self._path)) != self._seen:
            self._seen = version
            self._read(self._path)
        return self._guides, self._mistakes

    def _read(self, path: Path) -> None:
        # Loaded late: most servers have no such file.
        from mcp_binance_server.guide.config_file import read_config  # noqa: PLC0415

        guides, mistakes = read_config(path)
        self._guides = guides or self._guides
        self._mistakes = tuple(
            f"{path.name}{f', line {mistake.line}' if mistake.line else ''}: {mistake.text}" for mistake in mistakes
        )


def _version(path: Path) -> _Version:
    try:
        facts = path.stat()
    except (OSError, ValueError):
        return None
    return facts.st_mtime_ns, facts.st_size, facts.st_ino
