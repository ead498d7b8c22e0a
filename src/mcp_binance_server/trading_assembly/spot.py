"""Trading at Binance, put together: play money and money differ in hosts and rules, not in code."""

import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from decimal import localcontext

import anyio

from mcp_binance_server.domain.access import LOCAL
from mcp_binance_server.domain.account import Venue
from mcp_binance_server.domain.money import EXACT_DIGITS, Quantity
from mcp_binance_server.domain.orders import Order
from mcp_binance_server.errors import AppError, SettingsError
from mcp_binance_server.exchange.dialing import Dialer, Pacer
from mcp_binance_server.exchange.endpoints import host_of
from mcp_binance_server.exchange.signing import Principal
from mcp_binance_server.exchange.spot.account import AccountClient
from mcp_binance_server.exchange.spot.order_counts import OrderCounts
from mcp_binance_server.exchange.spot.orders import OrderClient
from mcp_binance_server.exchange.spot.user_stream import UserStream
from mcp_binance_server.feeds.hub import Hub
from mcp_binance_server.services.trading.drafting import Drafter
from mcp_binance_server.services.trading.trader import Trader
from mcp_binance_server.settings import Settings
from mcp_binance_server.startup_checks import is_alone, round_key_of
from mcp_binance_server.trading.desk import Desk
from mcp_binance_server.trading.fleet.agreements import FleetAgreements
from mcp_binance_server.trading.fleet.keeper import AGREED, FleetKeeper
from mcp_binance_server.trading.fleet.ledger import FleetLedger
from mcp_binance_server.trading.following import OrderFollowing
from mcp_binance_server.trading.judgement.policy import Policy
from mcp_binance_server.trading.ledger import OrderLedger
from mcp_binance_server.trading.reconciling import OrderWorth, Reconciliation, StartStep, TradedAccount
from mcp_binance_server.trading.spot import SpotBroker, horizon_of
from mcp_binance_server.trading_assembly.rights import require_rights
from mcp_binance_server.trading_assembly.side import TradingSide, opened_rules
from mcp_binance_server.upstream import Upstream

LOG = logging.getLogger(__name__)

# Beyond its window an order is refused by the exchange: what had left when a state was emptied has arrived after this.
ARRIVAL_MS = 500


@asynccontextmanager
async def opened_spot(
    settings: Settings, upstream: Upstream, hub: Hub | None, dialer: Dialer, *, cancels_only: bool = False
) -> AsyncGenerator[TradingSide]:
    """Open the journal, make it agree with the account at Binance, and take orders for as long as this lasts.

    A cancel takes risk away: for it the key is used whatever else that may do, and no order is placed.

    Raises:
        SettingsError: the rules, the key or what it may do, or the folder of the journal cannot be used.
    """
    mode, caller, principal, folder = settings.trading, upstream.caller, upstream.principal, settings.trading_dir
    if principal is None or folder is None:
        raise SettingsError(problems=(f"MCP_BINANCE_TRADING={mode} needs a key, and a folder for its journal",))
    own = AccountClient(caller, principal)
    async with opened_rules(settings, upstream, folder) as rules:
        broker = _broker(upstream, principal, own, settings.order_recv_window_ms)
        account = TradedAccount(principal.key_id, mode, caller.network.name)
        fleet = None if is_alone(settings) else FleetLedger(rules.ledger, upstream.engine, account.name, rules.policy)
        ledger = fleet or rules.ledger
        desk = Desk(ledger, lambda _: broker, upstream.clock, caller.time.now_ms, mode=mode, account=account.name)

        async def examine() -> None:
            desk.key_notes = await require_rights(own, mode)

        rights = StartStep("it is known what the key may do", examine)
        first = () if not cancels_only and await _is_done(rights) else (rights,)
        start = _start(upstream, rules.policy, ledger, broker, account, first)
        keeper = None if fleet is None else _keeper(fleet, upstream, start, settings.order_recv_window_ms)
        async with desk.running(start), _followed(desk, upstream, principal, dialer, hub), rules.pages.running():
            if keeper is not None:
                desk.errands.beside(keeper.run)
            # Services are built for nobody's account: one that forgets whom it acts for has none to show.
            reads, trader = AccountClient(caller, None), Trader(LOCAL, principal.key_id)
            key, agreements = round_key_of(settings, "previews"), None if keeper is None else keeper.agreements
            yield TradingSide(upstream, rules.policy, desk, reads, hub, trader, key, agreements, rules.pages)


@asynccontextmanager
async def _followed(
    desk: Desk, upstream: Upstream, principal: Principal, dialer: Dialer, hub: Hub | None
) -> AsyncGenerator[None]:
    """Listen to what the exchange tells of open orders; where there is no address for that they are asked for."""
    url, clock = upstream.caller.network.ws_api_url, upstream.clock
    if url is None:
        yield
        return
    # The exchange counts what an address connects to streams and to this together.
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
    venue = Venue(caller.network.name, host_of(caller.network.rest_url), simulated=caller.network.simulated)
    client = OrderClient(caller, principal, counts, recv_window_ms)
    return SpotBroker(client, own, directory, venue, horizon_of(recv_window_ms))


def _keeper(fleet: FleetLedger, upstream: Upstream, start: Reconciliation, recv_window_ms: int) -> FleetKeeper:
    agreements = FleetAgreements(fleet.store, upstream.engine, fleet.account)
    keeper = FleetKeeper(
        fleet,
        agreements,
        start.broker,
        upstream.clock,
        upstream.caller.time.now_ms,
        start.again,
        settle_ms=recv_window_ms + ARRIVAL_MS,
    )
    start.last = (StartStep(AGREED, keeper.joined),)
    return keeper


def _start(  # noqa: PLR0917 - all that a start is about
    upstream: Upstream,
    policy: Policy,
    ledger: OrderLedger,
    broker: SpotBroker,
    account: TradedAccount,
    first: tuple[StartStep, ...],
) -> Reconciliation:
    drafter = Drafter(account.mode, account.network, policy, upstream.client, upstream.caller.time.now_ms)

    async def worth_of(order: Order) -> OrderWorth:
        listed = await upstream.directory.find(order.symbol)
        with localcontext(prec=EXACT_DIGITS):
            counted = await drafter.counted(listed.quote, Quantity(order.quantity * order.price))
        return OrderWorth(listed.base, counted)

    return Reconciliation(
        ledger,
        broker,
        broker.reads.order_history,
        account,
        policy,
        worth_of,
        upstream.caller.time.now_ms,
        first=first,
    )


async def _is_done(step: StartStep) -> bool:
    """Do a step before anything is served: what is wrong for good ends the start, the rest is tried again later."""
    try:
        await step.do()
    except SettingsError:
        raise
    except AppError as error:
        LOG.warning("no order before %s: %s", step.awaited, error.message)
        return False
    return True
