"""A Binance key and its secret, in a form that cannot be printed by accident."""

from dataclasses import dataclass, field

SHORTEST_SHOWN = 16


def mask(key: str) -> str:
    """Show the first and the last four characters of a key; nothing of a short one."""
    return f"{key[:4]}****{key[-4:]}" if len(key) >= SHORTEST_SHOWN else "****"


@dataclass(frozen=True, slots=True)
class Credentials:
    """An API key with either its HMAC secret or the PEM of its Ed25519 or RSA private key."""

    api_key: str = field(repr=False)
    secret: str = field(repr=False)

    @property
    def masked(self) -> str:
        return mask(self.api_key)

    @property
    def is_pem(self) -> bool:
        return "-----BEGIN" in self.secret

    def __repr__(self) -> str:
        return f"Credentials({self.masked})"

    __str__ = __repr__

    def __reduce__(self) -> str:
        """Refuse to be pickled: a pickle is a copy of the secret."""
        raise TypeError("Credentials cannot be pickled")
