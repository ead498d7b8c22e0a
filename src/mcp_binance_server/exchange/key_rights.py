"""What a key may do, as its page at Binance says; only the true exchange tells.

https://developers.binance.com/docs/wallet/account/api-key-permission
"""

from dataclasses import dataclass

import msgspec

from mcp_binance_server.exchange.account import AccountClient
from mcp_binance_server.exchange.endpoints import KEY_RIGHTS


@dataclass(frozen=True, slots=True)
class KeyRights:
    """The boxes that are ticked for a key."""

    reading: bool
    spot_trading: bool
    other_trading: bool
    transfers: bool
    withdrawals: bool
    ip_restricted: bool

    @property
    def beyond_reading(self) -> tuple[str, ...]:
        """What else than reading the key may do, in words."""
        more = (
            ("trade", self.spot_trading),
            ("trade margin or futures", self.other_trading),
            ("transfer", self.transfers),
            ("withdraw", self.withdrawals),
        )
        return tuple(name for name, is_ticked in more if is_ticked)


class KeyRightsWire(msgspec.Struct, rename="camel"):
    ip_restrict: bool
    enable_reading: bool
    enable_withdrawals: bool
    enable_spot_and_margin_trading: bool = False
    enable_internal_transfer: bool = False
    permits_universal_transfer: bool = False
    enable_margin: bool = False
    enable_futures: bool = False
    enable_vanilla_options: bool = False
    enable_portfolio_margin_trading: bool = False

    def to_domain(self) -> KeyRights:
        others = (self.enable_margin, self.enable_futures, self.enable_vanilla_options)
        return KeyRights(
            reading=self.enable_reading,
            spot_trading=self.enable_spot_and_margin_trading,
            other_trading=any(others) or self.enable_portfolio_margin_trading,
            transfers=self.enable_internal_transfer or self.permits_universal_transfer,
            withdrawals=self.enable_withdrawals,
            ip_restricted=self.ip_restrict,
        )


async def read_key_rights(account: AccountClient) -> KeyRights:
    """Ask what the key of this account may do.

    Raises:
        AppError: as every signed read; ExchangeRejected where the host does not know the question.
    """
    body = await account.caller.read(KEY_RIGHTS, {}, KeyRightsWire, account.require_key())
    return body.value.to_domain()
