"""`mcp-binance-server stop` and `resume`: the kill switch for all servers and accounts on this machine."""

import argparse
from functools import partial

from mcp_binance_server.cli.trading.cancel import cancel_every, open_orders
from mcp_binance_server.cli.trading.host import PERSON, CommandFailed, OpenJournal, TradingHost, say, told
from mcp_binance_server.cli.trading.passphrase import ask_approver, sealed_key
from mcp_binance_server.cli.trading.shown import intent_line, stopped_line
from mcp_binance_server.errors import echo
from mcp_binance_server.trading.journal.ledger import STOP_FILE
from mcp_binance_server.trading.journal.records import ALL_ACCOUNTS, Stopped
from mcp_binance_server.trading.policy_file import policy_at

NO_REASON = "stopped at a terminal"
HOW_TO_RESUME = "To resume: {command}"
BY_FILE = "The file {file} was created instead: no new orders while it exists."


def run_stop(options: argparse.Namespace) -> int:
    """Stop trading and, on request, cancel open orders. Return the exit code."""
    why = echo(" ".join(options.reason)) or NO_REASON
    return told(partial(_stop, why, cancels=options.cancel_all), is_demo=options.demo)


def run_resume(options: argparse.Namespace) -> int:
    """Show why trading is stopped, and resume it for one or all accounts. Return the exit code."""
    return told(partial(_resume, options.account), is_demo=options.demo)


def _stop(why: str, host: TradingHost, *, cancels: bool) -> int:
    try:
        stopped = host.do(partial(_stopped, why))
    except CommandFailed as problem:
        raise CommandFailed(f"{problem}\nThe stop could not be recorded there. {_put_file(host)}") from None
    say(stopped_line(stopped))
    if cancels:
        for each in cancel_every(host):
            say(f"  {each}")
    left = host.do(open_orders)
    one = host.command("cancel ID")
    say("No open orders." if not left else f"Still open; cancel them with --cancel-all, or one with {one}:")
    for each in left:
        say(f"  {intent_line(each)}")
    say(HOW_TO_RESUME.format(command=host.command("resume")))
    return 0


def _resume(account: str | None, host: TradingHost) -> int:
    policy = policy_at(host.settings.trading_policy)
    stops = host.do(_standing)
    for each in stops:
        say(stopped_line(each, "Stopped"))
    lifted = [each for each in stops if account in (None, each.account)]
    if not lifted:
        say("Trading is not stopped." if account is None else f"Account {echo(account)} has no stop of its own.")
        return 0
    if policy.resumers:
        ask_approver(host, sealed_key(host), policy.resumers, "Passphrase (Enter: stay stopped): ")
    host.do(partial(_resumed, account))
    say(_told(account, [each for each in stops if each not in lifted]))
    return 0


def _told(account: str | None, left: list[Stopped]) -> str:
    if account is None:
        return "Resumed: new orders are allowed again."
    if any(each.account == ALL_ACCOUNTS for each in left):
        return f"The stop of account {echo(account)} is lifted; the stop of all accounts still applies."
    return f"Resumed: account {echo(account)} can place new orders again."


def _put_file(host: TradingHost) -> str:
    path = host.folder / STOP_FILE
    try:
        host.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.touch(mode=0o600)
    except OSError as error:
        return f"The file {path} could not be created either: {error.strerror}. End your servers."
    return BY_FILE.format(file=path)


async def _stopped(why: str, journal: OpenJournal) -> Stopped:
    return await journal.ledger.stop(why, PERSON, journal.now_ms())


async def _standing(journal: OpenJournal) -> list[Stopped]:
    return await journal.ledger.stops()


async def _resumed(account: str | None, journal: OpenJournal) -> None:
    await journal.ledger.resume(PERSON, journal.now_ms(), account)
