"""What a key may do, as its page at Binance says; only the true exchange tells.

https://developers.binance.com/docs/wallet/account/api-key-permission
"""

import logging

import anyio
import msgspec

from mcp_binance_server.domain.account import KeyRights
from mcp_binance_server.errors import AppError
from mcp_binance_server.exchange.endpoints import KEY_RIGHTS
from mcp_binance_server.exchange.spot.account import AccountClient

LOG = logging.getLogger(__name__)

# Only the true exchange has the call that tells the rights of a key.
TELLS_RIGHTS = "mainnet"
# An answer about the account does not wait longer for it.
PATIENCE_SECS = 3.0


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


async def find_key_rights(account: AccountClient) -> KeyRights | None:
    """Return what the key may do; None where nobody tells it, or not soon."""
    if account.principal is None or account.caller.network.name != TELLS_RIGHTS:
        return None
    try:
        with anyio.move_on_after(PATIENCE_SECS):
            return await read_key_rights(account)
    except AppError as error:
        LOG.info("what the key may do was not told: %s", error.error_type)
    return None


async def warn_of_rights(account: AccountClient) -> None:
    """Say in one line of the log what should be changed about the key; a key that is as it should be gets none."""
    rights = await find_key_rights(account)
    if rights is None or account.principal is None or not rights.dangers:
        return
    level = logging.ERROR if rights.withdrawals else logging.WARNING
    where = account.caller.network.help_url
    LOG.log(level, "key %s: %s. See %s", account.principal.credentials.masked, ". ".join(rights.dangers), where)
