"""The demo account: keys, permissions and limits."""

import hashlib
import string
from functools import cached_property

import msgspec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from binance_simulator import refusals
from binance_simulator.market.noise import draws

ALPHABET = string.ascii_letters + string.digits

MINUTE_MS = 60_000
FIRST_BAN_MS = 120_000
LONGEST_BAN_MS = 3 * 24 * 3_600_000


class DemoAccount:
    """Keys that only the simulated account accepts. They are derived from the seed, except the RSA pair."""

    def __init__(self, seed: int) -> None:
        self.api_key = _token(seed, "hmac key")
        self.secret_key = _token(seed, "hmac secret")
        self.ed25519_api_key = _token(seed, "ed25519 key")
        self.rsa_api_key = _token(seed, "rsa key")
        self._seed = seed

    def knows(self, key: str) -> bool:
        """Return whether an API key belongs to this account."""
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


class WeightMeter:
    """Request weight used in the current minute. A caller that ignores 429 answers is banned."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.calls_before_ban = 0
        self._minute: int = 0
        self._used = 0
        self._ignored = -1
        self._bans = 0
        self._banned_until_ms = 0

    def used(self, now_ms: int) -> int:
        """Return the weight used in the minute that contains `now_ms`."""
        self._turn(now_ms)
        return self._used

    def charge(self, weight: int, now_ms: int) -> None:
        """Charge the weight of a request to the current minute.

        Raises:
            Refusal: the limit of the minute is exceeded (429), or the caller is banned (418).
        """
        self._turn(now_ms)
        if now_ms < self._banned_until_ms:
            raise self._banned(now_ms)
        self._used += weight
        if self._ignored >= self.calls_before_ban:
            self._banned_until_ms = now_ms + min(LONGEST_BAN_MS, FIRST_BAN_MS << self._bans)
            self._bans += 1
            raise self._banned(now_ms)
        if self._ignored >= 0 or self._used > self.limit:
            self._ignored += 1
            until_ms = (now_ms // MINUTE_MS + 1) * MINUTE_MS
            raise refusals.too_much_weight(self.limit, until_ms, self.retry_after_secs(now_ms))

    def give_back(self, weight: int, now_ms: int) -> None:
        """Refund charged weight, because a successful order costs none."""
        self._turn(now_ms)
        self._used = max(0, self._used - weight)

    def retry_after_secs(self, now_ms: int) -> int:
        """Return the seconds until the minute ends, rounded up."""
        return -(-(MINUTE_MS - now_ms % MINUTE_MS) // 1000)

    def _banned(self, now_ms: int) -> refusals.Refusal:
        return refusals.banned(self._banned_until_ms, -(-(self._banned_until_ms - now_ms) // 1000))

    def _turn(self, now_ms: int) -> None:
        minute = now_ms // MINUTE_MS
        if minute != self._minute:
            self._minute, self._used, self._ignored = minute, 0, -1


class KeyRights(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Permissions of the keys, as on Binance's page for API keys.

    `address_listed` means that the caller's address is on the key's allow list.
    """

    reading: bool = True
    trading: bool = False
    withdrawals: bool = False
    internal_transfer: bool = False
    universal_transfer: bool = False
    margin: bool = False
    futures: bool = False
    vanilla_options: bool = False
    portfolio_margin: bool = False
    fix_api_trade: bool = False
    fix_read_only: bool = False
    ip_restricted: bool = True
    address_listed: bool = True

    def check_address(self) -> None:
        """Refuse a caller whose address is not on the allow list. This check comes before the signature."""
        if self.ip_restricted and not self.address_listed:
            raise refusals.rejected_address()

    def check(self, *, trading: bool) -> None:
        """Refuse a key that may not read, or with `trading` one that may not trade."""
        if not (self.trading if trading else self.reading):
            raise refusals.rejected_key()
