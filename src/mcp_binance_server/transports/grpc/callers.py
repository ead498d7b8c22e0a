"""Identification of gRPC callers by metadata and route. Secrets are neither stored nor logged."""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote

from mcp_binance_server.domain.access import LOCAL, Credentials, Vault, Visitor, party_of
from mcp_binance_server.errors import InvalidArguments, SettingsError
from mcp_binance_server.exchange.signing import AcceptedKeys, Principal
from mcp_binance_server.surface.caller import Caller
from mcp_binance_server.transports.arrival import KEYS_READABLE, Proxies

API_KEY = "x-binance-api-key"
SECRET_KEY = "x-binance-secret-key"  # noqa: S105 - the name of a header, not a secret
# Text metadata cannot contain line breaks, but a PEM key does: it is sent as binary metadata.
SECRET_PEM = "x-binance-secret-key-bin"  # noqa: S105 - the name of a header, not a secret
CREDENTIALS = (API_KEY, SECRET_KEY, SECRET_PEM)

Metadata = Iterable[tuple[str, str | bytes]]
Authenticate = Callable[[Mapping[str, str]], Awaitable[Visitor]]
"""Identifies a visitor by the text metadata, or raises TokenRefused."""


@dataclass(frozen=True, slots=True)
class Callers:
    """Rules for callers: authentication, own API keys, and use of the server's key.

    Without an authenticator every caller is admitted. A caller without a key can use the server's key if the caller's
    route allows this.
    """

    own: Principal | None = field(repr=False)
    authenticate: Authenticate | None = None
    proxies: Proxies = field(default_factory=Proxies)
    is_tls: bool = False
    accepted: AcceptedKeys = field(default_factory=AcceptedKeys, repr=False)

    async def of(self, metadata: Metadata, peer: str) -> Caller:
        """Return the caller behind a call's metadata and peer address.

        Raises:
            TokenRefused: the authenticator refused the caller.
            InvalidArguments: the API key is incomplete, sent twice or invalid, or others on the route could read it.
        """
        told = _single(metadata)
        arrival = self.proxies.arrival(address_of(peer), _headers(told), is_tls=self.is_tls)
        visitor = LOCAL
        if self.authenticate is not None:
            words = {name: value for name, value in told.items() if isinstance(value, str) and name not in CREDENTIALS}
            visitor = await self.authenticate(words)
        principal = _principal(told)
        if principal is not None and not arrival.is_private:
            raise InvalidArguments(summary=KEYS_READABLE)
        key = principal.credentials.api_key if principal is not None and principal in self.accepted else None
        party = party_of(visitor, key, address_of(peer) or peer)
        return Caller(visitor, Vault(principal or (self.own if arrival.allows_server_key(visitor) else None)), party)


def address_of(peer: str) -> str | None:
    """Return the IP address in a gRPC peer name such as `ipv4:127.0.0.1:1` or `ipv6:%5B::1%5D:1`.

    Return None for `unix:…`.
    """
    family, _, rest = unquote(peer).partition(":")
    return rest.rpartition(":")[0].strip("[]") if family in ("ipv4", "ipv6") else None


def _headers(told: Mapping[str, str | bytes]) -> list[tuple[bytes, bytes]]:
    return [(name.encode(), value.encode() if isinstance(value, str) else value) for name, value in told.items()]


def _single(metadata: Metadata) -> dict[str, str | bytes]:
    told: dict[str, str | bytes] = {}
    for name, value in metadata:
        if name in told and name in ("authorization", *CREDENTIALS):
            raise InvalidArguments(summary=f"The metadata {name} was sent twice")
        told[name] = value
    return told


def _principal(told: Mapping[str, str | bytes]) -> Principal | None:
    given = [name for name in CREDENTIALS if told.get(name)]
    if not given:
        return None
    if API_KEY not in given or len(given) != 2:
        raise InvalidArguments(
            summary=f"The metadata {API_KEY} and {SECRET_KEY} (or {SECRET_PEM}) must be sent together"
        )
    key, secret = (_text(name, told[name]) for name in given)
    try:
        return Principal.of(Credentials(key, secret))
    except SettingsError as error:
        raise InvalidArguments(summary=f"The metadata {given[1]} cannot be used: {error.problems[0]}") from None


def _text(name: str, value: str | bytes) -> str:
    text = value if isinstance(value, str) else value.decode("ascii", errors="replace")
    if not text.isascii():
        raise InvalidArguments(summary=f"The metadata {name} must be plain ASCII")
    return text.strip()
