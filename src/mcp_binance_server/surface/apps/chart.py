"""The live chart: its page, and the addresses of the page for hosts."""

import anyio.to_thread

from mcp_binance_server.errors import ResourceNotFound
from mcp_binance_server.surface.apps import page
from mcp_binance_server.surface.context import Context
from mcp_binance_server.surface.greeting import APP_TYPE
from mcp_binance_server.surface.spec import Page
from mcp_binance_server.surface.uris import CHART_VIEW

DAY_MS = 24 * 60 * 60 * 1000
# Hosts keep addresses forever: each listed address stays here, with a page that can still read our answers.
ADDRESSES = (CHART_VIEW,)
# The page loads nothing and sends no request: every number comes through the host, as a tool's answer.
META: dict[str, object] = {"ui": {"csp": {"connectDomains": [], "resourceDomains": []}, "prefersBorder": True}}


async def read_view(_context: Context, uri: str) -> Page:
    """Return the page; it contains no data, so every client can cache it.

    Raises:
        ResourceNotFound: this address was never listed.
    """
    if uri not in ADDRESSES:
        raise ResourceNotFound(provided_uri=uri)
    text = await anyio.to_thread.run_sync(page.text)
    return Page(text, keep_ms=DAY_MS, shareable=True, mime_type=APP_TYPE, meta=META)
