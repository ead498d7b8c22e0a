"""Where accounts on paper are kept: in the journal's own file, or in what the servers of a fleet share."""

from collections.abc import Callable
from typing import Protocol, TypeVar

from mcp_binance_server.trading.journal.store import Rows

WorkT = TypeVar("WorkT")


class PaperStore(Protocol):
    """Tables that work is done in; work that writes may be done again, if another writer was faster."""

    async def read(self, work: Callable[[Rows], WorkT]) -> WorkT:
        """Do work that changes nothing, on rows as they stand now."""
        ...

    async def write(self, work: Callable[[Rows], WorkT]) -> WorkT:
        """Do work in one transaction, all of it or nothing."""
        ...
