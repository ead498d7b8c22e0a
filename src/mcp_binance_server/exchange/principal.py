"""Whose account a signed call is for."""

from dataclasses import dataclass, field

from mcp_binance_server.domain.credentials import Credentials
from mcp_binance_server.exchange.signing import Signer, signer_for


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
