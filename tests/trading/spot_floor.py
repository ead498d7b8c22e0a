"""The simulated exchange in this process, the real client on it, and desks that come and go on one journal."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal

import anyio
import anyio.lowlevel
import httpx2

from binance_simulator.account import KeyRights
from binance_simulator.exchange import SimulatedExchange
from binance_simulator.faults import Fault
from mcp_binance_server.channel import Channel
from mcp_binance_server.domain.access import Credentials
from mcp_binance_server.domain.account import Venue
from mcp_binance_server.domain.money import Price, Quantity
from mcp_binance_server.domain.symbols import Symbol
from mcp_binance_server.exchange.signing import Principal
from mcp_binance_server.exchange.spot.order_counts import OrderCounts
from mcp_binance_server.exchange.spot.orders import OrderClient
from mcp_binance_server.state.engine import Reserves, StateEngine
from mcp_binance_server.state.memory import MemoryEngine
from mcp_binance_server.trading.desk import Desk, Placed
from mcp_binance_server.trading.fleet.agreements import FleetAgreements
from mcp_binance_server.trading.fleet.keeper import FleetKeeper
from mcp_binance_server.trading.fleet.ledger import FleetLedger
from mcp_binance_server.trading.journal.ledger import HostLedger
from mcp_binance_server.trading.journal.owner import owner
from mcp_binance_server.trading.journal.records import Intent, NewIntent
from mcp_binance_server.trading.journal.store import opened_store
from mcp_binance_server.trading.judgement.charges import charges
from mcp_binance_server.trading.judgement.policy import Policy
from mcp_binance_server.trading.reconciling import Reconciliation, StartStep, TradedAccount
from mcp_binance_server.trading.spot import SpotBroker, horizon_of
from support.clock import FakeClock
from support.desk import NETWORK, Loop
from support.desk import Desk as ClientParts
from support.terms import intent
from trading.bench import worth_of

SYMBOL = Symbol("BTCUSDT")
ORDERS, WRITES = "/api/v3/order", ("POST", "DELETE")
RECV_WINDOW_MS = 2_000
SETTLE_MS = RECV_WINDOW_MS + 500


@dataclass(frozen=True)
class SpotFloor:
    """A server that trades with play money, as far as orders go, and the exchange behind it."""

    desk: Desk
    exchange: SimulatedExchange
    clock: FakeClock
    account: str
    keeper: FleetKeeper | None = None

    def order(self, number: int = 0, **changes: Any) -> NewIntent:  # noqa: ANN401 - any member of the terms
        """Return a small buy far below the market."""
        usual: dict[str, Any] = {
            "account": self.account,
            "mode": "practice",
            "network": NETWORK.name,
            "symbol": SYMBOL,
            "quantity": Quantity(Decimal("0.001")),
            "price": Price(Decimal("60000.00")),
        }
        return intent(number, **{**usual, **changes})

    async def place(self, new: NewIntent) -> Placed:
        return await self.desk.place(new, charges(new.terms, Policy(), new.way), None)

    async def known(self, new: NewIntent) -> Intent:
        """Wait until what became of an order is known."""
        while (found := await self.desk.ledger.find(new.preview_id)) is None or found.is_unresolved:
            await anyio.lowlevel.checkpoint()
        return found

    async def used(self, new: NewIntent) -> dict[str, int]:
        return await self.desk.ledger.used(self.account, charges(new.terms, Policy(), new.way), self.clock.now_ms())


def breaks(exchange: SimulatedExchange, method: str, *, executed: bool, **fault: Any) -> None:  # noqa: ANN401 - a fault
    """Let something go wrong with the next order or cancel, between what happens and its answer."""
    exchange.faults.add(Fault(path=ORDERS, method=method, executed=executed, **fault))


def writes(exchange: SimulatedExchange) -> list[str]:
    return [each.method for each in exchange.requests if each.method in WRITES]


async def by_hand(
    exchange: SimulatedExchange, client_order_id: str, what: Literal["new", "cancel"] = "new", **changes: str
) -> None:
    """Place or cancel an order past everything that is under test."""
    named = {"symbol": SYMBOL, "client_order_id": client_order_id}
    order = {"side": "BUY", "quantity": "0.001", "price": "60000.00"} if what == "new" else {}
    async with httpx2.AsyncClient(transport=Loop(exchange), base_url=NETWORK.rest_url) as http:
        answer = await http.post(f"/control/orders/{what}", json=named | order | changes)
    assert answer.status_code == httpx2.codes.OK, answer.text


@asynccontextmanager
async def spot_floor(
    folder: Path,
    exchange: SimulatedExchange,
    clock: FakeClock,
    *,
    shared: StateEngine | None = None,
    policy: Policy | None = None,
) -> AsyncGenerator[SpotFloor]:
    """Start a server; each is another owner of the journal. One that shares a state is a worker of a fleet."""
    policy = policy or Policy()
    exchange.rights = KeyRights(trading=True)
    engine = MemoryEngine(clock, reserves=Reserves.none())
    await engine.start()
    channel = Channel(deadline_secs=3, transport=Loop(exchange))
    try:
        parts = ClientParts(engine, channel, clock, NETWORK)
        principal = Principal.of(Credentials(exchange.account.api_key, exchange.account.secret_key))
        reads = parts.account(exchange.account.api_key, exchange.account.secret_key)
        counts = OrderCounts(parts.time, lambda: parts.directory.order_limits)
        client = OrderClient(parts.caller, principal, counts, RECV_WINDOW_MS)
        venue = Venue(NETWORK.name, "exchange.test", simulated=True)
        broker = SpotBroker(client, reads, parts.directory, venue, horizon_of(RECV_WINDOW_MS))
        account = TradedAccount(principal.key_id, "practice", NETWORK.name)
        async with opened_store(folder) as store:
            store.db.execute("PRAGMA synchronous=OFF")  # no power is cut here
            with owner(folder) as name:
                host, now_ms = HostLedger(store, name), parts.time.now_ms
                fleet = None if shared is None else FleetLedger(host, shared, account.name, policy)
                ledger = fleet or host
                desk = Desk(ledger, lambda _: broker, clock, now_ms, account.mode, account.name)
                start = Reconciliation(ledger, broker, reads.order_history, account, policy, worth_of, now_ms)
                keeper = None
                if fleet is not None:
                    said = FleetAgreements(store, fleet.engine, account.name)
                    keeper = FleetKeeper(
                        fleet, said, broker, clock, now_ms, start.again, SETTLE_MS, shares_global_stop=True
                    )
                    start.last = (StartStep("the fleet agrees", keeper.joined),)
                async with desk.running(start):
                    yield SpotFloor(desk, exchange, clock, account.name, keeper)
    finally:
        await channel.close()
        await engine.close()
