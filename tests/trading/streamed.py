"""A desk whose orders stand on the simulated exchange's record of executions, and are told by its user events."""

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from decimal import Decimal
from itertools import count
from pathlib import Path
from random import Random

import anyio
import anyio.lowlevel

from binance_simulator.exchange import SimulatedExchange
from binance_simulator.market.portfolio import Order as OrderState
from binance_simulator.orders.execution import Execution, ExecutionKind
from binance_simulator.streams.loopback import Loopback
from mcp_binance_server.channel import Channel
from mcp_binance_server.domain.access import Credentials
from mcp_binance_server.domain.account import Venue
from mcp_binance_server.domain.money import Price, Quantity
from mcp_binance_server.domain.order_requests import Fate, Gate, Outcome, Target, Written, WrittenOrder
from mcp_binance_server.domain.orders import Order
from mcp_binance_server.domain.symbols import Symbol
from mcp_binance_server.errors import ExchangeUnavailable
from mcp_binance_server.exchange.dialing import Pacer, StreamConnection
from mcp_binance_server.exchange.signing import Principal
from mcp_binance_server.exchange.spot.user_stream import UserStream
from mcp_binance_server.state.engine import Reserves
from mcp_binance_server.state.memory import MemoryEngine
from mcp_binance_server.trading.desk import Desk
from mcp_binance_server.trading.following import OrderFollowing
from mcp_binance_server.trading.journal.ledger import HostLedger
from mcp_binance_server.trading.journal.owner import owner
from mcp_binance_server.trading.journal.records import Intent
from mcp_binance_server.trading.journal.store import opened_store
from support import desk as parts
from support.executions import execution, order_state
from support.stepped import SteppedClock, settled
from support.terms import intent

ACCOUNT = "k-account"
URL = "ws://exchange.test/ws-api/v3"


def amount(value: Decimal) -> str:
    return f"{value:.8f}"


@dataclass
class RecordedOrders:
    """Orders as steps on the record of executions; what is asked of an order is its newest step."""

    exchange: SimulatedExchange
    stands: dict[str, OrderState] = field(default_factory=dict[str, OrderState])
    is_away: bool = False
    questions: int = 0
    venue: Venue = field(default_factory=lambda: Venue("testnet", "exchange.test"))
    horizon_ms: int = 17_000
    _numbers: "count[int]" = field(default_factory=lambda: count(1))

    async def place(self, order: Written, gate: Gate, /) -> Outcome:
        assert isinstance(order, WrittenOrder)
        await gate()
        self.step(
            order_state(
                order_id=next(self._numbers),
                client_order_id=order.client_order_id,
                symbol=order.symbol,
                side=order.side,
                quantity=amount(order.quantity),
                price=amount(order.price),
                placed_ms=self.exchange.now_ms(),
            ),
            "NEW",
        )
        await anyio.lowlevel.checkpoint()  # the event may be read before the answer
        return Outcome(Fate.ACCEPTED, self.order(order.client_order_id))

    async def cancel(self, target: Target, gate: Gate) -> Outcome:
        await gate()
        self.end(target.client_order_id, "CANCELED", "CANCELED")
        return Outcome(Fate.ACCEPTED, self.order(target.client_order_id))

    async def ask(self, symbol: Symbol, client_order_id: str) -> Order | None:  # noqa: ARG002 - the port
        self.questions += 1
        await anyio.lowlevel.checkpoint()
        if self.is_away:
            raise ExchangeUnavailable(reason="away")
        return self.order(client_order_id) if client_order_id in self.stands else None

    async def open_orders(self, symbol: Symbol | None = None) -> tuple[Order, ...]:
        self.questions += 1
        await anyio.lowlevel.checkpoint()
        if self.is_away:
            raise ExchangeUnavailable(reason="away")
        chosen = [each for each in self.stands.values() if each.open and symbol in (None, each.symbol)]
        return tuple(self.order(each.client_order_id) for each in chosen)

    def order(self, name: str) -> Order:
        """Return how it stands by the record."""
        state = self.stands[name]
        return Order(
            state.order_id, name, Symbol(state.symbol), state.side, state.kind, state.status, state.time_in_force,
            Price(Decimal(state.price)), Price(Decimal(state.stop_price)), Quantity(Decimal(state.quantity)),
            Quantity(Decimal(state.executed)), Quantity(Decimal(state.executed_value)), state.placed_ms,
            state.updated_ms,
        )  # fmt: skip

    def trade(self, name: str, quantity: Decimal) -> None:
        """Fill so much of an order, or what is left of it."""
        state = self.stands[name]
        part = min(quantity, Decimal(state.quantity) - Decimal(state.executed))
        executed, value = Decimal(state.executed) + part, part * Decimal(state.price)
        status = "FILLED" if executed == Decimal(state.quantity) else "PARTIALLY_FILLED"
        after = replace(
            state,
            status=status,
            executed=amount(executed),
            executed_value=amount(Decimal(state.executed_value) + value),
        )
        trade = {"last_quantity": amount(part), "last_price": state.price, "last_value": amount(value)}
        self.step(after, "TRADE", trade_id=self.exchange.executions.newest + 1, **trade)

    def end(self, name: str, kind: ExecutionKind, status: str) -> None:
        """End an order before it is filled."""
        named = {"client_order_id": f"{name}-c", "original_client_order_id": name} if kind == "CANCELED" else {}
        self.step(replace(self.stands[name], status=status), kind, **named)

    def step(self, state: OrderState, kind: ExecutionKind, **more: object) -> Execution:
        """Write one step down; whoever follows the account is told of it."""
        after = self.stands[state.client_order_id] = replace(state, updated_ms=self.exchange.now_ms())
        number, holder = self.exchange.executions.newest + 1, self.exchange.account.api_key
        written = execution(after, number, holder, kind=kind, **more)
        self.exchange.executions.add(written)
        return written


@dataclass
class CountingDialer:
    """The way to the exchange in this process; it keeps when it was dialled, and may be closed."""

    loopback: Loopback
    clock: SteppedClock
    dialled_ms: list[float] = field(default_factory=list[float])
    is_closed: bool = False
    wrapped: Callable[[StreamConnection], StreamConnection] | None = None
    """What stands between the exchange and who dials."""

    async def connect(self, url: str) -> StreamConnection:
        self.dialled_ms.append(self.clock.monotonic_ms())
        if self.is_closed:
            raise ConnectionRefusedError("nobody there")
        connection = await self.loopback.connect(url)
        return connection if self.wrapped is None else self.wrapped(connection)

    def most_in(self, span_ms: float) -> int:
        """Return the most attempts in any span of that length."""
        times, first, most = self.dialled_ms, 0, 0
        for last, at_ms in enumerate(times):
            while times[first] <= at_ms - span_ms:
                first += 1
            most = max(most, last - first + 1)
        return most


@dataclass
class StreamedDesk:
    """A desk, who follows its orders, and the exchange where they stand."""

    desk: Desk
    following: OrderFollowing
    stream: UserStream
    orders: RecordedOrders
    exchange: SimulatedExchange
    dialer: CountingDialer
    clock: SteppedClock
    names: list[str] = field(default_factory=list[str])

    async def place(self, quantity: str = "0.001") -> str:
        """Place one more order and return its name."""
        new = intent(
            len(self.names), account=ACCOUNT, mode="practice", network="testnet", quantity=Quantity(Decimal(quantity))
        )
        await self.desk.place(new, (), None)
        self.names.append(new.client_order_id)
        return new.client_order_id

    async def run(self, duration_ms: float, step_ms: float = 100) -> None:
        """Let time pass for all."""
        await self.clock.run(duration_ms, self.exchange.hub.wake, step_ms=step_ms)

    async def written(self, name: str) -> Intent:
        """Return what the journal holds of an order."""
        found = await self.desk.reader.by_client_order_id(ACCOUNT, name)
        assert found is not None
        return found

    async def disagreements(self, names: Sequence[str]) -> list[str]:
        """Return those of the orders of which the journal does not say what the exchange does."""
        found: list[str] = []
        for name in names:
            held, true = await self.written(name), self.orders.order(name)
            if (held.status, held.executed, held.spent) != (true.status, true.executed, true.quote_spent):
                found.append(f"{name}: {held.status} {held.executed}, there {true.status} {true.executed}")
        return found


@asynccontextmanager
async def streamed_desk(folder: Path, seed: int = 1, desk_of: type[Desk] = Desk) -> AsyncGenerator[StreamedDesk]:
    """Open a desk on the simulated exchange, followed over its WebSocket API; time is the test's."""
    clock, random = SteppedClock(), Random(seed)
    exchange = SimulatedExchange(clock)
    exchange.hub.by_hand = True
    orders, dialer = RecordedOrders(exchange), CountingDialer(Loopback(exchange), clock)
    engine = MemoryEngine(clock, reserves=Reserves.none())
    await engine.start()
    channel = Channel(deadline_secs=3, transport=parts.Loop(exchange))
    caller = parts.Desk(engine, channel, clock, parts.NETWORK).caller
    principal = Principal.of(Credentials(exchange.account.api_key, exchange.account.secret_key))
    stream = UserStream(URL, dialer, Pacer(clock, random), caller, principal, random)
    async with opened_store(folder) as store:
        with owner(store.folder) as name:
            desk = desk_of(HostLedger(store, name), lambda _: orders, clock, exchange.now_ms, "practice")
            following = OrderFollowing(ACCOUNT, desk, stream, clock)
            async with desk.running(), anyio.create_task_group() as tasks:
                tasks.start_soon(following.run)
                await settled()
                try:
                    yield StreamedDesk(desk, following, stream, orders, exchange, dialer, clock)
                finally:
                    tasks.cancel_scope.cancel()
    await channel.close()
    await engine.close()
