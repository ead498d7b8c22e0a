"""Security of a call's route (local, encrypted or readable), and the TLS certificate of a listening socket."""

import ssl
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from pathlib import Path

from mcp_binance_server.domain.access import Visitor
from mcp_binance_server.errors import SettingsError, echo

PROTO = b"x-forwarded-proto"
# Headers that proxies add when they forward a request. A request with one of them does not come from this machine.
FORWARDING = frozenset({
    b"forwarded", b"via", b"x-real-ip", b"x-client-ip", b"x-cluster-client-ip", b"true-client-ip", b"client-ip",
    b"x-original-host", b"x-original-url", b"x-remote-addr", b"x-remote-ip", b"x-proxyuser-ip", b"cdn-loop",
    b"fastly-client-ip", b"fly-client-ip", b"x-nf-client-connection-ip", b"x-amzn-trace-id", b"x-arr-log-id",
})  # fmt: skip
FORWARDING_PREFIXES = (b"x-forwarded", b"x-original-forwarded", b"x-envoy-", b"cf-", b"x-azure-", b"x-appengine-")
KEYS_READABLE = (  # errors show up to 200 characters
    "Keys are accepted over TLS or on this machine only; these were not used. Set --tls-cert and --tls-key, or let a "
    "proxy of MCP_BINANCE_TRUSTED_PROXIES send X-Forwarded-Proto: https"
)

Headers = Iterable[tuple[bytes, bytes]]


@lru_cache(maxsize=1_024)  # cached, because every request needs it
def is_loopback(host: str) -> bool:
    """Return True if a host is a loopback address, as a number or by name."""
    try:
        return unmapped(host).is_loopback
    except ValueError:
        return host == "localhost"


def unmapped(address: str) -> IPv4Address | IPv6Address:
    """Parse an IP address. An IPv4 address mapped into IPv6, as on a dual-stack socket, becomes IPv4.

    Raises:
        ValueError: it is not an IP address.
    """
    found = ip_address(address)
    return (found.ipv4_mapped or found) if isinstance(found, IPv6Address) else found


class Arrival(StrEnum):
    """Security of the known part of the route between a caller and this process."""

    LOCAL = "local"  # from a program on this machine, not forwarded by a proxy
    ENCRYPTED = "encrypted"  # over TLS to this process or to a trusted proxy
    READABLE = "readable"  # others on the route can read it

    @property
    def is_private(self) -> bool:
        """Whether secrets can be sent over this route."""
        return self is not Arrival.READABLE

    def allows_server_key(self, visitor: Visitor) -> bool:
        """Return True if a caller on this route can use the operator's own API key.

        Without authentication, only local callers can.
        """
        return self.is_private if visitor.is_known else self is Arrival.LOCAL


class Proxies:
    """Trusted proxies, given as addresses and networks."""

    def __init__(self, trusted: Iterable[str] = ()) -> None:
        """Parse IP addresses and networks.

        Raises:
            SettingsError: a text is neither an address nor a network.
        """
        try:
            self._trusted = [ip_network(each, strict=False) for each in trusted]
        except ValueError as error:
            raise SettingsError(problems=(f"MCP_BINANCE_TRUSTED_PROXIES: {echo(str(error))}",)) from None

    def trusts(self, address: str | None) -> bool:
        if not self._trusted or address is None:
            return False
        try:
            found = unmapped(address)
        except ValueError:
            return False
        return any(found in network for network in self._trusted)

    def arrival(self, peer: str | None, headers: Headers, *, is_tls: bool, is_relayed: bool = False) -> Arrival:
        """Return the security of the route of a call.

        The names of `headers` must be in lower case. A call counts as forwarded if a header says so or with
        `is_relayed`.
        """
        said = [value.strip().lower() for name, value in headers if name == PROTO]
        if self.trusts(peer):
            is_secure = said == [b"https"] if said else is_tls
            return Arrival.ENCRYPTED if is_secure else Arrival.READABLE
        if peer is not None and is_loopback(peer) and not is_relayed and not is_forwarded(headers):
            return Arrival.LOCAL
        return Arrival.ENCRYPTED if is_tls else Arrival.READABLE


def is_forwarded(headers: Headers) -> bool:
    """Return True if a proxy header shows that a request was forwarded."""
    return any(name in FORWARDING or name.startswith(FORWARDING_PREFIXES) for name, _ in headers)


@dataclass(frozen=True, slots=True)
class Certificate:
    """Two PEM files: the certificate chain and its private key."""

    chain: Path
    key: Path

    def context(self) -> ssl.SSLContext:
        """Return the TLS context of a listening socket.

        Raises:
            SettingsError: a file cannot be used; the message names its command-line option.
        """
        self.read()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.set_alpn_protocols(["http/1.1"])
        try:
            # Without a callback OpenSSL would ask for a passphrase on the terminal.
            context.load_cert_chain(self.chain, self.key, password=lambda: b"")
        except (OSError, ValueError) as error:
            what = getattr(error, "reason", None) or "it is not a PEM file"
            shown = str(what).replace("_", " ").lower()
            raise SettingsError(
                problems=(
                    f"--tls-cert {self.chain}, --tls-key {self.key}: they cannot be used ({shown}); give a PEM "
                    "certificate and its own private key without a passphrase",
                )
            ) from None
        return context

    def read(self) -> tuple[bytes, bytes]:
        """Return the contents of the key file and of the chain file, in the order of gRPC.

        Raises:
            SettingsError: a file cannot be read.
        """
        found: list[bytes] = []
        for flag, path in (("--tls-key", self.key), ("--tls-cert", self.chain)):
            try:
                found.append(path.read_bytes())
            except OSError as error:
                raise SettingsError(problems=(f"{flag} {path}: {error.strerror}",)) from None
        return found[0], found[1]
