"""Tests whose processes count no lines: they run none that other tests miss, and counting doubles a start."""

import os
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager

import pytest

from support.lines.loader import VARIABLE
from support.tiers import TESTS, folder_of, takes_long

# Where a case is a server and an exchange of its own, or a process; elsewhere a case costs too little to care.
COSTLY = ("cli", "simulator", "surface", "transports")
# They read the source, or run what others run from the outside.
OUTSIDE = ("apps", "conformance", "docs", "examples", "packaging")
# Where a test that starts a process or lets a market go on runs lines that quicker ones beside it run too.
RUN_BESIDE = ("faults", "surface")


def uncounted(items: Iterable[pytest.Item]) -> Iterator[pytest.Item]:
    """Return the tests from outside, and every case but the first that counts of those whose cases are costly."""
    seen: set[str] = set()
    for item in items:
        if not isinstance(item, pytest.Function) or item.get_closest_marker("flood") is not None:
            continue
        folder = folder_of(item)
        if folder in OUTSIDE or item.path.parent == TESTS or (folder in RUN_BESIDE and takes_long(item)):
            yield item
        elif _is_costly(item):
            name = item.nodeid.partition("[")[0]
            if name in seen:
                yield item
            seen.add(name)


@contextmanager
def uncounted_processes() -> Generator[None]:
    """Have processes that start meanwhile count no lines."""
    counted = os.environ.pop(VARIABLE, None)  # noqa: TID251 - what a process inherits
    try:
        yield
    finally:
        if counted is not None:
            os.environ[VARIABLE] = counted  # noqa: TID251 - likewise


def _is_costly(item: pytest.Function) -> bool:
    folder = folder_of(item)
    return folder in COSTLY and ("exchange" in item.fixturenames or (folder == "cli" and takes_long(item)))
