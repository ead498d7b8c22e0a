"""Which tests count lines: counting doubles the time of a test, and a test's later cases run the lines of its first."""

from collections.abc import Iterable, Iterator

import pytest

from support.fast import folder_of, takes_long

# Where a case is a server and an exchange of its own, or a process; elsewhere a case costs too little to care.
FOLDERS = ("cli", "simulator", "surface", "transports")


def later_cases(items: Iterable[pytest.Item]) -> Iterator[pytest.Item]:
    """Return every case but the first that counts, of tests whose cases are costly."""
    seen: set[str] = set()
    for item in items:
        if isinstance(item, pytest.Function) and item.get_closest_marker("flood") is None and _is_costly(item):
            name = item.nodeid.partition("[")[0]
            if name in seen:
                yield item
            seen.add(name)


def _is_costly(item: pytest.Function) -> bool:
    folder = folder_of(item)
    return folder in FOLDERS and ("exchange" in item.fixturenames or (folder == "cli" and takes_long(item)))
