"""Allowed hosts and origins, and requests that trusted proxies forward."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import AddressValueError, IPv4Address, IPv6Address
from typing import NamedTuple

from starlette.types import ASGIApp, Receive, Scope, Send

from mcp_binance_server.errors import SettingsError, echo
from mcp_binance_server.transports.arrival import PROTO, Arrival, Proxies

# Any port is allowed, because a server behind port forwarding does not know its public port. The port would not stop
# DNS rebinding, where the port is right and only the host name is foreign.
LOOPBACK_HOSTS = ("127.0.0.1:*", "localhost:*", "[::1]:*")
LOOPBACK_ORIGINS = tuple(f"{scheme}://{host}" for scheme in ("http", "https") for host in LOOPBACK_HOSTS)

ANY_PORT = 0
HIGHEST_PORT = 65_535
LONGEST = 300  # a host name has at most 253 characters

_HOST = re.compile(r"(?:\[([0-9a-f:.]+)\]|([a-z0-9_-]+(?:\.[a-z0-9_-]+)*))(?::([1-9][0-9]{0,4}))?")
_ORIGIN = re.compile(r"([a-z][a-z0-9+.-]*)://(.+)")
# Names that some parsers read as IP addresses: 127.1, 0x7f.1, 2130706433.
_LOOKS_LIKE_A_NUMBER = re.compile(r"(?:.*\.)?(?:[0-9]+|0x[0-9a-f]*)")

ARRIVAL = "mcp_binance_server.arrival"
"""Scope key of the request's `Arrival`."""


class HostPlace(NamedTuple):
    """A normalised host. Its port is None if none was given. Only an origin has a scheme."""

    scheme: str
    host: str
    port: int | None


@dataclass(frozen=True, slots=True)
class Allowed:
    """Hosts and origins whose requests are answered."""

    hosts: frozenset[HostPlace]
    origins: frozenset[HostPlace]

    def is_host(self, sent: Sequence[bytes]) -> bool:
        """Return True if there is exactly one Host header, and this header is valid and allowed."""
        return len(sent) == 1 and len(sent[0]) <= LONGEST and _is_listed(read_host(_text(sent[0])), self.hosts)

    def is_origin(self, sent: Sequence[bytes]) -> bool:
        """Return True if the Origin header is allowed or missing. Only browsers send it."""
        if not sent:
            return True
        return len(sent) == 1 and len(sent[0]) <= LONGEST and _is_listed(read_origin(_text(sent[0])), self.origins)


def allow(hosts: Iterable[str] = LOOPBACK_HOSTS, origins: Iterable[str] = LOOPBACK_ORIGINS) -> Allowed:
    """Parse lists of allowed hosts and origins.

    A host entry is `host`, `host:port` or `host:*`. An origin entry has `scheme://` before it. An entry without a port
    matches only requests without a port. With `:*`, an entry matches requests with any port or none.

    Raises:
        SettingsError: an entry has another form.
    """
    return Allowed(
        frozenset(_entry(each, read_host(_portless(each)), "host") for each in hosts),
        frozenset(_entry(each, read_origin(_portless(each)), "origin") for each in origins),
    )


@lru_cache(maxsize=256)  # clients repeat the same few values with every request
def read_host(text: str) -> HostPlace | None:
    """Parse a host with an optional port. Return None for any other text."""
    found = _HOST.fullmatch(text.lower()) if text.isascii() else None
    if found is None:
        return None
    sixth, name, digits = found.groups()
    port = int(digits) if digits else None
    host = _in_one_spelling(sixth, name)
    return HostPlace("", host, port) if host and (port or 0) <= HIGHEST_PORT else None


@lru_cache(maxsize=256)
def read_origin(text: str) -> HostPlace | None:
    """Parse an origin: scheme, host, optional port. Return None for `null`, a path or several origins."""
    found = _ORIGIN.fullmatch(text.lower()) if text.isascii() else None
    place = read_host(found[2]) if found else None
    return place._replace(scheme=found[1]) if found and place else None


def _in_one_spelling(sixth: str | None, name: str) -> str | None:
    try:
        if sixth is not None:
            return f"[{IPv6Address(sixth)}]"
        return str(IPv4Address(name)) if _LOOKS_LIKE_A_NUMBER.fullmatch(name) else name
    except AddressValueError:
        return None


def _is_listed(place: HostPlace | None, listed: frozenset[HostPlace]) -> bool:
    return place is not None and (place in listed or place._replace(port=ANY_PORT) in listed)


def _text(value: bytes) -> str:
    return value.decode("latin-1")


def _portless(entry: str) -> str:
    return entry.strip().removesuffix(":*")


def _entry(entry: str, place: HostPlace | None, kind: str) -> HostPlace:
    is_any = entry.strip().endswith(":*")
    if place is None or (is_any and place.port is not None):
        raise SettingsError(problems=(f"not an allowed {kind}: {echo(entry)!r}; write name, name:port or name:*",))
    return place._replace(port=ANY_PORT) if is_any else place


class Forwarded:
    """Middleware that adds the security of a request's route to the scope.

    If a trusted proxy names the real sender, the client's address is replaced too.
    """

    def __init__(self, app: ASGIApp, proxies: Proxies) -> None:
        self._app = app
        self._proxies = proxies

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            self._note(scope)
        await self._app(scope, receive, send)

    def _note(self, scope: Scope) -> None:
        client = scope.get("client")
        peer = client[0] if client else None
        scope[ARRIVAL] = self._proxies.arrival(
            peer,
            scope["headers"],
            is_tls=scope.get("scheme") == "https",
            # MCP clients do not speak HTTP/1.0. nginx does to its upstream servers, possibly without any other sign of
            # forwarding.
            is_relayed=scope.get("http_version") == "1.0",
        )
        if peer is not None and self._proxies.trusts(peer):
            headers = dict(scope["headers"])
            scope["client"] = (self._origin(headers.get(b"x-forwarded-for", b""), peer), 0)
            if headers.get(PROTO, b"").strip().lower() == b"https":
                scope["scheme"] = "https"

    def _origin(self, hops: bytes, proxy: str) -> str:
        """Return the last hop that is not a trusted proxy.

        The caller sends the earlier hops itself, so they prove nothing.
        """
        named = [hop.strip() for hop in hops.decode("latin-1").split(",") if hop.strip()]
        return next((hop for hop in reversed(named) if not self._proxies.trusts(hop)), named[0] if named else proxy)


def arrival_of(scope: Scope) -> Arrival:
    """Return the security of a request's route. Return `READABLE` if the route was not checked."""
    return scope.get(ARRIVAL, Arrival.READABLE)
