"""Portfolio report: risk, verdict, and losses in scenarios."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from mcp_binance_server.analytics.market.volatility import DAY_MINUTES, annualise
from mcp_binance_server.analytics.metric import WhyNull
from mcp_binance_server.analytics.portfolio.measures import (
    REFERENCE,
    AssetRisk,
    PortfolioRisk,
    RiskPart,
    assess_parts,
    measure_risk,
)
from mcp_binance_server.analytics.portfolio.risk import History
from mcp_binance_server.analytics.portfolio.tail import TailRisk
from mcp_binance_server.analytics.portfolio.valuation import Concentration, Holding, Portfolio, concentration
from mcp_binance_server.analytics.portfolio.verdict import Advice, Assessment, TooManyUnpriced, Trial, assess
from mcp_binance_server.analytics.thresholds import DEFAULTS, Thresholds

_ALL = Decimal(-1)
# Share of the portfolio that the what-if of a wider spread moves, and the most of the largest holding that it moves.
MOVED_SHARE = 0.20
MOVED_PART = 0.5


@dataclass(frozen=True, slots=True)
class Shock:
    """A value before and after."""

    before: Decimal
    after: Decimal

    @property
    def change(self) -> Decimal:
        return self.after - self.before

    @property
    def change_percent(self) -> Decimal | None:
        return 100 * self.change / self.before if self.before else None


@dataclass(frozen=True, slots=True)
class BtcShock:
    """A price shock of bitcoin. Assets without a measured beta are assumed to have a beta of one."""

    shock: Shock | None
    assumed: tuple[str, ...] = ()
    why_null: WhyNull | None = None


@dataclass(frozen=True, slots=True)
class Rebalanced:
    """Risk of the same assets with a larger share of stablecoins."""

    share: Decimal
    sigma_annual: float | None
    tail: TailRisk
    why_null: WhyNull | None = None


@dataclass(frozen=True, slots=True)
class Spread:
    """Tail risk after a share of the portfolio has moved from its largest asset to others, in equal parts."""

    share: float
    source: str
    targets: tuple[str, ...]
    tail: TailRisk


@dataclass(frozen=True, slots=True)
class WhatIf:
    """Scenarios of the page.

    `stablecoins` is None if the portfolio already has that share, and `spread` if it has no other altcoin.
    """

    market: Shock
    btc: BtcShock
    stablecoins: Rebalanced | None
    spread: Spread | None = None


def shock(values: Sequence[Decimal], shocks: Sequence[Decimal]) -> Shock:
    """Apply a relative change to each value. No value falls below zero."""
    after = sum((value * (1 + max(change, _ALL)) for value, change in zip(values, shocks, strict=True)), Decimal(0))
    return Shock(sum(values, Decimal(0)), after)


def what_if(portfolio: Portfolio, risk: PortfolioRisk, *, thresholds: Thresholds = DEFAULTS) -> WhatIf:
    """Compute all scenarios of the page."""
    values = [each.value or Decimal(0) for each in portfolio.holdings]
    market = [Decimal(0) if each.is_stable else thresholds.market_shock for each in portfolio.holdings]
    return WhatIf(
        market=shock(values, market),
        btc=shock_btc(portfolio.holdings, risk.assets, thresholds.btc_shock),
        stablecoins=rebalance(risk, thresholds=thresholds),
        spread=spread_wider(risk, thresholds=thresholds),
    )


def shock_btc(holdings: Sequence[Holding], assets: Sequence[AssetRisk], change: Decimal) -> BtcShock:
    """Move bitcoin, and every other asset by its beta. Stablecoins do not move."""
    betas = {each.asset: each.to_btc.beta for each in assets}
    others = [each.asset for each in holdings if not each.is_stable and each.asset != REFERENCE]
    assumed = tuple(asset for asset in others if betas.get(asset) is None)
    if others and len(assumed) == len(others):
        return BtcShock(None, assumed, "insufficient_history")
    changes = [Decimal(0) if each.is_stable else change * _beta(each.asset, betas.get(each.asset)) for each in holdings]
    return BtcShock(shock([each.value or Decimal(0) for each in holdings], changes), assumed)


def rebalance(risk: PortfolioRisk, *, thresholds: Thresholds = DEFAULTS) -> Rebalanced | None:
    """Sell a part of all other assets until stablecoins have their minimum share.

    The added stablecoins have no price moves.
    """
    share = thresholds.stablecoin_floor
    if risk.why_null in {"empty_portfolio", "insufficient_history"}:
        return Rebalanced(share, None, risk.tail, risk.why_null)
    moving = sum(each.weight for each in risk.parts if not each.is_stable)
    if moving <= float(1 - share):
        return None
    shrunk = [_shrunk(each, float(1 - share) / moving) for each in risk.parts]
    tail, split = assess_parts(shrunk, thresholds=thresholds)
    sigma = None if split.sigma is None else annualise(split.sigma, DAY_MINUTES)
    return Rebalanced(share, sigma, tail, split.why_null)


def spread_wider(risk: PortfolioRisk, *, thresholds: Thresholds = DEFAULTS) -> Spread | None:
    """Move a share from the largest asset to the other altcoins, in equal parts.

    Return None if there is no other altcoin or no tail risk to compare.
    """
    moving = [each for each in risk.parts if not each.is_stable]
    if risk.tail.es is None or not moving:
        return None
    largest = max(moving, key=lambda each: each.weight)
    targets = tuple(each.asset for each in moving if each.asset not in (largest.asset, REFERENCE))
    if not targets:
        return None
    share = min(MOVED_SHARE, MOVED_PART * largest.weight)
    change = {largest.asset: -share} | dict.fromkeys(targets, share / len(targets))
    moved = [replace(each, weight=each.weight + change.get(each.asset, 0.0)) for each in risk.parts]
    tail, _ = assess_parts(moved, thresholds=thresholds)
    return Spread(share, largest.asset, targets, tail)


def trials(risk: PortfolioRisk, scenarios: WhatIf) -> dict[Advice, Trial]:
    """Return the trial of each advice whose change is a scenario of the page."""
    after: dict[Advice, Rebalanced | Spread | None] = {
        "increase_stablecoins": scenarios.stablecoins,
        "diversify": scenarios.spread,
    }
    return {
        advice: Trial(risk.tail.es, each.tail.es)
        for advice, each in after.items()
        if each is not None and each.tail.es is not None and risk.tail.es is not None
    }


def _shrunk(part: RiskPart, factor: float) -> RiskPart:
    return part if part.is_stable else replace(part, weight=part.weight * factor)


def _beta(asset: str, measured: float | None) -> Decimal:
    return Decimal(1) if asset == REFERENCE or measured is None else Decimal(str(measured))


@dataclass(frozen=True, slots=True)
class PortfolioReport:
    """Report on a portfolio at one moment, and the histories that could not be read."""

    portfolio: Portfolio
    spread: Concentration
    risk: PortfolioRisk
    assessment: Assessment | TooManyUnpriced | None
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
    stops: Mapping[str, Decimal] | None = None,
    thresholds: Thresholds = DEFAULTS,
) -> PortfolioReport:
    """Assess a valued portfolio by the daily closes of its holdings and the quantities that live stops sell."""
    spread = concentration([each.value or Decimal(0) for each in portfolio.holdings], edges=thresholds.hhi_edges)
    risk = measure_risk(portfolio, histories, thresholds=thresholds)
    scenarios = what_if(portfolio, risk, thresholds=thresholds)
    return PortfolioReport(
        portfolio=portfolio,
        spread=spread,
        risk=risk,
        assessment=assess(portfolio, risk, spread, trials=trials(risk, scenarios), stops=stops, thresholds=thresholds),
        scenarios=scenarios,
        as_of_ms=as_of_ms,
        missing=missing,
        thresholds=thresholds,
    )
