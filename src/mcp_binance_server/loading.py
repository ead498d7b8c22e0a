"""Import of heavy modules in a thread, and tuning of the garbage collector."""

import gc
from collections.abc import Generator
from contextlib import contextmanager
from importlib import import_module

# 400 live books have about 800,000 levels. Python's default thresholds make full collections walk all of them, which
# takes a third of the CPU and delays some books by over a second. The young generation must still be collected often:
# with a threshold of 100,000 memory grew as in a leak.
YOUNG, MIDDLE, OLD = 20_000, 100, 100
# Modules that `load` has imported in this process. `sys.modules` also lists half-loaded modules, and importing one of
# these waits for the thread that loads it.
_LOADED: set[str] = set()


def tune_gc() -> None:
    """Exclude all current objects from garbage collection, and collect new ones less often."""
    gc.freeze()
    gc.set_threshold(YOUNG, MIDDLE, OLD)


@contextmanager
def gc_paused() -> Generator[None]:
    """Disable garbage collection during imports, then tune it for the life of the process.

    Imports create a million objects and no garbage, and collections would take a tenth of the startup time.
    """
    gc.disable()
    try:
        yield
    finally:
        tune_gc()
        gc.enable()


async def load(*modules: str) -> None:
    """Import modules in a thread, unless they are loaded.

    An import takes a tenth of a second. The event loop serves other requests in this time.
    """
    from anyio import to_thread  # noqa: PLC0415 - this module is imported before the heavy ones

    for name in modules:
        if name not in _LOADED:
            await to_thread.run_sync(import_module, name)
            _LOADED.add(name)
