"""The examination: climb the ladder, print what is found as it is found."""

import sys
from collections.abc import Mapping
from contextlib import AsyncExitStack
from pathlib import Path

from mcp_binance_server.cli.doctor.bench import Bench
from mcp_binance_server.cli.doctor.cleaning import Cleaner
from mcp_binance_server.cli.doctor.finding import CheckResult, Rung
from mcp_binance_server.cli.doctor.ladder import LADDER, climb
from mcp_binance_server.cli.doctor.report import as_json, count, heading, lines, summary, under_way, wiped
from mcp_binance_server.cli.terminal import Terminal
from mcp_binance_server.clock import SystemClock
from mcp_binance_server.errors import SettingsError
from mcp_binance_server.exchange.networks import NETWORKS, Network
from mcp_binance_server.key_file import NAMES
from mcp_binance_server.settings import read_settings
from mcp_binance_server.startup_checks import credentials_of

EXIT_PROBLEM = 1


async def examine(
    environment: Mapping[str, str],
    *,
    as_object: bool = False,
    is_quiet: bool = False,
    networks: Mapping[str, Network] = NETWORKS,
) -> int:
    """Climb the ladder and print the report; a quiet one is of warnings and problems alone."""
    terminal = Terminal.of(sys.stdout, environment)
    told = _Silence() if as_object else _Trouble(terminal) if is_quiet else _Telling(terminal)
    cleaner = Cleaner(_secrets(environment), str(Path.home()))

    def after(rung: Rung, finding: CheckResult) -> None:
        told.after(rung, cleaner.clean(finding))

    async with AsyncExitStack() as stack:
        bench = Bench(environment, SystemClock(), stack, networks)
        told.begin()
        found = await climb(bench, before=told.before, after=after)
        network = bench.network.name if bench.is_built else None
    cleaned = {name: cleaner.clean(finding) for name, finding in found.items()}
    if as_object or not is_quiet:
        _write(as_json(LADDER, cleaned, network) if as_object else summary(cleaned, terminal))
    return EXIT_PROBLEM if count(found, "problem") else 0


class _Silence:
    def begin(self) -> None: ...

    def before(self, rung: Rung) -> None: ...

    def after(self, rung: Rung, finding: CheckResult) -> None: ...


class _Telling(_Silence):
    """Prints each rung as it is done; on a terminal also which one is being tried, for some take seconds."""

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal

    def begin(self) -> None:
        _write(f"{wiped(self._terminal)}{heading(self._terminal)}")

    def before(self, rung: Rung) -> None:
        _write(under_way(rung.title, self._terminal))

    def after(self, rung: Rung, finding: CheckResult) -> None:
        _write(f"{wiped(self._terminal)}{lines(rung, finding, self._terminal)}")


class _Trouble(_Silence):
    """Prints what needs attention and nothing else."""

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal

    def after(self, rung: Rung, finding: CheckResult) -> None:
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
    return [*found, settings.chart_key.get_secret_value()] if settings.chart_key else found


def _write(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()
