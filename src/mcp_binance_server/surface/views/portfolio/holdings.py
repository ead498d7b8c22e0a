"""Balances and holdings as Markdown."""

from collections.abc import Iterable
from decimal import Decimal

from mcp_binance_server.analytics.portfolio.measures import AssetRisk
from mcp_binance_server.analytics.portfolio.report import PortfolioReport
from mcp_binance_server.analytics.portfolio.tail import ES_COVERAGE, VAR_COVERAGE
from mcp_binance_server.analytics.portfolio.valuation import DOLLAR, Holding, Portfolio
from mcp_binance_server.domain.account import AccountView, Balance, Commission, KeyRights, Venue
from mcp_binance_server.domain.money import round_to_places
from mcp_binance_server.surface.views.markdown import (
    NO_STEP,
    amount,
    counted,
    exact,
    instant,
    money,
    plain,
    price,
    share,
    with_more,
)

BALANCE_PLACES = 8
CENT = Decimal("0.01")
SIMULATED = "a simulated exchange without real funds"
NO_HOLDINGS = "No holdings: every balance of this account is zero."
NO_TICK = Decimal(0)
COLUMNS = ("Asset", "Quantity", "Price", "Value", "Share", "Volatility", "Risk Share", "Priced By")
NOTHING = "n/a"


def balances_page(view: AccountView) -> str:
    """Render the balances in the fixed format of this resource."""
    holdings = view.account.holdings
    lines = [
        "# Account Balances",
        "",
        *(balance_table(holdings) if holdings else [NO_HOLDINGS]),
        "",
        f"**Total Assets**: {len(holdings)}",
        *rights(view),
        "",
        f"*Last updated: {instant(view.as_of_ms)}*",
        note(view.venue, "Testnet account - no real funds"),
    ]
    return "\n".join(lines)


def account_page(view: AccountView, key: KeyRights | None, limit: int, more: str | None) -> str:
    """Render the permissions, fees and first balances of an account."""
    account = view.account
    shown = account.holdings[:limit]
    lines = [
        "# Account",
        "",
        f"**Account Type**: {word(account.kind)}",
        f"**Permissions**: {', '.join(word(each) for each in account.permissions) or 'none reported'}",
        *rights(view),
        *(key_rights(key) if key else []),
        f"**Commission**: {_commission(account.commission)}",
        "",
        *(balance_table(shown) if shown else [NO_HOLDINGS]),
        "",
        counted(len(shown), limit),
        *source(view.venue, view.as_of_ms),
    ]
    return with_more(lines, more)


def positions_page(portfolio: Portfolio, venue: Venue, as_of_ms: int) -> str:
    """Render the holdings other than stablecoins, with value and weight.

    A spot account has no positions like those of a futures account.
    """
    positions = [each for each in portfolio.holdings if not each.is_stable]
    stable = [each for each in portfolio.holdings if each.is_stable]
    unpriced = ", ".join(f"{amount(each.total, BALANCE_PLACES)} {plain(each.asset)}" for each in portfolio.excluded)
    lines = [
        "# Account Positions",
        "",
        "A spot account has no positions; these are its holdings that are not stablecoins, at their last price.",
        "",
        *(_position_table(positions) if positions else ["No holdings besides stablecoins."]),
        "",
        f"**Total Positions**: {len(positions)}",
        f"**Positions Value**: {_value(positions)}",
        f"**Stablecoins**: {_value(stable)}",
        f"**Portfolio Value**: {_dollars(portfolio.total)}",
        *([f"**Without a Price**: {unpriced}; not included in any value"] if unpriced else []),
        "",
        *source(venue, as_of_ms),
    ]
    return "\n".join(lines)


def _position_table(positions: Iterable[Holding]) -> list[str]:
    rows = [
        f"| {plain(each.asset)} | {amount(each.total, BALANCE_PLACES)} | {_price(each.price)} "
        f"| {money(each.value or Decimal(0), DOLLAR, CENT)} | {_share(each.weight)} | {plain(each.route or '')} |"
        for each in positions
    ]
    return [
        "| Asset | Quantity | Price | Value | Share | Priced by |",
        "|-------|----------|-------|-------|-------|-----------|",
        *rows,
    ]


def _value(holdings: Iterable[Holding]) -> str:
    rows = [*holdings]
    value = sum((each.value or Decimal(0) for each in rows), Decimal(0))
    weight = sum((each.weight or Decimal(0) for each in rows), Decimal(0))
    return f"{_dollars(value)} ({_share(weight)})"


def _price(value: Decimal | None) -> str:
    # The price can be a product of two markets without a common tick, so show its own decimals.
    return price(value or Decimal(0), DOLLAR, NO_STEP)


def _dollars(value: Decimal) -> str:
    return f"~{money(value, DOLLAR, CENT)}"


def _share(weight: Decimal | None) -> str:
    return f"{round_to_places((weight or Decimal(0)) * 100, 1)}%"


def balance_table(balances: Iterable[Balance]) -> list[str]:
    rows = [
        f"| {plain(each.asset)} | {amount(each.free, BALANCE_PLACES)} | {amount(each.locked, BALANCE_PLACES)} "
        f"| {amount(each.total, BALANCE_PLACES)} |"
        for each in balances
    ]
    return ["| Asset | Free | Locked | Total |", "|-------|------|--------|-------|", *rows]


def rights(view: AccountView) -> list[str]:
    """Return the permissions of the account.

    On the testnet, a missing permission is marked as a restriction of the testnet.
    """
    account = view.account
    refused = "No (Testnet)" if view.venue.is_testnet else "No"
    return [
        f"**Trading Enabled**: {'Yes' if account.can_trade else 'No'}",
        f"**Withdrawal Enabled**: {'Yes' if account.can_withdraw else refused}",
        f"**Deposit Enabled**: {'Yes' if account.can_deposit else refused}",
    ]


def key_rights(key: KeyRights) -> list[str]:
    """Return the permissions of the API key that are dangerous after a theft."""
    return [
        f"**Key May Withdraw**: {'Yes' if key.withdrawals else 'No'}",
        f"**Key Bound to Addresses**: {'Yes' if key.ip_restricted else 'No'}",
    ]


def note(venue: Venue, on_testnet: str) -> str:
    """Return the fixed note of the testnet. On other networks, return the network and the host that answered."""
    told = f"*Note: {on_testnet}*" if venue.is_testnet else _answered(venue)
    return "\n".join([told, *_noted(venue)])


def source(venue: Venue, as_of_ms: int) -> list[str]:
    """Return the time of the answer, with the network and host that answered."""
    return [f"*Last updated: {instant(as_of_ms)}*", _answered(venue), *_noted(venue)]


def word(text: str) -> str:
    """Format one of the exchange's constants. Underscores inside words are not escaped."""
    return text if text.replace("_", "").isalnum() else plain(text)


def venue_notes(venue: Venue) -> list[str]:
    """Return notes on an exchange whose name does not explain it, such as paper."""
    return [*([SIMULATED] if venue.simulated else []), *([venue.note] if venue.note else [])]


def _noted(venue: Venue) -> list[str]:
    return [f"*Note: {plain(venue.note)}*"] if venue.note else []


def _answered(venue: Venue) -> str:
    network = f"{plain(venue.network)}, {SIMULATED}" if venue.simulated else venue.network
    return f"*Network: {network}; answered by {plain(venue.host)}*"


def _commission(commission: Commission | None) -> str:
    if commission is None:
        return "not reported"
    return f"maker {_percent(commission.maker)}, taker {_percent(commission.taker)}"


def _percent(fraction: Decimal) -> str:
    return f"{(fraction * 100).normalize():f}%"


def holdings_page(
    report: PortfolioReport, venue: Venue, limit: int, more: str | None, below: Iterable[str] = ()
) -> str:
    """Render an account's value and risks, followed by further lines."""
    held = (*report.portfolio.holdings, *report.portfolio.excluded)
    risks = {each.asset: each for each in report.risk.assets}
    stable = report.portfolio.stablecoin_share
    lines = [
        "# Portfolio",
        "",
        *(_table(held[:limit], risks) if held else [NO_HOLDINGS]),
        "",
        f"**Total Value**: {_total(report.portfolio.total)}",
        *([] if stable is None else [f"**Stablecoin Share**: {share(float(stable))}"]),
        *_concentration(report),
        *_risk(report),
        *(f"**Missing**: {plain(each)}" for each in report.missing),
        *below,
        "",
        counted(min(limit, len(held)), limit),
        *source(venue, report.as_of_ms),
    ]
    return with_more(lines, more)


def unmeasured(report: PortfolioReport) -> str | None:
    """Return the reason for missing risk measures; None if there are measures."""
    risk = report.risk
    if risk.tail.var is not None and risk.var_value is not None:
        return None
    if risk.why_null == "zero_variance":
        return "stablecoins only, valued at par"
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
        NOTHING if holding.value is None else _total(holding.value),
        NOTHING if holding.weight is None else share(float(holding.weight)),
        NOTHING if annual is None else share(annual),
        NOTHING if risk_share is None else share(risk_share),
        plain(holding.route) if holding.route else "no route to USDT, not included in any value",
    )
    return f"| {' | '.join(cells)} |"


def _concentration(report: PortfolioReport) -> list[str]:
    spread, by_risk = report.spread, report.risk.effective
    if spread.hhi is None or spread.effective is None or spread.level is None:
        return []
    return [
        f"**Concentration**: level {spread.level}, HHI {spread.hhi:.3f}, effective assets {spread.effective:.1f}",
        *([] if by_risk is None else [f"**Effective Assets by Risk**: {by_risk:.1f}"]),
    ]


def _risk(report: PortfolioReport) -> list[str]:
    risk, tail, between = report.risk, report.risk.tail, report.risk.tail_range
    if tail.var is None or tail.es is None or risk.var_value is None or risk.es_value is None or between is None:
        return [f"**Risk**: not measured: {unmeasured(report)}"]
    level = f"{tail.level}%"
    return [
        *([] if risk.sigma_annual is None else [f"**Volatility a Year**: {share(risk.sigma_annual)}"]),
        f"**VaR**: {_total(risk.var_value)}, {share(tail.var)} of the total, in one day at level {level}",
        f"**VaR Range**: {shares_between(between.var_low, between.var_high)}",
        f"**ES**: {_total(risk.es_value)}, {share(tail.es)} of the total, in one day at level {level}",
        f"**ES Range**: {shares_between(between.es_low, between.es_high)}",
        f"**Days**: {tail.n}, worst days {tail.k}",
        f"_{coverage_words()}_",
    ]


def coverage_words() -> str:
    """Return how often such ranges held the true value."""
    (var_low, var_high), (es_low, es_high) = VAR_COVERAGE, ES_COVERAGE
    return (
        f"simulated ranges held the true VaR in {var_low * 100:.0f}-{share(var_high, 0)} and the true ES in "
        f"{es_low * 100:.0f}-{share(es_high, 0)} of cases"
    )


def shares_between(low: float, high: float) -> str:
    """Format a range of shares: `3.8% to 5.9%`."""
    return f"{share(low)} to {share(high)}"


def _total(value: Decimal) -> str:
    return money(value, DOLLAR, CENT)
