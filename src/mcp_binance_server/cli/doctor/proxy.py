"""Checks of proxies: the proxy of each connection, and its answer."""

from mcp_binance_server.cli.doctor.bench import OFF, Bench, CheckResult, forget, good, off
from mcp_binance_server.cli.doctor.trading import PAPER
from mcp_binance_server.proxies.environment import ProxyFailure, unread_variables

CHARTS, ISSUER = "chart-img.com", "OAuth issuer"
NOT_BINANCE = {CHARTS, ISSUER}
DIRECT = "direct"


async def proxy(bench: Bench) -> CheckResult:
    ways: dict[str, list[str]] = {}
    for channel, url in _channels(bench).items():
        ways.setdefault(str(bench.settings.proxies.of(url) or DIRECT), []).append(channel)
    seen = "; ".join(f"{', '.join(channels)}: {way}" for way, channels in ways.items())
    if unread := unread_variables(bench.environment):
        return CheckResult(
            "warning",
            f"{', '.join(unread)} is not read; {seen}",
            "All connections follow HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and NO_PROXY, and no other variable",
            "Set HTTPS_PROXY or ALL_PROXY to the proxy",
            forget(unread),
        )
    if sum(not NOT_BINANCE.issuperset(channels) for channels in ways.values()) > 1:
        return CheckResult(
            "warning",
            seen,
            "Binance sees two source addresses: a region or a key's IP access list can allow one and refuse the other",
            "Set HTTPS_PROXY and HTTP_PROXY, or ALL_PROXY alone; list all hosts of Binance in NO_PROXY, or none",
        )
    if list(ways) == [DIRECT]:
        return off("none: every connection is direct")
    return good(f"{seen}. The source address that Binance sees is the proxy's")


def proxy_problem(host: str, failure: ProxyFailure | str) -> CheckResult:
    """Return the finding for a host that is unreachable through its proxy."""
    return CheckResult(
        "problem",
        f"{host} was not reached: {failure}",
        "This is the proxy's answer: the request did not reach the host",
        "Follow the proxy's answer, or list the host in NO_PROXY to reach it directly",
    )


def _channels(bench: Bench) -> dict[str, str]:
    settings, network, futures = bench.settings, bench.network, bench.app.futures
    found = {"REST and orders": network.rest_url}
    if network.stream_url is not None and settings.orderbook_analytics:
        found["market streams"] = network.stream_url
    if bench.mode not in (OFF, PAPER) and network.ws_api_url is not None:
        found["WebSocket API"] = network.ws_api_url
    if futures is not None:
        found["futures"] = futures.client.caller.network.rest_url
        if (streams := futures.client.caller.network.stream_url) is not None:
            found["futures streams"] = streams
    if settings.chart_key is not None:
        found[CHARTS] = settings.chart_url
    if settings.oauth_issuer is not None:
        found[ISSUER] = settings.oauth_issuer
    return found
