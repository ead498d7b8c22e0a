"""Requirements for the folder of a journal: reliable file locks, and no write access for other users."""

import os
import re
import stat
import sys
from contextlib import suppress
from pathlib import Path

from mcp_binance_server.trading.errors import JournalUnavailable

# Locks on these file systems are unreliable:
# https://www.sqlite.org/howtocorrupt.html#_filesystems_with_broken_or_missing_lock_implementations
NETWORK_FILE_SYSTEMS = frozenset(
    {"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "ceph", "glusterfs", "lustre", "fuse.sshfs", "fuse.rclone",
     "fuse.s3fs", "fuse.glusterfs", "davfs", "fuse.davfs2"}
)  # fmt: skip
# /proc/self/mountinfo writes a space in a name as \040.
_OCTAL = re.compile(r"\\([0-7]{3})")


def require_private(folder: Path, path: Path) -> None:
    """Check that a journal can be kept in a folder.

    Raises:
        JournalUnavailable: it cannot.
    """
    kind = file_system(folder.resolve())
    if kind in NETWORK_FILE_SYSTEMS:
        raise JournalUnavailable(
            reason=f"it is on a network file system ({kind}) with unreliable locks",
            fix="Set MCP_BINANCE_TRADING_DIR to a folder on a local disk",
        )
    if sys.platform == "win32":
        return
    for each in (folder, path):
        if each.exists() and each.stat().st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            raise JournalUnavailable(reason=f"other users can write {each.name}", fix=f"chmod go-w {each}")


def keep_way_to(folder: Path) -> None:
    """Sync all parent folders to the disk. New folders must survive a power cut."""
    if sys.platform == "win32":
        return
    for each in folder.resolve().parents:
        with suppress(OSError):  # A folder that this user cannot read already existed.
            file = os.open(each, os.O_RDONLY)
            try:
                os.fsync(file)
            finally:
                os.close(file)


def file_system(path: Path, mounts: str | None = None) -> str | None:
    """Return the type of a path's file system, or None if the operating system does not report it."""
    if mounts is None:
        try:
            mounts = Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="replace")
        except OSError:
            return None
    best, kind = "", None
    for line in mounts.splitlines():
        before, dash, after = line.partition(" - ")
        at = _OCTAL.sub(lambda found: chr(int(found[1], 8)), before.split(" ")[4]) if dash else ""
        if at and len(at) >= len(best) and (at == "/" or path == Path(at) or Path(at) in path.parents):
            best, kind = at, after.split(" ")[0]
    return kind
