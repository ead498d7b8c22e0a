"""`mcp-binance-server cancel`: cancel an order of any server on this machine."""

import argparse
from functools import partial

from mcp_binance_server.cli.trading.host import PERSON, CommandFailed, OpenJournal, TradingHost, say, told
from mcp_binance_server.cli.trading.shown import intent_line
from mcp_binance_server.domain.account import Venue
from mcp_binance_server.domain.order_requests import Target
from mcp_binance_server.domain.symbols import Symbol
from mcp_binance_server.errors import echo
from mcp_binance_server.trading.desk import Desk, Placed
from mcp_binance_server.trading.journal.records import Intent
from mcp_binance_server.trading.paper.account import Pair
from mcp_binance_server.trading.paper.broker import PaperBroker
from mcp_binance_server.trading.paper.exchange import PaperExchange
from mcp_binance_server.trading.paper.reads import HOST


def run_cancel(options: argparse.Namespace) -> int:
    """Cancel an order and return the exit code."""
    return told(partial(_cancel, options.order.strip()), is_demo=options.demo)


def cancel_every(host: TradingHost) -> list[str]:
    """Cancel all open orders, including stop orders, on paper and at Binance. Return a line for each result."""
    found = host.do(open_orders)
    lines = [intent_line(each) for each in host.do(partial(_cancel_on_paper, _on_paper(found)))]
    for account in dict.fromkeys(_place(each) for each in found if each.terms.mode != "paper"):
        theirs = [each for each in found if _place(each) == account]
        try:
            lines += [_line_of(each) for each in _at_binance(host, theirs)]
        except CommandFailed as problem:
            lines.append(f"{problem}")
    return lines


async def open_orders(journal: OpenJournal) -> list[Intent]:
    """Return the open orders of all accounts and modes."""
    return [*await _desk(journal).watch.open_intents()]


def _cancel(client_order_id: str, host: TradingHost) -> int:
    found = host.do(partial(_found, client_order_id, host.command("journal")))
    if found.terms.mode == "paper":
        (after,) = host.do(partial(_cancel_on_paper, [found]))
        say(intent_line(after))
    else:
        (placed,) = _at_binance(host, [found])
        after = placed.intent
        say(_line_of(placed))
    if after.status != "CANCELED":
        raise CommandFailed(
            "It was closed already; nothing cancelled." if after.final_ms else "It could not be cancelled."
        )
    return 0


async def _found(client_order_id: str, listing: str, journal: OpenJournal) -> Intent:
    found = await journal.reader.of_any_account(client_order_id)
    if found is None:
        raise CommandFailed(f"No order {echo(client_order_id)} in the journal. {listing} lists them.")
    return found


def _at_binance(host: TradingHost, intents: list[Intent]) -> list[Placed]:
    from mcp_binance_server.cli.trading.at_binance import cancel_at_binance  # noqa: PLC0415 - not needed for paper orders

    return cancel_at_binance(host, intents)


def _on_paper(intents: list[Intent]) -> list[Intent]:
    return [each for each in intents if each.terms.mode == "paper"]


def _place(intent: Intent) -> tuple[str, str, str]:
    return intent.terms.mode, intent.terms.network, intent.terms.account


def _line_of(placed: Placed) -> str:
    said = f" ({placed.reason})" if placed.reason else ""
    return f"{intent_line(placed.intent)}{said}"


async def _cancel_on_paper(intents: list[Intent], journal: OpenJournal) -> list[Intent]:
    if not intents:
        return []
    async with _desk(journal).running() as desk:
        return [await _cancelled(desk, each) for each in intents]


async def _cancelled(desk: Desk, intent: Intent) -> Intent:
    target = Target(intent.terms.symbol, intent.client_order_id, intent.order_id)
    return (await desk.cancel(intent.terms.account, target, PERSON)).intent


def _desk(journal: OpenJournal) -> Desk:
    # Starting balances and latency are unused, because the account exists already and no order is placed.
    exchange = PaperExchange(journal.store, {}, 0, journal.now_ms)

    async def pair_of(symbol: Symbol) -> Pair:
        base = await journal.reader.base_of(symbol)
        return Pair(base, symbol.removeprefix(base))

    def broker_of(account: str) -> PaperBroker:
        return PaperBroker(account, exchange, pair_of, Venue("paper", HOST, simulated=True), journal.clock)

    return Desk(journal.ledger, broker_of, journal.clock, journal.now_ms)
