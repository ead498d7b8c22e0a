"""A disk as it may be found after the power was cut: what was synced is there, of the rest some, in whatever order."""

import ctypes
import os
import struct
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from tempfile import TemporaryFile
from typing import IO

SECTOR = 512
_HEAD = struct.Struct("=cQqII")
# How much of what was not synced is there: nothing, all, or so much of it.
_KEPT = (0.0, 0.1, 0.5, 0.9, 1.0)
_NOISE = 0.1


@dataclass(frozen=True, slots=True)
class Change:
    """One thing that was asked of the disk, or "!", a mark of the program's own; names are from the folder on."""

    what: str
    inode: int
    at: int
    one: bytes
    two: bytes

    @property
    def name(self) -> str:
        return self.one.decode()

    @property
    def folder(self) -> str:
        return self.name.rpartition("/")[0]


@dataclass
class Tree:
    """Files and folders: content by inode, inodes by name. A folder has no content."""

    content: dict[int, bytearray] = field(default_factory=dict[int, bytearray])
    names: dict[str, int] = field(default_factory=dict[str, int])
    folders: dict[int, str] = field(default_factory=dict[int, str])

    @classmethod
    def of(cls, folder: Path) -> "Tree":
        """Read a folder as it lies on the disk; all of it counts as synced."""
        tree = cls(folders={folder.stat().st_ino: ""})
        for path in folder.rglob("*"):
            inode, name = path.stat().st_ino, path.relative_to(folder).as_posix()
            tree.names[name] = inode
            if path.is_dir():
                tree.folders[inode] = name
            else:
                tree.content[inode] = bytearray(path.read_bytes())
        return tree

    def copy(self) -> "Tree":
        content = {inode: bytearray(each) for inode, each in self.content.items()}
        return Tree(content, dict(self.names), dict(self.folders))

    def shown(self) -> dict[str, bytes]:
        """Return the files that can be reached: below folders that are there."""
        files = {name: inode for name, inode in self.names.items() if inode in self.content}
        return {name: bytes(self.content[inode]) for name, inode in files.items() if self._is_reached(name)}

    def put(self, folder: Path) -> None:
        """Make a folder that holds these files and no others."""
        folder.mkdir(mode=0o700)
        for name in sorted(name for name, inode in self.names.items() if inode in self.folders):
            if self._is_reached(name):
                (folder / name).mkdir(mode=0o700)
        for name, content in self.shown().items():
            (folder / name).write_bytes(content)
            (folder / name).chmod(0o600)

    def write(self, inode: int, at: int, data: bytes) -> None:
        content = self.content[inode]
        content.extend(bytes(max(0, at - len(content))))
        content[at : at + len(data)] = data

    def truncate(self, inode: int, size: int) -> None:
        content = self.content[inode]
        content.extend(bytes(max(0, size - len(content))))
        del content[size:]

    def name(self, change: Change) -> None:
        match change.what:
            case "c" | "m":
                self.names[change.name] = change.inode
            case "u":
                self.names.pop(change.name, None)
            case _:
                if (inode := self.names.pop(change.name, None)) is not None:
                    self.names[change.two.decode()] = inode

    def _is_reached(self, name: str) -> bool:
        parents = [parent.as_posix() for parent in Path(name).parents][:-1]
        return all(parent in self.names for parent in parents)


@dataclass(frozen=True)
class Recording:
    """A folder as it was, and everything that was done below it since."""

    start: Tree
    changes: tuple[Change, ...]

    def cut(self, moment: int, chance: Random, *, syncs: bool = True) -> Tree:
        """Return what may be found if the power goes before a change; without `syncs` the disk takes no notice of any.

        A change of one sector is there, is not, or is noise; how long a file is, and each name, likewise on its own.
        """
        tree = self.start.copy()
        waiting: list[Change] = []
        for change in self.changes[:moment]:
            if change.what == "!":
                continue
            if change.what == "s":
                done = [each for each in waiting if syncs and _is_synced(tree, each, change.inode)]
                for each in done:
                    _do(tree, each)
                waiting = [each for each in waiting if each not in done]
                continue
            if change.what == "c":
                tree.content[change.inode] = bytearray()
            elif change.what == "m":
                tree.folders[change.inode] = change.name
            waiting.append(change)
        kept = chance.choice(_KEPT)
        for change in waiting:
            if change.what == "w":
                _write_some(tree, change, kept, chance)
            elif chance.random() < kept:
                _do(tree, change)
        return tree


def _is_synced(tree: Tree, change: Change, inode: int) -> bool:
    return change.inode == inode if change.what in "wt" else tree.folders.get(inode) == change.folder


def _do(tree: Tree, change: Change) -> None:
    match change.what:
        case "w":
            tree.write(change.inode, change.at, change.one)
        case "t":
            tree.truncate(change.inode, change.at)
        case _:
            tree.name(change)


def _write_some(tree: Tree, change: Change, kept: float, chance: Random) -> None:
    if chance.random() < kept:  # the length alone, and zeros where nothing was written
        tree.truncate(change.inode, max(len(tree.content[change.inode]), change.at + len(change.one)))
    for at, data in _sectors(change):
        if chance.random() < kept:
            tree.write(change.inode, at, data)
        elif kept and chance.random() < _NOISE:
            tree.write(change.inode, at, chance.randbytes(len(data)))


def _sectors(change: Change) -> Iterator[tuple[int, bytes]]:
    at, end = change.at, change.at + len(change.one)
    while at < end:
        after = min(end, (at // SECTOR + 1) * SECTOR)
        yield at, change.one[at - change.at : after - change.at]
        at = after


@contextmanager
def recorded(folder: Path) -> Generator[Callable[[], Recording]]:
    """Record what this process does below a folder; it must have been started with the library before all others."""
    library, start = ctypes.CDLL(None), Tree.of(folder)
    with TemporaryFile() as tape:
        library.begin_recording(os.fsencode(folder), tape.fileno())
        try:
            yield lambda: Recording(start, tuple(_played(tape)))
        finally:
            library.end_recording()


def mark(text: str) -> None:
    """Put a word of this program between what was recorded so far and what comes."""
    ctypes.CDLL(None).mark_recording(text.encode())


def _played(tape: IO[bytes]) -> Iterator[Change]:
    tape.seek(0)
    while head := tape.read(_HEAD.size):
        what, inode, at, one, two = _HEAD.unpack(head)
        yield Change(what.decode(), inode, at, tape.read(one), tape.read(two))
