"""Trading on paper, put together: the desk, the accounts on paper and the market that fills them."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from mcp_binance_server.domain.account import Venue
from mcp_binance_server.domain.symbols import Symbol
from mcp_binance_server.feeds.hub import Hub
from mcp_binance_server.services.trading.paper_feed import PaperFeed
from mcp_binance_server.settings import Settings
from mcp_binance_server.startup_checks import no_live_market, round_key_of
from mcp_binance_server.trading.broker import Broker
from mcp_binance_server.trading.desk import Desk
from mcp_binance_server.trading.paper.account import Pair
from mcp_binance_server.trading.paper.broker import PaperBroker
from mcp_binance_server.trading.paper.exchange import PaperExchange
from mcp_binance_server.trading.paper.reads import HOST, PaperReads
from mcp_binance_server.trading_assembly.side import TradingSide, opened_rules
from mcp_binance_server.upstream import Upstream


@asynccontextmanager
async def opened_paper(settings: Settings, upstream: Upstream, hub: Hub | None) -> AsyncGenerator[TradingSide]:
    """Open the journal, and match orders on paper for as long as this lasts.

    Raises:
        SettingsError: the rules, or the folder of the journal, cannot be used.
    """
    folder = settings.trading_dir
    if hub is None or folder is None:
        raise no_live_market()
    clock, time, network = upstream.clock, upstream.caller.time, upstream.caller.network
    async with opened_rules(settings, upstream, folder) as rules:
        store, latency_ms = rules.ledger.store, settings.paper_latency_ms
        exchange = PaperExchange(store, rules.policy.paper_balances, latency_ms, time.now_ms)
        venue = Venue(network.name, HOST, simulated=True)

        async def pair_of(symbol: Symbol) -> Pair:
            listed = await upstream.directory.find(symbol)
            return Pair(listed.base, listed.quote)

        def broker_of(account: str) -> Broker:
            return PaperBroker(account, exchange, pair_of, venue, clock, feed.wake)

        desk = Desk(rules.ledger, broker_of, clock, time.now_ms)
        feed = PaperFeed(
            hub, upstream.client, upstream.directory, exchange, time, clock, desk.catch_up, owner=rules.ledger.owner
        )
        async with desk.running(), feed.running(), rules.pages.running():
            reads, key = PaperReads(exchange, network.name), round_key_of(settings, "previews")
            yield TradingSide(upstream, rules.policy, desk, reads, hub, preview_key=key, pages=rules.pages)
