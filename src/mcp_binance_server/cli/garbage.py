"""How often Python looks for garbage; loaded before anything is that takes long to load."""

import gc
from collections.abc import Generator
from contextlib import contextmanager

# 400 live books are some 800,000 levels. With Python's own thresholds full collections walk all of them: a third of the
# CPU, and a book that is late by more than a second now and then. The young are looked at often all the same: with a
# hundred thousand of them a server looked as if it grew, by garbage that waited for its first collection.
YOUNG, MIDDLE, OLD = 20_000, 100, 100


def calm() -> None:
    """Leave what is there now out of every collection, and collect the rest less often."""
    gc.freeze()
    gc.set_threshold(YOUNG, MIDDLE, OLD)


@contextmanager
def uncollected() -> Generator[None]:
    """Import in peace: imports make a million objects and no garbage, and to look for some costs a tenth of the start.

    From then on this process is calm.
    """
    gc.disable()
    try:
        yield
    finally:
        calm()
        gc.enable()
