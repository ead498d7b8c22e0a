"""API keys in request headers, and the assignment of requests to parties (callers) before their secrets are checked."""

from collections.abc import Iterable
from hashlib import blake2b

from starlette.types import Scope

from mcp_binance_server.domain.access import LOCAL, Credentials, party_of
from mcp_binance_server.errors import SettingsError
from mcp_binance_server.exchange.signing import Principal
from mcp_binance_server.surface.caller import CALLER, Caller
from mcp_binance_server.transports.arrival import KEYS_READABLE
from mcp_binance_server.transports.http.admission.hosts import arrival_of

API_KEY = b"x-binance-api-key"
SECRET_KEY = b"x-binance-secret-key"
LONGEST = 8192

PARTY_TOLD = "mcp_binance_server.party"
"""Scope key of the party of a request that another process has admitted."""

MOST = 10_000
CLAIMS = frozenset({b"authorization", API_KEY, SECRET_KEY})


class KeysRefused(Exception):
    """The keys of a request are refused. The text gives the reason and no part of the keys."""


class KeysMisplaced(KeysRefused):
    """A request sent keys in a session that was opened without keys. The text says what to do."""

    def __init__(self) -> None:
        super().__init__(
            "This session was opened without these keys. Open a new session with them: send initialize without a "
            "session id, with X-Binance-Api-Key and X-Binance-Secret-Key"
        )


def principal_in(scope: Scope) -> Principal | None:
    """Return the principal of the API key in the headers. Return None without a key.

    Raises:
        KeysRefused: the key is incomplete, sent twice or invalid, or others could read the connection.
    """
    keys, secrets = _values(scope["headers"], API_KEY), _values(scope["headers"], SECRET_KEY)
    if not keys and not secrets:
        return None
    if len(keys) != 1 or len(secrets) != 1:
        raise KeysRefused("X-Binance-Api-Key and X-Binance-Secret-Key must be sent together, each once")
    if not arrival_of(scope).is_private:
        raise KeysRefused(KEYS_READABLE)
    try:
        return Principal.of(Credentials(_text(keys[0]), _text(secrets[0])))
    except (ValueError, SettingsError):
        raise KeysRefused("These headers are not a valid Binance key and secret") from None


def named_key(scope: Scope) -> bytes | None:
    """Return the API key in the headers, unchecked."""
    return next(iter(_values(scope["headers"], API_KEY)), None)


def _values(headers: Iterable[tuple[bytes, bytes]], wanted: bytes) -> list[bytes]:
    return [value for name, value in headers if name == wanted]


def _text(value: bytes) -> str:
    text = value.decode("ascii").strip()
    if not text or len(text) > LONGEST or not text.isprintable():
        raise ValueError
    # A PEM key has line breaks, which a header cannot contain. They are sent as backslash and n.
    return text.replace("\\n", "\n")


def claim_of(headers: Iterable[tuple[bytes, bytes]]) -> bytes | None:
    """Return a hash of the secrets in the headers (the claim of a request). Return None without secrets."""
    shown = [name + b" " + value for name, value in headers if name in CLAIMS]
    return blake2b(b"\n".join(sorted(shown)), digest_size=16).digest() if shown else None


class Claims:
    """LRU cache of parties by claim, which is a hash of the secrets in a request.

    A client can invent tokens. So an unknown claim counts for the client's address until a request with this claim is
    admitted.
    """

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._parties: dict[bytes, str] = {}

    def claim(self, scope: Scope) -> bytes | None:
        return claim_of(scope.get("headers", ()))

    def party(self, claim: bytes | None, scope: Scope) -> str:
        known = None if claim is None else self._parties.get(claim)
        if known is not None:
            return known
        client = scope.get("client")
        return party_of(LOCAL, None, client[0] if client else "")

    def learn(self, claim: bytes | None, scope: Scope) -> bool:
        """Store the party of an admitted request. Return True if the claim had no party, or another party."""
        caller: Caller | None = scope.get(CALLER)
        party = caller.party if caller is not None else scope.get(PARTY_TOLD, "")
        if claim is None or not party:
            return False
        before = self._parties.pop(claim, None)
        self._parties[claim] = party
        if len(self._parties) > self._most:
            del self._parties[next(iter(self._parties))]
        return party != before
