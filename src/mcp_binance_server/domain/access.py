"""On whose behalf something is done, and with which key; a key is never shown."""

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
ANYBODY = "anybody"

SHORTEST_SHOWN = 16
_KEY_ID = b"mcp-binance-server key v1\0"
_KEY_ID_CHARACTERS = 16

HeldT = TypeVar("HeldT")


@dataclass(frozen=True, slots=True)
class Visitor:
    """Whoever sends a request: `name` tells one from every other, and no two share what is private."""

    name: str = ANYBODY
    scopes: frozenset[Scope] = SCOPES

    @property
    def is_known(self) -> bool:
        """Whether somebody was asked who this is."""
        return self.name != ANYBODY

    def lacks(self, needed: frozenset[Scope]) -> frozenset[Scope]:
        return needed - self.scopes


LOCAL = Visitor()
"""The one user of a local process, or anybody where no authentication is asked for."""

PARTY: ContextVar[str] = ContextVar("party", default="")
"""For whom the work at hand is done, as limits count: a token, a key, else an address; "" is this process itself."""


@contextmanager
def acting_for(party: str) -> Generator[None]:
    """Have what is done meanwhile, and what it starts, count for a party."""
    before = PARTY.set(party)
    try:
        yield
    finally:
        PARTY.reset(before)


def party_of(visitor: Visitor, accepted_key: str | None, address: str) -> str:
    """Name the party of a caller, so that neither a log nor the state engine learns who it is.

    A key names its caller only once the exchange has accepted it: anybody can make one up for each request.
    """
    if visitor.is_known:
        told = f"token {visitor.name}"
    elif accepted_key is not None:
        told = f"key {accepted_key}"
    else:
        return _party_of_address(address)
    return _hashed(told)


@lru_cache(maxsize=512)  # asked twice for each request
def _party_of_address(address: str) -> str:
    return _hashed(f"address {client_of(address)}")


def _hashed(told: str) -> str:
    return sha256(told.encode()).hexdigest()[:20]


def client_of(remote_addr: str) -> str:
    """Name the client behind an address: a line has a whole /64 of IPv6 and may take a new address for each request."""
    try:
        address = ip_address(remote_addr)
    except ValueError:
        return remote_addr
    if isinstance(address, IPv6Address):
        return str(address.ipv4_mapped) if address.ipv4_mapped else f"{int(address) >> 64:x}::/64"
    return str(address)


def mask(key: str) -> str:
    """Show the first and the last four characters of a key; nothing of a short one."""
    return f"{key[:4]}****{key[-4:]}" if len(key) >= SHORTEST_SHOWN else "****"


def key_id(api_key: str) -> str:
    """Name a key where it must not be told: in the operator's limits, in the journal of orders."""
    digest = b32encode(sha256(_KEY_ID + api_key.encode()).digest()).decode()
    return f"k-{digest[:_KEY_ID_CHARACTERS].lower()}"


@dataclass(frozen=True, slots=True)
class Credentials:
    """An API key with either its HMAC secret or the PEM of its Ed25519 or RSA private key."""

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
    """Holds one thing until it is wiped; neither prints it nor lets it be copied."""

    __slots__ = ("_held",)

    def __init__(self, held: HeldT | None = None) -> None:
        self._held = held

    def read(self) -> HeldT | None:
        """Return what is held; None once it is wiped."""
        return self._held

    def wipe(self) -> None:
        """Let go of it: Python cannot overwrite a string, so the reference is all there is to drop."""
        self._held = None

    def __repr__(self) -> str:
        return f"Vault({'empty' if self._held is None else '****'})"

    def __reduce__(self) -> str:
        """Refuse to be pickled or copied: both make a second secret that nobody would wipe."""
        raise TypeError("a Vault cannot be pickled or copied")
