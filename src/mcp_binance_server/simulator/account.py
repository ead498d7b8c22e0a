"""An account of the simulator and its three kinds of API key."""

import hashlib
import string
from functools import cached_property

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from mcp_binance_server.simulator.noise import draws

ALPHABET = string.ascii_letters + string.digits


class DemoAccount:
    """Keys that open the simulated account and nothing else; all but the RSA pair follow from the seed."""

    def __init__(self, seed: int) -> None:
        self.api_key = _token(seed, "hmac key")
        self.secret_key = _token(seed, "hmac secret")
        self.ed25519_api_key = _token(seed, "ed25519 key")
        self.rsa_api_key = _token(seed, "rsa key")
        self._seed = seed

    def knows(self, key: str) -> bool:
        """Tell whether an API key is one of this account's."""
        return key in {self.api_key, self.ed25519_api_key, self.rsa_api_key}

    def __repr__(self) -> str:
        return "DemoAccount(keys hidden)"

    @cached_property
    def ed25519(self) -> Ed25519PrivateKey:
        return Ed25519PrivateKey.from_private_bytes(hashlib.sha256(f"ed25519|{self._seed}".encode()).digest())

    @cached_property
    def rsa(self) -> RSAPrivateKey:
        return generate_private_key(public_exponent=65537, key_size=2048)

    @property
    def ed25519_private_key_pem(self) -> str:
        return _pem(self.ed25519)

    @property
    def rsa_private_key_pem(self) -> str:
        return _pem(self.rsa)


def _token(seed: int, purpose: str) -> str:
    return "".join(ALPHABET[draw % len(ALPHABET)] for draw in draws(64, seed, purpose))


def _pem(key: Ed25519PrivateKey | RSAPrivateKey) -> str:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
