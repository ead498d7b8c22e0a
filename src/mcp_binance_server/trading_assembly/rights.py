"""What a key may do, asked before the first order: one that can move money away does not trade."""

import logging

from mcp_binance_server.errors import AppError, InvalidCredentials, SettingsError
from mcp_binance_server.exchange.spot.account import AccountClient, read_key_rights
from mcp_binance_server.trading.errors import KeyDoesNotTrade
from mcp_binance_server.trading.judgement.key_rights import judge_rights
from mcp_binance_server.trading.judgement.terms import TradingMode

LOG = logging.getLogger(__name__)


async def require_rights(account: AccountClient, mode: TradingMode) -> tuple[str, ...]:
    """Make sure that this server's key may trade and can do nothing worse; return what its owner should know of it.

    Raises:
        SettingsError: the key can move money away or cannot trade, or Binance refuses to tell; one line.
        AppError: Binance could not be asked, so nothing is known yet: nothing may be placed, and it is asked again.
    """
    try:
        return await examined_rights(account, mode)
    except KeyDoesNotTrade as error:
        told = f"MCP_BINANCE_TRADING={mode} and BINANCE_API_KEY ({_name(account)}): {error.reason}"
        raise SettingsError(problems=(told,)) from None


async def examined_rights(account: AccountClient, mode: TradingMode) -> tuple[str, ...]:
    """Make sure that a key may trade and can do nothing worse; return what its owner should know of it.

    Testnet and demo do not tell what a key may do, and hold no money: there that alone is said.

    Raises:
        KeyDoesNotTrade: the key can move money away or cannot trade, or Binance refuses to tell; one line.
        AppError: Binance could not be asked, so nothing is known yet: nothing may be placed, and it is asked again.
    """
    network = account.caller.network
    if mode != "live":
        return (f"{network.name} does not tell what a key may do",)
    try:
        verdict = judge_rights(await read_key_rights(account))
    except AppError as error:
        if error.retryable:
            raise
        why = (error.explanation or error.reason) if isinstance(error, InvalidCredentials) else None
        raise _refused(account, f"Binance does not tell what it may do: {why or error.message}") from None
    if verdict.refusals:
        raise _refused(account, f"{'. '.join(verdict.refusals)}. See {network.help_url}")
    if verdict.warnings:
        LOG.warning("key %s: %s. See %s", _name(account), ". ".join(verdict.warnings), network.help_url)
    return verdict.warnings


def _refused(account: AccountClient, problem: str) -> KeyDoesNotTrade:
    return KeyDoesNotTrade(key_id=account.require_key().key_id, reason=problem)


def _name(account: AccountClient) -> str:
    principal = account.require_key()
    return f"{principal.key_id}, {principal.credentials.masked}"
