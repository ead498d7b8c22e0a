"""Cancellation of orders at Binance with the server's settings."""

from collections.abc import Sequence

import anyio

from mcp_binance_server.cli.interruption import run
from mcp_binance_server.cli.trading.host import PERSON, CommandFailed, TradingHost
from mcp_binance_server.domain.order_requests import Target
from mcp_binance_server.errors import AppError, SettingsError, echo
from mcp_binance_server.exchange.dialing import NetworkDialer
from mcp_binance_server.settings import Settings
from mcp_binance_server.startup_checks import check
from mcp_binance_server.trading.desk import Desk, Placed
from mcp_binance_server.trading.journal.records import Intent
from mcp_binance_server.trading_assembly.spot import opened_spot
from mcp_binance_server.upstream import opened_upstream

# One cancel times out after 15 s. This is enough for four of them.
LONGEST_SECS = 60.0
SAME_SETTINGS = (
    "{name} is at Binance ({mode}, {network}); the current settings are {here}. Set MCP_BINANCE_TRADING={mode}, "
    "BINANCE_NETWORK={network} and the key of your server, or cancel it at Binance."
)


def cancel_at_binance(host: TradingHost, intents: Sequence[Intent]) -> list[Placed]:
    """Cancel open orders of one account at Binance and return their new states.

    Raises:
        CommandFailed: the current settings are not those of the order, or Binance did not answer.
    """
    for each in intents:
        _require_same(host.settings, each)
    try:
        check(host.settings, host.clock)
        return run(_cancelled, host.settings, intents)
    except SettingsError as error:
        raise CommandFailed(error.message) from None
    except (AppError, TimeoutError) as error:
        why = error.message if isinstance(error, AppError) else f"no answer in {LONGEST_SECS:g} s"
        raise CommandFailed(f"Not cancelled: {why} Check the order in Binance's app or website.") from None


def _require_same(settings: Settings, intent: Intent) -> None:
    terms = intent.terms
    if (settings.trading, settings.network) != (terms.mode, terms.network):
        here = f"{settings.trading}, {settings.network}"
        name = echo(intent.client_order_id)
        raise CommandFailed(SAME_SETTINGS.format(name=name, mode=terms.mode, network=echo(terms.network), here=here))


async def _cancelled(settings: Settings, intents: Sequence[Intent]) -> list[Placed]:
    with anyio.fail_after(LONGEST_SECS):
        async with (
            opened_upstream(settings) as upstream,
            opened_spot(settings, upstream, None, NetworkDialer(settings.proxies), cancels_only=True) as side,
        ):
            return [await _one(side.desk, each) for each in intents]


async def _one(desk: Desk, intent: Intent) -> Placed:
    target = Target(intent.terms.symbol, intent.client_order_id, intent.order_id)
    try:
        return await desk.cancel(intent.terms.account, target, PERSON)
    except AppError as error:
        return Placed(intent, error.message)
