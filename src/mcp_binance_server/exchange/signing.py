"""Request signatures with HMAC, Ed25519 or RSA; a private key must not have a passphrase."""

import base64
import hashlib
import hmac
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Protocol
from urllib.parse import quote

from mcp_binance_server.domain.access import Credentials
from mcp_binance_server.errors import SettingsError

MOST_ACCEPTED = 4_096


class Signer(Protocol):
    """Signer with a secret that cannot be read from it."""

    def sign(self, payload: bytes) -> str: ...


class HmacSigner:
    def __init__(self, secret: str) -> None:
        self._secret = secret.encode()

    def sign(self, payload: bytes) -> str:
        return hmac.new(self._secret, payload, hashlib.sha256).hexdigest()


class PrivateKeySigner:
    """Signer with a private key: Ed25519, or RSA with PKCS#1 v1.5 and SHA-256.

    The key is held only by the `cryptography` library.
    """

    def __init__(self, pem: str) -> None:
        # Imported late: most users have no private key, and an import at the top would slow down every start.
        from cryptography.hazmat.primitives import hashes, serialization  # noqa: PLC0415
        from cryptography.hazmat.primitives.asymmetric import ed25519, padding, rsa  # noqa: PLC0415

        try:
            key = serialization.load_pem_private_key(pem.encode(), password=None)
        except (ValueError, TypeError):
            raise SettingsError(problems=("the private key is not an unencrypted PKCS#8 PEM",)) from None
        self._sign: Callable[[bytes], bytes]
        if isinstance(key, ed25519.Ed25519PrivateKey):
            self._sign = key.sign
        elif isinstance(key, rsa.RSAPrivateKey):
            self._sign = lambda payload: key.sign(payload, padding.PKCS1v15(), hashes.SHA256())
        else:
            raise SettingsError(problems=("the private key must be Ed25519 or RSA",))

    def sign(self, payload: bytes) -> str:
        return base64.b64encode(self._sign(payload)).decode()


def signer_for(credentials: Credentials) -> Signer:
    """Return the signer for a secret: a private key in PEM format, or an HMAC secret.

    Raises:
        SettingsError: the private key cannot be used.
    """
    return PrivateKeySigner(credentials.secret) if credentials.is_pem else HmacSigner(credentials.secret)


def rest_query(params: Mapping[str, str | int]) -> str:
    """Format parameters as the query string that is both signed and sent."""
    # urlencode writes a blank as "+", which the exchange does not decode.
    return "&".join(f"{name}={quote(str(value), safe='')}" for name, value in params.items())


def signed_query(params: Mapping[str, str | int], signer: Signer) -> str:
    """Return the query string with its signature as the last parameter."""
    query = rest_query(params)
    return f"{query}&signature={quote(signer.sign(query.encode()), safe='')}"


def socket_payload(params: Mapping[str, str | int]) -> str:
    """Format the parameters of a WebSocket API request for its signature: sorted by name, UTF-8, not URL-encoded."""
    return "&".join(f"{name}={params[name]}" for name in sorted(params))


@dataclass(frozen=True, slots=True)
class Principal:
    """An account's API key, with the signer for its secret."""

    credentials: Credentials
    signer: Signer = field(repr=False)

    @classmethod
    def of(cls, credentials: Credentials) -> "Principal":
        """Return the principal for a pair of key and secret.

        Raises:
            SettingsError: the private key cannot be used.
        """
        return cls(credentials, signer_for(credentials))

    @property
    def key_id(self) -> str:
        """Public ID of the key, from which the key cannot be derived."""
        return self.credentials.key_id


class AcceptedKeys:
    """Cache of the keys that the exchange has accepted, as hashes; the newest are kept."""

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
    # The hash includes the secret: a caller with the API key alone must not count as its owner.
    held = principal.credentials
    return sha256(f"{held.api_key}\n{held.secret}".encode()).digest()
