"""A portfolio judged whole: what it is worth, how it is spread, what it risks, and what if."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal

from mcp_binance_server.analytics.assessment import Assessment, assess
from mcp_binance_server.analytics.concentration import Concentration, concentration
from mcp_binance_server.analytics.history import History
from mcp_binance_server.analytics.portfolio import PortfolioRisk, measure_risk
from mcp_binance_server.analytics.scenarios import WhatIf, what_if
from mcp_binance_server.analytics.thresholds import DEFAULTS, Thresholds
from mcp_binance_server.analytics.valuation import Portfolio


@dataclass(frozen=True, slots=True)
class PortfolioReport:
    """The judgement of one moment, and the histories that could not be had."""

    portfolio: Portfolio
    spread: Concentration
    risk: PortfolioRisk
    assessment: Assessment | None
    scenarios: WhatIf
    as_of_ms: int
    missing: tuple[str, ...]
    thresholds: Thresholds = DEFAULTS


def judge_portfolio(
    portfolio: Portfolio,
    histories: Mapping[str, History],
    *,
    as_of_ms: int,
    missing: tuple[str, ...],
    thresholds: Thresholds = DEFAULTS,
) -> PortfolioReport:
    """Judge a valued portfolio by the daily closes of what it holds."""
    spread = concentration([each.value or Decimal(0) for each in portfolio.holdings], edges=thresholds.hhi_edges)
    risk = measure_risk(portfolio, histories, thresholds=thresholds)
    return PortfolioReport(
        portfolio=portfolio,
        spread=spread,
        risk=risk,
        assessment=assess(portfolio, risk, spread, thresholds=thresholds),
        scenarios=what_if(portfolio, risk, thresholds=thresholds),
        as_of_ms=as_of_ms,
        missing=missing,
        thresholds=thresholds,
    )
