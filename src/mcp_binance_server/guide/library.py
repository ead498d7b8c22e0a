"""Documents on disk, and the active configuration. Both are reloaded when files change."""

import codecs
import logging
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from mcp_binance_server.clock import Clock
from mcp_binance_server.guide.addresses import EXTENSIONS
from mcp_binance_server.guide.config import CONTENT, Category, Guides, builtin_guides
from mcp_binance_server.guide.document import Document, Entry, Facts, LibrarySnapshot, Source, read_text
from mcp_binance_server.guide.safe_files import (
    MOST_ENTRIES,
    Found,
    UnreadableFile,
    read_beneath,
    read_start,
    walk_beneath,
)

LOG = logging.getLogger(__name__)

_Version = tuple[int, int, int] | None

# Minimum time between two checks of the files, so a change is seen within a second. Files are checked only on use: an
# idle server does nothing.
CHECK_MS = 1_000
WALK_MS = 2_000
HEAD_BYTES = 16_384
MOST_NOTICED = 50
_HIDDEN_ENDS = (".orig", "~", ".bak", ".swp")


class ConfigSource:
    """The active configuration. If the file becomes unusable, the last good configuration stays active."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._seen: _Version | bool = False
        self._guides = builtin_guides()
        self._mistakes: tuple[str, ...] = ()

    def guides(self) -> tuple[Guides, tuple[str, ...]]:
        """Return the active configuration, and the mistakes that make a newer file unusable."""
        if self._path is not None and (version := _version(self._path)) != self._seen:
            self._seen = version
            self._read(self._path)
        return self._guides, self._mistakes

    def _read(self, path: Path) -> None:
        # Imported late: most servers have no configuration file.
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


@dataclass(slots=True)
class _Scan:
    # One scan of all folders: its remaining budget and its findings so far.
    clock: Clock
    before: Mapping[str, Mapping[str, Entry]]
    deadline_ms: float
    entries_left: int = MOST_ENTRIES
    problems: list[str] = field(default_factory=list[str])
    hidden: list[str] = field(default_factory=list[str])

    def spend(self, entries: int) -> bool:
        self.entries_left -= entries
        if self.clock.monotonic_ms() > self.deadline_ms:
            self.entries_left = -1
        return self.entries_left >= 0


class Library:
    """Source of snapshots of all documents.

    Only one caller scans the disk at a time. During a scan other callers get the existing snapshot.
    """

    def __init__(self, clock: Clock, config: Path | None = None) -> None:
        self._clock = clock
        self._source = ConfigSource(config)
        self._lock = threading.Lock()
        self._snapshot: LibrarySnapshot | None = None
        self._checked_ms = 0.0

    def snapshot(self) -> LibrarySnapshot:
        """Return a snapshot that is at most a second old.

        It can be older while another caller scans the disk, or if `watch` is off.
        """
        if at_hand := self.at_hand():
            return at_hand
        snapshot, now = self._snapshot, self._clock.monotonic_ms()
        if not self._lock.acquire(blocking=snapshot is None) and snapshot is not None:
            return snapshot
        try:
            self._snapshot = self._looked_again(self._snapshot)
            self._checked_ms = now
            return self._snapshot
        finally:
            self._lock.release()

    def at_hand(self) -> LibrarySnapshot | None:
        """Return the snapshot if it needs no new scan, else None. The disk is not read."""
        snapshot = self._snapshot
        if snapshot is None or not snapshot.guides.watch or self._clock.monotonic_ms() - self._checked_ms < CHECK_MS:
            return snapshot
        return None

    def read(self, snapshot: LibrarySnapshot, entry: Entry) -> Document:
        """Read a document of a snapshot from disk.

        Raises:
            UnreadableFile: it is gone, not a regular file, too large, or not UTF-8.
        """
        data = read_beneath(entry.root, entry.parts, snapshot.guides.limits.document_bytes)
        try:
            text = data.decode("utf-8-sig")
        except UnicodeDecodeError:
            raise UnreadableFile("it is not UTF-8") from None
        facts, body = read_text(entry.doc_id, text)
        modified_ms = entry.stamp.modified_ns // 1_000_000
        return Document(entry.category, entry.doc_id, entry.source, facts, body, modified_ms)

    def _looked_again(self, before: LibrarySnapshot | None) -> LibrarySnapshot:
        guides, mistakes = self._source.guides()
        scan = _Scan(self._clock, before.entries if before else {}, self._clock.monotonic_ms() + WALK_MS)
        scan.problems += [*mistakes, *guides.warnings]
        roots = [*_live_roots(guides, scan), CONTENT]
        entries = {
            name: MappingProxyType(_entries(category, roots, guides, scan))
            for name, category in guides.categories.items()
        }
        noticed = tuple(scan.problems[:MOST_NOTICED]), tuple(scan.hidden[:MOST_NOTICED])
        snapshot = LibrarySnapshot(guides, MappingProxyType(entries), *noticed)
        if before is not None and _is_same(before, snapshot):
            return before
        for problem in snapshot.problems:
            if before is None or problem not in before.problems:
                LOG.warning("guide: %s", problem)
        return snapshot


def _is_same(before: LibrarySnapshot, now: LibrarySnapshot) -> bool:
    if before.guides is not now.guides or (before.problems, before.hidden) != (now.problems, now.hidden):
        return False
    old, new = before.everything, now.everything
    return len(old) == len(new) and all(one is other for one, other in zip(old, new, strict=True))


def _live_roots(guides: Guides, scan: _Scan) -> list[Path]:
    roots: dict[Path, Path] = {}
    for number, root in enumerate(guides.roots, 1):
        try:
            is_folder, real = root.is_dir(), root.resolve()
        except (OSError, RuntimeError, ValueError):
            is_folder, real = False, root
        if is_folder:
            roots.setdefault(real, root)
        else:
            scan.problems.append(f"root {number} of the configuration is not a folder and is skipped")
    return list(roots.values())


def _entries(category: Category, roots: list[Path], guides: Guides, scan: _Scan) -> dict[str, Entry]:
    found: dict[str, Entry] = {}
    known = scan.before.get(category.name, {})
    for root in roots:
        is_builtin = root is CONTENT
        if is_builtin and not category.builtin:
            continue
        folder = (category.name,) if is_builtin else category.folder
        for file in _files(root, folder, scan):
            entry = known.get(file.path)
            if entry is not None and (entry.root is not root or entry.stamp != file.stamp):
                entry = None
            if entry is None and not _is_document(file.path):
                continue
            if file.path in found:
                scan.hidden.append(f"{category.name}/{file.path} ({'built in' if is_builtin else 'in a later root'})")
            else:
                found[file.path] = entry or _entry(category.name, root, folder, file, guides)
    limit = guides.limits.document_bytes
    scan.problems += [f"{entry.uri}: {entry.facts.mistake}" for entry in found.values() if entry.facts.mistake]
    scan.problems += [
        f"{entry.uri} is larger than {limit:,} bytes" for entry in found.values() if entry.stamp.size > limit
    ]
    return dict(sorted(found.items()))


def _files(root: Path, folder: tuple[str, ...], scan: _Scan) -> Iterator[Found]:
    for held in walk_beneath(root, folder):
        if not scan.spend(len(held)):
            problem = f"there are more than {MOST_ENTRIES:,} files, or the folder is too slow; the rest is left out"
            scan.problems += [] if problem in scan.problems else [problem]
            return
        yield from filter(None, held)


def _is_document(path: str) -> bool:
    is_named = path.isprintable() and "\\" not in path and path.lower().endswith(EXTENSIONS)
    return is_named and not any(name.startswith((".", "__")) or name.endswith(_HIDDEN_ENDS) for name in path.split("/"))


def _entry(category: str, root: Path, folder: tuple[str, ...], file: Found, guides: Guides) -> Entry:
    parts = (*folder, *file.path.split("/"))
    try:
        head = read_start(root, parts, guides.limits.document_bytes, HEAD_BYTES)
        text = codecs.getincrementaldecoder("utf-8-sig")().decode(head)  # the last character can be truncated
        facts, _ = read_text(file.path, text)
    except (UnreadableFile, UnicodeDecodeError):
        facts = Facts(title=file.path)
    source: Source = "builtin" if root is CONTENT else "user"
    return Entry(category, file.path, source, root, parts, file.stamp, facts)
