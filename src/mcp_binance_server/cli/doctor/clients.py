"""The clients of this machine: each entry that starts our server is started as its client would start it."""

import shutil
from collections.abc import Mapping

from mcp_binance_server.cli.doctor.bench import Bench
from mcp_binance_server.cli.doctor.finding import CheckResult, good, off
from mcp_binance_server.cli.doctor.greeting import Greeting, greeted
from mcp_binance_server.cli.setup.machine import this_machine
from mcp_binance_server.cli.setup.ours import OurEntry, our_entries
from mcp_binance_server.installation import own_command

# What programs with windows hand down to the servers they start, as the MCP SDK does; the rest stands in the entry.
HANDED_DOWN = (
    *("HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER"),
    *("APPDATA", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "PATHEXT", "PROCESSOR_ARCHITECTURE", "PROGRAMFILES"),
    *("SYSTEMDRIVE", "SYSTEMROOT", "TEMP", "USERNAME", "USERPROFILE"),
)


async def clients(bench: Bench) -> CheckResult:
    entries, unreadable = our_entries(this_machine(bench.environment, shutil.which))
    started = [entry for entry in entries if not entry.is_disabled]
    found = [(entry, await greeted(entry, _environment(entry, bench.environment))) for entry in started]
    bad = [(entry, greeting) for entry, greeting in found if greeting.problem]
    if bad:
        return _problem(*bad[0], len(bad) - 1)
    if unreadable:
        return CheckResult(
            "warning",
            f"{unreadable[0]} cannot be read",
            "The client that reads it may start no server at all; what is in it could not be checked",
            "Open the file and correct it; setup says in which line it is wrong",
            f"{own_command()} setup --dry-run",
        )
    if not found:
        return off(f"none of this machine starts the server yet: {own_command()} setup")
    titles = ", ".join(dict.fromkeys(entry.client.title for entry, _ in found))
    slowest_ms = max(greeting.took_ms for _, greeting in found)
    return good(f"{titles}: {'starts' if len(found) == 1 else 'each starts'} it, {slowest_ms:.0f} ms")


def _environment(entry: OurEntry, around: Mapping[str, str]) -> dict[str, str]:
    return {**{name: around[name] for name in HANDED_DOWN if name in around}, **entry.variables}


def _problem(entry: OurEntry, greeting: Greeting, others: int) -> CheckResult:
    more = f" ({others} more)" if others else ""
    named = "" if entry.name == "binance" else f" --name {entry.name}"
    return CheckResult(
        "problem",
        f"{entry.client.title}, entry '{entry.name}': {greeting.problem}{more}",
        greeting.why,
        "Write the entry again; settings that it holds are kept",
        f"{own_command()} setup --client {entry.client.name}{named} --no-keys",
    )
