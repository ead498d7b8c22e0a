"""The live chart: its page, and under which addresses hosts get it."""

import anyio.to_thread

from mcp_binance_server.errors import ResourceNotFound
from mcp_binance_server.surface.apps import page
from mcp_binance_server.surface.context import Context
from mcp_binance_server.surface.greeting import APP_TYPE
from mcp_binance_server.surface.spec import Page
from mcp_binance_server.surface.uris import CHART_VIEW

DAY_MS = 24 * 60 * 60 * 1000
# Hosts keep an address for ever: one that was ever listed stays here, and gets a page that can still read our answers.
ADDRESSES = (CHART_VIEW,)
# It loads nothing and calls nobody: every number comes through the host, as a tool's answer.
META: dict[str, object] = {"ui": {"csp": {"connectDomains": [], "resourceDomains": []}, "prefersBorder": True}}


async def read_view(_context: Context, uri: str) -> Page:
    """Return the page: it has no data in it, so everybody may keep it.

    Raises:
        ResourceNotFound: no page was ever listed under this address.
    """
    if uri not in ADDRESSES:
        raise ResourceNotFound(provided_uri=uri)
    text = await anyio.to_thread.run_sync(page.text)
    return Page(text, keep_ms=DAY_MS, shareable=True, mime_type=APP_TYPE, meta=META)
