"""Dispatch of the trading commands."""

import argparse
from collections.abc import Callable

from mcp_binance_server.cli.trading.approve import run_approve
from mcp_binance_server.cli.trading.cancel import run_cancel
from mcp_binance_server.cli.trading.journal import run_journal
from mcp_binance_server.cli.trading.paper import run_paper
from mcp_binance_server.cli.trading.stop import run_resume, run_stop


def _run_approve(options: argparse.Namespace) -> int:
    if not options.page:
        return run_approve(options)
    from mcp_binance_server.cli.trading.page.run import run_page  # noqa: PLC0415 - not needed in a terminal

    return run_page(options)


RUN: dict[str, Callable[[argparse.Namespace], int]] = {
    "journal": run_journal,
    "approve": _run_approve,
    "stop": run_stop,
    "resume": run_resume,
    "cancel": run_cancel,
    "paper": run_paper,
}
