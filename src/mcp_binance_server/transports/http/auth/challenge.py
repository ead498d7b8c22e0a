"""The headers of a refusal: what a client must bring, and where it learns how to get it."""

from collections.abc import Iterable, Mapping

from mcp_binance_server.domain.access import Scope
from mcp_binance_server.transports.http.auth.authenticator import Unauthenticated

REALM = "mcp-binance-server"
# Older clients replace their scopes by those of a refusal: without what every client needs they would go in circles.
BASELINE: Scope = "market:read"

ResponseHeaders = list[tuple[bytes, bytes]]


def refusal_headers(refusal: Unauthenticated, metadata_url: str | None) -> ResponseHeaders:
    """Return the headers that belong to a refusal; `metadata_url` is None where no issuer gives out tokens."""
    if refusal.retry_after_secs is not None:
        return [(b"retry-after", b"%d" % refusal.retry_after_secs)]
    said = {"error": refusal.error, "error_description": refusal.description if refusal.error else None}
    return [_challenge(said, metadata_url)]


def scope_headers(needed: Iterable[Scope], metadata_url: str | None) -> ResponseHeaders:
    """Return the headers of a 403 for a token without the scopes that a call needs, all of them at once."""
    scopes = " ".join(sorted({*needed, BASELINE}))
    said = {"error": "insufficient_scope", "error_description": "The token does not allow this.", "scope": scopes}
    return [_challenge(said, metadata_url)]


def _challenge(said: Mapping[str, str | None], metadata_url: str | None) -> tuple[bytes, bytes]:
    # A challenge has at least one parameter: RFC 6750, section 3.
    place = {"realm": REALM} if metadata_url is None else {"resource_metadata": metadata_url}
    parameters = ", ".join(f'{name}="{_plain(text)}"' for name, text in {**said, **place}.items() if text)
    return b"www-authenticate", f"Bearer {parameters}".encode("ascii")


def _plain(text: str) -> str:
    return "".join(character for character in text if " " <= character <= "~" and character not in '"\\')
