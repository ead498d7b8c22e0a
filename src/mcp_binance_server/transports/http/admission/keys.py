"""Keys in headers, and what a request claims before it is proven."""

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
"""Where the party of a request stands that another process let in."""

MOST = 10_000
CLAIMS = frozenset({b"authorization", API_KEY, SECRET_KEY})


class KeysRefused(Exception):
    """Keys that are not taken; the text says why and holds nothing of them."""


class KeysMisplaced(KeysRefused):
    """Keys in the middle of a session that was opened without them; the text says what to do."""

    def __init__(self) -> None:
        super().__init__(
            "This session was opened without these keys. Open a new session with them: send initialize without a "
            "session id, with X-Binance-Api-Key and X-Binance-Secret-Key"
        )


def principal_in(scope: Scope) -> Principal | None:
    """Return whose account the request's own keys open; None without keys.

    Raises:
        KeysRefused: half a pair, a pair twice, characters no key has, or keys over a line that others can read.
    """
    keys, secrets = _values(scope["headers"], API_KEY), _values(scope["headers"], SECRET_KEY)
    if not keys and not secrets:
        return None
    if len(keys) != 1 or len(secrets) != 1:
        raise KeysRefused("X-Binance-Api-Key and X-Binance-Secret-Key belong together, each once")
    if not arrival_of(scope).is_private:
        raise KeysRefused(KEYS_READABLE)
    try:
        return Principal.of(Credentials(_text(keys[0]), _text(secrets[0])))
    except (ValueError, SettingsError):
        raise KeysRefused("These headers hold no Binance key") from None


def named_key(scope: Scope) -> bytes | None:
    """Return the API key a request names, without looking at anything else."""
    return next(iter(_values(scope["headers"], API_KEY)), None)


def _values(headers: Iterable[tuple[bytes, bytes]], wanted: bytes) -> list[bytes]:
    return [value for name, value in headers if name == wanted]


def _text(value: bytes) -> str:
    text = value.decode("ascii").strip()
    if not text or len(text) > LONGEST or not text.isprintable():
        raise ValueError
    # A PEM has lines and a header has not: they come as the two characters that stand for a line's end.
    return text.replace("\\n", "\n")


def claim_of(headers: Iterable[tuple[bytes, bytes]]) -> bytes | None:
    """Return what stands for the secrets that a request shows; None when it shows none."""
    shown = [name + b" " + value for name, value in headers if name in CLAIMS]
    return blake2b(b"\n".join(sorted(shown)), digest_size=16).digest() if shown else None


class Claims:
    """Remembers which party the last claims have turned out to be.

    Anybody can invent tokens: what was never let in counts for its address, however often it changes its name.
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
        """Keep in mind who it was, once a request has been let in; tell whether that was news."""
        caller: Caller | None = scope.get(CALLER)
        party = caller.party if caller is not None else scope.get(PARTY_TOLD, "")
        if claim is None or not party:
            return False
        before = self._parties.pop(claim, None)
        self._parties[claim] = party
        if len(self._parties) > self._most:
            del self._parties[next(iter(self._parties))]
        return party != before
