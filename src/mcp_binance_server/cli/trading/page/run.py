"""`mcp-binance-server approve --page`: open the approval page in a browser and serve it until the decision."""

import argparse
import os
import sys
import threading
import webbrowser
from contextlib import suppress
from functools import partial

import anyio

from mcp_binance_server.cli.interruption import run
from mcp_binance_server.cli.trading.approve import approvers_of, chosen, say_waiting, what_waits, whose_yes
from mcp_binance_server.cli.trading.host import TradingHost, say, told
from mcp_binance_server.cli.trading.page.deciding import OneDecision
from mcp_binance_server.cli.trading.page.html import HEADERS
from mcp_binance_server.cli.trading.page.http import READ_BYTES, listening
from mcp_binance_server.cli.trading.passphrase import sealed_key
from mcp_binance_server.services.trading.approval_pages import has_screen
from mcp_binance_server.settings import surroundings
from mcp_binance_server.trading.journal.records import Waiting
from mcp_binance_server.trading.policy_file import policy_at

if sys.platform != "win32":
    import resource

# Keep serving after the decision, so that a reload shows the result.
LINGER_MS = 20_000
OPENED = "The page is open in your browser. It is valid until your decision, or until the preview expires."


def run_page(options: argparse.Namespace) -> int:
    """Serve the page of one order until the decision or expiry. Return the exit code."""
    work = partial(_page, options.order, options.approver, opens=not options.print_address)
    return told(work, is_demo=options.demo)


def _page(wanted: str | None, file: str | None, host: TradingHost, *, opens: bool) -> int:
    waiting, _ = host.do(what_waits)
    one = chosen(waiting, wanted)
    if one is None:
        say_waiting(host, waiting)
        return 0
    named = approvers_of(one, policy_at(host.settings.trading_policy), host)
    sealed_key(host, file).require_named(named, whose_yes(one))
    _leave_no_image()
    run(serve_page, host, one, opens, file)
    return 0


async def serve_page(
    host: TradingHost,
    one: Waiting,
    opens: bool,  # noqa: FBT001 - `run` passes no names
    file: str | None = None,
) -> None:
    """Serve the page until shortly after the decision or expiry, or until the parent process exits."""
    async with listening(HEADERS) as server, anyio.create_task_group() as tasks:
        page = OneDecision(host, one, server.port, file)
        server.answer = page.answer
        # A parent server closes this pipe when it exits. Windows cannot wait for a pipe, so there the server terminates
        # this process.
        if not sys.stdin.isatty() and sys.platform != "win32":
            tasks.start_soon(_end_with_input, tasks.cancel_scope)
        _show(page, opens=opens)
        with anyio.move_on_after(max(0, one.terms.expires_ms - host.clock.now_ms()) / 1000):
            await page.over.wait()
        await host.clock.sleep_ms(LINGER_MS)
        tasks.cancel_scope.cancel()


def _leave_no_image() -> None:
    """Disable core dumps, so that a crash does not write the passphrase to disk."""
    if sys.platform != "win32":
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _show(page: OneDecision, *, opens: bool) -> None:
    browser = _browser() if opens else None
    if browser is None:
        say(page.address)
        return
    say(OPENED)
    # A browser may print to standard output, and some commands return only when their output is closed.
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, sys.stdout.fileno())
    os.close(nothing)
    threading.Thread(target=browser.open, args=(page.address,), name="browser", daemon=True).start()


def _browser() -> webbrowser.BaseBrowser | None:
    if not has_screen(surroundings()):
        return None
    try:
        return webbrowser.get()
    except webbrowser.Error:
        return None


async def _end_with_input(scope: anyio.CancelScope) -> None:
    with suppress(OSError):  # A regular file never signals its end.
        await anyio.wait_readable(sys.stdin.fileno())
        while os.read(sys.stdin.fileno(), READ_BYTES):
            await anyio.wait_readable(sys.stdin.fileno())
        scope.cancel()
