"""Context of a handler: all services, bound to the caller's account, and progress reports."""

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
"""Fields that lead to an account, by the `id()` of the record."""


def ways_to_accounts(whole: object) -> Ways:
    """Find the fields that lead to an account, in this record and in all nested records.

    Only frozen dataclasses are searched, because all callers share the mutable objects. An account inside a mutable
    object is never replaced.
    """
    ways: dict[int, tuple[str, ...]] = {}
    seen: set[int] = set()
    are_accounts: dict[type, bool] = {}  # cached by class, because isinstance with a protocol is slow

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
    """Return a copy of the services for another account: that of a principal (API key), or on paper that of a visitor.

    Records without an account are shared, not copied. `is_lent` means that the principal is this server's own.
    """
    return cast("WholeT", _Loan(principal, visitor, ways, is_withheld, is_lent).copy(whole))


@dataclass(frozen=True, slots=True)
class _Loan:
    """State of one copy operation.

    An object, because a recursive closure would be a reference cycle that keeps the key in memory.
    """

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
        if names := self.ways.get(id(node)):  # checked first, because isinstance with a protocol is slow
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
    """All services for handlers, before they are bound to an account. `progress` is set only for slow tools."""

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
    """Limit on encoding long answers, so that other clients do not wait for several of them."""
    trading: "TradingService | None" = None
    """Service that places orders; None if trading is off."""
    fleet_use: FleetUse | None = None
    """Usage reports to and from other processes; None in a single process."""
    progress: Report | None = None
    asker: Asker | None = None
    """Asker of this call; None if the user cannot be asked or the tool asks nothing."""

    def acting_for(
        self,
        principal: Principal | None,
        *,
        is_withheld: bool = False,
        visitor: Visitor | None = None,
        is_lent: bool = False,
    ) -> "Context":
        """Return the services bound to the account of a principal or a visitor, or to no account."""
        return lent_to(principal, self, self._ways, is_withheld=is_withheld, visitor=visitor, is_lent=is_lent)

    @cached_property
    def is_by_visitor(self) -> bool:
        """Whether accounts belong to visitors (paper trading) and not to API keys."""
        return isinstance(self.account.client, ReaderByVisitor)

    @cached_property
    def _ways(self) -> Ways:
        return ways_to_accounts(self)
