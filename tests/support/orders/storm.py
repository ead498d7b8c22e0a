"""Orders and cancels to an exchange whose answers make no sense, thousands of times; what each came to is judged."""

from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from functools import partial
from random import Random

import httpx2

from binance_simulator.exchange import SimulatedExchange
from mcp_binance_server.channel import Channel
from mcp_binance_server.domain.access import Credentials
from mcp_binance_server.domain.money import Price, Quantity
from mcp_binance_server.domain.order_requests import Fate, Gate, Kind, Outcome, Side, Target, TimeInForce, WrittenOrder
from mcp_binance_server.domain.symbols import Symbol
from mcp_binance_server.errors import AppError
from mcp_binance_server.exchange.signing import Principal
from mcp_binance_server.exchange.spot.order_counts import OrderCounts
from mcp_binance_server.exchange.spot.orders import OrderClient
from mcp_binance_server.state.memory import MemoryEngine
from support.clock import FakeClock
from support.desk import NETWORK, Desk, Loop
from support.orders.answers import GivenReply, OrderBreaker
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


@dataclass(frozen=True)
class Attempt:
    """One write: the answer that it will get, how it is sent, and what is wrong with what is claimed of it."""

    reply: GivenReply
    send: Callable[[OrderClient, Gate], Awaitable[Outcome]]
    judge: Callable[[Outcome], list[str]]


async def storm_of_writes(count: int, outcome: OrderStorm, attempt: Callable[[int], Attempt]) -> None:
    """Send one write after another; whatever is answered, each leaves once and its outcome is what that proves."""
    clock, gates, pause_ms = FakeClock(), 0, PACE_MS

    async def gate() -> None:
        nonlocal gates
        gates += 1

    async with broken_orders(clock) as (client, loop):
        while outcome.answers < count:
            clock.advance(pause_ms)
            clock.slept_ms.clear()
            loop.written.clear()
            loop.exchange.requests.clear()
            made, gates = attempt(outcome.answers), 0
            reply = loop.reply = made.reply
            is_limited = reply.headers or reply.status in (418, 429) or b'"code":-1' in reply.body
            pause_ms = PAUSE_MS if is_limited else PACE_MS
            try:
                told = await made.send(client, gate)
            except AppError as error:
                outcome.defects.append(f"raised {error!r} after {reply.status} {reply.body[:200]!r}")
                outcome.fates[reply.how, Fate.NOT_SENT] += 1
                continue
            outcome.fates[reply.how, told.fate] += 1
            outcome.defects += made.judge(told)
            outcome.requests += len(loop.written)
            if (gates, len(loop.written)) != (1, 1):
                outcome.defects.append(f"{gates} gates, {loop.written} for one request")


async def storm_of_orders(count: int, outcome: OrderStorm, seed: int = 5) -> None:
    """Place and cancel orders to an exchange whose answers make no sense."""
    random, breaker = Random(f"orders {seed}"), OrderBreaker(seed)

    def attempt(number: int) -> Attempt:
        order = any_order(random, number)
        cancel_id = f"{order.client_order_id}-c"
        if number % 3 != 2:
            reply = breaker.reply(order, cancel_id)
            return Attempt(reply, lambda client, gate: client.place(order, gate), partial(defects, order, reply))
        target = Target(SYMBOL, order.client_order_id, random.choice((None, random.randrange(1, 10**11))))
        reply = breaker.reply(target, cancel_id)
        send = partial(_cancelled, target, cancel_id)
        return Attempt(reply, send, partial(defects, target, reply))

    await storm_of_writes(count, outcome, attempt)


async def _cancelled(target: Target, cancel_id: str, client: OrderClient, gate: Gate) -> Outcome:
    return await client.cancel(target, gate, cancel_id=cancel_id)
