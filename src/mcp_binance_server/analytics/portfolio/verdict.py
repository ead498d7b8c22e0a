"""Verdict on a portfolio: volatility and advice."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Literal

from mcp_binance_server.analytics.market.volatility import HIGH_CLASSES
from mcp_binance_server.analytics.portfolio.measures import PortfolioRisk
from mcp_binance_server.analytics.portfolio.valuation import Concentration, Portfolio
from mcp_binance_server.analytics.thresholds import DEFAULTS, Thresholds

# If this share of the holdings has no price, too little is known to judge the account.
UNPRICED_SHARE = 0.20
# A smaller decrease of the expected shortfall would not show in figures with one decimal.
LEAST_DECREASE = 0.001

Weighting = Literal["heavily", "moderately", "mostly_lower"]
Advice = Literal["increase_stablecoins", "diversify", "set_stops"]
# Diversification is measured by weight, or by how independently the assets move.
SpreadBasis = Literal["value", "risk"]


@dataclass(frozen=True, slots=True)
class Trial:
    """Expected shortfall of the same days before and after a change of the portfolio."""

    before: float
    after: float

    @property
    def is_better(self) -> bool:
        return self.before - self.after >= LEAST_DECREASE


@dataclass(frozen=True, slots=True)
class Advised:
    """One advice: the measured value, the limit that it violates, and the trial of its change.

    `trial` is None if the change could not be tried. `exposed` holds the positions without a live stop, with the share
    of the portfolio that no stop covers.
    """

    advice: Advice
    measured: float
    edge: float
    by: SpreadBasis = "value"
    trial: Trial | None = None
    exposed: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True, slots=True)
class Assessment:
    """Share and names of volatile assets, and the advice that follows from the rules.

    `withheld` is advice of a rule that the page's own what-if does not support.
    """

    weighting: Weighting
    volatile_share: Decimal
    volatile_assets: tuple[str, ...]
    advice: tuple[Advised, ...]
    withheld: tuple[Advised, ...] = ()


@dataclass(frozen=True, slots=True)
class TooManyUnpriced:
    """The reason for not judging a portfolio: `share` of its holdings, by number, has no price."""

    share: float


def assess(
    portfolio: Portfolio,
    risk: PortfolioRisk,
    spread: Concentration,
    *,
    trials: Mapping[Advice, Trial],
    stops: Mapping[str, Decimal] | None,
    thresholds: Thresholds = DEFAULTS,
) -> Assessment | TooManyUnpriced | None:
    """Judge a portfolio by volatility classes and concentration. Return None if it is empty.

    `stops` is the quantity of each asset that live stop orders sell, or None if the orders could not be read.
    """
    stable = portfolio.stablecoin_share
    if stable is None or spread.effective is None:
        return None
    # Without a price an asset has no value, so the share is by number.
    unpriced = len(portfolio.excluded) / (len(portfolio.holdings) + len(portfolio.excluded))
    if unpriced >= UNPRICED_SHARE:
        return TooManyUnpriced(unpriced)
    volatile = [each for each in risk.assets if each.volatility.label in HIGH_CLASSES]
    share = sum((each.weight for each in volatile), Decimal(0))
    changes = [
        replace(each, trial=trials.get(each.advice))
        for each in _changes(portfolio, stable, risk, spread.effective, thresholds)
    ]
    exposed = [*_exposed(portfolio, stops, thresholds)]
    return Assessment(
        weighting=_weighting(share, thresholds),
        volatile_share=share,
        volatile_assets=tuple(each.asset for each in volatile),
        advice=(
            *(each for each in changes if each.trial is not None and each.trial.is_better),
            *(exposed if stops is not None else ()),
        ),
        withheld=(
            *(each for each in changes if each.trial is None or not each.trial.is_better),
            *(exposed if stops is None else ()),
        ),
    )


def _changes(
    portfolio: Portfolio, stable: Decimal, risk: PortfolioRisk, effective: float, thresholds: Thresholds
) -> Iterable[Advised]:
    if stable < thresholds.stablecoin_floor:
        yield Advised("increase_stablecoins", float(stable), float(thresholds.stablecoin_floor))
    by: SpreadBasis = "value" if risk.effective is None else "risk"
    apart = effective if risk.effective is None else risk.effective
    # A portfolio of stablecoins has no risk to diversify.
    if any(not each.is_stable for each in portfolio.holdings) and apart < thresholds.effective_assets_floor:
        yield Advised("diversify", apart, thresholds.effective_assets_floor, by)


def _exposed(portfolio: Portfolio, stops: Mapping[str, Decimal] | None, thresholds: Thresholds) -> Iterable[Advised]:
    """Return one advice for all positions whose part without a live stop is as large as the limit."""
    found: list[tuple[str, float]] = []
    for each in portfolio.holdings:
        covered = min(each.total, (stops or {}).get(each.asset, Decimal(0)))
        open_weight = (each.weight or Decimal(0)) * (1 - covered / each.total)
        if not each.is_stable and open_weight >= thresholds.position_ceiling:
            found.append((each.asset, float(open_weight)))
    if found:
        yield Advised("set_stops", found[0][1], float(thresholds.position_ceiling), exposed=tuple(found))


def _weighting(share: Decimal, thresholds: Thresholds) -> Weighting:
    if share >= thresholds.heavy_share:
        return "heavily"
    return "moderately" if share >= thresholds.moderate_share else "mostly_lower"
