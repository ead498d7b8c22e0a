"""Key permissions for trading with real money: required, forbidden and discouraged. Pure."""

from dataclasses import dataclass

from mcp_binance_server.domain.account import KeyRights

# Names from the settings page of a key: https://www.binance.com/en/my/settings/api-management
READING = "Enable Reading"
TRADING = "Enable Spot & Margin Trading"
WITHDRAWALS = "Enable Withdrawals"
INTERNAL_TRANSFER = "Enable Internal Transfer"
UNIVERSAL_TRANSFER = "Permits Universal Transfer"
MARGIN = "Enable Margin Loan, Repay & Transfer"
FUTURES = "Enable Futures"
OPTIONS = "Enable European Options"
PORTFOLIO_MARGIN = "Enable Portfolio Margin Trading"
ADDRESSES = "Restrict access to trusted IPs only"


@dataclass(frozen=True, slots=True)
class RightsVerdict:
    """Judgement of a key's permissions: reasons against trading with it, and warnings for its owner.

    One sentence each.
    """

    refusals: tuple[str, ...]
    warnings: tuple[str, ...]


def judge_rights(rights: KeyRights) -> RightsVerdict:
    """Judge the permissions of a key for trading with real money."""
    leads_out = {
        WITHDRAWALS: rights.withdrawals,
        INTERNAL_TRANSFER: rights.internal_transfer,
        UNIVERSAL_TRANSFER: rights.universal_transfer,
    }
    needed = {READING: rights.reading, TRADING: rights.spot_trading}
    beyond = {
        MARGIN: rights.margin,
        FUTURES: rights.futures,
        OPTIONS: rights.options,
        PORTFOLIO_MARGIN: rights.portfolio_margin,
    }
    refusals = (
        *(f"'{box}' is ticked, so this key can move money away. Untick it" for box, on in leads_out.items() if on),
        *(f"Binance does not report whether '{box}' is ticked" for box, on in leads_out.items() if on is None),
        *(f"'{box}' is not ticked: tick it" for box, on in needed.items() if not on),
    )
    warnings = (
        *(f"'{box}' is ticked but not needed. Untick it" for box, on in beyond.items() if on),
        *(() if rights.ip_restricted else (f"This key works from any IP address. Choose '{ADDRESSES}'",)),
    )
    return RightsVerdict(refusals, warnings)
