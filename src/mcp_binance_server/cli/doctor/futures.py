"""Check of the futures host: answers and streams. A failure is only a warning, because spot works without futures."""

from typing import get_args

import anyio

from mcp_binance_server.cli.doctor.bench import Bench, CheckResult, export, good, off, set_clock
from mcp_binance_server.cli.doctor.exchange import MOST_OFF_MS, MUCH_USED
from mcp_binance_server.errors import AppError, ExchangeUnavailable, RateLimited, RegionRestricted
from mcp_binance_server.exchange.dialing import NetworkDialer
from mcp_binance_server.exchange.endpoints import host_of
from mcp_binance_server.exchange.futures.stream_wire import MARK_PRICE_PATH
from mcp_binance_server.proxies.environment import ProxyFailure
from mcp_binance_server.settings import Toolset
from mcp_binance_server.startup_checks import DERIVATIVES, missing_for_futures

FIRST_MARK_SECS = 5.0
LIMITS_PAGE = "https://developers.binance.com/docs/derivatives/usds-margined-futures/general-info"


async def futures(bench: Bench) -> CheckResult:
    side = bench.app.futures
    if side is None:
        return off(f"none: {missing_for_futures(bench.settings, bench.network)} is not set; only spot is served")
    try:
        table = await side.contracts.table()
        off_ms = abs((await side.client.clock_check()).value.difference_ms)
    except AppError as error:
        return _warning(bench, *_refused(host_of(side.client.caller.network.rest_url), error))
    used, limit = await side.client.caller.budget.used(), table.weight_limit
    if used >= limit * MUCH_USED:
        return CheckResult(
            "warning",
            f"{used} of {limit} of the futures weight already used in this minute",
            "Other programs behind the same public address share the limit, also those for coin-margined contracts",
            "Stop or slow them down; beyond the limit Binance refuses every request from this address",
            LIMITS_PAGE,
        )
    if off_ms > MOST_OFF_MS:
        return CheckResult(
            "warning",
            f"its clock is {off_ms / 1000:.1f} s off this machine's",
            "The clock of this machine or of that host is not synchronised",
            "Turn on clock synchronisation",
            set_clock(),
        )
    host = host_of(side.client.caller.network.rest_url)
    seen = f"{host} answers: {len(table.perpetuals)} perpetuals, its clock {off_ms} ms off, {used} of {limit} used"
    return await _streamed(bench, side.client.caller.network.stream_url, f"{seen} in this minute")


async def _streamed(bench: Bench, url: str | None, seen: str) -> CheckResult:
    if url is None:
        return good(f"{seen}; no streams, BINANCE_FUTURES_STREAM_URL is not set")
    started_ms = bench.clock.monotonic_ms()
    if problem := await _first_mark(bench, url):
        return _warning(
            bench,
            f"{host_of(url)} {problem}",
            "A firewall or proxy blocks WebSockets, or BINANCE_FUTURES_STREAM_URL names another route",
            "Allow WebSockets to this host; only liquidations need them, other futures data is read by REST",
        )
    return good(f"{seen}; first mark price after {bench.clock.monotonic_ms() - started_ms:.0f} ms")


async def _first_mark(bench: Bench, url: str) -> str:
    """Wait for one mark price. Return the problem, or an empty text on success."""
    try:
        connection = await NetworkDialer(bench.settings.proxies).connect(f"{url}{MARK_PRICE_PATH}")
    except ProxyFailure as failure:
        return f"was not reached: {failure}"
    except OSError as error:
        return f"refused the connection ({type(error).__name__})"
    try:
        with anyio.fail_after(FIRST_MARK_SECS):
            await connection.recv()
    except TimeoutError:
        return f"accepted the connection, but sent no mark price within {FIRST_MARK_SECS:g} s"
    except OSError:
        return "closed the connection"
    finally:
        with anyio.move_on_after(1, shield=True):
            await connection.close()
    return ""


def _refused(host: str, error: AppError) -> tuple[str, str, str]:
    if isinstance(error, RegionRestricted):
        return (
            f"{host} does not serve this location (HTTP 451)",
            "Binance refuses futures to the country of your connection or VPN; their API has no second host",
            "Spot works without futures; leave futures out to stop these requests",
        )
    if isinstance(error, RateLimited):
        return (
            f"{host} refuses every request from this public address for {error.retry_after_secs} s",
            "Too many requests from this machine or others behind the same address; spot has a limit of its own",
            f"Wait {error.retry_after_secs} s, or leave futures out",
        )
    reason = error.reason if isinstance(error, ExchangeUnavailable) else error.message
    return (
        f"{host} gave no usable answer ({reason})",
        "Maintenance, a filter that allows only the spot host, or a wrong BINANCE_FUTURES_REST_URL",
        "Try again in a minute; spot works without futures, which can be left out",
    )


def _warning(bench: Bench, seen: str, why: str, fix: str) -> CheckResult:
    others = ",".join(name for name in get_args(Toolset) if name in bench.settings.groups and name != DERIVATIVES)
    return CheckResult("warning", seen, why, fix, export("MCP_BINANCE_TOOLSETS", others or "market"))
