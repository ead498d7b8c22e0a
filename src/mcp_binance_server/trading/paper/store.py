"""Storage of paper accounts: the journal's own file, or the shared state of a fleet."""

from collections.abc import Callable
from typing import Protocol, TypeVar

from mcp_binance_server.trading.journal.store import Rows

WorkT = TypeVar("WorkT")


class PaperStore(Protocol):
    """Tables of the paper accounts. Work that writes runs again if another writer was faster."""

    async def read(self, work: Callable[[Rows], WorkT]) -> WorkT:
        """Run read-only work on the current rows."""
        ...

    async def write(self, work: Callable[[Rows], WorkT]) -> WorkT:
        """Run work in one transaction, all or nothing."""
        ...
