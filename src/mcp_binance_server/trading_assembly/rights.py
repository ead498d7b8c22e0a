"""Permissions of a key, checked before the first order. A key that can move money away does not trade."""

import logging

from mcp_binance_server.errors import AppError, InvalidCredentials, SettingsError
from mcp_binance_server.exchange.spot.account import AccountClient, read_key_rights
from mcp_binance_server.trading.errors import KeyDoesNotTrade
from mcp_binance_server.trading.judgement.key_rights import judge_rights
from mcp_binance_server.trading.judgement.terms import TradingMode

LOG = logging.getLogger(__name__)


async def require_rights(account: AccountClient, mode: TradingMode) -> tuple[str, ...]:
    """Check that this server's key can trade and has no dangerous permission. Return notes for its owner.

    Raises:
        SettingsError: the key can move money away or cannot trade, or Binance does not report its rights; one line.
        AppError: Binance could not be queried. Nothing may be placed until a repeated query succeeds.
    """
    try:
        return await examined_rights(account, mode)
    except KeyDoesNotTrade as error:
        told = f"MCP_BINANCE_TRADING={mode} and BINANCE_API_KEY ({_name(account)}): {error.reason}"
        raise SettingsError(problems=(told,)) from None


async def examined_rights(account: AccountClient, mode: TradingMode) -> tuple[str, ...]:
    """Check that a key can trade and has no dangerous permission. Return notes for its owner.

    Testnet and demo hold no money and do not report permissions. For their keys, the only note says so.

    Raises:
        KeyDoesNotTrade: the key can move money away or cannot trade, or Binance does not report its rights; one line.
        AppError: Binance could not be queried. Nothing may be placed until a repeated query succeeds.
    """
    network = account.caller.network
    if mode != "live":
        return (f"{network.name} does not report the rights of a key",)
    try:
        verdict = judge_rights(await read_key_rights(account))
    except AppError as error:
        if error.retryable:
            raise
        why = (error.explanation or error.reason) if isinstance(error, InvalidCredentials) else None
        raise _refused(account, f"Binance does not report its rights: {why or error.message}") from None
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
