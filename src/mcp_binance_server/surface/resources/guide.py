"""guide://: playbooks, the server's own and the user's."""

from mcp_binance_server.surface.context import Context
from mcp_binance_server.surface.spec import Page, ResourceSpec, TemplateSpec

# Files change under us; a client that keeps a page would show the old one.
KEEP_MS = 0
SOURCE_KEY = "mcp-binance-server/source"

HELP = ResourceSpec(
    uri="guide://help",
    name="Guide URI Help",
    description="What playbooks there are and how to address them",
)
COLLECTION = TemplateSpec(
    uri_template="guide://collection/{id}",
    name="Guide Collection",
    description="All documents of a collection, e.g. guide://collection/start",
    mime_type=None,
)
CATEGORY = TemplateSpec(
    uri_template="guide://category/{name}",
    name="Guide Category",
    description="The documents of a category, e.g. guide://category/risk",
    mime_type=None,
)
CATEGORY_DOCUMENT = TemplateSpec(
    uri_template="guide://category/{name}/{docId}",
    name="Guide Category Document",
    description="A document of a category, or all that a pattern matches, e.g. guide://category/risk/position*",
    mime_type=None,
)
DOCUMENT = TemplateSpec(
    uri_template="guide://document/{context}/{docId}",
    name="Guide Document",
    description="Exactly one document of a category or collection, e.g. guide://document/examples/intro.md",
)


async def read_guide(context: Context, uri: str) -> Page:
    content = await context.guides.read(uri)
    # Text of the user's own files is marked, so that a host can treat it as what it is: data.
    meta = {SOURCE_KEY: "user"} if content.has_user_text else {SOURCE_KEY: "builtin"}
    framed = content.framed
    return Page(framed.text, keep_ms=KEEP_MS, shareable=True, mime_type=framed.mime_type, meta=meta)
