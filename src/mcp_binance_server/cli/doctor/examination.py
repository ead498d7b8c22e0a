"""The `doctor` command: run all checks in order and redact secrets."""

import argparse
import logging
import re
import sys
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import AsyncExitStack
from dataclasses import replace
from functools import partial
from ipaddress import ip_address
from pathlib import Path
from typing import Final

from mcp_binance_server.cli.doctor import clients, exchange, futures, journal, key, local, orders, proxy, trading
from mcp_binance_server.cli.doctor import exchange as reach
from mcp_binance_server.cli.doctor import local as services
from mcp_binance_server.cli.doctor.bench import OFF, Bench, CheckResult, DoctorCheck
from mcp_binance_server.cli.doctor.report import as_json, count, heading, lines, summary, under_way, wiped
from mcp_binance_server.cli.terminal import Terminal
from mcp_binance_server.clock import SystemClock
from mcp_binance_server.errors import AppError, SettingsError, echo
from mcp_binance_server.exchange.endpoints import NETWORKS, Network
from mcp_binance_server.key_file import NAMES
from mcp_binance_server.settings import read_settings, surroundings
from mcp_binance_server.startup_checks import credentials_of
from mcp_binance_server.telemetry.logs import Redactor

_ADDRESS = re.compile(r"(?<![\w.])(?:\d{1,3}(?:\.\d{1,3}){3}|[0-9A-Fa-f]{0,4}(?::[0-9A-Fa-f]{0,4}){2,7})(?![\w.]*\w)")
# Public addresses in the doctor's own advice, which are not redacted.
_PUBLIC = frozenset({"1.1.1.1", "9.9.9.9"})
LONGEST = 400

LADDER: Final = (
    DoctorCheck("python", "Python", local.python),
    DoctorCheck("packages", "Packages", local.packages),
    DoctorCheck("configuration", "Configuration", local.configuration),
    DoctorCheck("guide", "Guides", local.guide, ("configuration",)),
    DoctorCheck("state", "State engine", local.state, ("configuration",)),
    DoctorCheck("proxy", "Proxy", proxy.proxy, ("configuration",)),
    DoctorCheck("dns", "DNS", reach.dns, ("configuration",)),
    DoctorCheck("tcp", "TCP", reach.tcp, ("dns",)),
    DoctorCheck("tls", "TLS", reach.tls, ("tcp",)),
    DoctorCheck("rest", "Public REST", exchange.rest, ("tls",)),
    DoctorCheck("clock", "Clock", exchange.clock, ("rest",)),
    DoctorCheck("weight", "Request weight", exchange.weight, ("rest",)),
    DoctorCheck("streams", "Streams", services.streams, ("dns",)),
    DoctorCheck("futures", "Futures", futures.futures, ("dns",)),
    DoctorCheck("key", "Key format", key.form, ("configuration",)),
    DoctorCheck("network", "Key's network", key.network, ("key", "rest")),
    DoctorCheck("signature", "Signature", key.signature, ("network",)),
    DoctorCheck("permissions", "Permissions", key.permissions, ("signature",)),
    DoctorCheck("ip", "IP access list", key.addresses, ("permissions",)),
    DoctorCheck("withdrawals", "Withdrawals", key.withdrawals, ("permissions",)),
    DoctorCheck("charts", "chart-img.com", services.charts, ("configuration",)),
    DoctorCheck("live_chart", "Live chart", services.live_chart, ("configuration",)),
    DoctorCheck("clients", "MCP clients", clients.clients),
)
# Checks for trading, listed after the key's permissions. They are hidden while trading is off.
TRADING: Final = (
    DoctorCheck("trading", "Trading", trading.settings, ("configuration",)),
    DoctorCheck("policy", "Limits", trading.policy, ("trading",)),
    DoctorCheck("journal", "Journal", journal.journal, ("trading",)),
    DoctorCheck("approver", "Approver", trading.approver, ("policy",)),
    DoctorCheck("trade_rights", "Right to trade", orders.rights, ("trading", "permissions", "withdrawals")),
    DoctorCheck("user_stream", "Order events", orders.user_stream, ("trading", "signature")),
    DoctorCheck("open_orders", "Open orders", orders.reconciliation, ("journal", "signature")),
    DoctorCheck("trial", "An order", orders.trial, ("policy", "trade_rights", "signature")),
    DoctorCheck("stop", "Stop", journal.stop, ("journal",)),
    DoctorCheck("separation", "Same user", trading.separation, ("trading",)),
    DoctorCheck("asking", "Asking you", trading.asking, ("policy",)),
)
_TITLES: Final = {rung.id: rung.title for rung in (*LADDER, *TRADING)}
# If one of these checks is off, all checks that need it are off too.
_ESSENTIAL: Final = {"key"}

Told = Callable[[DoctorCheck, CheckResult], None]

EXIT_PROBLEM = 1


class ReportRedactor:
    """Redactor of secrets, addresses and the home folder. Its repr shows none of them."""

    def __init__(self, secrets: Iterable[str], home: str, shown: Iterable[str] = ()) -> None:
        self._redactor = Redactor(secrets)
        self._shown = {*_PUBLIC, *shown}
        self._home = home.rstrip("/\\")

    def clean(self, finding: CheckResult) -> CheckResult:
        texts = {name: self.text(getattr(finding, name)) for name in ("seen", "why", "fix", "command")}
        return replace(finding, **texts)

    def text(self, text: str) -> str:
        text = self._redactor.redact(text)
        if len(self._home) > 1:
            text = text.replace(self._home, "~")
        shown = "".join(each if each.isprintable() else " " for each in _ADDRESS.sub(self._hidden, text))
        return shown if len(shown) <= LONGEST else echo(shown)

    def _hidden(self, found: re.Match[str]) -> str:
        try:
            address = ip_address(found.group())
        except ValueError:
            return found.group()
        return found.group() if address.is_loopback or found.group() in self._shown else "[address]"

    def __repr__(self) -> str:
        return "ReportRedactor()"


def checks_for(bench: Bench) -> tuple[DoctorCheck, ...]:
    """Return the checks for an environment."""
    if bench.mode == OFF:
        return LADDER
    at = next(number for number, rung in enumerate(LADDER, 1) if rung.id == "withdrawals")
    return (*LADDER[:at], *TRADING, *LADDER[at:])


async def run_checks(bench: Bench, *, before: Callable[[DoctorCheck], None], after: Told) -> dict[str, CheckResult]:
    """Run every check whose requirements are met."""
    found: dict[str, CheckResult] = {}
    for rung in checks_for(bench):
        finding = _hindrance(rung, found)
        if finding is None:
            before(rung)
            finding = await _tried(rung.check, bench)
        found[rung.id] = finding
        after(rung, finding)
    return found


def _hindrance(rung: DoctorCheck, found: Mapping[str, CheckResult]) -> CheckResult | None:
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


async def examine(
    environment: Mapping[str, str],
    *,
    as_object: bool = False,
    is_quiet: bool = False,
    networks: Mapping[str, Network] = NETWORKS,
) -> int:
    """Run all checks and print the report. With `--quiet` it shows only warnings and problems."""
    terminal = Terminal.of(sys.stdout, environment)
    told = _SilentPrinter() if as_object else _ProblemPrinter(terminal) if is_quiet else _ProgressPrinter(terminal)
    cleaner = ReportRedactor(_secrets(environment), str(Path.home()), _proxies_nearby(environment))

    def after(rung: DoctorCheck, finding: CheckResult) -> None:
        told.after(rung, cleaner.clean(finding))

    async with AsyncExitStack() as stack:
        bench = Bench(environment, SystemClock(), stack, networks)
        told.begin()
        found = await run_checks(bench, before=told.before, after=after)
        network = bench.network.name if bench.is_built else None
    cleaned = {name: cleaner.clean(finding) for name, finding in found.items()}
    if as_object or not is_quiet:
        _write(as_json(checks_for(bench), cleaned, network) if as_object else summary(cleaned, terminal))
    return EXIT_PROBLEM if count(found, "problem") else 0


class _SilentPrinter:
    def begin(self) -> None: ...

    def before(self, rung: DoctorCheck) -> None: ...

    def after(self, rung: DoctorCheck, finding: CheckResult) -> None: ...


class _ProgressPrinter(_SilentPrinter):
    """Printer that shows each result immediately. A terminal also shows the running check."""

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal

    def begin(self) -> None:
        _write(f"{wiped(self._terminal)}{heading(self._terminal)}")

    def before(self, rung: DoctorCheck) -> None:
        _write(under_way(rung.title, self._terminal))

    def after(self, rung: DoctorCheck, finding: CheckResult) -> None:
        _write(f"{wiped(self._terminal)}{lines(rung, finding, self._terminal)}")


class _ProblemPrinter(_SilentPrinter):
    """Printer of warnings and problems only."""

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal

    def after(self, rung: DoctorCheck, finding: CheckResult) -> None:
        if finding.status in ("warning", "problem"):
            _write(lines(rung, finding, self._terminal))


def _secrets(environment: Mapping[str, str]) -> list[str]:
    found = [environment.get(name, "") for name in NAMES if not name.endswith("_FILE")]
    try:
        settings = read_settings(environment)
        credentials = credentials_of(settings)
    except SettingsError:
        return found
    found += [credentials.api_key, credentials.secret] if credentials else []
    found += settings.proxies.secrets
    return [*found, settings.chart_key.get_secret_value()] if settings.chart_key else found


def _proxies_nearby(environment: Mapping[str, str]) -> list[str]:
    """Return the private hosts among the proxies. The report shows them without redaction."""
    try:
        return read_settings(environment).proxies.private_hosts
    except SettingsError:
        return []


def _write(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


def run_doctor(options: argparse.Namespace) -> int:
    """Examine this machine and its settings; return the exit code."""
    environment = surroundings()
    # Discard log lines, which could show secrets. The report replaces them.
    logging.getLogger("mcp_binance_server").addHandler(logging.NullHandler())
    if not options.json and not options.quiet:
        sys.stdout.write(under_way("Loading", Terminal.of(sys.stdout, environment)))
        sys.stdout.flush()
    from mcp_binance_server.cli.interruption import run  # noqa: PLC0415 - see above

    return run(partial(examine, environment, as_object=options.json, is_quiet=options.quiet))
