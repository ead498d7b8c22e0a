"""`mcp-binance-server paper`: show or reset the paper account."""

import argparse
import sys
from functools import partial

from mcp_binance_server.cli.trading.host import PERSON, CommandFailed, OpenJournal, TradingHost, say, told
from mcp_binance_server.cli.trading.shown import opening_line, paper_page
from mcp_binance_server.domain.access import LOCAL, Visitor
from mcp_binance_server.services.trading.results import PaperPast
from mcp_binance_server.trading.journal.reading import PAPER_RESET
from mcp_binance_server.trading.judgement.policy import Policy
from mcp_binance_server.trading.paper.account import account_of
from mcp_binance_server.trading.paper.exchange import PaperExchange
from mcp_binance_server.trading.paper.reads import PaperReads
from mcp_binance_server.trading.policy_file import policy_at

QUESTION = "Reset this account to its initial balances, and cancel its open orders? [y/N] "
HINT = """
Cancel an order:    {cancel}
Reset the account:  {reset}"""
DONE = "\nThe account was reset; {cancelled} open {orders} cancelled. The journal is kept."


def run_paper(options: argparse.Namespace) -> int:
    """Show or reset the paper account. Return the exit code."""
    account = account_of(LOCAL if options.token is None else Visitor(options.token))
    if options.action == "reset":
        return told(partial(_reset, account, is_sure=options.yes), is_demo=options.demo)
    return told(partial(_show, account), is_demo=options.demo)


def _show(account: str, host: TradingHost) -> int:
    policy = policy_at(host.settings.trading_policy)
    say(host.do(partial(_page, account, policy, host)))
    say(host.do(partial(_result, account, policy, host)))
    say(HINT.format(cancel=host.command("cancel ID"), reset=host.command("paper reset")))
    return 0


def _reset(account: str, host: TradingHost, *, is_sure: bool) -> int:
    policy = policy_at(host.settings.trading_policy)
    say(host.do(partial(_page, account, policy, host)))
    if not is_sure and not _is_yes(host.command("paper reset --yes")):
        raise CommandFailed("Nothing was changed.")
    cancelled = host.do(partial(_begin_again, account, policy))
    say(DONE.format(cancelled=cancelled, orders="order was" if cancelled == 1 else "orders were"))
    return 0


def _is_yes(unasked: str) -> bool:
    if not sys.stdin.isatty():
        raise CommandFailed(f"No terminal to confirm at. Without a question: {unasked}")
    try:
        return input(f"\n{QUESTION}").strip().lower() in ("y", "yes")
    except EOFError:
        return False


async def _page(account: str, policy: Policy, host: TradingHost, journal: OpenJournal) -> str:
    exchange = _exchange(policy, journal)
    rows = await exchange.open_orders(account)
    holds = await exchange.account(account)
    stopped = await journal.ledger.stopped(account)
    prices = "made-up prices" if host.is_demo else "live prices"
    return paper_page(account, holds.balances, [each.order for each in rows], stopped, prices)


async def _result(account: str, policy: Policy, host: TradingHost, journal: OpenJournal) -> str:
    past = await PaperPast.of(journal.reader, account)
    if not past.symbols:
        return opening_line(policy.paper_balances)
    from mcp_binance_server.cli.trading.paper_value import valued_result  # noqa: PLC0415 - not needed without trades

    return await valued_result(host, PaperReads(_exchange(policy, journal), "paper", account), policy, past)


async def _begin_again(account: str, policy: Policy, journal: OpenJournal) -> int:
    cancelled = await _exchange(policy, journal).reset(account)
    await journal.ledger.note(PAPER_RESET, {"account": account, "by": PERSON}, journal.now_ms())
    return cancelled


def _exchange(policy: Policy, journal: OpenJournal) -> PaperExchange:
    return PaperExchange(journal.store, policy.paper_balances, 0, journal.now_ms)
