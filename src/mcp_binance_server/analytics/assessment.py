"""What the rules say of a portfolio: how it is weighted, and which advice fires."""

from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from mcp_binance_server.analytics.concentration import Concentration
from mcp_binance_server.analytics.portfolio import PortfolioRisk
from mcp_binance_server.analytics.thresholds import DEFAULTS, Thresholds
from mcp_binance_server.analytics.valuation import Portfolio
from mcp_binance_server.analytics.volatility import HIGH_CLASSES

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
