"""Who calls, over which connection."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mcp.server.connection import Connection

from mcp_binance_server.surface.errors import RequestContext

if TYPE_CHECKING:
    from mcp_binance_server.domain.access import Vault, Visitor
    from mcp_binance_server.exchange.signing import Principal


CALLER = "mcp_binance_server.caller"
"""Where a transport leaves the caller in the scope of an HTTP request."""


@dataclass(frozen=True, slots=True)
class Caller:
    """A visitor, and what holds whose account their signed reads are for: nobody's, once it is wiped or if it is empty.

    Requests outlive their answers here and there, in the SDK and in tracebacks; the keys in them must not.
    """

    visitor: "Visitor"
    vault: "Vault[Principal]"
    party: str = ""
    """For whom limits count what this caller uses."""

    @property
    def principal(self) -> "Principal | None":
        return self.vault.read()


def caller_of(ctx: RequestContext) -> Caller | None:
    """Return who calls; None on a pipe, where only the user of this process can.

    Raises:
        KeyError: an HTTP request that came through no transport of ours; it must not pass for the process's own user.
    """
    return None if ctx.request is None else ctx.request.scope[CALLER]


def connection_of(ctx: RequestContext) -> Connection:
    """Return what outlives the request: a place for what belongs to its client, and a stack that ends with them.

    There is no public way to either in 2.x of the SDK; this is the one place that knows.
    """
    return ctx.session._connection  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
