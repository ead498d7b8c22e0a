"""What stands beside REST: the market streams, and the chart service."""

import anyio

from mcp_binance_server.charts.errors import ChartKeyRefused, ChartLimitReached, ChartServiceError
from mcp_binance_server.cli.doctor.bench import Bench, CheckResult, export, good, off
from mcp_binance_server.exchange.dialing import NetworkDialer
from mcp_binance_server.exchange.networks import host_of

STREAM = "btcusdt@depth@100ms"
FIRST_EVENT_SECS = 5.0
CHART_PAGE = "https://chart-img.com"


async def streams(bench: Bench) -> CheckResult:
    url = bench.network.stream_url
    if url is None or not bench.settings.orderbook_analytics:
        why = "BINANCE_REST_URL is set, BINANCE_STREAM_URL is not" if url is None else "switched off"
        return off(f"none: {why}; everything is read by REST")
    host, started_ms = host_of(url), bench.clock.monotonic_ms()
    try:
        connection = await NetworkDialer().connect(f"{url}/stream?streams={STREAM}")
    except OSError as error:
        return _stream_problem(host, f"refuses the connection ({type(error).__name__})")
    try:
        with anyio.fail_after(FIRST_EVENT_SECS):
            await connection.recv()
    except TimeoutError:
        return _stream_problem(host, f"is connected, but sends nothing within {FIRST_EVENT_SECS:g} s")
    except OSError:
        return _stream_problem(host, "ends the connection")
    finally:
        with anyio.move_on_after(1, shield=True):
            await connection.close()
    return good(f"{host} sends, after {bench.clock.monotonic_ms() - started_ms:.0f} ms")


async def charts(bench: Bench) -> CheckResult:
    if not bench.charts.has_key:
        return off("no key set: charts of Binance pairs are drawn here, others are not")
    host = host_of(bench.charts.caller.address)
    try:
        exchanges = await bench.charts.exchanges()  # a list costs no image
    except ChartKeyRefused:
        return CheckResult(
            "problem",
            f"{host} does not accept CHART_IMG_API_KEY",
            "It was mistyped, deleted, or its plan has ended",
            "Copy it again; or remove it: charts of Binance pairs need none",
            CHART_PAGE,
        )
    except ChartLimitReached as error:
        return CheckResult(
            "warning",
            f"{host} accepts the key, but its limit is reached for {error.retry_after_secs} s",
            "Too many requests, or the day's images are used up",
            "Wait, or take a larger plan; Binance pairs are drawn here meanwhile",
            CHART_PAGE,
        )
    except ChartServiceError as error:
        return CheckResult(
            "problem",
            error.message,
            "The service is down, or something between it and here is in the way",
            "Try again in a minute; charts of Binance pairs are drawn here meanwhile",
            CHART_PAGE,
        )
    return good(f"accepts the key, {len(exchanges)} exchanges; no image was spent")


def _stream_problem(host: str, how: str) -> CheckResult:
    return CheckResult(
        "problem",
        f"{host} {how}",
        "A firewall or proxy lets web pages through but no WebSockets; or BINANCE_STREAM_URL is wrong",
        "Allow WebSockets to this host; until then everything is read by REST if you switch streams off",
        export("MCP_BINANCE_ORDERBOOK_ANALYTICS", "false"),
    )
