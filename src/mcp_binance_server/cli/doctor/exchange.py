"""Checks of the exchange: connection, responses and clock."""

import ssl
from dataclasses import dataclass
from urllib.parse import urlsplit

import anyio
from anyio.streams.tls import TLSAttribute

from mcp_binance_server.cli.doctor.bench import Bench, CheckResult, good, knock, off, set_clock
from mcp_binance_server.cli.doctor.proxy import proxy_problem
from mcp_binance_server.errors import AppError, ExchangeRejected, ExchangeUnavailable, RateLimited, RegionRestricted
from mcp_binance_server.exchange.endpoints import EXCHANGE_INFO, host_of
from mcp_binance_server.exchange.spot.wire import ExchangeInfoWire
from mcp_binance_server.proxies.environment import Proxy
from mcp_binance_server.proxies.errors import ProxyUnavailable
from mcp_binance_server.tls.trust_store import client_context

# The exchange rejects a timestamp more than 1 s ahead of its clock. The server corrects its own offset.
MOST_OFF_MS = 1_000
MUCH_USED = 0.8
FORBIDDEN = 403
STATUS_PAGE = "https://www.binance.com/en/support/announcement"

PATIENCE_SECS = 5.0
# The timeout of the client's connections.
CONNECT_SECS = 3.0


async def rest(bench: Bench) -> CheckResult:
    host = host_of(bench.network.rest_url)
    try:
        bench.reading = await bench.app.market.clock_check()
    except AppError as error:
        return _rest_problem(host, error)
    if bench.reading.host != host:
        return CheckResult(
            "warning",
            f"{host} does not serve this location (HTTP 451); {bench.reading.host} answers instead",
            "Binance refuses the country of your connection or VPN; only public data has a second host",
            "Account pages need a connection from a country that Binance serves",
            "https://www.binance.com/en/legal/list-of-prohibited-countries",
        )
    return good(f"{host} answers")


async def clock(bench: Bench) -> CheckResult:
    reading = await bench.app.market.clock_check()  # measure again: the first request also opened the connection
    off_ms = reading.value.difference_ms
    if abs(off_ms) <= MOST_OFF_MS:
        return good(f"{abs(off_ms)} ms off the exchange's clock; a round trip takes {reading.value.round_trip_ms} ms")
    return CheckResult(
        "warning",
        f"{abs(off_ms) / 1000:.1f} s {'ahead of' if off_ms > 0 else 'behind'} the exchange's clock",
        "This machine's clock is not synchronised; the server corrects for it, other programs get error -1021",
        "Turn on clock synchronisation",
        set_clock(),
    )


async def weight(bench: Bench) -> CheckResult:
    # A query for one symbol has the same weight as for all, and a much smaller answer.
    body = await bench.caller.read(EXCHANGE_INFO, {"symbol": "BTCUSDT"}, ExchangeInfoWire)
    limit = body.value.weight_per_minute
    used = await bench.caller.budget.used()
    if limit is None or used < limit * MUCH_USED:
        return good(f"{used} of {limit or 'an unknown limit'} used in this minute")
    return CheckResult(
        "warning",
        f"{used} of {limit} already used in this minute",
        "Other programs behind the same public address share the limit: bots, another server, an office",
        "Stop or slow them down; beyond the limit Binance refuses every request from this address",
        "https://developers.binance.com/docs/binance-spot-api-docs/rest-api/limits",
    )


def _rest_problem(host: str, error: AppError) -> CheckResult:
    if isinstance(error, RateLimited):
        return CheckResult(
            "problem",
            f"{host} refuses every request from this public address for {error.retry_after_secs} s",
            "Too many requests from this machine or others behind the same address; further requests extend the ban",
            f"Stop every program that calls Binance, wait {error.retry_after_secs} s, then run this again",
            "https://developers.binance.com/docs/binance-spot-api-docs/rest-api/limits",
        )
    if isinstance(error, RegionRestricted):
        return CheckResult(
            "problem",
            f"{host} does not serve this location (HTTP 451)",
            "Binance refuses the country of your connection or VPN",
            "Use a connection from a country that Binance serves; only public data has a second host",
            "https://www.binance.com/en/legal/list-of-prohibited-countries",
        )
    if isinstance(error, ExchangeRejected) and error.http_status == FORBIDDEN:
        return CheckResult(
            "problem",
            f"a firewall in front of {host} refused the request (HTTP 403)",
            "The exchange's firewall blocks this address, often that of a VPN or data centre; or a company filter "
            "blocks the host",
            "Send no request for five minutes; then try another network, or no VPN",
            f"curl -sS -o /dev/null -w '%{{http_code}}\\n' https://{host}/api/v3/ping",
        )
    if isinstance(error, ProxyUnavailable):
        return proxy_problem(host, error.reason)
    reason = error.reason if isinstance(error, ExchangeUnavailable) else error.message
    return CheckResult(
        "problem",
        f"{host} was reached, but gave no usable answer ({reason})",
        "Maintenance, an overloaded connection, or another server at this address",
        "Try again in a minute; look for announced maintenance; check BINANCE_REST_URL and proxies",
        STATUS_PAGE,
    )


@dataclass(frozen=True, slots=True)
class HostPort:
    """Host, port and proxy of an address."""

    host: str
    port: int
    is_secure: bool
    proxy: Proxy | None = None

    @classmethod
    def of(cls, bench: Bench) -> "HostPort":
        url = bench.network.rest_url
        parts = urlsplit(url)
        host, is_secure = parts.hostname or "", parts.scheme in {"https", "wss"}
        return cls(host, parts.port or (443 if is_secure else 80), is_secure, bench.settings.proxies.of(url))


async def dns(bench: Bench) -> CheckResult:
    target = HostPort.of(bench)
    if target.proxy:
        return off(f"resolved by the proxy {target.proxy}")
    try:
        with anyio.fail_after(PATIENCE_SECS):
            found = await anyio.getaddrinfo(target.host, target.port)
    except (OSError, UnicodeError, TimeoutError) as error:
        reason = "no answer" if isinstance(error, TimeoutError) else getattr(error, "strerror", None) or "invalid name"
        return CheckResult(
            "problem",
            f"the name {target.host} cannot be resolved ({reason})",
            "No network, a DNS server that does not answer or blocks the name, or a wrong BINANCE_REST_URL",
            "Check the connection and the name; try another DNS server such as 1.1.1.1 or 9.9.9.9",
            f"nslookup {target.host}",
        )
    count = len({each[4][0] for each in found})
    return good(f"{target.host} has {count} address{'es' if count != 1 else ''}")


async def tcp(bench: Bench) -> CheckResult:
    target = HostPort.of(bench)
    if target.proxy:
        return off()
    started_ms = bench.clock.monotonic_ms()
    try:
        with anyio.fail_after(CONNECT_SECS):
            await (await anyio.connect_tcp(target.host, target.port)).aclose()
    except (OSError, TimeoutError) as error:
        how = "does not answer" if isinstance(error, TimeoutError) else "refuses the connection or cannot be reached"
        return CheckResult(
            "problem",
            f"{target.host} port {target.port} {how}",
            "A firewall, a VPN or the provider blocks it; or nothing listens at this address",
            "Try without VPN, allow outgoing connections to this port, or correct BINANCE_REST_URL",
            knock(target.host, target.port),
        )
    return good(f"port {target.port} open, {bench.clock.monotonic_ms() - started_ms:.0f} ms")


async def tls(bench: Bench) -> CheckResult:
    target = HostPort.of(bench)
    if target.proxy:
        return off()
    if not target.is_secure:
        return off("none: this is a plain http:// address")
    context = client_context()
    try:
        with anyio.fail_after(PATIENCE_SECS):
            stream = await anyio.connect_tcp(
                target.host, target.port, ssl_context=context, tls_hostname=target.host, tls_standard_compatible=False
            )
            version = stream.extra(TLSAttribute.tls_version)  # noqa: S610 - not a database
            await stream.aclose()
    except (OSError, TimeoutError, anyio.BrokenResourceError, anyio.EndOfStream) as error:
        return _tls_problem(target, error)
    return good(f"{version}, the certificate is valid")


def _tls_problem(target: HostPort, error: Exception) -> CheckResult:
    if isinstance(error, ssl.SSLCertVerificationError):
        return CheckResult(
            "problem",
            f"the certificate of {target.host} is not valid: {error.verify_message}",
            "A company proxy or virus scanner intercepts TLS with its own certificate; or this machine's date is wrong",
            "Check the date; on a company's network, set SSL_CERT_FILE to its certificate file",
            f"openssl s_client -connect {target.host}:{target.port} -servername {target.host} -brief",
        )
    return CheckResult(
        "problem",
        f"{target.host} port {target.port} does not speak TLS",
        "A sign-in page of a hotel or company network answers instead; or the address should begin with http://",
        "Sign in to the network in a browser, or correct BINANCE_REST_URL",
        f"openssl s_client -connect {target.host}:{target.port} -brief",
    )
