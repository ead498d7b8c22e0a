"""Identity of a caller, its scopes, and its API key. A key is never shown."""

from base64 import b32encode
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import sha256
from ipaddress import IPv6Address, ip_address
from typing import Generic, Literal, TypeVar, get_args

Scope = Literal["market:read", "account:read", "trade"]
SCOPES: frozenset[Scope] = frozenset(get_args(Scope))
ANONYMOUS = "anybody"

SHORTEST_SHOWN = 16
_KEY_ID = b"mcp-binance-server key v1\0"
_KEY_ID_CHARACTERS = 16

HeldT = TypeVar("HeldT")


@dataclass(frozen=True, slots=True)
class Visitor:
    """Sender of a request. Each sender has a unique `name`, and senders never share private data."""

    name: str = ANONYMOUS
    scopes: frozenset[Scope] = SCOPES

    @property
    def is_known(self) -> bool:
        """Whether the sender was authenticated."""
        return self.name != ANONYMOUS

    def lacks(self, needed: frozenset[Scope]) -> frozenset[Scope]:
        return needed - self.scopes


LOCAL = Visitor()
"""The only user of a local process, or any sender where authentication is off."""

PARTY: ContextVar[str] = ContextVar("party", default="")
"""Party that the limits charge for the current work: a token, a key or an address. "" is this process itself."""


@contextmanager
def acting_for(party: str) -> Generator[None]:
    """Attribute the work in this block, and all tasks that it starts, to a party."""
    before = PARTY.set(party)
    try:
        yield
    finally:
        PARTY.reset(before)


def party_of(visitor: Visitor, accepted_key: str | None, address: str) -> str:
    """Return the party of a caller: a hash that hides the identity from logs and from the state engine.

    A key identifies a caller only after the exchange has accepted it. Otherwise a client could invent a new key for
    each request.
    """
    if visitor.is_known:
        told = f"token {visitor.name}"
    elif accepted_key is not None:
        told = f"key {accepted_key}"
    else:
        return _party_of_address(address)
    return _hashed(told)


@lru_cache(maxsize=512)  # called twice per request
def _party_of_address(address: str) -> str:
    return _hashed(f"address {client_of(address)}")


def _hashed(told: str) -> str:
    return sha256(told.encode()).hexdigest()[:20]


def client_of(remote_addr: str) -> str:
    """Return the client behind an IP address.

    For IPv6 this is the /64 network, because one subscriber can use a new address for each request.
    """
    try:
        address = ip_address(remote_addr)
    except ValueError:
        return remote_addr
    if isinstance(address, IPv6Address):
        return str(address.ipv4_mapped) if address.ipv4_mapped else f"{int(address) >> 64:x}::/64"
    return str(address)


def mask(key: str) -> str:
    """Return the first and last four characters of a key. A short key is hidden completely."""
    return f"{key[:4]}****{key[-4:]}" if len(key) >= SHORTEST_SHOWN else "****"


def key_id(api_key: str) -> str:
    """Return the ID that the operator's limits and the order journal use instead of the key."""
    digest = b32encode(sha256(_KEY_ID + api_key.encode()).digest()).decode()
    return f"k-{digest[:_KEY_ID_CHARACTERS].lower()}"


@dataclass(frozen=True, slots=True)
class Credentials:
    """An API key with its HMAC secret, or with an Ed25519 or RSA private key in PEM."""

    api_key: str = field(repr=False)
    secret: str = field(repr=False)

    @property
    def masked(self) -> str:
        return mask(self.api_key)

    @property
    def key_id(self) -> str:
        return key_id(self.api_key)

    @property
    def is_pem(self) -> bool:
        return "-----BEGIN" in self.secret

    def __repr__(self) -> str:
        return f"Credentials({self.masked})"

    __str__ = __repr__

    def __reduce__(self) -> str:
        """Refuse to be pickled: a pickle is a copy of the secret."""
        raise TypeError("Credentials cannot be pickled")


class Vault(Generic[HeldT]):
    """Container for one secret value until it is wiped. The value cannot be printed or copied."""

    __slots__ = ("_held",)

    def __init__(self, held: HeldT | None = None) -> None:
        self._held = held

    def read(self) -> HeldT | None:
        """Return the value, or None after a wipe."""
        return self._held

    def wipe(self) -> None:
        """Drop the reference to the value. Python cannot overwrite a string in memory."""
        self._held = None

    def __repr__(self) -> str:
        return f"Vault({'empty' if self._held is None else '****'})"

    def __reduce__(self) -> str:
        """Refuse pickling and copying: a copy of the secret would never be wiped."""
        raise TypeError("a Vault cannot be pickled or copied")
