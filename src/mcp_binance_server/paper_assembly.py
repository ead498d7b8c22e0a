"""Trading on paper, put together: the journal, the desk, the accounts on paper and the market that fills them."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from secrets import token_bytes

from mcp_binance_server.domain.account import Venue
from mcp_binance_server.domain.symbols import Symbol
from mcp_binance_server.errors import SettingsError
from mcp_binance_server.feeds.hub import Hub
from mcp_binance_server.services.account.preview import PreviewService
from mcp_binance_server.services.trading.drafting import Drafter
from mcp_binance_server.services.trading.paper_feed import PaperFeed
from mcp_binance_server.services.trading.previews import Previews
from mcp_binance_server.services.trading.service import TradingService
from mcp_binance_server.services.trading.situation import Surveyor
from mcp_binance_server.settings import Settings
from mcp_binance_server.startup_checks import no_live_market
from mcp_binance_server.trading.broker import Broker
from mcp_binance_server.trading.desk import Desk
from mcp_binance_server.trading.errors import JournalUnavailable
from mcp_binance_server.trading.journal.agreements import Agreements
from mcp_binance_server.trading.journal.ledger import HostLedger
from mcp_binance_server.trading.journal.owner import owner
from mcp_binance_server.trading.journal.reading import JournalReader
from mcp_binance_server.trading.journal.store import Store, opened_store
from mcp_binance_server.trading.judgement.policy import Policy
from mcp_binance_server.trading.paper.account import Pair
from mcp_binance_server.trading.paper.broker import PaperBroker
from mcp_binance_server.trading.paper.exchange import PaperExchange
from mcp_binance_server.trading.paper.reads import HOST, PaperReads
from mcp_binance_server.trading.policy_file import policy_at
from mcp_binance_server.upstream import Upstream


@dataclass(frozen=True, slots=True)
class PaperSide:
    """What trades on paper: reads that stand in for the exchange's account, and the desk."""

    upstream: Upstream
    policy: Policy
    store: Store
    desk: Desk
    reads: PaperReads
    hub: Hub

    def service(self, trying: PreviewService) -> TradingService:
        """Return the service that places what this preview service tries out."""
        upstream, client = self.upstream, self.upstream.client
        drafter = Drafter("paper", self.reads.network, self.policy, client)
        reader, time = JournalReader(self.store), upstream.caller.time
        surveyor = Surveyor(drafter, self.desk, reader, client, upstream.directory, time)
        # A preview is placed by the process that made it: nobody else needs its key.
        previews = Previews(upstream.engine, token_bytes(32))
        return TradingService(surveyor, previews, trying, Agreements(self.store), self._begin_feed)

    def _begin_feed(self, symbol: Symbol) -> None:
        with self.hub.reading(symbol):
            pass  # it lingers, and an order that follows finds it in step


@asynccontextmanager
async def opened_paper(settings: Settings, upstream: Upstream, hub: Hub | None) -> AsyncGenerator[PaperSide]:
    """Open the journal, and match orders on paper for as long as this lasts.

    Raises:
        SettingsError: the limits, or the folder of the journal, cannot be used.
    """
    policy, folder = policy_at(settings.trading_policy), settings.trading_dir
    if hub is None or folder is None:
        raise no_live_market()
    clock, time, network = upstream.clock, upstream.caller.time, upstream.caller.network
    try:
        async with opened_store(folder) as store:
            with owner(folder) as name:
                exchange = PaperExchange(store, policy.paper_balances, settings.paper_latency_ms, time.now_ms)
                venue = Venue(network.name, HOST, simulated=True)

                async def pair_of(symbol: Symbol) -> Pair:
                    rules = await upstream.directory.find(symbol)
                    return Pair(rules.base, rules.quote)

                def broker_of(account: str) -> Broker:
                    return PaperBroker(account, exchange, pair_of, venue, clock, feed.wake)

                ledger = HostLedger(store, name)
                await ledger.note("STARTED", {"mode": "paper", "policy": policy.digest}, time.now_ms())
                desk = Desk(ledger, broker_of, clock, time.now_ms)
                feed = PaperFeed(
                    hub, upstream.client, upstream.directory, exchange, time, clock, desk.catch_up, owner=name
                )
                async with desk.running(), feed.running():
                    yield PaperSide(upstream, policy, store, desk, PaperReads(exchange, network.name), hub)
    except JournalUnavailable as error:
        raise SettingsError(problems=(f"MCP_BINANCE_TRADING_DIR: {error.reason}. {error.fix}",)) from error
