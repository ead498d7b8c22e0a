"""A document of public keys, read: which of them may verify which algorithm."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec

from mcp_binance_server.transports.http.auth.trust import FAMILIES

if TYPE_CHECKING:
    from jwt import PyJWK

LOG = logging.getLogger(__name__)

MOST_KEYS = 64


@dataclass(frozen=True, slots=True, eq=False)
class Key:
    """One public key, bound to one algorithm when it was read: no token can choose another for it."""

    kid: str | None
    algorithm: str
    verifier: "PyJWK" = field(repr=False)


@dataclass(frozen=True, slots=True, eq=False)
class KeySet:
    """The keys of an issuer; `document` tells one state of them from another."""

    keys: tuple[Key, ...]
    document: bytes = field(repr=False)

    def fitting(self, kid: str | None, algorithm: str) -> tuple[Key, ...]:
        """Return the keys that a token may mean: the named one, or all of its algorithm when it names none."""
        return tuple(key for key in self.keys if key.algorithm == algorithm and kid in (None, key.kid))


class _Document(msgspec.Struct):
    keys: list[dict[str, Any]]


def read_key_set(document: bytes, algorithms: Sequence[str]) -> KeySet:
    """Read a JWKS; keys for other purposes or algorithms, and broken ones, are left out.

    Raises:
        ValueError: it is no JWKS.
    """
    try:
        listed = msgspec.json.decode(document, type=_Document).keys
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise ValueError("the answer is no JWKS") from None
    if len(listed) > MOST_KEYS:
        raise ValueError(f"there are more than {MOST_KEYS} keys")
    keys = tuple(key for jwk in listed for key in _keys_of(jwk, algorithms))
    if not keys:
        LOG.warning("the issuer publishes no key for %s: no token can be accepted", ", ".join(algorithms))
    return KeySet(keys, document)


def _keys_of(jwk: dict[str, Any], algorithms: Sequence[str]) -> list[Key]:
    from jwt import PyJWK  # noqa: PLC0415 - a quarter of a second, and only servers with an issuer need it
    from jwt.exceptions import PyJWTError  # noqa: PLC0415 - likewise

    keys: list[Key] = []
    for algorithm in algorithms:
        if not _may_verify(jwk, algorithm):
            continue
        try:
            verifier = PyJWK(jwk, algorithm)
            weakness = verifier.Algorithm.check_key_length(verifier.key)
        except (PyJWTError, ValueError, TypeError, KeyError):
            weakness = "it cannot be read"
        else:
            if weakness is None:
                keys.append(Key(verifier.key_id, algorithm, verifier))
                continue
        LOG.warning("a key of the issuer is left out: %s", weakness)
    return keys


def _may_verify(jwk: dict[str, Any], algorithm: str) -> bool:
    family = FAMILIES[algorithm]
    operations = jwk.get("key_ops")
    return (
        jwk.get("kty") == family.kty
        and (family.crv is None or jwk.get("crv") == family.crv)
        and jwk.get("alg", algorithm) == algorithm
        and jwk.get("use", "sig") == "sig"
        and (operations is None or (isinstance(operations, list) and "verify" in operations))
        and isinstance(jwk.get("kid", ""), str)
        and "d" not in jwk  # a private key that was published is nobody's secret any more
    )
