"""What takes long to import: loaded in peace at the start, or beside the loop when somebody needs it."""

import gc
from collections.abc import Generator
from contextlib import contextmanager
from importlib import import_module

# 400 live books are some 800,000 levels. With Python's own thresholds full collections walk all of them: a third of the
# CPU, and a book that is late by more than a second now and then. The young are looked at often all the same: with a
# hundred thousand of them a server looked as if it grew, by garbage that waited for its first collection.
YOUNG, MIDDLE, OLD = 20_000, 100, 100
# As Python's own list of modules, one for the process; but there those are listed too that are only half loaded, and
# to import one of them would wait for the thread that loads it.
_LOADED: set[str] = set()


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


async def load(*modules: str) -> None:
    """Import what is not there yet, in a thread: a tenth of a second in which everybody else is answered."""
    from anyio import to_thread  # noqa: PLC0415 - this page is loaded before all that takes long

    for name in modules:
        if name not in _LOADED:
            await to_thread.run_sync(import_module, name)
            _LOADED.add(name)
