"""The connection a request came on, which the SDK keeps to itself."""

from mcp.server.connection import Connection

from mcp_binance_server.surface.errors import RequestContext


def connection_of(ctx: RequestContext) -> Connection:
    """Return what outlives the request: a place for what belongs to its client, and a stack that ends with them.

    There is no public way to either in 2.x of the SDK; this is the one place that knows.
    """
    return ctx.session._connection  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
