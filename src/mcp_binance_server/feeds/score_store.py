"""Storage of score histories: files in a folder, or the engine of a fleet. It has only public market data."""

import os
import stat
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Protocol, TypeVar

import anyio
import anyio.to_thread

from mcp_binance_server.analytics.market.symbol_scores import VERSION
from mcp_binance_server.clock import Clock
from mcp_binance_server.domain.symbols import Symbol
from mcp_binance_server.feeds.score_record import KEPT_MS, MOST_BYTES
from mcp_binance_server.state.engine import Values

MOST_FILES = 1_000
MOST_SHELF_BYTES = 32 * 1024 * 1024
# A slower disk counts as unavailable. Market events are handled in the meantime.
PATIENCE_SECS = 5.0
# A half-written file older than this is left from a killed process.
_LEFT_MS = 60 * 60 * 1000
# The name includes the version: otherwise two releases on one machine would refuse each other's files.
_SUFFIX, _HALF = f".past{VERSION}", ".half"
_OURS = (".past", _HALF)
_READ = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
_MAKE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)

T = TypeVar("T")


class ScoreStore(Protocol):
    """Storage with one record per symbol.

    A failure raises OSError or `EngineUnavailable` without a long wait.
    """

    @property
    def market(self) -> str: ...

    async def read(self, symbol: Symbol) -> bytes | None:
        """Return the latest record of any process, or None."""
        ...

    async def write(self, symbol: Symbol, record: bytes) -> None:
        """Replace the previous record atomically."""
        ...

    async def tidy(self) -> None:
        """Delete the oldest records to free space."""
        ...


@dataclass(frozen=True, slots=True)
class DiskScoreStore:
    """One file per symbol in the state folder.

    The first write creates the folder. Other processes may also write here.
    """

    state_folder: Path
    market: str
    clock: Clock

    @property
    def folder(self) -> Path:
        return self.state_folder / "pasts"

    async def read(self, symbol: Symbol) -> bytes | None:
        return await _beside(lambda: _content(self._path(symbol)))

    async def write(self, symbol: Symbol, record: bytes) -> None:
        await _beside(lambda: self._write(self._path(symbol), record))

    async def tidy(self) -> None:
        await _beside(lambda: _thin_out(self.folder, self.clock.now_ms()))

    def _path(self, symbol: Symbol) -> Path:
        """Return a file name that is valid on every system, for any characters in the symbol."""
        mark = sha256(f"{self.market} {symbol}".encode()).hexdigest()[:16]
        readable = "".join(each for each in symbol[:24] if each.isascii() and each.isalnum())
        return self.folder / f"{readable}-{mark}{_SUFFIX}"

    def _write(self, path: Path, record: bytes) -> None:
        self._make_folder()
        half = path.with_name(f"{path.stem}-{os.urandom(8).hex()}{_HALF}")
        try:
            with os.fdopen(os.open(half, _MAKE, 0o600), "wb") as file:
                file.write(record)
            # No fsync: a record that is damaged by a power cut is refused when read.
            half.replace(path)
        except OSError:
            with suppress(OSError):
                half.unlink()
            raise

    def _make_folder(self) -> None:
        self.state_folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.folder.mkdir(mode=0o700, exist_ok=True)
        if sys.platform != "win32":
            facts = self.folder.lstat()
            if not stat.S_ISDIR(facts.st_mode) or facts.st_uid != os.geteuid():
                raise PermissionError(f"{self.folder} is not a folder of this user")
            if facts.st_mode & 0o077:
                self.folder.chmod(0o700)


@dataclass(frozen=True, slots=True)
class EngineScoreStore:
    """Records in a fleet's engine.

    Writes need no fencing, because all processes receive the same market data.
    """

    engine: Values
    market: str

    async def read(self, symbol: Symbol) -> bytes | None:
        return await self.engine.shelved(self._shelf, self._key(symbol))

    async def write(self, symbol: Symbol, record: bytes) -> None:
        await self.engine.shelve(
            self._shelf, self._key(symbol), record, ttl_ms=KEPT_MS, most_bytes=MOST_SHELF_BYTES
        )  # fmt: skip

    async def tidy(self) -> None:
        """Do nothing: the engine limits bytes and age."""

    @property
    def _shelf(self) -> str:
        return f"pasts:{VERSION}"

    def _key(self, symbol: Symbol) -> str:
        return f"{self.market}:{symbol}"


async def _beside(work: Callable[[], T]) -> T:
    with anyio.fail_after(PATIENCE_SECS):
        return await anyio.to_thread.run_sync(work, abandon_on_cancel=True)


def _content(path: Path) -> bytes | None:
    try:
        descriptor = os.open(path, _READ)
    except FileNotFoundError:
        return None
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(f"{path} is not a regular file")
        return file.read(MOST_BYTES + 1)


def _thin_out(folder: Path, now_ms: int) -> None:
    room = MOST_SHELF_BYTES
    for place, (written_ms, size, path) in enumerate(sorted(_files(folder), reverse=True)):
        room -= size
        most_ms = _LEFT_MS if path.suffix == _HALF else KEPT_MS
        if place >= MOST_FILES or room < 0 or now_ms - written_ms >= most_ms:
            with suppress(OSError):
                path.unlink()


def _files(folder: Path) -> list[tuple[float, int, Path]]:
    found: list[tuple[float, int, Path]] = []
    with suppress(FileNotFoundError), os.scandir(folder) as entries:
        for entry in entries:
            with suppress(FileNotFoundError):  # another process may delete the same files
                if entry.is_file(follow_symlinks=False) and Path(entry.name).suffix.startswith(_OURS):
                    facts = entry.stat(follow_symlinks=False)
                    found.append((facts.st_mtime * 1000, facts.st_size, Path(entry.path)))
    return found
