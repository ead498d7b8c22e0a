"""Checks of this machine's order journal: location, integrity, unresolved orders and stops."""

import os
from pathlib import Path

from mcp_binance_server.cli.doctor.bench import Bench, CheckResult, JournalFound, export, good
from mcp_binance_server.cli.trading.shown import whose
from mcp_binance_server.domain.periods import moment_of
from mcp_binance_server.errors import echo
from mcp_binance_server.installation import own_command
from mcp_binance_server.trading.errors import JournalUnavailable
from mcp_binance_server.trading.journal.folder import file_system, require_private
from mcp_binance_server.trading.journal.integrity import IntegrityReport, commit_ms, examine
from mcp_binance_server.trading.journal.ledger import HostLedger
from mcp_binance_server.trading.journal.owner import is_dead
from mcp_binance_server.trading.journal.records import ALL_ACCOUNTS, Intent
from mcp_binance_server.trading.journal.store import FILE, Store, read_store
from mcp_binance_server.trading.journal.watching import OrderWatch

VARIABLE = "MCP_BINANCE_TRADING_DIR"
# File systems that are emptied at a reboot or with the container.
PASSING = {"tmpfs": "memory", "ramfs": "memory", "overlay": "a container layer"}
SLOW_MS = 500


async def journal(bench: Bench) -> CheckResult:
    folder = bench.settings.trading_dir
    if folder is None:
        return _unusable("this user has no home folder", f"Set {VARIABLE} to a folder", export(VARIABLE, "FOLDER"))
    try:
        return await _examined(bench, folder)
    except JournalUnavailable as error:
        command = error.fix if error.fix.startswith("chmod") else ""
        return _unusable(f"{folder}: {error.reason}", error.fix, command)


async def stop(bench: Bench) -> CheckResult:
    stops = bench.journal.stops if bench.journal is not None else ()
    if not stops:
        return good("trading is not stopped")
    first, more = stops[0], f" ({len(stops) - 1} more)" if len(stops) > 1 else ""
    return CheckResult(
        "warning",
        f"trading has been stopped for {whose(first)} since {_moment(first.since_ms)}: {echo(first.why)}{more}",
        "New orders are refused until you resume; you can still cancel orders, and open orders stay open",
        "Fix the cause of the stop, then run:",
        f"{own_command()} resume",
    )


async def _examined(bench: Bench, folder: Path) -> CheckResult:
    nearest = next(each for each in (folder, *folder.parents) if each.exists())
    if not nearest.is_dir() or not os.access(nearest, os.W_OK | os.X_OK):
        fix = f"Set {VARIABLE} to a folder that this user can write to"
        return _unusable(f"{nearest} cannot be written", fix, f"ls -ld '{nearest}'")
    require_private(folder, folder / FILE)
    took_ms = await commit_ms(nearest, bench.clock) if nearest == folder else None
    try:
        async with read_store(folder) as store:
            whole, bench.journal = await examine(store), await _found(store)
            left = [each for each in bench.journal.unresolved if is_dead(folder, each.owner)]
    except FileNotFoundError:
        bench.journal = JournalFound()
        return _where(folder, file_system(nearest.resolve()), None, took_ms)
    if whole.problems:
        return _not_whole(
            folder, whole, is_accepted=not any(each.account == ALL_ACCOUNTS for each in bench.journal.stops)
        )
    if left:
        return _left_open(left)
    return _where(folder, file_system(nearest.resolve()), whole, took_ms)


async def _found(store: Store) -> JournalFound:
    ledger = HostLedger(store, "")
    unresolved, still = await ledger.unresolved(), await OrderWatch(store).open_intents()
    return JournalFound(tuple(await ledger.stops()), tuple(unresolved), tuple(still))


def _where(folder: Path, kind: str | None, whole: IntegrityReport | None, took_ms: float | None) -> CheckResult:
    seen = (
        f"{whole.orders:,} order{'s' if whole.orders != 1 else ''} in {folder / FILE}"
        if whole
        else f"none yet; it will be {folder / FILE}"
    )
    seen += "" if took_ms is None else f"; a commit takes {took_ms:.1f} ms"
    if kind in PASSING:
        return CheckResult(
            "warning",
            f"{folder} is in {PASSING[kind]} ({kind})",
            "If this folder is cleared, the journal and used limits are lost; open orders are found by their IDs",
            f"Set {VARIABLE} to a folder on a disk. In a container, mount a volume there",
            export(VARIABLE, "/var/lib/mcp-binance-server"),
        )
    if took_ms is not None and took_ms > SLOW_MS:
        return CheckResult(
            "warning",
            seen,
            "Each order waits for three commits; the disk is slow or busy",
            f"Set {VARIABLE} to a folder on a faster disk",
            export(VARIABLE, "FOLDER"),
        )
    return good(seen)


def _not_whole(folder: Path, whole: IntegrityReport, *, is_accepted: bool) -> CheckResult:
    first, *others = whole.problems
    more = f" ({len(others)} more)" if others else ""
    return CheckResult(
        "warning" if is_accepted else "problem",
        f"{folder / FILE} is not intact: {first}{more}",
        "You have accepted it with resume" if is_accepted else "Another program changed it, or it is an older copy",
        "Compare your orders with those at Binance; restore a backup, or resume with this journal",
        f"{own_command()} journal --verify",
    )


def _left_open(left: list[Intent]) -> CheckResult:
    first, more = left[0], f" ({len(left) - 1} more)" if len(left) > 1 else ""
    return CheckResult(
        "warning",
        f"order {first.client_order_id} of {_moment(first.prepared_ms)} has an unknown outcome ({first.state}){more}",
        "The server that sent it stopped before an answer came; the order may be open at the exchange",
        "Do not place it again. Start a server with these settings, which queries the order until the outcome is known",
        f"{own_command()} journal",
    )


def _unusable(seen: str, fix: str, command: str) -> CheckResult:
    return CheckResult("problem", seen, "An order is placed only after it is recorded", fix, command)


def _moment(at_ms: int) -> str:
    return f"{moment_of(at_ms):%Y-%m-%d %H:%M} UTC"
