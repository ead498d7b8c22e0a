"""chart://: pictures that were drawn here and are kept for an hour; nobody lists them, a tool's answer names them."""

from mcp_binance_server.surface.context import Context
from mcp_binance_server.surface.spec import Page, Picture

SVG, JPEG = ".svg", ".jpeg"
# An address is made of what it shows, so what a client keeps is never old; it may bear the user's own levels.
KEEP_MS = 60 * 60 * 1000


async def read_picture(context: Context, uri: str) -> Page | Picture:
    data = await context.charting.picture(uri)
    if uri.endswith(SVG):
        return Page(data.decode(), keep_ms=KEEP_MS, shareable=False, mime_type="image/svg+xml")
    mime_type = "image/jpeg" if uri.endswith(JPEG) else "image/png"
    return Picture(data, keep_ms=KEEP_MS, shareable=False, mime_type=mime_type)
