"""What clients read to learn where tokens for this server come from: RFC 9728."""

from collections.abc import Iterable
from urllib.parse import urlsplit

import msgspec

from mcp_binance_server.domain.access import Scope

WELL_KNOWN = "/.well-known/oauth-protected-resource"


def metadata_path(resource: str) -> str:
    """Return where the document of a resource lies on its host; clients also try WELL_KNOWN alone."""
    return f"{WELL_KNOWN}{urlsplit(resource).path.rstrip('/')}"


def metadata_url(resource: str) -> str:
    """Return the address that refusals name."""
    parts = urlsplit(resource)
    return f"{parts.scheme}://{parts.netloc}{metadata_path(resource)}"


def resource_metadata(resource: str, issuer: str, scopes: Iterable[Scope]) -> bytes:
    """Return the document; a client that is told nothing else asks for all of `scopes`, so name only what is used."""
    return msgspec.json.encode(
        {
            "resource": resource,
            "authorization_servers": [issuer],
            "scopes_supported": sorted(scopes),
            "bearer_methods_supported": ["header"],
            "resource_name": "mcp-binance-server",
        }
    )
