"""What the command line does to its process must not last: here it is the process of all the other tests."""

import gc
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def collector() -> Iterator[None]:
    """Collect garbage afterwards as before; a server collects rarely, and other tests measure memory."""
    thresholds = gc.get_threshold()
    yield
    gc.set_threshold(*thresholds)
    gc.enable()
    gc.unfreeze()
