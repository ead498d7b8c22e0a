"""The two ways in which a client begins; behind the first answer both run the same lines."""

from collections.abc import Iterable, Iterator

import pytest

OLDER = "legacy"
# "auto" asks a server of the newest revision to describe itself; "legacy" shakes hands. Lines are counted for one.
ERAS = (pytest.param(OLDER, marks=pytest.mark.flood), "auto")


def repeated(items: Iterable[pytest.Item]) -> Iterator[pytest.Item]:
    """Return what a file asks in the older era a second time; the tier `night` asks everything in both.

    That all tools, prompts and pages are the same in both eras is shown by tests of its own, on every transport.
    """
    seen: set[object] = set()
    for item in items:
        if isinstance(item, pytest.Function) and hasattr(item, "callspec") and item.callspec.params.get("era") == OLDER:
            if item.path in seen:
                yield item
            seen.add(item.path)
