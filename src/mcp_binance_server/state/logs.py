"""A log that several processes write. A writer can append an entry only if it has seen the end of the log."""

from dataclasses import dataclass, field

# Number of characters of an entry's tag, as many as a random ID in hexadecimal.
TAG_LENGTH = 32


@dataclass(frozen=True, slots=True)
class LogMark:
    """A place in a log: the number and the tag of an entry. Position 0 is before the first entry."""

    position: int = 0
    tag: str = ""


@dataclass(frozen=True, slots=True)
class LogPart:
    """The entries after a mark, and the end of the log.

    `is_whole` means that the mark is not in this log, because the log was trimmed or replaced. The entries then follow
    the snapshot, or the start of the log if there is no snapshot.
    """

    end: LogMark
    entries: tuple[bytes, ...] = field(default=(), repr=False)
    kept: int = 0
    """Number of entries in the log."""
    snapshot: bytes | None = field(default=None, repr=False)
    is_whole: bool = False
    is_appended: bool = False


def check_tag(tag: str) -> None:
    """Refuse a tag that no engine can keep.

    Raises:
        ValueError: the tag does not have `TAG_LENGTH` characters.
    """
    if len(tag.encode()) != TAG_LENGTH:
        raise ValueError(f"a tag has {TAG_LENGTH} characters: {tag!r}")


@dataclass(eq=False)
class MemoryLog:
    """A log in the memory of one process."""

    _entries: dict[int, tuple[str, bytes]] = field(default_factory=dict[int, tuple[str, bytes]])
    _end: LogMark = LogMark()
    _first: int = 1
    _snapshot: tuple[int, bytes | None] = (0, None)

    def append(self, entry: bytes, after: LogMark, tag: str) -> LogPart:
        if after != self._end:
            return self.since(after)
        self._end = LogMark(after.position + 1, tag)
        self._entries[self._end.position] = tag, entry
        return LogPart(self._end, kept=len(self._entries), is_appended=True)

    def since(self, after: LogMark) -> LogPart:
        is_whole = not self._has(after)
        begin, snapshot = self._snapshot if is_whole else (after.position, None)
        entries = tuple(self._entries[each][1] for each in range(begin + 1, self._end.position + 1))
        return LogPart(self._end, entries, len(self._entries), snapshot, is_whole)

    def trim(self, snapshot: bytes, at: LogMark) -> bool:
        before, _ = self._snapshot
        if at.position <= before or not self._has(at):
            return False
        for number in range(self._first, before + 1):
            del self._entries[number]
        self._first, self._snapshot = before + 1, (at.position, snapshot or None)
        return True

    def _has(self, mark: LogMark) -> bool:
        if mark.position == 0:
            return self._snapshot[0] == 0
        found = self._entries.get(mark.position)
        return found is not None and found[0] == mark.tag
