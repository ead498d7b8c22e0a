"""What only some callers need: loaded beside the loop when the first of them comes."""

from importlib import import_module

import anyio.to_thread

# As Python's own list of modules, one for the process; but there those are listed too that are only half loaded, and
# to import one of them would wait for the thread that loads it.
_LOADED: set[str] = set()


async def load(*modules: str) -> None:
    """Import what is not there yet, in a thread: a tenth of a second in which everybody else is answered."""
    for name in modules:
        if name not in _LOADED:
            await anyio.to_thread.run_sync(import_module, name)
            _LOADED.add(name)
