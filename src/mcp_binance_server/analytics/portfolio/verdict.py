"""Verdict on a portfolio: volatility and advice."""

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from mcp_binance_server.analytics.market.volatility import HIGH_CLASSES
from mcp_binance_server.analytics.portfolio.measures import PortfolioRisk
from mcp_binance_server.analytics.portfolio.valuation import Concentration, Portfolio
from mcp_binance_server.analytics.thresholds import DEFAULTS, Thresholds

# If this share of the holdings has no price, too little is known to judge the account.
UNPRICED_SHARE = 0.20

Weighting = Literal["heavily", "moderately", "mostly_lower"]
Advice = Literal["increase_stablecoins", "diversify", "set_stops"]
# Diversification is measured by weight, or by how independently the assets move.
SpreadBasis = Literal["value", "risk"]


@dataclass(frozen=True, slots=True)
class Advised:
    """One advice: the measured value, and the limit that it violates."""

    advice: Advice
    measured: float
    edge: float
    by: SpreadBasis = "value"


@dataclass(frozen=True, slots=True)
class Assessment:
    """Share and names of volatile assets, and the advice that follows from the rules."""

    weighting: Weighting
    volatile_share: Decimal
    volatile_assets: tuple[str, ...]
    advice: tuple[Advised, ...]


@dataclass(frozen=True, slots=True)
class TooManyUnpriced:
    """The reason for not judging a portfolio: `share` of its holdings, by number, has no price."""

    share: float


def assess(
    portfolio: Portfolio, risk: PortfolioRisk, spread: Concentration, *, thresholds: Thresholds = DEFAULTS
) -> Assessment | TooManyUnpriced | None:
    """Judge a portfolio by volatility classes and concentration. Return None if it is empty."""
    stable = portfolio.stablecoin_share
    if stable is None or spread.effective is None:
        return None
    # Without a price an asset has no value, so the share is by number.
    unpriced = len(portfolio.excluded) / (len(portfolio.holdings) + len(portfolio.excluded))
    if unpriced >= UNPRICED_SHARE:
        return TooManyUnpriced(unpriced)
    volatile = [each for each in risk.assets if each.volatility.label in HIGH_CLASSES]
    share = sum((each.weight for each in volatile), Decimal(0))
    return Assessment(
        weighting=_weighting(share, thresholds),
        volatile_share=share,
        volatile_assets=tuple(each.asset for each in volatile),
        advice=tuple(_advised(portfolio, stable, risk, spread.effective, thresholds)),
    )


def _advised(
    portfolio: Portfolio, stable: Decimal, risk: PortfolioRisk, effective: float, thresholds: Thresholds
) -> Iterable[Advised]:
    if stable < thresholds.stablecoin_floor:
        yield Advised("increase_stablecoins", float(stable), float(thresholds.stablecoin_floor))
    moving = [each.weight or Decimal(0) for each in portfolio.holdings if not each.is_stable]
    by: SpreadBasis = "value" if risk.effective is None else "risk"
    apart = effective if risk.effective is None else risk.effective
    # A portfolio of stablecoins has no risk to diversify.
    if moving and apart < thresholds.effective_assets_floor:
        yield Advised("diversify", apart, thresholds.effective_assets_floor, by)
    largest = max(moving, default=Decimal(0))
    if largest >= thresholds.position_ceiling:
        yield Advised("set_stops", float(largest), float(thresholds.position_ceiling))


def _weighting(share: Decimal, thresholds: Thresholds) -> Weighting:
    if share >= thresholds.heavy_share:
        return "heavily"
    return "moderately" if share >= thresholds.moderate_share else "mostly_lower"
