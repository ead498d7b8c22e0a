"""binance://orders/{status}"""  # noqa: D415 - an address is its own sentence

from mcp_binance_server.errors import ResourceNotFound
from mcp_binance_server.surface.context import Context
from mcp_binance_server.surface.spec import Page, ResourceSpec
from mcp_binance_server.surface.views.index import orders_index
from mcp_binance_server.surface.views.orders import history_page, open_orders_page

# An order may be filled at any moment, so a client that wants to know asks again.
KEEP_MS = 0

OPEN = ResourceSpec(
    uri="binance://orders/open",
    name="Open Orders",
    description="All currently active orders (NEW, PARTIALLY_FILLED)",
)
HISTORY = ResourceSpec(
    uri="binance://orders/history",
    name="Order History",
    description="Newest orders of every status, over the symbols with an open order or a holding",
)
INDEX = ResourceSpec(
    uri="binance://orders",
    name="Orders",
    description="What order pages there are, and the open orders at a glance",
)


async def read_orders(context: Context, identifier: str) -> Page:
    if not identifier:
        return _private(orders_index(await context.orders.open()))
    if identifier == "open":
        return _private(open_orders_page(await context.orders.open()))
    if identifier == "history":
        return _private(history_page(await context.orders.history()))
    raise ResourceNotFound(provided_uri=f"binance://orders/{identifier}")


def _private(text: str) -> Page:
    return Page(text, keep_ms=KEEP_MS, shareable=False)
