"""The live chart as an MCP App: its page, and the addresses that hosts load it from."""

import anyio.to_thread

from mcp_binance_server.errors import ResourceNotFound
from mcp_binance_server.surface.apps import page
from mcp_binance_server.surface.context import Context
from mcp_binance_server.surface.greeting import APP_TYPE
from mcp_binance_server.surface.spec import Page
from mcp_binance_server.surface.uris import CHART_VIEW

DAY_MS = 24 * 60 * 60 * 1000
# Hosts cache addresses forever. So an address stays in this list, and its page must stay able to read the answers.
ADDRESSES = (CHART_VIEW,)
# The page sends no requests of its own. The host passes all data to the page, as answers of tools.
META: dict[str, object] = {"ui": {"csp": {"connectDomains": [], "resourceDomains": []}, "prefersBorder": True}}


async def read_view(_context: Context, uri: str) -> Page:
    """Return the page of the live chart. The page contains no data, so every client can cache it.

    Raises:
        ResourceNotFound: the address is not in the list.
    """
    if uri not in ADDRESSES:
        raise ResourceNotFound(provided_uri=uri)
    text = await anyio.to_thread.run_sync(page.text)
    return Page(text, keep_ms=DAY_MS, shareable=True, mime_type=APP_TYPE, meta=META)
