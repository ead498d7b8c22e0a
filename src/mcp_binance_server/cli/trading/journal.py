"""`mcp-binance-server journal`: list, verify or copy the record of orders."""

import argparse
import shutil
import sys
import textwrap
from functools import partial
from pathlib import Path

import anyio

from mcp_binance_server.cli.terminal import Terminal
from mcp_binance_server.cli.trading.host import exchange_host, settings_of
from mcp_binance_server.cli.trading.order_list import OrderLine, as_csv, as_lines
from mcp_binance_server.cli.trading.shown import HostOf, mode_of, whose
from mcp_binance_server.domain.periods import moment_of
from mcp_binance_server.errors import SettingsError
from mcp_binance_server.settings import surroundings
from mcp_binance_server.trading.errors import JournalUnavailable
from mcp_binance_server.trading.journal.integrity import IntegrityReport, back_up, examine
from mcp_binance_server.trading.journal.ledger import HostLedger
from mcp_binance_server.trading.journal.reading import JournalReader
from mcp_binance_server.trading.journal.records import Intent
from mcp_binance_server.trading.journal.store import FILE, Store, read_store

EXIT_PROBLEM = 1
USUAL_LIMIT, NO_LIMIT = 50, -1


def run_journal(options: argparse.Namespace) -> int:
    """List, verify or copy the journal and return the exit code.

    Raises:
        SettingsError: the settings name no folder.
    """
    settings = settings_of(is_demo=options.demo)
    folder, host = settings.trading_dir, partial(exchange_host, settings)
    if folder is None:
        raise SettingsError(problems=("MCP_BINANCE_TRADING_DIR: set it to the folder of the journal",))
    try:
        copy = None if options.backup is None else Path(options.backup).expanduser()
        return anyio.run(_run, options, folder, copy, host)
    except FileNotFoundError:
        return _no_journal(options, folder)
    except JournalUnavailable as error:
        return _told(f"{folder / FILE}: {error.reason}. {error.fix}.")
    except OSError as error:
        return _told(f"{options.backup}: {error.strerror}.")


async def _run(options: argparse.Namespace, folder: Path, copy: Path | None, host: HostOf) -> int:
    async with read_store(folder) as store:
        if options.verify:
            return _verdict(folder / FILE, await examine(store))
        if copy is not None:
            return _verdict(copy, await _copied(store, copy))
        if options.csv:
            # Bytes, because a spreadsheet expects UTF-8 and the terminal may use another encoding.
            sys.stdout.buffer.write(as_csv(await _orders(store, options.limit or NO_LIMIT, host)).encode())
            sys.stdout.flush()
            return 0
        return await _list(store, options.limit or USUAL_LIMIT, host)


async def _copied(store: Store, copy: Path) -> IntegrityReport:
    try:
        return await back_up(store, copy)
    except FileNotFoundError as error:  # a different error than for a missing journal
        raise NotADirectoryError(error.errno, f"folder {copy.parent} not found") from None
    except FileExistsError as error:
        raise PermissionError(error.errno, "it exists already and is not overwritten: name a new file") from None


async def _list(store: Store, limit: int, host: HostOf) -> int:
    terminal = Terminal.of(sys.stdout, surroundings())
    found = await _orders(store, limit + 1, host)
    width = shutil.get_terminal_size().columns if terminal.is_terminal else None
    for each in await JournalReader(store).stops():
        since = f"{moment_of(each.since_ms):%Y-%m-%d %H:%M} UTC"
        told = textwrap.wrap(f"Trading is stopped for {whose(each)} since {since}: {each.why}.", terminal.width)
        sys.stdout.write("".join(terminal.paint(line, "red") + "\n" for line in told) + "\n")
    sys.stdout.write(as_lines(found[:limit], terminal, width) or "No orders yet.\n")
    if unresolved := len(await HostLedger(store, "").unresolved()):
        sys.stderr.write(f"{_many(unresolved, 'order')} with unknown outcome: a server checks until it is known.\n")
    if len(found) > limit:
        sys.stderr.write("Older orders: --limit N shows more, --csv all.\n")
    return 0


async def _orders(store: Store, limit: int, host: HostOf) -> list[OrderLine]:
    reader = JournalReader(store)
    found = await reader.newest(limit)
    return [OrderLine(each, mode_of(each.terms, host), await _reason(reader, each)) for each in found]


async def _reason(reader: JournalReader, intent: Intent) -> str:
    if intent.status == "FILLED":
        return ""
    told = [str(each.told["reason"]) for each in await reader.history(intent.preview_id) if "reason" in each.told]
    return told[-1] if told else ""


def _verdict(file: Path, found: IntegrityReport) -> int:
    counts = f"{_many(found.events, 'event')}, {_many(found.orders, 'order')}"
    if not found.problems:
        sys.stdout.write(f"{file} is intact: {counts}; each event matches the previous one.\n")
        return 0
    sys.stdout.write(f"{file} is NOT intact: {counts}.\n" + "".join(f"  {each}.\n" for each in found.problems))
    return EXIT_PROBLEM


def _many(number: int, name: str) -> str:
    return f"{number:,} {name}{'s' if number != 1 else ''}"


def _no_journal(options: argparse.Namespace, folder: Path) -> int:
    told = f"No journal in {folder}: no order was placed yet."
    if options.csv:
        sys.stdout.write(as_csv([]))
    return _told(told) if options.verify or options.backup else _told(told, 0)


def _told(text: str, code: int = EXIT_PROBLEM) -> int:
    sys.stderr.write(f"{text}\n")
    return code
