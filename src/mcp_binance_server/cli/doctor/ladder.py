"""The rungs in their order, and the climb: what stands on a broken rung is not tried."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from mcp_binance_server.cli.doctor import clients, exchange, key, local, reach, services
from mcp_binance_server.cli.doctor.bench import Bench
from mcp_binance_server.cli.doctor.finding import CheckResult, Rung
from mcp_binance_server.errors import AppError

LADDER: Final = (
    Rung("python", "Python", local.python),
    Rung("packages", "Packages", local.packages),
    Rung("configuration", "Configuration", local.configuration),
    Rung("guide", "Guides", local.guide, ("configuration",)),
    Rung("state", "State engine", local.state, ("configuration",)),
    Rung("dns", "DNS", reach.dns, ("configuration",)),
    Rung("tcp", "TCP", reach.tcp, ("dns",)),
    Rung("tls", "TLS", reach.tls, ("tcp",)),
    Rung("rest", "Public REST", exchange.rest, ("tls",)),
    Rung("clock", "Clock", exchange.clock, ("rest",)),
    Rung("weight", "Request weight", exchange.weight, ("rest",)),
    Rung("streams", "Streams", services.streams, ("dns",)),
    Rung("key", "Key format", key.form, ("configuration",)),
    Rung("network", "Key's network", key.network, ("key", "rest")),
    Rung("signature", "Signature", key.signature, ("network",)),
    Rung("permissions", "Permissions", key.permissions, ("signature",)),
    Rung("ip", "IP access list", key.addresses, ("permissions",)),
    Rung("withdrawals", "Withdrawals", key.withdrawals, ("permissions",)),
    Rung("charts", "chart-img.com", services.charts, ("configuration",)),
    Rung("clients", "MCP clients", clients.clients),
)
_TITLES: Final = {rung.id: rung.title for rung in LADDER}
# A rung may be off without those above it being so: there is no TLS on a plain address, and REST still works.
_ESSENTIAL: Final = {"key"}

Told = Callable[[Rung, CheckResult], None]


async def climb(bench: Bench, *, before: Callable[[Rung], None], after: Told) -> dict[str, CheckResult]:
    """Try every rung that can be tried."""
    found: dict[str, CheckResult] = {}
    for rung in LADDER:
        finding = _hindrance(rung, found)
        if finding is None:
            before(rung)
            finding = await _tried(rung.check, bench)
        found[rung.id] = finding
        after(rung, finding)
    return found


def _hindrance(rung: Rung, found: Mapping[str, CheckResult]) -> CheckResult | None:
    for need in rung.needs:
        status = found[need].status
        if status == "off" and (need in _ESSENTIAL or found[need].needs):
            return CheckResult("off", needs=need)
        if status in {"problem", "skipped"}:
            return CheckResult("skipped", f"skipped (needs {_TITLES[need]})", needs=need)
    return None


async def _tried(check: Callable[[Bench], Awaitable[CheckResult]], bench: Bench) -> CheckResult:
    try:
        return await check(bench)
    except AppError as error:
        return CheckResult("problem", error.message, error.error_type, error.recovery_suggestion)
