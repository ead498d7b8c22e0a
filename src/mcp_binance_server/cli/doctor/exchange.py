"""What the exchange says to somebody without a key: that it is there, what time it is, what is left of the minute."""

from mcp_binance_server.cli.doctor.bench import Bench
from mcp_binance_server.cli.doctor.finding import CheckResult, good
from mcp_binance_server.cli.doctor.shell import set_clock
from mcp_binance_server.errors import AppError, ExchangeRejected, ExchangeUnavailable, RateLimited, RegionRestricted
from mcp_binance_server.exchange.endpoints import EXCHANGE_INFO
from mcp_binance_server.exchange.networks import host_of
from mcp_binance_server.exchange.wire import ExchangeInfoWire

# The exchange refuses what is more than a second ahead; the server corrects for its own calls.
MOST_OFF_MS = 1_000
MUCH_USED = 0.8
FORBIDDEN = 403
STATUS_PAGE = "https://www.binance.com/en/support/announcement"


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
            "Binance refuses your country or the one of your VPN; public data has a second host, accounts have none",
            "Account pages cannot work from here; use a connection from a country that Binance serves",
            "https://www.binance.com/en/legal/list-of-prohibited-countries",
        )
    return good(f"{host} answers")


async def clock(bench: Bench) -> CheckResult:
    reading = await bench.app.market.clock_check()  # anew: the first one had to open a connection
    off_ms = reading.value.difference_ms
    if abs(off_ms) <= MOST_OFF_MS:
        return good(f"{abs(off_ms)} ms off the exchange's; a round trip takes {reading.value.round_trip_ms} ms")
    return CheckResult(
        "warning",
        f"{abs(off_ms) / 1000:.1f} s {'ahead of' if off_ms > 0 else 'behind'} the exchange's clock",
        "This machine does not set its clock by itself; the server corrects for it, other programs get error -1021",
        "Let the system set its clock",
        set_clock(),
    )


async def weight(bench: Bench) -> CheckResult:
    # One symbol costs as much as all, but not their megabytes.
    body = await bench.caller.read(EXCHANGE_INFO, {"symbol": "BTCUSDT"}, ExchangeInfoWire)
    limit = body.value.weight_per_minute
    used = await bench.caller.budget.used()
    if limit is None or used < limit * MUCH_USED:
        return good(f"{used} of {limit or 'an unknown limit'} used in this minute")
    return CheckResult(
        "warning",
        f"{used} of {limit} are used in this minute already",
        "Other programs behind the same public address share the limit: bots, another server, an office",
        "Stop or slow them down; beyond the limit Binance refuses everybody behind the address",
        "https://developers.binance.com/docs/binance-spot-api-docs/rest-api/limits",
    )


def _rest_problem(host: str, error: AppError) -> CheckResult:
    if isinstance(error, RateLimited):
        return CheckResult(
            "problem",
            f"{host} refuses every request from this public address for {error.retry_after_secs} s",
            "Too many requests, from here or from others behind the same address; who goes on is banned for longer",
            f"Stop every program that asks Binance, wait {error.retry_after_secs} s, then run this again",
            "https://developers.binance.com/docs/binance-spot-api-docs/rest-api/limits",
        )
    if isinstance(error, RegionRestricted):
        return CheckResult(
            "problem",
            f"{host} does not serve this location (HTTP 451)",
            "Binance refuses your country or the one of your VPN",
            "Use a connection from a country that Binance serves; its own public data has a second host",
            "https://www.binance.com/en/legal/list-of-prohibited-countries",
        )
    if isinstance(error, ExchangeRejected) and error.http_status == FORBIDDEN:
        return CheckResult(
            "problem",
            f"a firewall in front of {host} refuses us (HTTP 403)",
            "The exchange's firewall distrusts the address, often one of a VPN or data centre; or a company's filter",
            "Wait five minutes without asking; then try from another network or without VPN",
            f"curl -sS -o /dev/null -w '%{{http_code}}\\n' https://{host}/api/v3/ping",
        )
    reason = error.reason if isinstance(error, ExchangeUnavailable) else error.message
    return CheckResult(
        "problem",
        f"{host} is reached, but gives no usable answer ({reason})",
        "Maintenance, an overloaded line, or something else than Binance answers at this address",
        "Try again in a minute; look for announced maintenance; check BINANCE_REST_URL and proxies",
        STATUS_PAGE,
    )
