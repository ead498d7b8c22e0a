"""`mcp-binance-server cancel`: a person takes an order back, whichever server placed it."""

import argparse
from functools import partial

from mcp_binance_server.cli.trading.host import PERSON, NotDone, OpenJournal, TradingHost, say, told
from mcp_binance_server.cli.trading.shown import intent_line
from mcp_binance_server.domain.account import Venue
from mcp_binance_server.domain.order_requests import Target
from mcp_binance_server.domain.symbols import Symbol
from mcp_binance_server.errors import echo
from mcp_binance_server.trading.desk import Desk
from mcp_binance_server.trading.journal.records import Intent
from mcp_binance_server.trading.paper.account import Pair
from mcp_binance_server.trading.paper.broker import PaperBroker
from mcp_binance_server.trading.paper.exchange import PaperExchange
from mcp_binance_server.trading.paper.reads import HOST


def run_cancel(options: argparse.Namespace) -> int:
    """Cancel an order; return the exit code: it was cancelled, or not."""
    return told(partial(_cancel, options.order.strip()))


async def cancel_on_paper(journal: OpenJournal) -> list[str]:
    """Cancel every open order on paper, stops too; return a line for each."""
    async with _desk(journal).running() as desk:
        return [intent_line(await _cancelled(desk, each)) for each in await open_orders(journal)]


async def open_orders(journal: OpenJournal) -> list[Intent]:
    """Return the orders on paper of every account that are not over."""
    return [each for each in await _desk(journal).watch.open_intents() if each.terms.mode == "paper"]


def _cancel(client_order_id: str, host: TradingHost) -> int:
    after = host.do(partial(_cancel_one, client_order_id))
    say(intent_line(after))
    if after.status != "CANCELED":
        raise NotDone("It was over before; nothing was cancelled." if after.final_ms else "It could not be cancelled.")
    return 0


async def _cancel_one(client_order_id: str, journal: OpenJournal) -> Intent:
    found = await journal.reader.of_any_account(client_order_id)
    if found is None:
        raise NotDone(f"No order {echo(client_order_id)} was placed here. mcp-binance-server journal lists them.")
    if found.terms.mode != "paper":
        raise NotDone(f"{found.client_order_id} is not on paper: cancel it at Binance.")
    async with _desk(journal).running() as desk:
        return await _cancelled(desk, found)


async def _cancelled(desk: Desk, intent: Intent) -> Intent:
    target = Target(intent.terms.symbol, intent.client_order_id, intent.order_id)
    return (await desk.cancel(intent.terms.account, target, PERSON)).intent


def _desk(journal: OpenJournal) -> Desk:
    # Whose orders these are has balances already, and nothing new is taken: neither a start nor a latency matters.
    exchange = PaperExchange(journal.store, {}, 0, journal.now_ms)

    async def pair_of(symbol: Symbol) -> Pair:
        base = await journal.reader.base_of(symbol)
        return Pair(base, symbol.removeprefix(base))

    def broker_of(account: str) -> PaperBroker:
        return PaperBroker(account, exchange, pair_of, Venue("paper", HOST, simulated=True), journal.clock)

    return Desk(journal.ledger, broker_of, journal.clock, journal.now_ms)
