"""Whose intent it is, and whether that process still lives: a lock that the system gives back when its holder dies.

Several servers of one user share one journal. Who starts must settle what the dead left behind, and must not touch what
the living have in hand. A heartbeat would guess; a lock on a file knows.
"""

import os
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex

if sys.platform == "win32":
    import msvcrt

    def hold(file: int) -> None:
        msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
else:
    import fcntl

    def hold(file: int) -> None:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


SUFFIX = ".lock"


@contextmanager
def owner(folder: Path) -> Generator[str]:
    """Hold a lock under a new name for as long as this process, and what it claims, lives."""
    name = token_hex(8)
    path = folder / f"{name}{SUFFIX}"
    file = os.open(path, os.O_CREAT | os.O_RDWR | getattr(os, "O_CLOEXEC", 0), 0o600)
    try:
        hold(file)
        yield name
    finally:
        os.close(file)
        with suppress(OSError):
            path.unlink()


def is_dead(folder: Path, name: str) -> bool:
    """Tell whether the process of this name is gone; no file is a process that left in order."""
    try:
        file = os.open(folder / f"{name}{SUFFIX}", os.O_RDWR)
    except FileNotFoundError:
        return True
    try:
        hold(file)
    except OSError:
        return False
    finally:
        os.close(file)
    return True


def sweep(folder: Path) -> None:
    """Remove the files of the dead; nothing depends on it."""
    for path in folder.glob(f"*{SUFFIX}"):
        if is_dead(folder, path.stem):
            with suppress(OSError):
                path.unlink()
