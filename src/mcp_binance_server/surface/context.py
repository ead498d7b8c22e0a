"""Context of a handler: the services, the account that they read, and progress reports."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar, cast

from mcp_binance_server.domain.access import Visitor
from mcp_binance_server.domain.account_reader import ReaderByVisitor, TradesByCaller
from mcp_binance_server.exchange.signing import Principal
from mcp_binance_server.exchange.spot.account import AccountClient
from mcp_binance_server.services.account.orders import OrdersService
from mcp_binance_server.services.account.portfolio import AccountService, PortfolioService
from mcp_binance_server.services.account.preview import PreviewService
from mcp_binance_server.services.account.profit import ProfitService
from mcp_binance_server.services.analysis.anomalies import AnomalyService
from mcp_binance_server.services.analysis.flow import OrderFlowService
from mcp_binance_server.services.analysis.liquidity import LiquidityService, VolumeProfileService
from mcp_binance_server.services.analysis.microstructure import MarketHealthService, MicrostructureService
from mcp_binance_server.services.analysis.trend import AnalysisService
from mcp_binance_server.services.charts.bars import ChartBars
from mcp_binance_server.services.charts.configuration import ChartLanguageService, ChartValidationService
from mcp_binance_server.services.charts.facts import ChartFactsService
from mcp_binance_server.services.charts.service import ChartingService
from mcp_binance_server.services.derivatives.service import DerivativesService
from mcp_binance_server.services.guide import GuideService
from mcp_binance_server.services.live.service import LiveService, OrderBookService
from mcp_binance_server.services.live.updates import UpdateService
from mcp_binance_server.services.market.overview import OverviewService
from mcp_binance_server.services.market.scan import ScanService
from mcp_binance_server.services.market.service import MarketService
from mcp_binance_server.state.pace import LoopPace
from mcp_binance_server.state.shared_use import FleetUse
from mcp_binance_server.surface.caller import Report
from mcp_binance_server.surface.confirm import Asker

if TYPE_CHECKING:
    from mcp_binance_server.services.trading.service import TradingService

WholeT = TypeVar("WholeT")
Ways = Mapping[int, tuple[str, ...]]
"""Fields that lead to an account, by the id of their record."""


def ways_to_accounts(whole: object) -> Ways:
    """Return the fields of records under this one through which an account is read.

    Only fields of frozen records are searched: a mutable object, such as a desk of orders, is shared by all. An account
    hidden elsewhere stays the one that it was built with.
    """
    ways: dict[int, tuple[str, ...]] = {}
    seen: set[int] = set()
    are_accounts: dict[type, bool] = {}  # protocol checks are slow: one per class

    def is_account(node: object) -> bool:
        kind = type(node)
        if kind not in are_accounts:
            are_accounts[kind] = isinstance(node, AccountClient | ReaderByVisitor | TradesByCaller)
        return are_accounts[kind]

    def leads(node: object) -> bool:
        if id(node) not in seen:
            seen.add(id(node))
            if is_account(node):
                ways[id(node)] = ()
            elif names := tuple(name for name, each in _parts(node) if leads(each)):
                ways[id(node)] = names
        return id(node) in ways

    leads(whole)
    return ways


def lent_to(
    principal: Principal | None,
    whole: WholeT,
    ways: Ways,
    *,
    is_withheld: bool = False,
    visitor: Visitor | None = None,
    is_lent: bool = False,
) -> WholeT:
    """Return a copy in which every account is this principal's or, on paper, this visitor's.

    Records without an account are shared, not copied. `is_lent` marks the principal as this server's own, for which
    orders are placed.
    """
    return cast("WholeT", _Loan(principal, visitor, ways, is_withheld, is_lent).copy(whole))


@dataclass(frozen=True, slots=True)
class _Loan:
    """State of one copy. A recursive function would be a cycle, and keep the principal until garbage collection."""

    principal: Principal | None
    visitor: Visitor | None
    ways: Ways
    is_withheld: bool
    is_lent: bool
    copies: dict[int, Any] = field(default_factory=dict[int, Any])

    def copy(self, node: Any) -> Any:  # noqa: ANN401 - any record
        if id(node) not in self.copies:
            self.copies[id(node)] = self._copied(node)
        return self.copies[id(node)]

    def _copied(self, node: Any) -> Any:  # noqa: ANN401 - any record
        if names := self.ways.get(id(node)):  # first, since protocol checks are slow
            return replace(node, **{name: self.copy(getattr(node, name)) for name in names})
        if isinstance(node, AccountClient):
            return replace(node, principal=self.principal, is_withheld=self.is_withheld)
        if isinstance(node, ReaderByVisitor):
            return node.of_visitor(self.visitor)
        if isinstance(node, TradesByCaller):
            return node.of_caller(self.visitor, self.principal, is_lent=self.is_lent)
        return replace(node)


def _parts(node: object) -> list[tuple[str, object]]:
    if not is_dataclass(node) or isinstance(node, type) or not _is_frozen(node):
        return []
    return [(each.name, getattr(node, each.name)) for each in fields(node) if each.init]


def _is_frozen(record: object) -> bool:
    return getattr(getattr(record, "__dataclass_params__", None), "frozen", False)


@dataclass(frozen=True)
class Context:
    """Services for handlers, built without an account; `progress` is set for slow tools."""

    market: MarketService
    analysis: AnalysisService
    account: AccountService
    orders: OrdersService
    preview: PreviewService
    portfolio: PortfolioService
    profit: ProfitService
    live: LiveService
    order_books: OrderBookService
    profiles: VolumeProfileService
    order_flow: OrderFlowService
    liquidity: LiquidityService
    anomalies: AnomalyService
    health: MarketHealthService
    microstructure: MicrostructureService
    guides: GuideService
    chart_facts: ChartFactsService
    chart_validation: ChartValidationService
    chart_language: ChartLanguageService
    charting: ChartingService
    chart_bars: ChartBars
    screener: ScanService
    overview: OverviewService
    derivatives: DerivativesService
    updates: UpdateService
    pace: LoopPace
    """Pace of writing long answers, so that no client waits for several of them."""
    trading: "TradingService | None" = None
    """Places orders; None if trading is off."""
    fleet_use: FleetUse | None = None
    """Exchange of usage with other processes; None in a single process."""
    progress: Report | None = None
    asker: Asker | None = None
    """Access to the user of this call; None without a way to ask, and for tools that ask nothing."""

    def acting_for(
        self,
        principal: Principal | None,
        *,
        is_withheld: bool = False,
        visitor: Visitor | None = None,
        is_lent: bool = False,
    ) -> "Context":
        """Return the same services for the account of this principal or this visitor, or without an account."""
        return lent_to(principal, self, self._ways, is_withheld=is_withheld, visitor=visitor, is_lent=is_lent)

    @cached_property
    def is_by_visitor(self) -> bool:
        """Whether accounts belong to visitors, regardless of keys."""
        return isinstance(self.account.client, ReaderByVisitor)

    @cached_property
    def _ways(self) -> Ways:
        return ways_to_accounts(self)
