"""Whose account a signed call is for."""

from dataclasses import dataclass, field
from hashlib import sha256

from mcp_binance_server.domain.credentials import Credentials
from mcp_binance_server.exchange.signing import Signer, signer_for

MOST_ACCEPTED = 4_096


@dataclass(frozen=True, slots=True)
class Principal:
    """A key, and what signs with it."""

    credentials: Credentials
    signer: Signer = field(repr=False)

    @classmethod
    def of(cls, credentials: Credentials) -> "Principal":
        """Return the principal of a key.

        Raises:
            SettingsError: the private key cannot be used.
        """
        return cls(credentials, signer_for(credentials))


class AcceptedKeys:
    """Which keys the exchange has answered with a success, the newest of them; their hashes are all that is kept."""

    def __init__(self, most: int = MOST_ACCEPTED) -> None:
        self._most = most
        self._hashes: dict[bytes, None] = {}

    def add(self, principal: Principal) -> None:
        known = _hash_of(principal)
        self._hashes.pop(known, None)
        self._hashes[known] = None
        if len(self._hashes) > self._most:
            del self._hashes[next(iter(self._hashes))]

    def __contains__(self, principal: Principal) -> bool:
        return _hash_of(principal) in self._hashes


def _hash_of(principal: Principal) -> bytes:
    # The secret too: whoever knows an API key alone must not pass for its owner.
    held = principal.credentials
    return sha256(f"{held.api_key}\n{held.secret}".encode()).digest()
