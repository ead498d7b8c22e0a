"""Files of previews next to the journal, for clients that start one process per call.

A file gives no permission. When the order is claimed, the terms are hashed again, and limits, guards and confirmation
apply again.
"""

import os
import re
import stat
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from secrets import token_bytes, token_hex

# Visitor name for stdio, the shell, and callers on this machine without a token or key.
LOCAL_VISITOR = "local"
FOLDER = "previews"
KEY_FILE = "preview.key"
KEY_BYTES = 32
MOST_FILES = 90
MOST_FILE_BYTES = 64 * 1024
_NAME = re.compile(r"[a-z2-7]{20}\.[0-9]{13}")
# Do not follow links. A named pipe at this path must not block.
_READ = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)


@dataclass(frozen=True, slots=True)
class PreviewFiles:
    """One file per preview of the local visitor. Its name has the ID and the expiry. All files share 64 KiB."""

    folder: Path
    key: bytes = field(repr=False)

    @classmethod
    def beside(cls, journal_folder: Path) -> "PreviewFiles | None":
        """Open or create the folder and its key. Return None if other users can read or write the folder."""
        folder = journal_folder / FOLDER
        try:
            folder.mkdir(mode=0o700, exist_ok=True)
            key = _own_key(journal_folder / KEY_FILE)
        except OSError:
            return None
        return cls(folder, key) if key is not None and _is_private(folder.lstat(), stat.S_ISDIR) else None

    def save(self, preview_id: str, value: bytes, expires_ms: int, now_ms: int) -> None:
        """Write a preview.

        First remove expired previews. If space is still missing, remove the previews that expire first.
        """
        if len(value) > MOST_FILE_BYTES:
            return
        self._make_room(len(value), now_ms)
        _write_whole(self.folder / f"{preview_id}.{expires_ms:013d}", value)

    def load(self, preview_id: str, now_ms: int) -> bytes | None:
        """Return a preview, or None if it is missing, expired or not a private file."""
        for name, expires_ms in self._named(preview_id):
            if expires_ms > now_ms:
                return _read_private(self.folder / name, MOST_FILE_BYTES)
        return None

    def remove(self, preview_id: str) -> None:
        for name, _ in self._named(preview_id):
            with suppress(OSError):
                (self.folder / name).unlink()

    def _named(self, preview_id: str) -> Iterator[tuple[str, int]]:
        yield from ((name, until) for name, until in self._kept() if name.partition(".")[0] == preview_id)

    def _kept(self) -> list[tuple[str, int]]:
        """Return the names of all files with their expiry, earliest expiry first."""
        try:
            names = os.listdir(self.folder)  # noqa: PTH208 - names are enough
        except OSError:
            return []
        return sorted(((name, int(name.partition(".")[2])) for name in names if _NAME.fullmatch(name)), key=_expiry)

    def _make_room(self, size: int, now_ms: int) -> None:
        sizes: list[tuple[Path, int]] = []
        for name, expires_ms in self._kept():
            path = self.folder / name
            with suppress(OSError):
                if expires_ms <= now_ms:
                    path.unlink()
                else:
                    sizes.append((path, path.lstat().st_size))
        total = size + sum(each for _, each in sizes)
        for place, (path, each) in enumerate(sizes):
            if len(sizes) - place < MOST_FILES and total <= MOST_FILE_BYTES:
                return
            total -= each
            with suppress(OSError):
                path.unlink()


def _expiry(kept: tuple[str, int]) -> int:
    return kept[1]


def _own_key(path: Path) -> bytes | None:
    """Return the key of this folder, created at the first call.

    Return None if the key file is not private or incomplete.
    """
    if not path.exists():
        made = path.with_name(f"{path.name}.{token_hex(8)}")
        _write_new(made, token_bytes(KEY_BYTES))
        try:
            with suppress(FileExistsError):  # another process was first
                os.link(made, path)
        finally:
            made.unlink()
    key = _read_private(path, KEY_BYTES)
    return key if key is not None and len(key) == KEY_BYTES else None


def _write_whole(path: Path, content: bytes) -> None:
    made = path.with_name(f"{path.name}.{token_hex(8)}")
    try:
        _write_new(made, content)
        made.replace(path)
    except OSError:
        with suppress(OSError):
            made.unlink()


def _write_new(path: Path, content: bytes) -> None:
    file = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_CLOEXEC", 0), 0o600)
    with os.fdopen(file, "wb") as opened:
        opened.write(content)


def _read_private(path: Path, most_bytes: int) -> bytes | None:
    """Return the content of this user's regular file. Return None if another user can read or write it."""
    try:
        file = os.open(path, _READ)
    except OSError:
        return None
    with os.fdopen(file, "rb") as opened:
        if not _is_private(os.fstat(opened.fileno()), stat.S_ISREG):
            return None
        content = opened.read(most_bytes + 1)
    return content if len(content) <= most_bytes else None


def _is_private(found: os.stat_result, is_kind: Callable[[int], bool]) -> bool:
    if not is_kind(found.st_mode):
        return False
    return os.name != "posix" or (found.st_uid == os.getuid() and not found.st_mode & 0o077)
