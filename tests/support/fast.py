"""The quick look of `scripts/test --fast`: one case of every test that neither takes long nor starts a process."""

from collections.abc import Iterable
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest

TESTS = Path(__file__).parents[1]
# Folders that are about all packages together, or about none.
WHOLES = ("apps", "conformance", "docs", "examples", "faults", "fleet", "packaging")
MARKS = ("flood", "needs", "slow")
# Whoever has a name of these starts a process, waits for a real socket, or lets minutes of a live market pass.
LONG = (
    "subprocess", "support.workers", "support.exchange_socket", "support.held_fleet", "support.live_floor",
    "support.process", "support.product", "support.sockets", "support.state_server", "support.stepped",
)  # fmt: skip


def is_of_all(path: Path) -> bool:
    """Tell whether a path is about all packages together, so that nothing below it is worth its collection."""
    return path.parent == TESTS and path.name in WHOLES


def chosen(items: Iterable[pytest.Item]) -> list[pytest.Item]:
    """Return the first case of every quick test."""
    found: dict[str, pytest.Item] = {}
    for item in items:
        if isinstance(item, pytest.Function) and _is_quick(item):
            found.setdefault(item.nodeid.partition("[")[0], item)
    return [*found.values()]


def _is_quick(item: pytest.Function) -> bool:
    is_marked = any(item.get_closest_marker(name) for name in MARKS)
    folder = folder_of(item)
    is_of_a_package = (TESTS / folder).is_dir() and folder not in ("", *WHOLES)
    draws_cases = hasattr(item.obj, "hypothesis")
    return is_of_a_package and not (is_marked or draws_cases or takes_long(item))


def folder_of(item: pytest.Item) -> str:
    """Return the folder in `tests` that a test stands in, at whatever depth."""
    return _folder_of(item.path)


def takes_long(item: pytest.Function) -> bool:
    """Tell whether a test starts a process, waits at a socket or lets a live market go on."""
    return _takes_long(item.module)


# A file has many tests, and every worker asks for each of them.
@cache
def _folder_of(path: Path) -> str:
    return path.relative_to(TESTS).parts[0] if path.is_relative_to(TESTS) else ""


@cache
def _takes_long(module: ModuleType) -> bool:
    homes = (getattr(each, "__module__", getattr(each, "__name__", "")) for each in vars(module).values())
    return any(home in LONG for home in homes)
