"""The account as a tool values it: every number that its structure has, under the same name."""

from decimal import Decimal

from mcp_binance_server.analytics.portfolio.measures import AssetRisk
from mcp_binance_server.analytics.portfolio.report import PortfolioReport
from mcp_binance_server.analytics.portfolio.valuation import DOLLAR, Holding
from mcp_binance_server.domain.account import Venue
from mcp_binance_server.surface.views.account import NO_HOLDINGS, source
from mcp_binance_server.surface.views.decimals import exact
from mcp_binance_server.surface.views.markdown import money, plain, price, share
from mcp_binance_server.surface.views.paging import counted, with_more

CENT = Decimal("0.01")
NO_TICK = Decimal(0)
COLUMNS = ("Asset", "Quantity", "Price", "Value", "Share", "Volatility", "Risk Share", "Priced By")
NOTHING = "n/a"


def holdings_page(report: PortfolioReport, venue: Venue, limit: int, more: str | None) -> str:
    """Render what the account is worth and what it risks."""
    held = (*report.portfolio.holdings, *report.portfolio.excluded)
    risks = {each.asset: each for each in report.risk.assets}
    stable = report.portfolio.stablecoin_share
    lines = [
        "# Portfolio",
        "",
        *(_table(held[:limit], risks) if held else [NO_HOLDINGS]),
        "",
        f"**Total Value**: {_dollars(report.portfolio.total)}",
        *([] if stable is None else [f"**Stablecoin Share**: {share(float(stable))}"]),
        *_concentration(report),
        *_risk(report),
        *(f"**Missing**: {plain(each)}" for each in report.missing),
        "",
        counted(min(limit, len(held)), limit),
        *source(venue, report.as_of_ms),
    ]
    return with_more(lines, more)


def unmeasured(report: PortfolioReport) -> str | None:
    """Say why there is no risk to tell; nothing where there is."""
    risk = report.risk
    if risk.tail.var is not None and risk.var_value is not None:
        return None
    if risk.why_null == "zero_variance":
        return "stablecoins alone, held at par"
    return (risk.why_null or risk.tail.why_null or "no_data").replace("_", " ")


def _table(held: tuple[Holding, ...], risks: dict[str, AssetRisk]) -> list[str]:
    return [
        f"| {' | '.join(COLUMNS)} |",
        f"|{'|'.join('-' * (len(name) + 2) for name in COLUMNS)}|",
        *(_row(each, risks.get(each.asset)) for each in held),
    ]


def _row(holding: Holding, risk: AssetRisk | None) -> str:
    annual = risk.volatility.annual if risk else None
    risk_share = risk.risk_share if risk else None
    cells = (
        plain(holding.asset),
        exact(holding.total),
        NOTHING if holding.price is None else price(holding.price, DOLLAR, NO_TICK),
        NOTHING if holding.value is None else _dollars(holding.value),
        NOTHING if holding.weight is None else share(float(holding.weight)),
        NOTHING if annual is None else share(annual),
        NOTHING if risk_share is None else share(risk_share),
        plain(holding.route) if holding.route else "no route to USDT, not in any value",
    )
    return f"| {' | '.join(cells)} |"


def _concentration(report: PortfolioReport) -> list[str]:
    spread = report.spread
    if spread.hhi is None or spread.effective is None or spread.level is None:
        return []
    return [
        f"**Concentration**: level {spread.level}, HHI {spread.hhi:.3f}, effective assets {spread.effective:.1f}",
    ]


def _risk(report: PortfolioReport) -> list[str]:
    risk, tail = report.risk, report.risk.tail
    if tail.var is None or tail.es is None or risk.var_value is None or risk.es_value is None:
        return [f"**Risk**: not measured: {unmeasured(report)}"]
    level = f"{tail.level}%"
    return [
        *([] if risk.sigma_annual is None else [f"**Volatility a Year**: {share(risk.sigma_annual)}"]),
        f"**VaR**: {_dollars(risk.var_value)}, a share of {share(tail.var)}, in one day at level {level}",
        f"**ES**: {_dollars(risk.es_value)}, a share of {share(tail.es)}, in one day at level {level}",
        f"**Days**: {tail.n}",
    ]


def _dollars(value: Decimal) -> str:
    return money(value, DOLLAR, CENT)
