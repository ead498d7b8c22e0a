"""Tiers: the tests of a quick look, of a commit and of a night.

`quick` is one case of each test that is cheap and starts no process. `commit` is everything but tests marked `night` or
`alone`, one case of each flood, and the older era once a file. `night` is everything. A test named by its node id runs
in every tier.
"""

import re
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest

from support.eras import repeated

TESTS = Path(__file__).parents[1]
TIERS = QUICK, COMMIT, NIGHT = ("quick", "commit", "night")
# Folders about all packages together, or about none: no part of a quick look.
WHOLES = ("apps", "clients", "conformance", "docs", "examples", "faults", "fleet", "packaging")
NOT_QUICK = ("flood", "needs", "slow")
# A test that imports one of these starts a process, waits for a real socket, or runs minutes of a live market.
LONG = (
    "subprocess", "support.workers", "support.exchange_socket", "support.held_fleet", "support.live_floor",
    "support.process", "support.product", "support.sockets", "support.state_server", "support.stepped",
)  # fmt: skip
# Orders, journal, limits, confirmation, signing and tenants: a commit runs every case, and one failure is a failure.
PROTECTED = re.compile(
    r"tests\.(trading|sessions|wire\.orders|simulator\.orders|surface\.(trading|orders|portfolio)|cli\.trading"
    r"|transports\.http\.auth)\."
    r"|tests\.[\w.]*test_\w*(confirm|orders?(?!_(flow|book))|journal|limits|sign|tenant|whose|isolation|lending|credential"
    r"|secret|canary|budget|paper|trading_(keys|callers)|claims|keys|kills)(?![a-z])"
)


def is_protected(node_id: str) -> bool:
    """Tell whether a test is about money, keys or tenants, by its node id or its name in a JUnit file."""
    return PROTECTED.match(node_id.replace(".py::", "::").replace("/", ".")) is not None


def is_of_all(path: Path) -> bool:
    """Tell whether a folder is about all packages together, so that a quick look need not collect it."""
    return path.parent == TESTS and path.name in WHOLES


def chosen(items: Sequence[pytest.Item], tier: str, named: Iterable[str]) -> list[pytest.Item]:
    """Return the tests of a tier, and those that the command line names by their node ids."""
    if tier == NIGHT:
        return [*items]
    asked = tuple(each for each in named if "::" in each)
    again = {*repeated(items)}
    seen: set[str] = set()
    found: list[pytest.Item] = []
    for item in items:
        if _is_named(item, asked) or (item not in again and _is_of(item, tier, seen)):
            found.append(item)
        seen.add(_function(item))
    return found


def folder_of(item: pytest.Item) -> str:
    """Return the folder below `tests` that holds a test, at whatever depth."""
    return _folder_of(item.path)


def takes_long(item: pytest.Function) -> bool:
    """Tell whether a test starts a process, waits at a socket or runs a live market."""
    return _takes_long(item.module)


def _is_of(item: pytest.Item, tier: str, seen: set[str]) -> bool:
    if item.get_closest_marker("night") is not None or item.get_closest_marker("alone") is not None:
        return False
    is_first = _function(item) not in seen
    if tier == QUICK:
        return is_first and isinstance(item, pytest.Function) and _is_quick(item)
    # Tests that need an unpublished file are counted where it is missing: all of them are skipped, or none.
    is_counted = item.get_closest_marker("needs") is not None
    return is_first or is_counted or item.get_closest_marker("flood") is None or is_protected(item.nodeid)


def _is_quick(item: pytest.Function) -> bool:
    is_marked = any(item.get_closest_marker(name) for name in NOT_QUICK)
    folder = folder_of(item)
    is_of_a_package = (TESTS / folder).is_dir() and folder not in ("", *WHOLES)
    draws_cases = hasattr(item.obj, "hypothesis")
    return is_of_a_package and not (is_marked or draws_cases or takes_long(item))


def _is_named(item: pytest.Item, asked: tuple[str, ...]) -> bool:
    return any(each.endswith((item.nodeid, _function(item))) or item.nodeid.endswith(each) for each in asked)


def _function(item: pytest.Item) -> str:
    return item.nodeid.partition("[")[0]


# A file has many tests, and every worker asks for each of them.
@cache
def _folder_of(path: Path) -> str:
    return path.relative_to(TESTS).parts[0] if path.is_relative_to(TESTS) else ""


@cache
def _takes_long(module: ModuleType) -> bool:
    homes = (getattr(each, "__module__", getattr(each, "__name__", "")) for each in vars(module).values())
    return any(home in LONG for home in homes)
