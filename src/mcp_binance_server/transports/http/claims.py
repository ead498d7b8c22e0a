"""For whom a request says it is, before anybody has looked whether that is so."""

from collections.abc import Iterable
from hashlib import blake2b

from starlette.types import Scope

from mcp_binance_server.domain.access import LOCAL, party_of
from mcp_binance_server.surface.caller import CALLER, Caller
from mcp_binance_server.transports.http.keys import API_KEY, SECRET_KEY

PARTY_TOLD = "mcp_binance_server.party"
"""Where the party of a request stands that another process let in."""

MOST = 10_000
CLAIMS = frozenset({b"authorization", API_KEY, SECRET_KEY})


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
