"""Page of a portfolio's risk: the fixed format first, then the measurements."""

from decimal import Decimal

from mcp_binance_server.analytics.market.volatility import CLASSES, AssetVolatility
from mcp_binance_server.analytics.portfolio.measures import AssetRisk, PortfolioRisk
from mcp_binance_server.analytics.portfolio.report import PortfolioReport, Shock, Spread, WhatIf
from mcp_binance_server.analytics.portfolio.tail import BLOCK_DAYS, RESAMPLES, TailRisk
from mcp_binance_server.analytics.portfolio.valuation import Holding
from mcp_binance_server.analytics.portfolio.verdict import Advice, Advised, Assessment, TooManyUnpriced, Trial
from mcp_binance_server.analytics.thresholds import Thresholds
from mcp_binance_server.surface.views.markdown import amount, day_of, money, percent, plain, share, stamp
from mcp_binance_server.surface.views.measures import changed_lines, in_percent
from mcp_binance_server.surface.views.portfolio.holdings import coverage_words, shares_between
from mcp_binance_server.surface.views.trend import NOT_ADVICE

ONE_WALLET = "*It sees the spot wallet of one account on one venue: no other wallet, account or exchange.*"
CENT = Decimal("0.01")
TITLE = ["# Portfolio Risk Assessment", "", "## Current Holdings", ""]
NO_HOLDINGS = [
    "No active balances found in your account.",
    "",
    "**Recommendation**: Deposit funds to begin trading. Start with a diversified allocation:",
    "- 30% stablecoins (USDT/BUSD) for liquidity",
    "- 40% major cryptocurrencies (BTC/ETH)",
    "- 30% diversified altcoins based on risk tolerance",
]
ADVISED_FLOOR = Decimal("0.25")
ADVICE: dict[Advice, str] = {
    "increase_stablecoins": "*- Increase stablecoin allocation to 25-30% to reduce volatility*",
    "diversify": "*- Diversify into additional altcoins to spread risk*",
    "set_stops": "*- Consider setting stop-loss orders on high-value positions*",
}


def portfolio_page(report: PortfolioReport) -> str:
    """Render the risk assessment. An empty account has a fixed text."""
    last_line = f"*Last updated: {stamp(report.as_of_ms)}*"
    if not report.portfolio.holdings and not report.portfolio.excluded:
        return "\n".join([*TITLE, *NO_HOLDINGS, "", last_line])
    return "\n".join(
        [
            *TITLE,
            *_holdings(report),
            "",
            f"**Total Portfolio Value**: ~{_dollars(report.portfolio.total)}",
            "",
            *_composition(report),
            "",
            *_assessment(report.assessment, report.thresholds),
            "",
            *_concentration(report),
            "",
            *_measured(report.risk, report.thresholds.var_min_n),
            *(f"_Unavailable: {plain(reason)}_" for reason in report.missing),
            "",
            *_scenarios(report),
            "",
            *(line for each in changed_lines(report.thresholds) for line in (f"_{each}_", "")),
            ONE_WALLET,
            NOT_ADVICE,
            last_line,
        ]
    )


def _holdings(report: PortfolioReport) -> list[str]:
    rows = [_row(each) for each in (*report.portfolio.holdings, *report.portfolio.excluded)]
    excluded = ", ".join(plain(each.asset) for each in report.portfolio.excluded)
    note = ["", f"_Not valued, and not in the total: {excluded} (no route to USDT)_"] if excluded else []
    return [
        "| Asset | Free Balance | Locked Balance | Total | Est. USD Value |",
        "|-------|--------------|----------------|-------|----------------|",
        *rows,
        *note,
    ]


def _row(holding: Holding) -> str:
    places = 2 if holding.is_stable else 4
    free, locked, total = (amount(each, places) for each in (holding.free, holding.locked, holding.total))
    value = "n/a" if holding.value is None else _dollars(holding.value)
    return f"| {plain(holding.asset):<5} | {free:<12} | {locked:<14} | {total} | {value} |"


def _composition(report: PortfolioReport) -> list[str]:
    classes = {each.asset: each for each in report.risk.assets}
    return [
        "**Portfolio Composition**:",
        *(
            f"- {plain(each.name)} ({plain(each.asset)}): {_weight(each.weight)} ({_class(classes[each.asset])})"
            for each in report.portfolio.holdings
        ),
    ]


def _class(asset: AssetRisk) -> str:
    volatility = asset.volatility
    # Stablecoins are classified by name. Any other class that was not measured is marked as a default.
    assumed = volatility.basis == "default" and volatility.label != CLASSES[0]
    near = f", close to {volatility.near.removesuffix(' volatility')}" if volatility.near else ""
    return f"{volatility.label}, default" if assumed else f"{volatility.label}{near}"


def _assessment(assessment: Assessment | TooManyUnpriced | None, thresholds: Thresholds) -> list[str]:
    if assessment is None:
        return ["**Risk Assessment**: Nothing in this portfolio could be valued."]
    if isinstance(assessment, TooManyUnpriced):
        return [f"**Risk Assessment**: not judged: {assessment.share * 100:.0f} % of holdings have no price"]
    volatile = (
        f"high-volatility assets ({_weight(assessment.volatile_share)} in {'+'.join(assessment.volatile_assets)})"
    )
    weighting = {
        "heavily": f"heavily weighted toward {volatile}",
        "moderately": f"moderately weighted toward {volatile}",
        "mostly_lower": "mostly in lower-volatility assets",
    }[assessment.weighting]
    bullets = [_advice(each.advice, thresholds) for each in assessment.advice] or ["*- No rule-based change suggested*"]
    return [
        f"**Risk Assessment**: Your portfolio is {weighting}. Consider the following for balanced diversification:",
        "",
        *bullets,
    ]


def _reason(advised: Advised, scenarios: WhatIf) -> str:
    measured, edge = advised.measured, in_percent(advised.edge)
    if advised.advice == "set_stops":
        exposed = " and ".join(f"{share(part)} in {plain(asset)}" for asset, part in advised.exposed)
        return f"no live stop order covers {exposed}, {edge} or more"
    if advised.advice == "increase_stablecoins":
        return f"stablecoins are {share(measured)}, under {edge}{_trial(f'with {edge}', advised.trial)}"
    counted = "by risk (assets that move together count as one)" if advised.by == "risk" else "by value"
    moved = "" if scenarios.spread is None else _moved(scenarios.spread)
    return f"{measured:.1f} effective assets {counted}, under {advised.edge:g}{_trial(moved, advised.trial)}"


def _trial(change: str, trial: Trial | None) -> str:
    return "" if trial is None else f": {change}, ES {share(trial.before)} → {share(trial.after)}"


def _moved(spread: Spread) -> str:
    return f"{spread.share * 100:.0f} points from {plain(spread.source)} to {', '.join(map(plain, spread.targets))}"


def _advice(advice: Advice, thresholds: Thresholds) -> str:
    floor = thresholds.stablecoin_floor
    if advice == "increase_stablecoins" and floor != ADVISED_FLOOR:
        return f"*- Increase stablecoin allocation to {in_percent(float(floor))} or more to reduce volatility*"
    return ADVICE[advice]


def _concentration(report: PortfolioReport) -> list[str]:
    spread, stable = report.spread, report.portfolio.stablecoin_share
    if spread.hhi is None or spread.effective is None or stable is None:
        return ["## Concentration", "_Not measured: nothing in this portfolio could be valued_"]
    return [
        "## Concentration",
        f"**HHI**: {spread.hhi:.3f} ({spread.level}; {spread.effective:.1f} effective assets of {spread.n})"
        f" · **Stablecoin share**: {_weight(stable)}",
        *_by_risk(report.risk),
        *_reasons(report),
    ]


def _reasons(report: PortfolioReport) -> list[str]:
    assessment, scenarios = report.assessment, report.scenarios
    if not isinstance(assessment, Assessment):
        return []
    given = "; ".join(_reason(each, scenarios) for each in assessment.advice)
    withheld = "; ".join(f"{_reason(each, scenarios)}{_untried(each, report)}" for each in assessment.withheld)
    return [
        *([f"**Why this advice**: {given}"] if given else []),
        *([f"**Not advised**: {withheld}"] if withheld else []),
    ]


def _untried(advised: Advised, report: PortfolioReport) -> str:
    if advised.advice == "set_stops":
        return ", but the open orders could not be read"
    if advised.trial is not None:
        return ", which is not lower"
    if report.risk.tail.es is None:
        return ", but the effect was not measured"
    return ", but no other altcoin is held, so the effect was not measured"


def _by_risk(risk: PortfolioRisk) -> list[str]:
    if risk.effective is None:
        return []
    return [f"**Effective assets by risk**: {risk.effective:.1f} (squared diversification ratio of {risk.n} days)"]


def _measured(risk: PortfolioRisk, least: int) -> list[str]:
    if risk.why_null == "zero_variance":
        return ["## Measured Risk", "_None: stablecoins only, valued at par_"]
    if risk.window is None:
        return ["## Measured Risk", f"_Collecting: {risk.n} of {least} daily closes_"]
    heading = (
        f"## Measured Risk ({risk.n + 1} daily closes to {day_of(risk.window.to_ms)}, n={risk.n}, "
        f"coverage {share(risk.coverage, 0)})"
    )
    left_out = [
        f"_Left out: {plain(each.asset)} {_weight(each.weight)} ({each.reason.replace('_', ' ')})_"
        for each in risk.left_out
    ]
    return [
        heading,
        "| Asset | Weight | Volatility (ann.) | Risk share | Corr. to BTC | Route |",
        "|-|-|-|-|-|-|",
        *(_risk_row(each, risk.n) for each in risk.assets),
        "",
        *left_out,
        *_tail(risk),
    ]


def _risk_row(asset: AssetRisk, n: int) -> str:
    volatility = _volatility(asset.volatility, n)
    risk_share = "n/a" if asset.risk_share is None else share(asset.risk_share)
    together = "n/a" if asset.to_btc.rho is None else f"{asset.to_btc.rho:.2f}"
    cells = (plain(asset.asset), _weight(asset.weight), volatility, risk_share, together, plain(asset.route or "none"))
    return f"| {' | '.join(cells)} |"


def _volatility(measured: AssetVolatility, n: int) -> str:
    if measured.annual is None:
        return "n/a"
    aside = [] if measured.n == n else [f"n={measured.n}"]
    if measured.near is not None:
        aside.append(f"close to {measured.near.removesuffix(' volatility')}")
    return share(measured.annual) + (f" ({', '.join(aside)})" if aside else "")


def _tail(risk: PortfolioRisk) -> list[str]:
    tail, between = risk.tail, risk.tail_range
    if tail.var is None or tail.es is None or risk.var_value is None or risk.es_value is None or between is None:
        reason = (risk.why_null or tail.why_null or "no data").replace("_", " ")
        return [f"_Portfolio volatility, VaR and ES not measured: {reason}_"]
    sigma = "n/a" if risk.sigma_annual is None else share(risk.sigma_annual)
    return [
        f"**Portfolio volatility**: {sigma} · **1-day VaR {tail.level}%**: {_whole(risk.var_value)} ({share(tail.var)})"
        f" · **ES {tail.level}%**: {_whole(risk.es_value)} ({share(tail.es)})"
        f" ({tail.k} worst of {tail.n} days: a coarse estimate)",
        f"**Range**: VaR {shares_between(between.var_low, between.var_high)}, "
        f"ES {shares_between(between.es_low, between.es_high)} "
        f"({RESAMPLES} resamples in blocks of {BLOCK_DAYS} days; {coverage_words()})",
    ]


def _scenarios(report: PortfolioReport) -> list[str]:
    scenarios, risk, thresholds = report.scenarios, report.risk, report.thresholds
    fall = in_percent(float(thresholds.market_shock))
    rows = [_shock_row(f"Every non-stable asset {fall}", scenarios.market)]
    btc = scenarios.btc
    if btc.shock is not None:
        assumed = f" ({', '.join(map(plain, btc.assumed))} assumed to move with it)" if btc.assumed else ""
        rows.append(_shock_row(f"BTC {in_percent(float(thresholds.btc_shock))}, others by beta{assumed}", btc.shock))
    if scenarios.stablecoins is not None:
        rows += _tail_row(
            f"{_weight(scenarios.stablecoins.share, 0)} stablecoins", scenarios.stablecoins.tail, risk.tail
        )
    if scenarios.spread is not None:
        rows += _tail_row(_moved(scenarios.spread), scenarios.spread.tail, risk.tail)
    return ["## What If", "| Scenario | Value | Change |", "|-|-|-|", *rows]


def _tail_row(name: str, after: TailRisk, before: TailRisk) -> list[str]:
    if after.var is None or after.es is None or before.var is None or before.es is None:
        return []
    told = f"VaR {share(after.var)}, ES {share(after.es)} | was {share(before.var)}, {share(before.es)}"
    return [f"| {name} | {told} |"]


def _shock_row(name: str, shock: Shock) -> str:
    change = money(shock.change, "USDT", CENT, signed=True)
    relative = "" if shock.change_percent is None else f" ({percent(shock.change_percent)})"
    return f"| {name} | {_dollars(shock.after)} | {change}{relative} |"


def _dollars(value: Decimal) -> str:
    return money(value, "USDT", CENT)


def _whole(value: Decimal) -> str:
    return money(value, "USDT", CENT).partition(".")[0]


def _weight(weight: Decimal | None, places: int = 1) -> str:
    return "n/a" if weight is None else share(float(weight), places)
