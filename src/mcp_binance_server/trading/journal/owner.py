"""Owner of an intent: a process that holds a file lock. The system releases the lock when the process dies.

Several servers of one user share one journal. At its start a server settles the intents of dead processes and no
others. A heartbeat could be wrong; a file lock cannot.
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
    """Hold a lock under a new name while the context is open."""
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
    """Return True if the process with this name has ended. A process that ends normally removes its lock file."""
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
    """Remove the lock files of dead processes. Their removal is only for tidiness."""
    for path in folder.glob(f"*{SUFFIX}"):
        if is_dead(folder, path.stem):
            with suppress(OSError):
                path.unlink()
