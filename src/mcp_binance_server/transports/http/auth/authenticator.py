"""Authentication by bearer token, and the WWW-Authenticate challenge."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Protocol, runtime_checkable
from urllib.parse import parse_qsl

from mcp_binance_server.domain.access import LOCAL, Scope, Visitor

Headers = Iterable[tuple[bytes, bytes]]

TOKEN_LIMIT = 8_192
# A token in a URL ends up in browser histories, logs and Referer headers: RFC 6750, section 2.3.
_IN_QUERY = frozenset({"access_token", "token"})
# Syntax b64token of RFC 6750, section 2.1.
_TOKEN = re.compile(rb"[A-Za-z0-9._~+/-]+=*")

REALM = "mcp-binance-server"
# The scope that every client needs. Older clients request only the scopes of a refusal, so without this scope they
# would loop.
BASELINE: Scope = "market:read"

ResponseHeaders = list[tuple[bytes, bytes]]


@dataclass(eq=False)
class Unauthenticated(Exception):
    """A request is refused.

    The text contains nothing that the client sent. `error` is an error code of RFC 6750, or None for a request without
    a token.
    """

    description: str
    error: str | None = "invalid_token"
    status: int = 401
    retry_after_secs: int | None = None

    def __str__(self) -> str:
        return self.description


class Authenticator(Protocol):
    """An authentication method."""

    async def visitor(self, headers: Headers, query: bytes) -> Visitor:
        """Authenticate a request by its headers and query string, both in ASGI form.

        Raises:
            Unauthenticated: the request is refused.
        """
        ...


@runtime_checkable
class RevocableAuthenticator(Authenticator, Protocol):
    """An authentication method whose tokens can be revoked or expire."""

    def edition(self) -> object:
        """Return a value that changes when a valid token may have become invalid."""
        ...


async def is_still_valid(authenticator: Authenticator, visitor: Visitor, headers: Headers, query: bytes) -> bool:
    """Return True if a request would still be admitted as the same visitor.

    Also return True if the token cannot be checked at the moment.
    """
    try:
        return await authenticator.visitor(headers, query) == visitor
    except Unauthenticated as refused:
        return refused.status >= HTTPStatus.INTERNAL_SERVER_ERROR


class Open:
    """No authentication, for a server that only programs on its own machine can reach."""

    async def visitor(self, headers: Headers, query: bytes) -> Visitor:  # noqa: ARG002 - every request is let in
        return LOCAL


def bearer_token(headers: Headers, query: bytes) -> str:
    """Return the bearer token of a request.

    Raises:
        Unauthenticated: there is no token or more than one, or it is in the URL.
    """
    names = {name.lower() for name, _ in parse_qsl(query.decode("latin-1"), keep_blank_values=True)}
    if names & _IN_QUERY:
        raise _malformed("Send the token in the Authorization header, never in the address; this one is now exposed.")
    given = [value for name, value in headers if name.lower() == b"authorization"]
    if len(given) > 1:
        raise _malformed("Send exactly one Authorization header.")
    scheme, _, token = (given[0] if given else b"").strip().partition(b" ")
    if scheme.lower() != b"bearer":
        # A request without credentials gets no error code: RFC 6750, section 3.1.
        raise Unauthenticated("This server needs a bearer token in the Authorization header.", error=None)
    token = token.strip()
    if len(token) > TOKEN_LIMIT:
        raise Unauthenticated(f"The token is longer than {TOKEN_LIMIT} characters.")
    if not _TOKEN.fullmatch(token):
        raise Unauthenticated("The token is empty or has invalid characters.")
    return token.decode("ascii")


def _malformed(description: str) -> Unauthenticated:
    return Unauthenticated(description, error="invalid_request", status=400)


def refusal_headers(refusal: Unauthenticated, metadata_url: str | None) -> ResponseHeaders:
    """Return the headers of a 401. `metadata_url` is None if no OAuth issuer is configured."""
    if refusal.retry_after_secs is not None:
        return [(b"retry-after", b"%d" % refusal.retry_after_secs)]
    said = {"error": refusal.error, "error_description": refusal.description if refusal.error else None}
    return [_challenge(said, metadata_url)]


def scope_headers(needed: Iterable[Scope], metadata_url: str | None) -> ResponseHeaders:
    """Return the headers of a 403 that lists all scopes that a call needs."""
    scopes = " ".join(sorted({*needed, BASELINE}))
    said = {"error": "insufficient_scope", "error_description": "The token does not allow this.", "scope": scopes}
    return [_challenge(said, metadata_url)]


def _challenge(said: Mapping[str, str | None], metadata_url: str | None) -> tuple[bytes, bytes]:
    # A challenge must have a parameter: RFC 6750, section 3.
    place = {"realm": REALM} if metadata_url is None else {"resource_metadata": metadata_url}
    parameters = ", ".join(f'{name}="{_plain(text)}"' for name, text in {**said, **place}.items() if text)
    return b"www-authenticate", f"Bearer {parameters}".encode("ascii")


def _plain(text: str) -> str:
    return "".join(character for character in text if " " <= character <= "~" and character not in '"\\')
