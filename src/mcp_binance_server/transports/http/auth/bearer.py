"""The token of a request: in exactly one Authorization header, or the request is refused."""

import re
from urllib.parse import parse_qsl

from mcp_binance_server.transports.http.auth.authenticator import Headers, Unauthenticated

TOKEN_LIMIT = 8_192
# An address ends up in histories, logs and Referer headers; a token in it is lost. RFC 6750, section 2.3.
_IN_QUERY = frozenset({"access_token", "token"})
# The b64token of RFC 6750, section 2.1.
_TOKEN = re.compile(rb"[A-Za-z0-9._~+/-]+=*")


def bearer_token(headers: Headers, query: bytes) -> str:
    """Return the token of a request.

    Raises:
        Unauthenticated: there is none, more than one, or it is in the address.
    """
    names = {name.lower() for name, _ in parse_qsl(query.decode("latin-1"), keep_blank_values=True)}
    if names & _IN_QUERY:
        raise _malformed("Send the token in the Authorization header, never in the address; this one is now exposed.")
    given = [value for name, value in headers if name.lower() == b"authorization"]
    if len(given) > 1:
        raise _malformed("Send exactly one Authorization header.")
    scheme, _, token = (given[0] if given else b"").strip().partition(b" ")
    if scheme.lower() != b"bearer":
        # Whoever does not know that a token is needed has made no mistake yet: RFC 6750, section 3.1.
        raise Unauthenticated("This server needs a bearer token in the Authorization header.", error=None)
    token = token.strip()
    if len(token) > TOKEN_LIMIT:
        raise Unauthenticated(f"The token is longer than {TOKEN_LIMIT} characters.")
    if not _TOKEN.fullmatch(token):
        raise Unauthenticated("The token has characters that no token has, or is empty.")
    return token.decode("ascii")


def _malformed(description: str) -> Unauthenticated:
    return Unauthenticated(description, error="invalid_request", status=400)
