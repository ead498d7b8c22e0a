"""Import of heavy modules, at startup or in a thread, and the settings of the garbage collector."""

import gc
from collections.abc import Generator
from contextlib import contextmanager
from importlib import import_module

# 400 live books have about 800,000 levels. With Python's own thresholds full collections walk all of them: a third of
# the CPU, and some books more than a second late. The young generation is still collected often: with a threshold of
# 100,000 the server seemed to leak memory, because garbage waited for its first collection.
YOUNG, MIDDLE, OLD = 20_000, 100, 100
# Modules that `load` has imported, one set per process. `sys.modules` also lists half-loaded modules, and importing one
# of these waits for the thread that loads it.
_LOADED: set[str] = set()


def calm() -> None:
    """Exclude all current objects from garbage collection, and collect the rest less often."""
    gc.freeze()
    gc.set_threshold(YOUNG, MIDDLE, OLD)


@contextmanager
def uncollected() -> Generator[None]:
    """Disable garbage collection during imports, then tune it for the life of the process.

    Imports create a million objects and no garbage; collections would cost a tenth of the startup.
    """
    gc.disable()
    try:
        yield
    finally:
        calm()
        gc.enable()


async def load(*modules: str) -> None:
    """Import modules in a thread unless they are loaded; the loop serves others during this tenth of a second."""
    from anyio import to_thread  # noqa: PLC0415 - this module is imported before the heavy ones

    for name in modules:
        if name not in _LOADED:
            await to_thread.run_sync(import_module, name)
            _LOADED.add(name)
