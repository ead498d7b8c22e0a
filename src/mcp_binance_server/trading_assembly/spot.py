"""Assembly of trading at Binance. Practice and live trading differ in hosts and rules, not in code."""

import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import anyio

from mcp_binance_server.domain.access import LOCAL
from mcp_binance_server.domain.account import Venue
from mcp_binance_server.errors import AppError, SettingsError
from mcp_binance_server.exchange.dialing import Dialer, Pacer
from mcp_binance_server.exchange.endpoints import host_of
from mcp_binance_server.exchange.signing import Principal
from mcp_binance_server.exchange.spot.account import AccountClient
from mcp_binance_server.exchange.spot.order_counts import OrderCounts
from mcp_binance_server.exchange.spot.orders import OrderClient
from mcp_binance_server.exchange.spot.user_stream import UserStream
from mcp_binance_server.feeds.hub import Hub
from mcp_binance_server.services.trading.figures import TradingFigures
from mcp_binance_server.services.trading.trader import OpenAccount, Trader
from mcp_binance_server.settings import Settings
from mcp_binance_server.startup_checks import is_alone, round_key_of
from mcp_binance_server.trading.desk import Desk
from mcp_binance_server.trading.errors import KeyDoesNotTrade
from mcp_binance_server.trading.fleet.keeper import KeeperPace
from mcp_binance_server.trading.fleet.ledger import FleetLedger
from mcp_binance_server.trading.following import OrderFollowing
from mcp_binance_server.trading.journal.agreements import Agreements
from mcp_binance_server.trading.reconciling import StartStep, TradedAccount
from mcp_binance_server.trading.spot import SpotBroker, horizon_of
from mcp_binance_server.trading_assembly.accounts import AccountPool, KeyAccounts
from mcp_binance_server.trading_assembly.rights import examined_rights, require_rights
from mcp_binance_server.trading_assembly.side import OpenRules, TradingSide, opened_rules, situation_reader_of
from mcp_binance_server.trading_assembly.starting import keeper_of, reconciliation_of
from mcp_binance_server.upstream import Upstream

LOG = logging.getLogger(__name__)

# Margin after the receive window, in ms. The exchange refuses orders that arrive after the window, so after the margin
# none is in transit.
ARRIVAL_MS = 500


@asynccontextmanager
async def opened_spot(
    settings: Settings, upstream: Upstream, hub: Hub | None, dialer: Dialer, *, cancels_only: bool = False
) -> AsyncGenerator[TradingSide]:
    """Open the journal, reconcile it with the account at Binance, and accept orders while the context is open.

    With `cancels_only` no order is placed. Then a key with any permissions is used, because a cancel reduces risk.

    Raises:
        SettingsError: the rules, the key or its rights, or the folder of the journal cannot be used.
    """
    mode, caller, principal, folder = settings.trading, upstream.caller, upstream.principal, settings.trading_dir
    if principal is None or folder is None:
        raise SettingsError(problems=(f"MCP_BINANCE_TRADING={mode} needs a key, and a folder for its journal",))
    async with opened_rules(settings, upstream, folder) as rules:
        ground, held = SpotBackend(settings, upstream, hub, dialer, rules), AccountPool(upstream.clock)
        async with (
            ground.opened(principal, KeeperPace(), is_own=True, cancels_only=cancels_only) as own,
            held.running(),
            rules.pages.running(),
        ):
            accounts = KeyAccounts(own, ground.opened, rules.policy, caller, held)
            # Services are built without an account, so that code without a caller cannot show one.
            reads, trader, desk = (
                AccountClient(caller, None),
                Trader(LOCAL, principal.key_id),
                own.situation_reader.desk,
            )
            key, policy = round_key_of(settings, "previews"), own.situation_reader.drafter.policy
            yield TradingSide(
                upstream,
                policy,
                desk,
                reads,
                hub,
                trader,
                preview_key=key,
                preview_files=rules.preview_files,
                agreements=own.agreements,
                pages=rules.pages,
                accounts=accounts,
                figures=ground.figures,
            )


@dataclass(frozen=True, slots=True)
class SpotBackend:
    """Common resources of all accounts traded at Binance: connections, rules and journal."""

    settings: Settings
    upstream: Upstream
    hub: Hub | None
    dialer: Dialer
    rules: OpenRules
    figures: TradingFigures = field(default_factory=TradingFigures)

    @asynccontextmanager
    async def opened(
        self, principal: Principal, pace: KeeperPace, *, is_own: bool = False, cancels_only: bool = False
    ) -> AsyncGenerator[OpenAccount]:
        """Reconcile the journal with the account of a key, and accept orders on it while the context is open.

        Raises:
            KeyDoesNotTrade: the key has rights that a trading key must not have, or cannot trade.
            SettingsError: the same for this server's own key.
        """
        upstream, mode, window_ms = self.upstream, self.settings.trading, self.settings.order_recv_window_ms
        caller, policy, host = upstream.caller, self.rules.policy.of_key(principal.key_id), self.rules.ledger
        own = AccountClient(caller, principal)
        broker = _broker(upstream, principal, own, window_ms)
        account = TradedAccount(principal.key_id, mode, caller.network.name)
        fleet = None if is_alone(self.settings) else FleetLedger(host, upstream.engine, account.name, policy)
        ledger = fleet or host
        desk = Desk(ledger, lambda _: broker, upstream.clock, caller.time.now_ms, mode=mode, account=account.name)
        desk.answered = self.figures.count_order

        async def examine() -> None:
            desk.key_notes = await (require_rights if is_own else examined_rights)(own, mode)

        rights = StartStep("the rights of the key are known", examine)
        first = () if not cancels_only and await _is_done(rights) else (rights,)
        start = reconciliation_of(upstream, policy, ledger, broker, own.order_history, account, first)
        keeper, settle_ms = None, window_ms + ARRIVAL_MS
        if fleet is not None:
            keeper = keeper_of(fleet, upstream, start, settle_ms, pace, shares_global_stop=is_own)
        async with desk.running(start), _followed(desk, upstream, principal, self.dialer, self.hub):
            if keeper is not None:
                desk.background_tasks.beside(keeper.run)
            agreements = Agreements(host.store) if keeper is None else keeper.agreements
            yield OpenAccount(account.name, situation_reader_of(upstream, policy, desk), agreements)


@asynccontextmanager
async def _followed(
    desk: Desk, upstream: Upstream, principal: Principal, dialer: Dialer, hub: Hub | None
) -> AsyncGenerator[None]:
    """Follow the exchange's reports of open orders. Without a stream address, orders are only polled."""
    url, clock = upstream.caller.network.ws_api_url, upstream.clock
    if url is None:
        yield
        return
    # The exchange counts connections per IP address, to its streams and to this API together.
    pacer = Pacer(clock) if hub is None else hub.pacer
    stream = UserStream(url, dialer, pacer, upstream.caller, principal)
    following = OrderFollowing(principal.key_id, desk, stream, clock)
    desk.following, desk.claimed = lambda: following.following, following.wake
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(following.run)
        yield
        tasks.cancel_scope.cancel()


def _broker(upstream: Upstream, principal: Principal, own: AccountClient, recv_window_ms: int) -> SpotBroker:
    caller, directory = upstream.caller, upstream.directory
    counts = OrderCounts(caller.time, lambda: directory.order_limits)
    venue = Venue(caller.network.source, host_of(caller.network.rest_url), simulated=caller.network.simulated)
    client = OrderClient(caller, principal, counts, recv_window_ms)
    return SpotBroker(client, own, directory, venue, horizon_of(recv_window_ms))


async def _is_done(step: StartStep) -> bool:
    """Run a step before anything is served.

    A permanent error ends the start. For any other error return False, and the step is retried later.
    """
    try:
        await step.do()
    except (SettingsError, KeyDoesNotTrade):
        raise
    except AppError as error:
        LOG.warning("no orders until %s: %s", step.awaited, error.message)
        return False
    return True
