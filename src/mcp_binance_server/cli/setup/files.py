"""Files of other programs, written carefully: whole or not at all, with what was there kept beside it."""

import os
import tempfile
from datetime import UTC, datetime
from pathlib import Path

from mcp_binance_server.clock import Clock

PRIVATE = 0o600


def read_text(path: Path) -> str | None:
    """Return a file's text with its line ends as they are; none if there is no such file.

    Raises:
        OSError: it cannot be read.
        UnicodeDecodeError: it is not UTF-8.
    """
    try:
        return path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return None


def keep_copy(path: Path, clock: Clock) -> Path:
    """Copy a file beside itself, under a name with the time, for the same eyes."""
    stamp = datetime.fromtimestamp(clock.now_ms() / 1000, UTC).strftime("%Y%m%dT%H%M%SZ")
    copy = path.with_name(f"{path.name}.{stamp}.bak")
    number = 1
    while copy.exists():
        number += 1
        copy = path.with_name(f"{path.name}.{stamp}-{number}.bak")
    _write_beside(copy, path.read_bytes(), path.stat().st_mode & 0o777)
    return copy


def write_text(path: Path, text: str, *, mode: int | None = None) -> None:
    """Write a file in one step; an existing one keeps its mode unless another is given, and a link stays a link."""
    target = path.resolve()
    target.parent.mkdir(parents=True, exist_ok=True)
    if mode is None:
        mode = target.stat().st_mode & 0o777 if target.exists() else PRIVATE
    _write_beside(target, text.encode(), mode)


def write_private(path: Path, text: str) -> None:
    """Write a file that nobody else may read, in a folder that nobody else may enter if it has to be made."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    write_text(path, text, mode=PRIVATE)


def _write_beside(target: Path, content: bytes, mode: int) -> None:
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")  # made for its owner alone
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
