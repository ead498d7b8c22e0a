"""What a portfolio's measures amount to."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from mcp_binance_server.analytics.market.volatility import HIGH_CLASSES
from mcp_binance_server.analytics.portfolio.measures import PortfolioRisk, measure_risk
from mcp_binance_server.analytics.portfolio.risk import History
from mcp_binance_server.analytics.portfolio.scenarios import WhatIf, what_if
from mcp_binance_server.analytics.portfolio.valuation import Concentration, Portfolio, concentration
from mcp_binance_server.analytics.thresholds import DEFAULTS, Thresholds

Weighting = Literal["heavily", "moderately", "mostly_lower"]
Advice = Literal["increase_stablecoins", "diversify", "set_stops"]


@dataclass(frozen=True, slots=True)
class Assessment:
    """The share of volatile assets, which they are, and the advice whose rule fired."""

    weighting: Weighting
    volatile_share: Decimal
    volatile_assets: tuple[str, ...]
    advice: tuple[Advice, ...]


def assess(
    portfolio: Portfolio, risk: PortfolioRisk, spread: Concentration, *, thresholds: Thresholds = DEFAULTS
) -> Assessment | None:
    """Judge a portfolio by its volatility classes and concentration; None when it is empty."""
    stable = portfolio.stablecoin_share
    if stable is None or spread.effective is None:
        return None
    volatile = [each for each in risk.assets if each.volatility.label in HIGH_CLASSES]
    share = sum((each.weight for each in volatile), Decimal(0))
    largest = max((each.weight or Decimal(0) for each in portfolio.holdings if not each.is_stable), default=Decimal(0))
    rules: tuple[tuple[Advice, bool], ...] = (
        ("increase_stablecoins", stable < thresholds.stablecoin_floor),
        ("diversify", spread.effective < thresholds.effective_assets_floor),
        ("set_stops", largest >= thresholds.position_ceiling),
    )
    return Assessment(
        weighting=_weighting(share, thresholds),
        volatile_share=share,
        volatile_assets=tuple(each.asset for each in volatile),
        advice=tuple(advice for advice, fires in rules if fires),
    )


def _weighting(share: Decimal, thresholds: Thresholds) -> Weighting:
    if share >= thresholds.heavy_share:
        return "heavily"
    return "moderately" if share >= thresholds.moderate_share else "mostly_lower"


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
