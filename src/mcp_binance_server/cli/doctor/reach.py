"""The way to the exchange, step by step: its name, its door, its certificate."""

import ssl
import urllib.request
from dataclasses import dataclass
from urllib.parse import urlsplit

import anyio
import httpx2
from anyio.streams.tls import TLSAttribute

from mcp_binance_server.cli.doctor.bench import Bench
from mcp_binance_server.cli.doctor.finding import CheckResult, good, off
from mcp_binance_server.cli.doctor.shell import knock

PATIENCE_SECS = 5.0
# As the client gives up on a connection.
CONNECT_SECS = 3.0


@dataclass(frozen=True, slots=True)
class HostPort:
    """The host and port behind an address."""

    host: str
    port: int
    is_secure: bool
    proxy: str = ""

    @classmethod
    def of(cls, url: str) -> "HostPort":
        parts = urlsplit(url)
        host, is_secure = parts.hostname or "", parts.scheme in {"https", "wss"}
        proxies = {} if urllib.request.proxy_bypass(host) else urllib.request.getproxies()
        proxy = next((name for name in (parts.scheme, "all") if proxies.get(name)), "")
        return cls(host, parts.port or (443 if is_secure else 80), is_secure, proxy and f"{proxy}_proxy")


async def dns(bench: Bench) -> CheckResult:
    door = HostPort.of(bench.network.rest_url)
    if door.proxy:
        return off(f"left to the proxy in {door.proxy}")
    try:
        with anyio.fail_after(PATIENCE_SECS):
            found = await anyio.getaddrinfo(door.host, door.port)
    except (OSError, UnicodeError, TimeoutError) as error:
        reason = "no answer" if isinstance(error, TimeoutError) else getattr(error, "strerror", None) or "not a name"
        return CheckResult(
            "problem",
            f"the name {door.host} cannot be resolved ({reason})",
            "No network, a DNS server that does not answer or blocks the name, or a wrong BINANCE_REST_URL",
            "Check the connection and the name; try another DNS server such as 1.1.1.1 or 9.9.9.9",
            f"nslookup {door.host}",
        )
    count = len({each[4][0] for each in found})
    return good(f"{door.host} has {count} address{'es' if count != 1 else ''}")


async def tcp(bench: Bench) -> CheckResult:
    door = HostPort.of(bench.network.rest_url)
    if door.proxy:
        return off()
    started_ms = bench.clock.monotonic_ms()
    try:
        with anyio.fail_after(CONNECT_SECS):
            await (await anyio.connect_tcp(door.host, door.port)).aclose()
    except (OSError, TimeoutError) as error:
        how = "does not answer" if isinstance(error, TimeoutError) else "refuses the connection or cannot be reached"
        return CheckResult(
            "problem",
            f"{door.host} port {door.port} {how}",
            "A firewall, a VPN or the provider blocks it; or nothing listens at this address",
            "Try without VPN, allow outgoing connections to this port, or correct BINANCE_REST_URL",
            knock(door.host, door.port),
        )
    return good(f"port {door.port} open, {bench.clock.monotonic_ms() - started_ms:.0f} ms")


async def tls(bench: Bench) -> CheckResult:
    door = HostPort.of(bench.network.rest_url)
    if door.proxy:
        return off()
    if not door.is_secure:
        return off("none: this is a plain http:// address")
    context = httpx2.create_ssl_context()
    try:
        with anyio.fail_after(PATIENCE_SECS):
            stream = await anyio.connect_tcp(
                door.host, door.port, ssl_context=context, tls_hostname=door.host, tls_standard_compatible=False
            )
            version = stream.extra(TLSAttribute.tls_version)  # noqa: S610 - this is no database
            await stream.aclose()
    except (OSError, TimeoutError, anyio.BrokenResourceError, anyio.EndOfStream) as error:
        return _tls_problem(door, error)
    return good(f"{version}, the certificate is good")


def _tls_problem(door: HostPort, error: Exception) -> CheckResult:
    if isinstance(error, ssl.SSLCertVerificationError):
        return CheckResult(
            "problem",
            f"the certificate of {door.host} is not good: {error.verify_message}",
            "A company's proxy or a virus scanner reads along and shows its own certificate; or this machine's date "
            "is wrong",
            "Check the date; if the network is a company's, name its certificate file in SSL_CERT_FILE",
            f"openssl s_client -connect {door.host}:{door.port} -servername {door.host} -brief",
        )
    return CheckResult(
        "problem",
        f"{door.host} port {door.port} does not speak TLS",
        "A sign-in page of a hotel or company network answers instead; or the address should begin with http://",
        "Sign in to the network in a browser, or correct BINANCE_REST_URL",
        f"openssl s_client -connect {door.host}:{door.port} -brief",
    )
