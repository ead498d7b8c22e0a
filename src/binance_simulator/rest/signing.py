"""Parameters and signatures, parsed as at Binance."""

import base64
import binascii
import hashlib
import hmac
import re
from decimal import Decimal
from urllib.parse import unquote_plus, unquote_to_bytes

import msgspec
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.hazmat.primitives.hashes import SHA256

from binance_simulator import refusals
from binance_simulator.account import DemoAccount

LEGAL_SYMBOL = re.compile(r"(?:(?![a-z])[\w\-.]){1,50}")
WHOLE = re.compile(refusals.WHOLE_RANGE)
SIGNING = ("recvWindow", "timestamp", "signature")

KEY_FORMAT = re.compile(r"[A-Za-z0-9]{64}")
WINDOW_FORMAT = re.compile(r"[0-9]{1,20}(\.[0-9]{1,3})?")
USUAL_WINDOW_MS = Decimal(5000)
LONGEST_WINDOW_MS = Decimal(60000)
AHEAD_MS = 1000
MICROSECONDS_FROM = 10**14  # a timestamp this large can only be microseconds


class Params:
    """Parameters as sent, percent-decoded as UTF-8."""

    def __init__(self, raw: bytes) -> None:
        fields = [field.partition("=") for field in raw.decode("utf-8", "replace").split("&") if field]
        self.pairs = [(unquote_plus(name), unquote_plus(value)) for name, _, value in fields]
        self._values = dict(self.pairs)
        self._read: set[str] = set()

    def peek(self, name: str) -> str | None:
        """Return a value without marking it as read."""
        return self._values.get(name)

    def text(self, name: str) -> str | None:
        """Read an optional value. An empty value is refused."""
        value = self._values.get(name)
        if value is None:
            return None
        self._read.add(name)
        if not value:
            raise refusals.empty(name)
        return value

    def required(self, name: str) -> str:
        """Read a mandatory value."""
        value = self.text(name)
        if value is None:
            raise refusals.missing(name)
        return value

    def whole(self, name: str) -> int | None:
        """Read an optional whole number."""
        value = self.text(name)
        if value is None:
            return None
        if not WHOLE.fullmatch(value):
            raise refusals.illegal(name, refusals.WHOLE_RANGE)
        return int(value)

    def limit(self, usual: int, most: int) -> int:
        """Read `limit`. As at Binance, a value above `most` is reduced to it."""
        value = self.whole("limit")
        if value == 0:
            raise refusals.bad_value("limit")
        return usual if value is None else min(value, most)

    def flag(self, name: str, *, usual: bool) -> bool:
        """Read an optional true or false."""
        value = self.text(name)
        if value is None:
            return usual
        if value.lower() not in {"true", "false"}:
            raise refusals.illegal(name, "^(true|false)$")
        return value.lower() == "true"

    def symbol_name(self) -> str:
        """Read the mandatory `symbol`. Unicode letters and digits are legal, and lower-case Latin letters are not."""
        return legal_symbol("symbol", self.required("symbol"))

    def symbol_names(self) -> list[str] | None:
        """Read the optional list `symbols`, a JSON array without spaces and duplicates."""
        value = self.text("symbols")
        if value is None:
            return None
        names = _name_list(value)
        if names is None or any(not LEGAL_SYMBOL.fullmatch(name) for name in names):
            raise refusals.illegal("symbols", refusals.SYMBOLS_RANGE)
        if len(set(names)) < len(names):
            raise refusals.repeated_symbol()
        return names

    def accept(self, names: tuple[str, ...]) -> None:
        """Refuse repeated parameters. If no parameters are expected, refuse all."""
        if len(self._values) < len(self.pairs):
            raise refusals.duplicate_parameter()
        if not names and self.pairs:
            raise refusals.too_many_parameters(0, len(self.pairs))

    def finish(self) -> None:
        """Refuse parameters that were not read."""
        if len(self._read) < len(self._values):
            raise refusals.unread(len(self._read), len(self._values))

    def logged(self) -> dict[str, str]:
        """Return the values without signature and API key. The WebSocket API sends the API key as a parameter."""
        return {name: value for name, value in self.pairs if name not in {"signature", "apiKey"}}


def legal_symbol(name: str, value: str) -> str:
    """Return the value if all its characters are legal in a symbol."""
    if not LEGAL_SYMBOL.fullmatch(value):
        raise refusals.illegal(name, refusals.SYMBOL_RANGE)
    return value


def _name_list(value: str) -> list[str] | None:
    try:
        names = msgspec.json.decode(value, type=list[str])
    except msgspec.DecodeError:
        return None
    # Binance's pattern allows no spaces, although JSON does.
    return None if " " in value else names


def authenticate(account: DemoAccount, key: str, raw: bytes, params: Params, now_ms: int) -> None:
    """Check key, time and signature of a signed request.

    `raw` is the query string followed by the body.

    Raises:
        Refusal: the key is not this account's, the signature is invalid, or the time is outside the window.
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
    """Return the signed payload and the signature. The signature must be the last parameter.

    Raises:
        Refusal: there is nothing before the signature, or the bytes were not percent-encoded before signing.
    """
    payload, separator, signature = raw.rpartition(b"&signature=")
    if not separator or not raw.isascii():
        raise refusals.bad_signature()
    return payload, unquote_to_bytes(signature.replace(b"+", b" "))


def hmac_valid(secret: str, payload: bytes, signature: bytes) -> bool:
    """Return whether an HMAC-SHA256 signature is valid. Its hexadecimal digits can be upper or lower case."""
    expected = hmac.new(secret.encode(), payload, hashlib.sha256).hexdigest()
    return hmac.compare_digest(expected.encode(), signature.lower())


def key_pair_valid(key: Ed25519PublicKey | RSAPublicKey, payload: bytes, signature: bytes) -> bool:
    """Return whether a base64 signature is valid: Ed25519, or RSA PKCS#1 v1.5 with SHA-256."""
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
    """Check the timestamp of a signed request.

    Raises:
        Refusal: the timestamp is missing, too old or in the future.
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
