"""Who signed a request, and when: checked over the very bytes that arrived."""

import base64
import binascii
import hashlib
import hmac
import re
from decimal import Decimal
from urllib.parse import unquote_to_bytes

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.hazmat.primitives.hashes import SHA256

from mcp_binance_server.simulator import refusals
from mcp_binance_server.simulator.account import DemoAccount
from mcp_binance_server.simulator.rest.params import Params

KEY_FORMAT = re.compile(r"[A-Za-z0-9]{64}")
WINDOW_FORMAT = re.compile(r"[0-9]{1,20}(\.[0-9]{1,3})?")
USUAL_WINDOW_MS = Decimal(5000)
LONGEST_WINDOW_MS = Decimal(60000)
AHEAD_MS = 1000
MICROSECONDS_FROM = 10**14  # a timestamp this large can only be microseconds


def authenticate(account: DemoAccount, key: str, raw: bytes, params: Params, now_ms: int) -> None:
    """Check key, time and signature of a signed request; `raw` is the query string followed by the body.

    Raises:
        Refusal: the request was not made by this account, or not now.
    """
    if not KEY_FORMAT.fullmatch(key):
        raise refusals.bad_key_format()
    if not account.knows(key):
        raise refusals.rejected_key()
    check_time(params, now_ms)
    params.required("signature")
    payload, signature = split_signature(raw)
    if key == account.api_key:
        valid = hmac_valid(account.secret_key, payload, signature)
    elif key == account.ed25519_api_key:
        valid = key_pair_valid(account.ed25519.public_key(), payload, signature)
    else:
        valid = key_pair_valid(account.rsa.public_key(), payload, signature)
    if not valid:
        raise refusals.bad_signature()


def split_signature(raw: bytes) -> tuple[bytes, bytes]:
    """Return what was signed and the signature, which must come last.

    Raises:
        Refusal: there is nothing before the signature, or the bytes were not percent-encoded before signing.
    """
    payload, separator, signature = raw.rpartition(b"&signature=")
    if not separator or not raw.isascii():
        raise refusals.bad_signature()
    return payload, unquote_to_bytes(signature.replace(b"+", b" "))


def hmac_valid(secret: str, payload: bytes, signature: bytes) -> bool:
    """Check an HMAC-SHA256 in hexadecimal, either case."""
    expected = hmac.new(secret.encode(), payload, hashlib.sha256).hexdigest()
    return hmac.compare_digest(expected.encode(), signature.lower())


def key_pair_valid(key: Ed25519PublicKey | RSAPublicKey, payload: bytes, signature: bytes) -> bool:
    """Check an Ed25519 or RSA PKCS#1 v1.5 SHA-256 signature in base64."""
    try:
        decoded = base64.b64decode(signature, validate=True)
        if isinstance(key, Ed25519PublicKey):
            key.verify(decoded, payload)
        else:
            key.verify(decoded, payload, PKCS1v15(), SHA256())
    except (InvalidSignature, binascii.Error):
        return False
    return True


def check_time(params: Params, now_ms: int) -> None:
    """Check that a signed request was made now.

    Raises:
        Refusal: its timestamp is missing, early or late.
    """
    sent = params.whole("timestamp")
    if sent is None:
        raise refusals.missing("timestamp")
    window = params.text("recvWindow")
    if window is not None and not WINDOW_FORMAT.fullmatch(window):
        raise refusals.illegal("recvWindow", refusals.DECIMAL_RANGE)
    window_ms = USUAL_WINDOW_MS if window is None else Decimal(window)
    if window_ms > LONGEST_WINDOW_MS:
        raise refusals.bad_window()
    sent_ms = sent // 1000 if sent >= MICROSECONDS_FROM else sent
    if sent_ms >= now_ms + AHEAD_MS:
        raise refusals.early()
    if now_ms - sent_ms > window_ms:
        raise refusals.late()
