"""Signatures that were verified: a client sends the same token with every request, and verifying costs most."""

from dataclasses import dataclass, field
from hashlib import sha256

from mcp_binance_server.transports.http.auth.key_set import KeySet

MOST = 512


@dataclass(frozen=True, slots=True)
class Proof:
    """What a token says, and the keys by which it was proven; with other keys it proves nothing."""

    payload: bytes = field(repr=False)
    keys: KeySet


class Proven:
    """The last proofs, by the hash of their token: no token is kept, and who has no good one adds nothing."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._proofs: dict[bytes, Proof] = {}

    def find(self, token: str) -> Proof | None:
        digest = _digest(token)
        proof = self._proofs.pop(digest, None)
        if proof is not None:
            self._proofs[digest] = proof  # the last to go
        return proof

    def keep(self, token: str, proof: Proof) -> None:
        self._proofs[_digest(token)] = proof
        if len(self._proofs) > self._most:
            del self._proofs[next(iter(self._proofs))]

    def __len__(self) -> int:
        return len(self._proofs)


def _digest(token: str) -> bytes:
    return sha256(token.encode("ascii")).digest()
