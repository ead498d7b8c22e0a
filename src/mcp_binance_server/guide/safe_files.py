"""Safe access to files below a root folder.

Each name in a path is opened relative to the descriptor of its folder. Links are not followed, and no call blocks.
"""

import os
import stat
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from mcp_binance_server.guide.document import Stamp

# Only POSIX has calls relative to a descriptor. Elsewhere resolved paths are compared, which a race can defeat.
HAS_DESCRIPTORS = os.open in os.supports_dir_fd and os.scandir in os.supports_fd
DEEPEST = 8
MOST_ENTRIES = 20_000
_FOLDER_FLAGS = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_CLOEXEC", 0)


class UnreadableFile(Exception):
    """A file that is missing, not a regular file, or too large. The message can be sent to a client."""


class Found(NamedTuple):
    """A regular file below a folder: its path with slashes, and its stamp."""

    path: str
    stamp: Stamp


def read_beneath(root: Path, parts: Sequence[str], limit: int) -> bytes:
    """Read a regular file of at most `limit` bytes below a root folder.

    Raises:
        UnreadableFile: a name in the path is missing or a link, or the file is too large or not a regular file.
    """
    data = read_start(root, parts, limit, limit + 1)
    if len(data) > limit:  # the file has grown after its size was checked
        raise UnreadableFile(_too_large(limit))
    return data


def read_start(root: Path, parts: Sequence[str], limit: int, most: int) -> bytes:
    """Read the first `most` bytes of a regular file whose size is at most `limit`.

    Raises:
        UnreadableFile: as for `read_beneath`.
    """
    if not parts or any(_leads_astray(name) for name in parts):
        raise UnreadableFile("no such document")
    try:
        descriptor = _open_file(root, parts)
        try:
            facts = os.fstat(descriptor)
            if not stat.S_ISREG(facts.st_mode):
                raise UnreadableFile("it is not a regular file")
            if facts.st_size > limit:
                raise UnreadableFile(_too_large(limit))
            with os.fdopen(descriptor, "rb", closefd=False) as file:
                return file.read(most)
        finally:
            os.close(descriptor)
    except (OSError, ValueError):  # messages of the operating system would reveal paths
        raise UnreadableFile("it cannot be opened") from None


def walk_beneath(root: Path, folder: Sequence[str]) -> Iterator[list[Found | None]]:
    """Yield the contents of each folder below root/folder. Entries other than regular files are None.

    Links are not followed. Folders whose name starts with a dot are skipped.
    """
    try:
        if not HAS_DESCRIPTORS:
            yield from _walk_paths(_resolved(root, folder), "", 0)
            return
        descriptor = _open_folder(root, folder)
    except (OSError, ValueError):
        return
    try:
        yield from _walk(descriptor, "", 0)
    finally:
        os.close(descriptor)


def _too_large(limit: int) -> str:
    return f"it is larger than {limit:,} bytes"


def _leads_astray(name: str) -> bool:
    return name in {"", ".", ".."} or any(each in "/\\\x00" for each in name) or (os.name == "nt" and ":" in name)


def _open_folder(root: Path, parts: Sequence[str]) -> int:
    # The root itself can be a link, because the configuration names it.
    folder = os.open(root, _FOLDER_FLAGS)
    for name in parts:
        try:
            below = os.open(name, _FOLDER_FLAGS | os.O_NOFOLLOW, dir_fd=folder)
        finally:
            os.close(folder)
        folder = below
    return folder


def _open_file(root: Path, parts: Sequence[str]) -> int:
    if not HAS_DESCRIPTORS:
        return os.open(_resolved(root, parts), os.O_RDONLY | getattr(os, "O_BINARY", 0))
    folder = _open_folder(root, parts[:-1])
    try:
        # Without O_NONBLOCK, opening a FIFO would wait for its writer.
        return os.open(parts[-1], os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    finally:
        os.close(folder)


def _walk(folder: int, above: str, depth: int) -> Iterator[list[Found | None]]:
    # Yield whole folders: five thousand files are checked every second, and each step of a generator costs time.
    held: list[Found | None] = []
    folders: list[str] = []
    with os.scandir(folder) as entries:
        for entry in islice(entries, MOST_ENTRIES):
            try:
                facts = entry.stat(follow_symlinks=False)
            except OSError:  # deleted after it was listed
                continue
            held.append(_found(facts, above + entry.name))
            if stat.S_ISDIR(facts.st_mode) and _enters(entry.name, depth):
                folders.append(entry.name)
    yield held
    for name in sorted(folders):
        try:
            below = os.open(name, _FOLDER_FLAGS | os.O_NOFOLLOW, dir_fd=folder)
        except OSError:  # deleted, or replaced by a link
            continue
        try:
            yield from _walk(below, f"{above}{name}/", depth + 1)
        finally:
            os.close(below)


def _enters(name: str, depth: int) -> bool:
    return depth < DEEPEST and not name.startswith(".")


def _found(facts: os.stat_result, path: str) -> Found | None:
    if not stat.S_ISREG(facts.st_mode):
        return None
    return Found(path, Stamp(facts.st_mtime_ns, facts.st_ctime_ns, facts.st_size, facts.st_ino))


def _resolved(root: Path, parts: Sequence[str]) -> Path:
    # With a junction or link in it, a path resolves to a different path.
    start = root.resolve(strict=True)
    plain = start.joinpath(*parts)
    if plain.resolve(strict=True) != plain:
        raise OSError(f"a link below {len(parts)} names")
    if not plain.is_dir() and not plain.is_file():
        raise OSError("neither a file nor a folder")
    return plain


def _walk_paths(folder: Path, above: str, depth: int) -> Iterator[list[Found | None]]:
    paths = sorted(folder.iterdir())
    yield [_found(path.lstat(), above + path.name) for path in paths]
    for path in paths:
        if path.is_dir() and path.resolve() == path and _enters(path.name, depth):
            yield from _walk_paths(path, f"{above}{path.name}/", depth + 1)
