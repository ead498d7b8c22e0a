"""What can be seen without the network: Python, packages, settings, guides, the state engine."""

import platform
import re
import sys
from importlib import metadata

from mcp_binance_server import __version__
from mcp_binance_server.cli.doctor.bench import Bench, CheckResult, forget, good, off
from mcp_binance_server.errors import SettingsError
from mcp_binance_server.guide.config_file import read_config
from mcp_binance_server.installation import anew
from mcp_binance_server.settings import PREFIXES, VARIABLES, key_file_of, nearest_variable, read_settings

DISTRIBUTION = "mcp-binance-server"
OLDEST_PYTHON = (3, 11)
SHOWN = ("mcp", "httpx2", "websockets", "cryptography")
CHART_FAMILY = "CHART_IMG_"
_REQUIREMENT = re.compile(r"([A-Za-z0-9._-]+)(?:\[[^\]]*\])?\s*([^;]*)")
_BOUND = re.compile(r"(>=|<|==)\s*([0-9.]+)")


async def python(_bench: Bench) -> CheckResult:
    seen = f"{platform.python_version()} on {sys.platform}"
    if sys.version_info[:2] >= OLDEST_PYTHON:
        return good(seen)
    return CheckResult("problem", seen, "3.11 is the oldest that works", "Install a newer Python", anew())


async def packages(_bench: Bench) -> CheckResult:
    wrong = [each for each in metadata.requires(DISTRIBUTION) or () if "extra ==" not in each and not _is_met(each)]
    shown = ", ".join(f"{name} {_version(name)}" for name in SHOWN)
    if not wrong:
        return good(f"{__version__}; {shown}")
    named = ", ".join(f"{_name(each)} {_version(_name(each))} (needs{_wanted(each)})" for each in wrong)
    return CheckResult(
        "problem",
        f"{__version__} does not fit with {named}",
        "Another program in this environment asked for these versions",
        "Install the server in an environment of its own",
        anew(),
    )


async def configuration(bench: Bench) -> CheckResult:
    try:
        settings = read_settings(bench.environment)
        await bench.build(settings)
    except SettingsError as error:
        first = next(iter(error.problems), "")
        return CheckResult(
            "problem",
            "; ".join(error.problems),
            "The server would not start with this",
            "Fix what is named, in this environment or in the one of your MCP client",
            fixed.group(1) if (fixed := re.search(r"fix it with: (.+)$", first)) else _how_to_unset(first),
        )
    unknown = _foreign(bench)
    if not unknown:
        return good(f"{settings.network}, {_key_source(bench)}")
    hints = [hint for name in unknown if (hint := nearest_variable(name))]
    return CheckResult(
        "warning",
        f"{', '.join(unknown)} {'means' if len(unknown) == 1 else 'mean'} nothing to this version",
        f"Most likely meant: {', '.join(hints)}" if hints else "A typing error, or meant for another program",
        "Correct the name, or remove it",
        forget(unknown),
    )


async def guide(bench: Bench) -> CheckResult:
    path = bench.settings.guide_config
    if path is None:
        return off("only the guides that ship; none of your own are set up")
    _, mistakes = read_config(path)
    if not mistakes:
        return good(f"{path}")
    first = mistakes[0]
    more = f" ({len(mistakes) - 1} more)" if len(mistakes) > 1 else ""
    return CheckResult(
        "problem",
        f"{path}{f', line {first.line}' if first.line else ''}: {first.text}{more}",
        "The server ignores the file and serves the guides that ship",
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
            f"{kind}: what was put was not there a moment later",
            "The engine is full, or loses its memory",
            "Look at the engine's own log",
        )
    return good("memory, for this process alone" if kind == "memory" else f"{kind}, {took_ms:.0f} ms")


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
    return forget([name]) if name.startswith((*PREFIXES, CHART_FAMILY)) else ""


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
