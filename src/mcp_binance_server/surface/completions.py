"""What a client may offer while a person is typing."""

from mcp import types

from mcp_binance_server.errors import AppError
from mcp_binance_server.surface.context import Context
from mcp_binance_server.surface.uris import as_written

MOST = 100


async def complete(context: Context, params: types.CompleteRequestParams) -> types.Completion:
    """Return the values an argument can take; nothing for an unknown one, and never an error."""
    if params.argument.name != "symbol":
        return types.Completion(values=[], total=0, has_more=False)
    try:
        found = await context.market.symbols(params.argument.value)
    except AppError:  # a person is typing: an empty list is kinder than a message
        found = []
    is_address = isinstance(params.ref, types.ResourceTemplateReference)
    values = [as_written(symbol) if is_address else symbol for symbol in found[:MOST]]
    return types.Completion(values=values, total=len(found), has_more=len(found) > MOST)
