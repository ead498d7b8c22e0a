"""Check of MCP clients: start this server from each client's entry, as the client does."""

import json
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass

import anyio
from anyio.abc import ByteReceiveStream, Process
from anyio.streams.buffered import BufferedByteReceiveStream

from mcp_binance_server.cli.doctor.bench import Bench, CheckResult, good, off
from mcp_binance_server.cli.setup.clients import this_machine
from mcp_binance_server.cli.setup.plan import OurEntry, our_entries
from mcp_binance_server.clock import SystemClock
from mcp_binance_server.errors import echo
from mcp_binance_server.installation import own_command
from mcp_binance_server.key_file import NAMES
from mcp_binance_server.telemetry.logs import Redactor

PATIENCE_SECS = 60.0
LEAVE_SECS = 3.0
LONGEST_LINE = 1_000_000
LONGEST_COMPLAINT = 8_192
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "mcp-binance-server doctor", "version": "1"},
    },
}

# Environment variables that the MCP SDK passes to a server. All others must be in the client's entry.
HANDED_DOWN = (
    *("HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER"),
    *("APPDATA", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "PATHEXT", "PROCESSOR_ARCHITECTURE", "PROGRAMFILES"),
    *("SYSTEMDRIVE", "SYSTEMROOT", "TEMP", "USERNAME", "USERPROFILE"),
)


@dataclass(frozen=True, slots=True)
class Greeting:
    """Startup time until the answer to `initialize`, or a problem with its likely cause."""

    took_ms: float = 0
    problem: str = ""
    why: str = ""


async def greeted(
    entry: OurEntry,
    environment: Mapping[str, str],
    patience_secs: float | None = None,
    leave_secs: float = LEAVE_SECS,
) -> Greeting:
    """Start the server that a client's configuration names, wait for its greeting, and stop it.

    The wait is as long as the client's own timeout.
    """
    patience_secs = min(entry.start_secs, PATIENCE_SECS) if patience_secs is None else patience_secs
    clock = SystemClock()
    started_ms = clock.monotonic_ms()
    try:
        process = await anyio.open_process([entry.command, *entry.args], env=dict(environment), stderr=subprocess.PIPE)
    except OSError as error:
        return Greeting(
            problem=f"'{echo(entry.command)}' cannot be started ({error.strerror})",
            why="The program was moved or removed, or the client has another PATH than your terminal",
        )
    complaint = bytearray()
    line: bytes | None = None
    took_ms = 0.0
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_collect, process.stderr, complaint)
            with anyio.move_on_after(patience_secs):
                line = await _first_line(process)
            took_ms = clock.monotonic_ms() - started_ms
            await _end(process, leave_secs)
            tasks.cancel_scope.cancel()
    finally:
        with anyio.CancelScope(shield=True):
            await process.aclose()
    return _judged(line, took_ms, _last_words(complaint, entry), patience_secs, entry.client.start.field)


async def _first_line(process: Process) -> bytes:
    """Return the first line of output, or an empty line if the server exits first."""
    assert process.stdin is not None  # noqa: S101 - both are pipes
    assert process.stdout is not None  # noqa: S101 - as above
    try:
        await process.stdin.send(json.dumps(INITIALIZE).encode() + b"\n")
        return await BufferedByteReceiveStream(process.stdout).receive_until(b"\n", LONGEST_LINE)
    except (anyio.BrokenResourceError, anyio.ClosedResourceError, anyio.IncompleteRead, anyio.DelimiterNotFound):
        return b""


async def _collect(stream: ByteReceiveStream | None, into: bytearray) -> None:
    if stream is None:
        return
    async for chunk in stream:
        into.extend(chunk)
        del into[:-LONGEST_COMPLAINT]


async def _end(process: Process, leave_secs: float) -> None:
    """Stop a server as clients do: close its input, then terminate, then kill it."""
    with anyio.CancelScope(shield=True):
        if process.stdin is not None:
            await process.stdin.aclose()
        for insist in (process.terminate, process.kill):
            with anyio.move_on_after(leave_secs):
                await process.wait()
                return
            insist()


def _last_words(complaint: bytearray, entry: OurEntry) -> str:
    lines = [line.strip() for line in complaint.decode("utf-8", "replace").splitlines() if line.strip()]
    secrets = [value for name, value in entry.variables.items() if name in NAMES and not name.endswith("_FILE")]
    return echo(Redactor(secrets).redact(lines[-1])) if lines else ""


def _judged(line: bytes | None, took_ms: float, last_words: str, patience_secs: float, field: str) -> Greeting:
    said = f"; last output: {last_words}" if last_words else ""
    if line is None:
        return Greeting(
            problem=f"no answer within {patience_secs:g} s{said}",
            why="The first start by uvx downloads the package, which may take longer than a client waits"
            + (f"; {field} in the entry sets this time" if field else ""),
        )
    if not line:
        return Greeting(
            problem=f"the server exits at once{said}", why="The settings in the entry, or the installation, are wrong"
        )
    try:
        name = json.loads(line)["result"]["serverInfo"]["name"]
    except (ValueError, KeyError, TypeError):
        name = None
    if not isinstance(name, str):
        return Greeting(problem="its output is not MCP", why="Another program answers, or prints to standard output")
    return Greeting(took_ms)


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
            "The client may start no server at all. The entries in this file were not checked",
            "Correct the file; setup names the invalid line",
            f"{own_command()} setup --dry-run",
        )
    if not found:
        return off(f"no MCP client here is set up yet: {own_command()} setup")
    titles = ", ".join(dict.fromkeys(entry.client.title for entry, _ in found))
    slowest_ms = max(greeting.took_ms for _, greeting in found)
    limited = dict.fromkeys(
        f"; {each.title} {each.limit}" for each in (entry.client for entry, _ in found) if each.limit
    )
    limits = "".join(limited)
    return good(f"{titles}: {'starts' if len(found) == 1 else 'each starts'} it, {slowest_ms:.0f} ms{limits}")


def _environment(entry: OurEntry, around: Mapping[str, str]) -> dict[str, str]:
    return {**{name: around[name] for name in HANDED_DOWN if name in around}, **entry.variables}


def _problem(entry: OurEntry, greeting: Greeting, others: int) -> CheckResult:
    more = f" ({others} more)" if others else ""
    named = "" if entry.name == "binance" else f" --name {entry.name}"
    return CheckResult(
        "problem",
        f"{entry.client.title}, entry '{entry.name}': {greeting.problem}{more}",
        greeting.why,
        "Write the entry again; its settings are kept",
        f"{own_command()} setup --client {entry.client.name}{named} --no-keys",
    )
