"""An approval apart from the assistant: a signature over exactly one order, by a key that only a person can open.

The server knows the public half alone, so neither it nor anything that talks to it can approve. The private half lies
encrypted under a passphrase that is asked for on a terminal.
"""

import base64
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from mcp_binance_server.trading.judgement.terms import PreviewId, Terms

APPROVER_FILE = "approver.pem"
MOST_WRONG = 5
PUBLIC_PART = b"-----BEGIN PUBLIC KEY-----"
FINGERPRINT_LENGTH = 16


class WrongPassphrase(Exception):
    """The passphrase does not open the approver's key."""


@dataclass(frozen=True, slots=True, repr=False)
class UnsealedApprover:
    """A key that was just made, and is nowhere but in memory."""

    key: Ed25519PrivateKey

    @classmethod
    def made(cls) -> "UnsealedApprover":
        return cls(Ed25519PrivateKey.generate())

    @property
    def public(self) -> str:
        """The half that the policy names."""
        return _written(self.key.public_key())

    def sealed(self, passphrase: str) -> "NewApprover":
        """Close it, so that only this passphrase opens it; beside it the public half lies open."""
        sealed = self.key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.BestAvailableEncryption(passphrase.encode()),
        )
        beside = self.key.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )
        return NewApprover(sealed + beside, self.public)


@dataclass(frozen=True, slots=True)
class NewApprover:
    """A key that was just made: sealed for the disk, and the half that the policy names."""

    sealed: bytes
    public: str

    def __repr__(self) -> str:
        return f"NewApprover({self.public})"


def new_approver(passphrase: str) -> NewApprover:
    """Make a key that only this passphrase opens."""
    return UnsealedApprover.made().sealed(passphrase)


def sign(sealed: bytes, passphrase: str, terms: Terms, preview_id: PreviewId) -> str:
    """Approve exactly these terms.

    Raises:
        WrongPassphrase: the key stays closed.
    """
    return base64.b64encode(_opened(sealed, passphrase).sign(terms.approval_digest(preview_id))).decode()


def opened_public(sealed: bytes, passphrase: str) -> str | None:
    """Return the public half of the key, as a policy names it; None if the passphrase is not the approver's."""
    try:
        return _written(_opened(sealed, passphrase).public_key())
    except WrongPassphrase:
        return None


def told_public(sealed: bytes) -> str | None:
    """Return the public half that a file tells by itself; None of one that does not, as earlier versions made them.

    It says which key to look for. What the passphrase opens decides.
    """
    with suppress(ValueError, UnsupportedAlgorithm):
        key = serialization.load_pem_public_key(sealed[sealed.index(PUBLIC_PART) :])
        if isinstance(key, Ed25519PublicKey):
            return _written(key)
    return None


def fingerprint(public: str) -> str:
    """Return a short name of a public half, for people to compare."""
    return sha256(base64.b64decode(public)).hexdigest()[:FINGERPRINT_LENGTH]


def is_public_key(text: str) -> bool:
    """Tell whether a text is the public half of an approver's key."""
    try:
        _public(text)
    except (ValueError, UnsupportedAlgorithm):
        return False
    return True


def is_sealed(data: bytes) -> bool:
    """Tell whether this is a private key that a passphrase closes."""
    try:
        serialization.load_pem_private_key(data, None)
    except TypeError:  # it is one, and asks for its passphrase
        return True
    except (ValueError, UnsupportedAlgorithm):
        return False
    return False


def is_approved(public: str, terms: Terms, preview_id: PreviewId, signature: str, now_ms: int) -> bool:
    """Tell whether the approver agreed to exactly this, and it still stands."""
    if now_ms >= terms.expires_ms:
        return False
    try:
        _public(public).verify(base64.b64decode(signature, validate=True), terms.approval_digest(preview_id))
    except (InvalidSignature, ValueError):
        return False
    return True


def _public(text: str) -> Ed25519PublicKey:
    key = serialization.load_der_public_key(base64.b64decode(text, validate=True))
    if not isinstance(key, Ed25519PublicKey):
        raise ValueError("not an Ed25519 key")  # noqa: TRY004 - as of every other text that is none
    return key


def _written(key: Ed25519PublicKey) -> str:
    public = key.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    return base64.b64encode(public).decode()


def _opened(sealed: bytes, passphrase: str) -> Ed25519PrivateKey:
    try:
        key = serialization.load_pem_private_key(sealed, passphrase.encode())
    except (ValueError, TypeError):
        raise WrongPassphrase from None
    if not isinstance(key, Ed25519PrivateKey):
        raise WrongPassphrase
    return key
