"""Orders and cancels to an exchange whose answers make no sense, thousands of times; what each came to is judged."""

from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from random import Random

import httpx2

from mcp_binance_server.channel import Channel
from mcp_binance_server.domain.access import Credentials
from mcp_binance_server.domain.money import Price, Quantity
from mcp_binance_server.domain.order_requests import Fate, Kind, Outcome, Side, Target, TimeInForce, WrittenOrder
from mcp_binance_server.domain.symbols import Symbol
from mcp_binance_server.errors import AppError
from mcp_binance_server.exchange.signing import Principal
from mcp_binance_server.exchange.spot.order_counts import OrderCounts
from mcp_binance_server.exchange.spot.orders import OrderClient
from mcp_binance_server.simulator.exchange import SimulatedExchange
from mcp_binance_server.state.memory import MemoryEngine
from support.clock import FakeClock
from support.desk import NETWORK, Desk, Loop
from support.orders.answers import GivenReply, OrderBreaker, Sent
from support.orders.verdict import defects
from support.planting import Unread

SYMBOL = Symbol("BTCUSDT")
# A pace that an account may keep for ever; after the second every pause is over that an answer can ask for.
PACE_MS, PAUSE_MS = 1_100, 11 * 60_000
KINDS: tuple[tuple[Kind, TimeInForce], ...] = (
    ("LIMIT", "GTC"), ("LIMIT", "IOC"), ("LIMIT", "FOK"), ("LIMIT_MAKER", "GTC"), ("STOP_LOSS_LIMIT", "GTC"),
    ("TAKE_PROFIT_LIMIT", "GTC"),
)  # fmt: skip
SIDES: tuple[Side, ...] = ("BUY", "SELL")


@dataclass
class OrderStorm:
    """What became of orders: how many of each fate, by what was done to the answer, and what is wrong with that."""

    fates: Counter[tuple[str, Fate]] = field(default_factory=Counter[tuple[str, Fate]])
    defects: list[str] = field(default_factory=list[str])
    requests: int = 0

    @property
    def answers(self) -> int:
        return self.fates.total()

    def of(self, how: str) -> Counter[Fate]:
        """Return the fates of one kind of answer."""
        return Counter({fate: count for (made, fate), count in self.fates.items() if made == how})

    def note(self, sent: Sent, reply: GivenReply, outcome: Outcome) -> None:
        self.fates[reply.how, outcome.fate] += 1
        self.defects += defects(sent, reply, outcome)


class BrokenLoop(Loop):
    """A network on which an order is answered by what a test says; all else is true."""

    def __init__(self, exchange: SimulatedExchange) -> None:
        super().__init__(exchange)
        self.exchange = exchange
        self.reply = GivenReply("none", 500, b"")
        self.written: list[str] = []

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        if request.method == "GET":
            return await super().handle_async_request(request)
        self.written.append(f"{request.method} {request.url.path}")
        return httpx2.Response(self.reply.status, headers={**self.reply.headers}, stream=Unread(self.reply.body))


@asynccontextmanager
async def broken_orders(clock: FakeClock) -> AsyncGenerator[tuple[OrderClient, BrokenLoop]]:
    """Open the way to an exchange that answers orders with what a test says."""
    exchange = SimulatedExchange(clock)
    loop = BrokenLoop(exchange)
    channel = Channel(deadline_secs=10, transport=loop)
    desk = Desk(MemoryEngine(clock), channel, clock, NETWORK)
    keys = Credentials(exchange.account.api_key, exchange.account.secret_key)
    try:
        yield OrderClient(desk.caller, Principal.of(keys), OrderCounts(desk.time)), loop
    finally:
        await channel.close()


def any_order(random: Random, number: int) -> WrittenOrder:
    """Return an order of any kind that is ever sent."""
    kind, time_in_force = random.choice(KINDS)
    price = Decimal(random.randrange(11_000_000, 12_500_000)) / 100
    stop = None if kind in ("LIMIT", "LIMIT_MAKER") else Price(price + random.choice((-1, 1)) * Decimal("250.00"))
    amounts = Quantity(Decimal(random.randrange(1, 5_000)) / 100_000), Price(price)
    side = random.choice(SIDES)
    return WrittenOrder(f"mbt-storm{number:015}", SYMBOL, side, kind, time_in_force, *amounts, stop)


async def storm_of_orders(count: int, outcome: OrderStorm, seed: int = 5) -> None:
    """Place, cancel and try out orders; whatever is answered, each leaves once and its outcome is what that proves."""
    clock, random, breaker = FakeClock(), Random(f"orders {seed}"), OrderBreaker(seed)
    gates, pause_ms = 0, PACE_MS

    async def gate() -> None:
        nonlocal gates
        gates += 1

    async with broken_orders(clock) as (client, loop):
        while outcome.answers < count:
            clock.advance(pause_ms)
            clock.slept_ms.clear()
            loop.written.clear()
            loop.exchange.requests.clear()
            order, gates = any_order(random, outcome.answers), 0
            sent: Sent = order
            if outcome.answers % 3 == 2:
                sent = Target(SYMBOL, order.client_order_id, random.choice((None, random.randrange(1, 10**11))))
            cancel_id = f"{order.client_order_id}-c"
            reply = loop.reply = breaker.reply(sent, cancel_id)
            pause_ms = (
                PAUSE_MS if reply.headers or reply.status in (418, 429) or b'"code":-1' in reply.body else PACE_MS
            )
            try:
                if isinstance(sent, Target):
                    told = await client.cancel(sent, gate, cancel_id=cancel_id)
                else:
                    told = await client.place(sent, gate)
            except AppError as error:
                outcome.defects.append(f"raised {error!r} after {reply.status} {reply.body[:200]!r}")
                outcome.fates[reply.how, Fate.NOT_SENT] += 1
                continue
            outcome.note(sent, reply, told)
            outcome.requests += len(loop.written)
            if (gates, len(loop.written)) != (1, 1):
                outcome.defects.append(f"{gates} gates, {loop.written} for one request")
