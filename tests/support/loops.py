"""The event loops a server may run on; a test asks for both by a fixture `anyio_backend` with these parameters."""

from importlib.util import find_spec

import pytest

Backend = tuple[str, dict[str, bool]]

_IS_HERE = find_spec("uvloop") is not None
LOOPS = (
    pytest.param(("asyncio", {"use_uvloop": False}), id="asyncio"),
    pytest.param(
        ("asyncio", {"use_uvloop": True}),
        id="uvloop",
        # The same lines of ours run on both, and are counted on one.
        marks=(pytest.mark.skipif(not _IS_HERE, reason="uvloop is not installed"), pytest.mark.flood),
    ),
)
