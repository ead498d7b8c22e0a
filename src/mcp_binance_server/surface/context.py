"""What a handler is given: the services, a way to tell that it is still at work."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import cached_property

from mcp_binance_server.exchange.principal import Principal
from mcp_binance_server.services.account.orders import OrdersService
from mcp_binance_server.services.account.portfolio import AccountService, PortfolioService
from mcp_binance_server.services.account.preview import PreviewService
from mcp_binance_server.services.analysis.anomalies import AnomalyService
from mcp_binance_server.services.analysis.flow import OrderFlowService
from mcp_binance_server.services.analysis.liquidity import LiquidityService
from mcp_binance_server.services.analysis.microstructure import MarketHealthService, MicrostructureService
from mcp_binance_server.services.analysis.profile import VolumeProfileService
from mcp_binance_server.services.analysis.trend import AnalysisService
from mcp_binance_server.services.charts.configuration import ChartLanguageService, ChartValidationService
from mcp_binance_server.services.charts.facts import ChartFactsService
from mcp_binance_server.services.charts.service import ChartingService
from mcp_binance_server.services.guides import GuideService
from mcp_binance_server.services.live.books import OrderBookService
from mcp_binance_server.services.live.service import LiveService
from mcp_binance_server.services.live.updates import UpdateService
from mcp_binance_server.services.market.service import MarketService
from mcp_binance_server.state.pace import LoopPace
from mcp_binance_server.state.shared_use import FleetUse
from mcp_binance_server.surface.lending import Ways, lent_to, ways_to_accounts

# How far, of how much, and in words; a client that did not ask for it never hears it.
Report = Callable[[float, float | None, str | None], Awaitable[None]]


@dataclass(frozen=True)
class Context:
    """The services a handler may ask, built for nobody's account; `progress` is there for the slow tools."""

    market: MarketService
    analysis: AnalysisService
    account: AccountService
    orders: OrdersService
    preview: PreviewService
    portfolio: PortfolioService
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
    updates: UpdateService
    pace: LoopPace
    """Asked before a long answer is written, so that nobody waits for several of them."""
    fleet_use: FleetUse | None = None
    """Told what is used here, and heard for what is used elsewhere; None in a process that is alone."""
    progress: Report | None = None

    def acting_for(self, principal: Principal | None, *, is_withheld: bool = False) -> "Context":
        """Return the same services, each of which reads this principal's account, or nobody's."""
        return lent_to(principal, self, self._ways, is_withheld=is_withheld)

    @cached_property
    def _ways(self) -> Ways:
        return ways_to_accounts(self)
