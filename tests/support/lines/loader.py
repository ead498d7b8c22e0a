"""Load the packages with their marks; installed before all else in a process to which MCP_TEST_LINES tells the folder.

All processes store into one file that is mapped: what one has seen is there even if it was killed.
"""

import builtins
import marshal
import mmap
import os
import sys
from collections.abc import Sequence
from fnmatch import fnmatch
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import CodeType, ModuleType

VARIABLE, UNMEASURED = "MCP_TEST_LINES", "MCP_TEST_UNMEASURED"
PACKAGES = ("mcp_binance_server", "binance_simulator")


class MarkedLoader(SourceFileLoader):
    """Take the marked code of a module."""

    folder = ""

    def get_code(self, fullname: str) -> CodeType | None:
        with open(f"{self.folder}/{fullname}.code", "rb") as file:  # noqa: PTH123 - pathlib is slow to load
            return marshal.load(file)  # noqa: S302 - made by ourselves


class MarkedFinder:
    """Find the modules of the packages, and leave all others to other finders."""

    @classmethod
    def find_spec(
        cls, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname.partition(".")[0] not in PACKAGES:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        left_out = os.environ.get(UNMEASURED)  # noqa: TID251 - before any settings
        if spec is None or spec.origin is None or not isinstance(spec.loader, SourceFileLoader):
            return spec
        if spec.origin.endswith("_pb2.py") or (left_out and fnmatch(spec.origin, left_out)):
            return spec
        spec.loader = MarkedLoader(spec.loader.name, spec.loader.path)
        return spec


def install() -> None:
    """Load the packages with their marks from now on."""
    MarkedLoader.folder = os.environ[VARIABLE]  # noqa: TID251 - before any settings
    with open(f"{MarkedLoader.folder}/seen", "r+b") as file:  # noqa: PTH123 - likewise
        store_into(mmap.mmap(file.fileno(), 0))
    sys.meta_path.insert(0, MarkedFinder)


def store_into(seen: mmap.mmap | bytearray) -> mmap.mmap | bytearray | None:
    """Have marks stored there from now on; return where they were stored before, if anywhere."""
    before: mmap.mmap | bytearray | None = builtins.__dict__.get("__seen__")
    builtins.__dict__["__seen__"] = seen
    return before
