"""What only some callers need: loaded beside the loop when the first of them comes."""

import sys
from importlib import import_module

import anyio.to_thread


async def load(*modules: str) -> None:
    """Import what is not there yet, in a thread: a tenth of a second in which everybody else is answered."""
    for name in modules:
        if not _is_there(name):
            await anyio.to_thread.run_sync(import_module, name)


def _is_there(name: str) -> bool:
    # One that another thread has only begun to load is listed already; to import it here would wait for that thread.
    spec = getattr(sys.modules.get(name), "__spec__", None)
    return spec is not None and not getattr(spec, "_initializing", False)
