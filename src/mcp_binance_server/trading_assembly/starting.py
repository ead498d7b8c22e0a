"""Start of trading on one account. First, the journal is reconciled with the exchange and with other servers."""

from collections.abc import Awaitable, Callable

from mcp_binance_server.domain.market import Sourced
from mcp_binance_server.domain.orders import Order
from mcp_binance_server.domain.symbols import Symbol
from mcp_binance_server.services.trading.drafting import Drafter
from mcp_binance_server.trading.broker import Broker
from mcp_binance_server.trading.fleet.agreements import FleetAgreements
from mcp_binance_server.trading.fleet.keeper import AGREED, FleetKeeper, KeeperPace
from mcp_binance_server.trading.fleet.ledger import FleetLedger
from mcp_binance_server.trading.judgement.policy import Policy
from mcp_binance_server.trading.ledger import OrderLedger
from mcp_binance_server.trading.reconciling import OrderWorth, Reconciliation, StartStep, TradedAccount
from mcp_binance_server.upstream import Upstream


def reconciliation_of(  # noqa: PLR0917 - all inputs of a start
    upstream: Upstream,
    policy: Policy,
    ledger: OrderLedger,
    broker: Broker,
    past_orders: Callable[[Symbol, int, int], Awaitable[Sourced[tuple[Order, ...]]]],
    account: TradedAccount,
    first: tuple[StartStep, ...] = (),
) -> Reconciliation:
    """Return the start procedure of an account under its rules."""
    drafter = Drafter(account.mode, account.network, policy, upstream.client, upstream.caller.time.now_ms)

    async def worth_of(order: Order) -> OrderWorth:
        return await drafter.worth(order, await upstream.directory.find(order.symbol))

    now_ms = upstream.caller.time.now_ms
    return Reconciliation(ledger, broker, past_orders, account, policy, worth_of, now_ms, first)


def keeper_of(
    fleet: FleetLedger,
    upstream: Upstream,
    start: Reconciliation,
    settle_ms: int,
    pace: KeeperPace,
    *,
    shares_global_stop: bool = False,
) -> FleetKeeper:
    """Return the keeper that synchronises an account with the shared state. The start waits until they agree."""
    agreements, now_ms = FleetAgreements(fleet.store, upstream.engine, fleet.account), upstream.caller.time.now_ms
    clock, again = upstream.clock, start.again
    keeper = FleetKeeper(
        fleet, agreements, start.broker, clock, now_ms, again, settle_ms, pace, shares_global_stop=shares_global_stop
    )
    start.last = (StartStep(AGREED, keeper.joined),)
    return keeper
