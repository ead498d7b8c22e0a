"""The quick look of `scripts/test --fast`: one case of every test that neither takes long nor starts a process."""

from collections.abc import Iterable
from types import ModuleType

import pytest

LEFT_OUT = ("flood", "slow", "hypothesis")
# Whoever has a name of these starts a process, or waits for one.
STARTERS = ("subprocess", "support.crew", "support.process", "support.product", "support.state_server")


def chosen(items: Iterable[pytest.Item]) -> list[pytest.Item]:
    """Return the first case of every quick test."""
    found: dict[str, pytest.Item] = {}
    for item in items:
        if not any(item.get_closest_marker(name) for name in LEFT_OUT) and not _starts_processes(item):
            found.setdefault(item.nodeid.partition("[")[0], item)
    return [*found.values()]


def _starts_processes(item: pytest.Item) -> bool:
    module = item.module if isinstance(item, pytest.Function) else None
    values = vars(module).values() if isinstance(module, ModuleType) else ()
    return any(getattr(each, "__module__", getattr(each, "__name__", "")) in STARTERS for each in values)
