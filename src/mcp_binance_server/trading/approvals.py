"""Approval of one order outside the assistant: an Ed25519 signature over its exact terms.

The server knows only the public key, so neither the server nor its clients can approve an order. The private key is
encrypted with a passphrase that is asked for on a terminal.
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
    """The passphrase does not decrypt the key of the approver."""


@dataclass(frozen=True, slots=True, repr=False)
class UnsealedApprover:
    """A newly generated key that is not yet encrypted and exists only in memory."""

    key: Ed25519PrivateKey

    @classmethod
    def made(cls) -> "UnsealedApprover":
        return cls(Ed25519PrivateKey.generate())

    @property
    def public(self) -> str:
        """The public key in the format of the policy file: base64 of the DER encoding."""
        return _written(self.key.public_key())

    def sealed(self, passphrase: str) -> "NewApprover":
        """Return the key encrypted with the passphrase, followed by the unencrypted public key."""
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
    """New approver: the encrypted key file, and the public key for the policy."""

    sealed: bytes
    public: str

    def __repr__(self) -> str:
        return f"NewApprover({self.public})"


def new_approver(passphrase: str) -> NewApprover:
    """Generate a key and encrypt it with the passphrase."""
    return UnsealedApprover.made().sealed(passphrase)


def sign(sealed: bytes, passphrase: str, terms: Terms, preview_id: PreviewId) -> str:
    """Return the signature that approves exactly these terms.

    Raises:
        WrongPassphrase: the passphrase does not decrypt the key.
    """
    return base64.b64encode(_opened(sealed, passphrase).sign(terms.approval_digest(preview_id))).decode()


def opened_public(sealed: bytes, passphrase: str) -> str | None:
    """Return the public key in the format of the policy file, or None if the passphrase is wrong."""
    try:
        return _written(_opened(sealed, passphrase).public_key())
    except WrongPassphrase:
        return None


def public_key_hint(sealed: bytes) -> str | None:
    """Return the unencrypted public key of a file, or None if the file has none.

    Files of earlier versions have no such key. Use the result only to find the right file. Trust only the key that the
    passphrase decrypts.
    """
    with suppress(ValueError, UnsupportedAlgorithm):
        key = serialization.load_pem_public_key(sealed[sealed.index(PUBLIC_PART) :])
        if isinstance(key, Ed25519PublicKey):
            return _written(key)
    return None


def fingerprint(public: str) -> str:
    """Return a short fingerprint of a public key, for people to compare."""
    return sha256(base64.b64decode(public)).hexdigest()[:FINGERPRINT_LENGTH]


def is_public_key(text: str) -> bool:
    """Return True if the text is the public key of an approver."""
    try:
        _public(text)
    except (ValueError, UnsupportedAlgorithm):
        return False
    return True


def is_sealed(data: bytes) -> bool:
    """Return True if the data is a private key encrypted with a passphrase."""
    try:
        serialization.load_pem_private_key(data, None)
    except TypeError:  # encrypted: the error asks for the passphrase
        return True
    except (ValueError, UnsupportedAlgorithm):
        return False
    return False


def is_approved(public: str, terms: Terms, preview_id: PreviewId, signature: str, now_ms: int) -> bool:
    """Return True if the approver signed exactly these terms and they have not expired."""
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
        raise ValueError("not an Ed25519 key")  # noqa: TRY004 - ValueError as for any invalid text
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
