"""`mcp-binance-server stop` and `resume`: the switch for every server of this machine."""

import argparse
from functools import partial

from mcp_binance_server.cli.trading.cancel import cancel_every, open_orders
from mcp_binance_server.cli.trading.host import PERSON, NotDone, OpenJournal, TradingHost, say, told
from mcp_binance_server.cli.trading.passphrase import ask_approver, sealed_key
from mcp_binance_server.cli.trading.shown import intent_line, stopped_line
from mcp_binance_server.errors import echo
from mcp_binance_server.trading.journal.ledger import STOP_FILE
from mcp_binance_server.trading.journal.records import Stopped
from mcp_binance_server.trading.policy_file import policy_at

NO_REASON = "stopped at a terminal"
HOW_TO_RESUME = "Take new orders again: mcp-binance-server resume"
BY_FILE = "so the file {file} was put there: no new order is taken while it lies there."


def run_stop(options: argparse.Namespace) -> int:
    """Stop trading, and cancel what is open if asked; return the exit code."""
    return told(partial(_stop, echo(" ".join(options.reason)) or NO_REASON, cancels=options.cancel_all))


def run_resume(_: argparse.Namespace) -> int:
    """Say why trading is stopped, and take orders again; return the exit code."""
    return told(_resume)


def _stop(why: str, host: TradingHost, *, cancels: bool) -> int:
    try:
        stopped = host.do(partial(_stopped, why))
    except NotDone as problem:
        raise NotDone(f"{problem}\nThe stop could not be written there, {_put_file(host)}") from None
    say(stopped_line(stopped))
    if cancels:
        for each in cancel_every(host):
            say(f"  {each}")
    left = host.do(open_orders)
    say("No order is open." if not left else "These stay open; --cancel-all, or cancel with an id, takes them back:")
    for each in left:
        say(f"  {intent_line(each)}")
    say(HOW_TO_RESUME)
    return 0


def _resume(host: TradingHost) -> int:
    policy = policy_at(host.settings.trading_policy)
    stopped = host.do(_standing)
    if stopped is None:
        say("Trading is not stopped.")
        return 0
    say(stopped_line(stopped))
    if policy.confirm.approver is not None:
        ask_approver(host, sealed_key(host), policy.confirm.approver, "Passphrase (Enter: stay stopped): ")
    host.do(_resumed)
    say("New orders are taken again.")
    return 0


def _put_file(host: TradingHost) -> str:
    path = host.folder / STOP_FILE
    try:
        host.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.touch(mode=0o600)
    except OSError as error:
        return f"and neither could the file {path}: {error.strerror}. End your servers."
    return BY_FILE.format(file=path)


async def _stopped(why: str, journal: OpenJournal) -> Stopped:
    return await journal.ledger.stop(why, PERSON, journal.now_ms())


async def _standing(journal: OpenJournal) -> Stopped | None:
    return await journal.ledger.stopped()


async def _resumed(journal: OpenJournal) -> None:
    await journal.ledger.resume(PERSON, journal.now_ms())
