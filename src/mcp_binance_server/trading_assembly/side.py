"""Common parts of paper, practice and live trading: rules, the journal of this host, and the service of a desk."""

from collections.abc import AsyncGenerator, Collection
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from secrets import token_bytes

from mcp_binance_server.domain.account_reader import AccountReader
from mcp_binance_server.domain.symbols import Symbol
from mcp_binance_server.errors import SettingsError
from mcp_binance_server.feeds.hub import Hub
from mcp_binance_server.services.account.preview import PreviewService
from mcp_binance_server.services.trading.approval_pages import ApprovalPages, has_screen
from mcp_binance_server.services.trading.drafting import Drafter
from mcp_binance_server.services.trading.figures import TradingFigures
from mcp_binance_server.services.trading.preview_files import PreviewFiles
from mcp_binance_server.services.trading.previews import Previews
from mcp_binance_server.services.trading.service import TradingService
from mcp_binance_server.services.trading.situation import SituationReader
from mcp_binance_server.services.trading.trader import OWNER, OpenAccounts, Trader
from mcp_binance_server.services.trading.updates import OrderUpdates
from mcp_binance_server.settings import PREFIXES, Settings, surroundings
from mcp_binance_server.trading.approvals import APPROVER_FILE
from mcp_binance_server.trading.desk import Desk
from mcp_binance_server.trading.errors import JournalUnavailable
from mcp_binance_server.trading.journal.agreements import Agreements
from mcp_binance_server.trading.journal.ledger import HostLedger
from mcp_binance_server.trading.journal.owner import owner
from mcp_binance_server.trading.journal.reading import JournalReader
from mcp_binance_server.trading.journal.store import opened_store
from mcp_binance_server.trading.judgement.policy import Policy
from mcp_binance_server.trading_checks import checked_rules
from mcp_binance_server.upstream import Upstream


@dataclass(frozen=True, slots=True)
class TradingSide:
    """Parts that paper, practice and live trading share: rules, the journal of this host, and the service of a desk."""

    upstream: Upstream
    policy: Policy
    desk: Desk
    reads: AccountReader
    hub: Hub | None
    trader: Trader = OWNER
    preview_key: bytes | None = field(default=None, repr=False)
    """Key that makes previews valid in all processes. Without it, each process makes a key of its own."""
    preview_files: PreviewFiles | None = None
    agreements: Agreements | None = None
    """Decisions of people that all workers share; None if only the journal has them."""
    pages: ApprovalPages | None = None
    accounts: OpenAccounts | None = None
    """Accounts of callers, in addition to the account of this desk."""
    figures: TradingFigures = field(default_factory=TradingFigures)

    def service(self, trying: PreviewService) -> TradingService:
        """Return the trading service that places the previews of this preview service."""
        upstream, store = self.upstream, self.desk.ledger.store
        self.desk.answered = self.figures.count_order
        return TradingService(
            situation_reader_of(upstream, self.policy, self.desk),
            self._previews(),
            trying,
            self.agreements or Agreements(store),
            self._begin_feed,
            OrderUpdates(JournalReader(store), upstream.clock),
            self.figures,
            self.trader,
            self.pages,
            self.accounts,
        )

    async def market_orders(self, client_order_ids: Collection[str]) -> Collection[str]:
        """Return those of the IDs that were placed here as market orders."""
        try:
            return await JournalReader(self.desk.ledger.store).market_orders(client_order_ids)
        except JournalUnavailable:  # orders are listed as the exchange has them
            return ()

    def _previews(self) -> Previews:
        files = self.preview_files
        return Previews(self.upstream.engine, self.preview_key or (files.key if files else token_bytes(32)), files)

    def _begin_feed(self, symbol: Symbol) -> None:
        if self.hub is not None:
            with self.hub.reading(symbol):
                pass  # the feed stays open for a while, so it is in sync for an order that follows


def situation_reader_of(upstream: Upstream, policy: Policy, desk: Desk) -> SituationReader:
    """Return the reader of the inputs for a desk's guards."""
    client, time = upstream.client, upstream.caller.time
    drafter = Drafter(desk.mode, upstream.caller.network.name, policy, client, time.now_ms)
    return SituationReader(drafter, desk, JournalReader(desk.ledger.store), client, upstream.directory, time)


@dataclass(frozen=True, slots=True)
class OpenRules:
    """Rules of the operator, and the journal that is kept under these rules."""

    policy: Policy
    ledger: HostLedger
    pages: ApprovalPages
    preview_files: PreviewFiles | None = None


@asynccontextmanager
async def opened_rules(settings: Settings, upstream: Upstream, folder: Path) -> AsyncGenerator[OpenRules]:
    """Read the rules and open the journal of a folder for this process.

    Raises:
        SettingsError: the rules, or the folder of the journal, cannot be used.
    """
    policy = checked_rules(settings, upstream.caller.network, upstream.principal)
    try:
        async with opened_store(folder) as store:
            with owner(folder) as name:
                ledger = HostLedger(store, name)
                started = {"mode": settings.trading, "policy": policy.digest}
                await ledger.note("STARTED", started, upstream.caller.time.now_ms())
                files = None if upstream.serves_callers else PreviewFiles.beside(folder)
                yield OpenRules(policy, ledger, _pages(settings, folder), files)
    except JournalUnavailable as error:
        raise SettingsError(problems=(f"MCP_BINANCE_TRADING_DIR: {error.reason}. {error.fix}",)) from error


def _pages(settings: Settings, folder: Path) -> ApprovalPages:
    """Return the approval pages of this server. Their processes get the path of the journal and no key."""
    around = surroundings()
    own = {
        "BINANCE_NETWORK": settings.network,
        "BINANCE_REST_URL": settings.rest_url,
        "MCP_BINANCE_TRADING_DIR": str(folder),
        "MCP_BINANCE_TRADING_POLICY": settings.trading_policy and str(settings.trading_policy.absolute()),
    }
    foreign = {name: text for name, text in around.items() if not name.startswith((*PREFIXES, "CHART_IMG_"))}
    environment = foreign | {name: text for name, text in own.items() if text}
    opens = settings.approval_page == "browser" and has_screen(around)
    return ApprovalPages(folder / APPROVER_FILE, environment, opens=opens, is_on=settings.approval_page != "off")
