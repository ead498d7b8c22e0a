"""Assembly of paper trading: the accounts, their desks, and the market that fills them."""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from mcp_binance_server.domain.account import Venue
from mcp_binance_server.domain.symbols import Symbol
from mcp_binance_server.feeds.hub import Hub
from mcp_binance_server.services.trading.figures import TradingFigures
from mcp_binance_server.services.trading.paper_feed import PaperFeed, Told
from mcp_binance_server.services.trading.trader import OpenAccount
from mcp_binance_server.settings import Settings
from mcp_binance_server.startup_checks import is_alone, no_live_market, round_key_of
from mcp_binance_server.trading.broker import Broker
from mcp_binance_server.trading.desk import Desk
from mcp_binance_server.trading.fleet.keeper import KeeperPace
from mcp_binance_server.trading.fleet.ledger import FleetLedger
from mcp_binance_server.trading.journal.agreements import Agreements
from mcp_binance_server.trading.paper.account import OWN, Pair
from mcp_binance_server.trading.paper.broker import PaperBroker
from mcp_binance_server.trading.paper.exchange import PaperExchange
from mcp_binance_server.trading.paper.matcher import MatchingRight
from mcp_binance_server.trading.paper.reads import HOST, PaperReads
from mcp_binance_server.trading.paper.shared import LeaseRight, SharedTables, opened_shared_tables
from mcp_binance_server.trading.paper.store import PaperStore
from mcp_binance_server.trading.reconciling import TradedAccount
from mcp_binance_server.trading_assembly.accounts import AccountPool, VisitorAccounts
from mcp_binance_server.trading_assembly.side import OpenRules, TradingSide, opened_rules, situation_reader_of
from mcp_binance_server.trading_assembly.starting import keeper_of, reconciliation_of
from mcp_binance_server.upstream import Upstream

# Wait before an emptied state is reopened, in ms. Until then servers that know more share their data. Paper orders are
# never in transit.
SETTLE_MS = 1_500


@asynccontextmanager
async def opened_paper(settings: Settings, upstream: Upstream, hub: Hub | None) -> AsyncGenerator[TradingSide]:
    """Open the journal, and match paper orders while the context is open.

    Raises:
        SettingsError: the rules, or the folder of the journal, cannot be used.
    """
    folder = settings.trading_dir
    if hub is None or folder is None:
        raise no_live_market()
    async with opened_rules(settings, upstream, folder) as rules, rules.pages.running():
        if is_alone(settings):
            async with PaperBackend.of(settings, upstream, hub, rules, rules.ledger.store).on_one_machine() as side:
                yield side
            return
        async with (
            opened_shared_tables(upstream.engine) as tables,
            PaperBackend.of(settings, upstream, hub, rules, tables, lambda: tables.loss).in_a_fleet(tables) as side,
        ):
            yield side


@dataclass(eq=False)
class PaperBackend:
    """Common resources of all paper accounts: the tables, the rules, the journal and the market."""

    upstream: Upstream
    hub: Hub
    rules: OpenRules
    exchange: PaperExchange
    preview_key: bytes | None = field(repr=False)
    figures: TradingFigures = field(default_factory=TradingFigures)
    _feed: PaperFeed | None = None

    @classmethod
    def of(  # noqa: PLR0917 - all parts of it
        cls,
        settings: Settings,
        upstream: Upstream,
        hub: Hub,
        rules: OpenRules,
        tables: PaperStore,
        loss: Callable[[], str] = str,
    ) -> "PaperBackend":
        start, now_ms = rules.policy.paper_balances, upstream.caller.time.now_ms
        exchange = PaperExchange(tables, start, settings.paper_latency_ms, now_ms, loss)
        return cls(upstream, hub, rules, exchange, round_key_of(settings, "previews"))

    @asynccontextmanager
    async def on_one_machine(self) -> AsyncGenerator[TradingSide]:
        """Trade for all visitors at one desk. Their accounts are in the journal's own file."""
        desk = Desk(self.rules.ledger, self.broker_of, self.upstream.clock, self.upstream.caller.time.now_ms)
        async with desk.running(), self._matched(desk.catch_up):
            yield self._side(desk)

    @asynccontextmanager
    async def in_a_fleet(self, tables: SharedTables) -> AsyncGenerator[TradingSide]:
        """Trade for each active visitor at a desk of its own, because other servers trade on the same account."""
        held = AccountPool(self.upstream.clock)
        async with self.opened(OWN, KeeperPace()) as own, held.running():
            accounts = VisitorAccounts(own, self.opened, held)
            async with self._matched(accounts.catch_up, LeaseRight(tables)):
                yield self._side(own.situation_reader.desk, own.agreements, accounts)

    def broker_of(self, account: str) -> Broker:
        venue = Venue(self.upstream.caller.network.source, HOST, simulated=True, note=self.exchange.loss())
        return PaperBroker(account, self.exchange, self._pair_of, venue, self.upstream.clock, self._wake)

    @asynccontextmanager
    async def opened(self, account: str, pace: KeeperPace) -> AsyncGenerator[OpenAccount]:
        """Reconcile the journal with an account that all servers share.

        Then accept orders while the context is open.
        """
        upstream, policy = self.upstream, self.rules.policy
        network, now_ms = upstream.caller.network.name, upstream.caller.time.now_ms
        fleet = FleetLedger(self.rules.ledger, upstream.engine, account, policy)
        desk = Desk(fleet, self.broker_of, upstream.clock, now_ms, account=account)
        desk.answered = self.figures.count_order
        past = PaperReads(self.exchange, network, account).order_history
        traded = TradedAccount(account, desk.mode, network)
        start = reconciliation_of(upstream, policy, fleet, self.broker_of(account), past, traded)
        keeper = keeper_of(fleet, upstream, start, SETTLE_MS, pace, shares_global_stop=account == OWN)
        async with desk.running(start):
            desk.background_tasks.beside(keeper.run)
            yield OpenAccount(account, situation_reader_of(upstream, policy, desk), keeper.agreements)

    @asynccontextmanager
    async def _matched(self, told: Told, right: MatchingRight | None = None) -> AsyncGenerator[None]:
        upstream, owner = self.upstream, self.rules.ledger.owner
        time, clock, directory = upstream.caller.time, upstream.clock, upstream.directory
        self._feed = PaperFeed(
            self.hub, upstream.client, directory, self.exchange, time, clock, told, owner=owner, right=right
        )
        async with self._feed.running():
            yield

    def _side(
        self, desk: Desk, agreements: Agreements | None = None, accounts: VisitorAccounts | None = None
    ) -> TradingSide:
        return TradingSide(
            self.upstream,
            self.rules.policy,
            desk,
            PaperReads(self.exchange, self.upstream.caller.network.source),
            self.hub,
            preview_key=self.preview_key,
            preview_files=self.rules.preview_files,
            agreements=agreements,
            pages=self.rules.pages,
            accounts=accounts,
            figures=self.figures,
        )

    def _wake(self) -> None:
        if self._feed is not None:
            self._feed.wake()

    async def _pair_of(self, symbol: Symbol) -> Pair:
        listed = await self.upstream.directory.find(symbol)
        return Pair(listed.base, listed.quote)
