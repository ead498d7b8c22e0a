"""What a handler is given: the services, a key where one is lent, and a way to tell progress."""

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
"""By the id of a record, its fields that lead to an account."""


def ways_to_accounts(whole: object) -> Ways:
    """Return through which fields of which records under this one an account is read.

    Only fields of frozen records are looked into: what changes, such as a desk of orders, is one for all. What hides an
    account elsewhere keeps the one it was built with.
    """
    ways: dict[int, tuple[str, ...]] = {}
    seen: set[int] = set()
    are_accounts: dict[type, bool] = {}  # to ask a protocol is slow: once for each class

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

    What leads to no account is shared, not copied. Only with `is_lent` is the principal this server's own, which orders
    are placed for.
    """
    return cast("WholeT", _Loan(principal, visitor, ways, is_withheld, is_lent).copy(whole))


@dataclass(frozen=True, slots=True)
class _Loan:
    """One copying. A function that calls itself would be a cycle, and keep the principal until it is collected."""

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

    def _copied(self, node: Any) -> Any:  # noqa: ANN401 - likewise
        if names := self.ways.get(id(node)):  # first, since to ask whether something is a protocol's is slow
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
    """The services a handler may ask, built for nobody's account; `progress` is there for the slow tools."""

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
    """Asked before a long answer is written, so that nobody waits for several of them."""
    trading: "TradingService | None" = None
    """Places orders; None where that was not chosen."""
    fleet_use: FleetUse | None = None
    """Told what is used here, and heard for what is used elsewhere; None in a process that is alone."""
    progress: Report | None = None
    asker: Asker | None = None
    """How the user of this call can be asked; None if there is no way to, and for tools that ask nothing."""

    def acting_for(
        self,
        principal: Principal | None,
        *,
        is_withheld: bool = False,
        visitor: Visitor | None = None,
        is_lent: bool = False,
    ) -> "Context":
        """Return the same services, each of which reads this principal's account or this visitor's, or nobody's."""
        return lent_to(principal, self, self._ways, is_withheld=is_withheld, visitor=visitor, is_lent=is_lent)

    @cached_property
    def is_by_visitor(self) -> bool:
        """Whether accounts belong to visitors here, whatever keys there are."""
        return isinstance(self.account.client, ReaderByVisitor)

    @cached_property
    def _ways(self) -> Ways:
        return ways_to_accounts(self)
