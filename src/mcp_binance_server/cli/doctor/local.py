"""Checks of this machine: Python, packages, settings, files, the state server and chart-img.com."""

import os
import platform
import re
import sys
from importlib import metadata
from pathlib import Path

import anyio

from mcp_binance_server import __version__
from mcp_binance_server.charts.errors import ChartKeyRefused, ChartLimitReached, ChartServiceError
from mcp_binance_server.cli.doctor.bench import Bench, CheckResult, export, forget, good, off
from mcp_binance_server.cli.doctor.proxy import proxy_problem
from mcp_binance_server.errors import SettingsError
from mcp_binance_server.exchange.dialing import NetworkDialer
from mcp_binance_server.exchange.endpoints import host_of
from mcp_binance_server.guide.config_file import read_config
from mcp_binance_server.installation import reinstall_command
from mcp_binance_server.key_file import key_file_of
from mcp_binance_server.proxies.environment import ProxyFailure
from mcp_binance_server.settings import PREFIXES, VARIABLES, nearest_variable
from mcp_binance_server.surface.apps.page import is_built
from mcp_binance_server.surface.uris import CHARTS
from mcp_binance_server.tls.trust_store import TRUST_VARIABLES, check_trust_store

DISTRIBUTION = "mcp-binance-server"
OLDEST_PYTHON = (3, 11)
SHOWN = ("mcp", "httpx2", "websockets", "cryptography")
CHART_FAMILY = "CHART_IMG_"
_REQUIREMENT = re.compile(r"([A-Za-z0-9._-]+)(?:\[[^\]]*\])?\s*([^;]*)")
_BOUND = re.compile(r"(>=|<|==)\s*([0-9.]+)")

STREAM = "btcusdt@depth@100ms"
FIRST_EVENT_SECS = 5.0
CHART_PAGE = "https://chart-img.com"


async def python(_bench: Bench) -> CheckResult:
    seen = f"{platform.python_version()} on {sys.platform}"
    if sys.version_info[:2] >= OLDEST_PYTHON:
        return good(seen)
    return CheckResult(
        "problem", seen, "Python 3.11 or newer is required", "Install a newer Python", reinstall_command()
    )


async def packages(_bench: Bench) -> CheckResult:
    wrong = [each for each in metadata.requires(DISTRIBUTION) or () if "extra ==" not in each and not _is_met(each)]
    shown = ", ".join(f"{name} {_version(name)}" for name in SHOWN)
    if not wrong:
        return good(f"{__version__}; {shown}")
    named = ", ".join(f"{_name(each)} {_version(_name(each))} (needs{_wanted(each)})" for each in wrong)
    return CheckResult(
        "problem",
        f"{__version__} does not work with {named}",
        "Another program in this environment requires these versions",
        "Install the server in an environment of its own",
        reinstall_command(),
    )


async def configuration(bench: Bench) -> CheckResult:
    try:
        settings = bench.read()
        check_trust_store(bench.environment)
        await bench.build(settings)
    except SettingsError as error:
        first = next(iter(error.problems), "")
        return CheckResult(
            "problem",
            "; ".join(error.problems),
            "The server does not start with this",
            "Correct it, in this environment or in your MCP client's",
            fixed.group(1) if (fixed := re.search(r"fix it with: (.+)$", first)) else _how_to_unset(first),
        )
    unknown = _foreign(bench)
    if not unknown:
        return good(f"{settings.network}, {_key_source(bench)}")
    hints = [hint for name in unknown if (hint := nearest_variable(name))]
    return CheckResult(
        "warning",
        f"{', '.join(unknown)} {'is' if len(unknown) == 1 else 'are'} unknown to this version",
        f"Most likely meant: {', '.join(hints)}" if hints else "A typing error, or a setting of another program",
        "Correct the name, or remove it",
        forget(unknown),
    )


async def guide(bench: Bench) -> CheckResult:
    path = bench.settings.guide_config
    if path is None:
        return off("only the built-in guides; none of your own are set up")
    _, mistakes = read_config(path)
    if not mistakes:
        return good(f"{path}")
    first = mistakes[0]
    more = f" ({len(mistakes) - 1} more)" if len(mistakes) > 1 else ""
    return CheckResult(
        "problem",
        f"{path}{f', line {first.line}' if first.line else ''}: {first.text}{more}",
        "The server ignores the file and serves the built-in guides",
        "Correct the line; this lists every mistake:",
        f"mcp-binance-server guide check '{path}'",
    )


async def state(bench: Bench) -> CheckResult:
    engine, key = bench.app.engine, "doctor:probe"
    started_ms = bench.clock.monotonic_ms()
    await engine.put(key, b"1", ttl_ms=10_000)
    is_kept = await engine.get(key) == b"1" and await engine.delete(key)
    took_ms = bench.clock.monotonic_ms() - started_ms
    kind = type(engine).__name__.removesuffix("Engine").lower()
    if not is_kept:
        return CheckResult(
            "problem",
            f"{kind}: a stored value was gone a moment later",
            "The engine is full, or loses its data",
            "Check the engine's own log",
        )
    return _kept_on_disk(bench.settings.state_dir) if kind == "memory" else good(f"{kind}, {took_ms:.0f} ms")


def _kept_on_disk(folder: Path | None) -> CheckResult:
    seen = "memory, for this process alone"
    if folder is None:
        return good(seen)
    nearest = next(each for each in (folder, *folder.parents) if each.exists())
    if nearest.is_dir() and os.access(nearest, os.W_OK | os.X_OK):
        return good(f"{seen}; past values in {folder}")
    return CheckResult(
        "warning",
        f"{seen}; {nearest} cannot be written",
        "Analyses compare with past values; without this folder, each restart loses them",
        "Set MCP_BINANCE_STATE_DIR to a folder that this user can write to, or to off",
        export("MCP_BINANCE_STATE_DIR", "off"),
    )


def _foreign(bench: Bench) -> list[str]:
    return sorted(name for name in bench.environment if name.startswith(CHART_FAMILY) and name not in VARIABLES)


def _key_source(bench: Bench) -> str:
    if bench.principal is None:
        return "no key"
    if bench.environment.get("BINANCE_API_KEY", "").strip():
        return f"key {bench.principal.credentials.masked} from the environment"
    return f"key {bench.principal.credentials.masked} from {key_file_of(bench.environment)}"


def _how_to_unset(problem: str) -> str:
    name = problem.partition(":")[0]
    return forget([name]) if name.startswith((*PREFIXES, CHART_FAMILY, *TRUST_VARIABLES)) else ""


def _is_met(requirement: str) -> bool:
    found = _numbers(_version(_name(requirement)))
    for sign, bound in _BOUND.findall(_wanted(requirement)):
        wanted = _numbers(bound)
        is_good = found >= wanted if sign == ">=" else found < wanted if sign == "<" else found == wanted
        if not is_good:
            return False
    return bool(found)


def _name(requirement: str) -> str:
    found = _REQUIREMENT.match(requirement)
    return found.group(1) if found else requirement


def _wanted(requirement: str) -> str:
    found = _REQUIREMENT.match(requirement)
    return f" {found.group(2).strip()}" if found else ""


def _version(distribution: str) -> str:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return "missing"


def _numbers(version: str) -> tuple[int, ...]:
    numbers = [int(part) for part in re.findall(r"\d+", version.partition("+")[0])[:3]]
    return (*numbers, *(0,) * (3 - len(numbers))) if numbers else ()


async def streams(bench: Bench) -> CheckResult:
    url = bench.network.stream_url
    if url is None or not bench.settings.orderbook_analytics:
        why = "BINANCE_REST_URL is set, BINANCE_STREAM_URL is not" if url is None else "switched off"
        return off(f"none: {why}; everything is read by REST")
    host, started_ms = host_of(url), bench.clock.monotonic_ms()
    try:
        connection = await NetworkDialer(bench.settings.proxies).connect(f"{url}/stream?streams={STREAM}")
    except ProxyFailure as failure:
        return proxy_problem(host, failure)
    except OSError as error:
        return _stream_problem(host, f"refused the connection ({type(error).__name__})")
    try:
        with anyio.fail_after(FIRST_EVENT_SECS):
            await connection.recv()
    except TimeoutError:
        return _stream_problem(host, f"accepted the connection, but sent nothing within {FIRST_EVENT_SECS:g} s")
    except OSError:
        return _stream_problem(host, "closed the connection")
    finally:
        with anyio.move_on_after(1, shield=True):
            await connection.close()
    return good(f"{host} sends events, the first after {bench.clock.monotonic_ms() - started_ms:.0f} ms")


async def charts(bench: Bench) -> CheckResult:
    if not bench.charts.has_key:
        return off("no key set: only Binance pairs can be drawn")
    host = host_of(bench.charts.caller.address)
    try:
        exchanges = await bench.charts.exchanges()  # listing uses none of the image quota
    except ChartKeyRefused:
        return CheckResult(
            "problem",
            f"{host} does not accept CHART_IMG_API_KEY",
            "It was mistyped, deleted, or its plan has ended",
            "Copy it again, or remove it: Binance pairs need no key",
            CHART_PAGE,
        )
    except ChartLimitReached as error:
        return CheckResult(
            "warning",
            f"{host} accepts the key, but its limit is reached; retry in {error.retry_after_secs} s",
            "Too many requests, or the day's images are used up",
            "Wait, or take a larger plan; Binance pairs can still be drawn",
            CHART_PAGE,
        )
    except ChartServiceError as error:
        return CheckResult(
            "problem",
            error.message,
            "The service is down, or a firewall or proxy blocks it",
            "Try again in a minute; Binance pairs can still be drawn",
            CHART_PAGE,
        )
    return good(f"accepts the key, {len(exchanges)} exchanges; no image was spent")


async def live_chart(bench: Bench) -> CheckResult:
    if CHARTS not in bench.settings.toolsets:
        return off()
    if not bench.settings.chart_app:
        return off("switched off by MCP_BINANCE_CHART_APP: charts are pictures")
    if is_built():
        return good("in clients with MCP Apps; others show the picture")
    return CheckResult(
        "warning",
        "this installation has no page for it: charts are pictures",
        "It was built from a checkout without Node, npm or their packages",
        "Install a released package, or reinstall the checkout with Node 18 or newer",
        reinstall_command(),
    )


def _stream_problem(host: str, how: str) -> CheckResult:
    return CheckResult(
        "problem",
        f"{host} {how}",
        "A firewall or proxy allows web pages but no WebSockets; or BINANCE_STREAM_URL is wrong",
        "Allow WebSockets to this host, or switch streams off: everything is then read by REST",
        export("MCP_BINANCE_ORDERBOOK_ANALYTICS", "false"),
    )
