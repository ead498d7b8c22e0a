"""Risk of a portfolio: standard deviation, tail, and the contribution of each asset."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from mcp_binance_server.analytics.market.volatility import DAY_MINUTES, AssetVolatility, annualise, asset_volatility
from mcp_binance_server.analytics.metric import WhyNull, Window
from mcp_binance_server.analytics.portfolio.risk import (
    Correlation,
    History,
    RiskContribution,
    align,
    correlate,
    covariances,
    ordered_closes,
    portfolio_returns,
    risk_contributions,
)
from mcp_binance_server.analytics.portfolio.tail import TailRange, TailRisk, tail_range, tail_risk
from mcp_binance_server.analytics.portfolio.valuation import PAR, Holding, Portfolio
from mcp_binance_server.analytics.thresholds import DEFAULTS, Thresholds

REFERENCE = "BTC"


@dataclass(frozen=True, slots=True, kw_only=True)
class AssetRisk:
    """One row of the risk table. `weight` is the share in the whole portfolio."""

    asset: str
    weight: Decimal
    volatility: AssetVolatility
    risk_share: float | None
    to_btc: Correlation
    route: str | None


@dataclass(frozen=True, slots=True)
class LeftOut:
    """An asset that the joint figures do not cover, with its weight and the reason."""

    asset: str
    weight: Decimal
    reason: Literal["beyond_largest", "insufficient_history"]


@dataclass(frozen=True, slots=True)
class RiskPart:
    """An asset that the joint figures cover: its weight among the covered assets, and its daily returns."""

    asset: str
    is_stable: bool
    weight: float
    returns: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PortfolioRisk:
    """Joint risk figures of the covered assets. Amounts of money are their value times a ratio."""

    assets: tuple[AssetRisk, ...]
    sigma_annual: float | None
    effective: float | None
    tail: TailRisk
    tail_range: TailRange | None
    var_value: Decimal | None
    es_value: Decimal | None
    covered_value: Decimal
    covered_share: Decimal
    left_out: tuple[LeftOut, ...]
    parts: tuple[RiskPart, ...]
    n: int  # number of returns used, or of the longest history if there are too few
    window: Window | None
    coverage: float
    why_null: WhyNull | None = None


def measure_risk(
    portfolio: Portfolio, histories: Mapping[str, History], *, thresholds: Thresholds = DEFAULTS
) -> PortfolioRisk:
    """Measure the largest holdings with enough history. Today's weights are applied to the whole history."""
    covered, left_out = _choose(portfolio.holdings, histories, thresholds)
    moving = [each for each in covered if not _at_par(each, histories, thresholds)]
    aligned = align([histories[each.asset] for each in moving])
    of_asset = {each.asset: returns for each, returns in zip(moving, aligned.returns, strict=True)}
    covered_value = sum((_value(each) for each in covered), Decimal(0))
    parts = tuple(
        RiskPart(
            each.asset,
            each.is_stable,
            float(_value(each) / covered_value),
            of_asset.get(each.asset, (0.0,) * aligned.n),
        )
        for each in covered
    )
    tail, split = assess_parts(parts, thresholds=thresholds)
    shares = dict(zip((each.asset for each in parts), split.shares, strict=False))
    why_null = portfolio.why_null or split.why_null
    if covered and not moving and not left_out:
        why_null = "zero_variance"  # only stablecoins are left: more history would change nothing
    return PortfolioRisk(
        assets=tuple(_asset_risk(each, histories, shares, thresholds) for each in portfolio.holdings),
        sigma_annual=None if split.sigma is None else annualise(split.sigma, DAY_MINUTES),
        effective=split.effective,
        tail=tail,
        tail_range=None if tail.var is None else tail_range(_joint_returns(parts), thresholds.var_level),
        var_value=_money(covered_value, tail.var),
        es_value=_money(covered_value, tail.es),
        covered_value=covered_value,
        covered_share=covered_value / portfolio.total if portfolio.total else Decimal(0),
        left_out=left_out,
        parts=parts,
        n=aligned.n or _longest(portfolio.holdings, histories),
        window=aligned.window,
        coverage=aligned.coverage,
        why_null=why_null,
    )


def assess_parts(parts: Sequence[RiskPart], *, thresholds: Thresholds = DEFAULTS) -> tuple[TailRisk, RiskContribution]:
    """Return tail risk and risk contributions. Both need the same number of days."""
    tail = tail_risk(_joint_returns(parts), thresholds.var_level, thresholds.var_min_n)
    if tail.why_null:
        return tail, RiskContribution(None, (), (), why_null=tail.why_null)
    return tail, risk_contributions([each.weight for each in parts], covariances([each.returns for each in parts]))


def _joint_returns(parts: Sequence[RiskPart]) -> list[float]:
    return portfolio_returns([each.weight for each in parts], [each.returns for each in parts])


def _choose(
    holdings: Sequence[Holding], histories: Mapping[str, History], thresholds: Thresholds
) -> tuple[list[Holding], tuple[LeftOut, ...]]:
    covered: list[Holding] = []
    left_out: list[LeftOut] = []
    for place, holding in enumerate(holdings):
        if place >= thresholds.risk_max_assets:
            left_out.append(LeftOut(holding.asset, _weight(holding), "beyond_largest"))
        elif _is_long(histories.get(holding.asset), thresholds) or holding.is_stable:
            covered.append(holding)
        else:
            left_out.append(LeftOut(holding.asset, _weight(holding), "insufficient_history"))
    return covered, tuple(left_out)


def _longest(holdings: Sequence[Holding], histories: Mapping[str, History]) -> int:
    return max((max(0, len(histories.get(each.asset, ())) - 1) for each in holdings), default=0)


def _is_long(history: History | None, thresholds: Thresholds) -> bool:
    return history is not None and len(history) > thresholds.var_min_n


def _at_par(holding: Holding, histories: Mapping[str, History], thresholds: Thresholds) -> bool:
    return holding.route == PAR or not _is_long(histories.get(holding.asset), thresholds)


def _asset_risk(
    holding: Holding, histories: Mapping[str, History], shares: Mapping[str, float], thresholds: Thresholds
) -> AssetRisk:
    history = histories.get(holding.asset, {})
    pair = align([history, histories.get(REFERENCE, {})])
    return AssetRisk(
        asset=holding.asset,
        weight=_weight(holding),
        volatility=asset_volatility(holding.asset, ordered_closes(history), thresholds=thresholds),
        risk_share=shares.get(holding.asset),
        to_btc=correlate(*pair.returns, minimum=thresholds.corr_min_n),
        route=holding.route,
    )


def _value(holding: Holding) -> Decimal:
    return holding.value or Decimal(0)


def _weight(holding: Holding) -> Decimal:
    return holding.weight or Decimal(0)


def _money(value: Decimal, ratio: float | None) -> Decimal | None:
    return None if ratio is None else value * Decimal(str(ratio))
