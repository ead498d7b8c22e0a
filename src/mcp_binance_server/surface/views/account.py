"""The account's pages: balances, and the lines that say who answered."""

from collections.abc import Iterable
from decimal import Decimal

from mcp_binance_server.analytics.portfolio.valuation import DOLLAR, Holding, Portfolio
from mcp_binance_server.domain.account import AccountView, Balance, Commission, KeyRights, Venue
from mcp_binance_server.domain.money import round_to_places
from mcp_binance_server.surface.views.decimals import NO_STEP
from mcp_binance_server.surface.views.markdown import amount, instant, money, plain, price
from mcp_binance_server.surface.views.paging import counted, with_more

BALANCE_PLACES = 8
CENT = Decimal("0.01")
SIMULATED = "a simulated exchange without real funds"
NO_HOLDINGS = "No holdings: every balance of this account is zero."


def balances_page(view: AccountView) -> str:
    """Render the balances in the lines and order of the resources contract."""
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
    """Render the rights, fees and the first balances of an account."""
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
    """Render the holdings that are not stablecoins with their value and weight; spot knows no other positions."""
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
        *([f"**Without a Price**: {unpriced}; not in any value here"] if unpriced else []),
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
    # A route may join two markets, so there is no one tick; the price itself says what it needs.
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
    """Say what the account may do; on the testnet a missing right is nothing to mend."""
    account = view.account
    refused = "No (Testnet)" if view.venue.is_testnet else "No"
    return [
        f"**Trading Enabled**: {'Yes' if account.can_trade else 'No'}",
        f"**Withdrawal Enabled**: {'Yes' if account.can_withdraw else refused}",
        f"**Deposit Enabled**: {'Yes' if account.can_deposit else refused}",
    ]


def key_rights(key: KeyRights) -> list[str]:
    """Say what of the key's own rights matters to whoever might lose it."""
    return [
        f"**Key May Withdraw**: {'Yes' if key.withdrawals else 'No'}",
        f"**Key Bound to Addresses**: {'Yes' if key.ip_restricted else 'No'}",
    ]


def note(venue: Venue, on_testnet: str) -> str:
    """Write the contract's note on the testnet; anywhere else name the network and the host that answered."""
    return f"*Note: {on_testnet}*" if venue.is_testnet else _answered(venue)


def source(venue: Venue, as_of_ms: int) -> list[str]:
    """Write when the exchange was asked, and which network and host answered."""
    return [f"*Last updated: {instant(as_of_ms)}*", _answered(venue)]


def word(text: str) -> str:
    """Write one of the exchange's constants; they hold underscores, which are no formatting inside a word."""
    return text if text.replace("_", "").isalnum() else plain(text)


def venue_notes(venue: Venue) -> list[str]:
    """Say of an exchange what its name does not."""
    return [SIMULATED] if venue.simulated else []


def _answered(venue: Venue) -> str:
    network = f"{plain(venue.network)}, {SIMULATED}" if venue.simulated else venue.network
    return f"*Network: {network}; answered by {plain(venue.host)}*"


def _commission(commission: Commission | None) -> str:
    if commission is None:
        return "not reported"
    return f"maker {_percent(commission.maker)}, taker {_percent(commission.taker)}"


def _percent(fraction: Decimal) -> str:
    return f"{(fraction * 100).normalize():f}%"
