"""One host on which processes come and go: desks on one journal, an exchange on paper, and its faults on the way."""

import shutil
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Literal

import anyio
import anyio.lowlevel

from mcp_binance_server.domain.account import Commission, Venue
from mcp_binance_server.domain.market import Trade
from mcp_binance_server.domain.money import Price, Quantity
from mcp_binance_server.domain.order_requests import Gate, Outcome, Target, Written
from mcp_binance_server.domain.orders import Order
from mcp_binance_server.domain.symbols import Symbol
from mcp_binance_server.errors import ExchangeUnavailable
from mcp_binance_server.trading.desk import Desk
from mcp_binance_server.trading.journal.agreements import Agreements
from mcp_binance_server.trading.journal.ledger import HostLedger
from mcp_binance_server.trading.journal.owner import owner
from mcp_binance_server.trading.journal.store import FILE, Store, opened_store
from mcp_binance_server.trading.paper.account import Pair
from mcp_binance_server.trading.paper.broker import PaperBroker
from mcp_binance_server.trading.paper.exchange import PaperExchange
from mcp_binance_server.trading.paper.matcher import LEASE_MS, SymbolMatcher, matcher_token
from support.clock import FakeClock
from support.terms import NOW_MS
from trading.killing import name_of
from trading.paper.displayed import Displayed, usual_book

SYMBOL, PAIR = Symbol("ABXY"), Pair("AB", "XY")
START = {"XY": Decimal(1000), "AB": Decimal(10)}
FEE = Decimal("0.001")
RATES = Commission(FEE, FEE)
STEP = Quantity(Decimal("0.01"))

Where = Literal["before", "after_gate", "after_all"]
"""Where a request meets its fault: before the gate, between it and the exchange, or when the exchange has done it."""
What = Literal["error", "defect", "silence"]
Print = tuple[int, int, bool]
"""A trade: its price, its quantity, and whether its buyer was there first."""


@dataclass(eq=False)
class Host:
    """What all processes share: the folder, time, the market, and what came past the wire."""

    folder: Path
    desk: type[Desk] = Desk
    clock: FakeClock = field(default_factory=lambda: FakeClock(NOW_MS))
    book: Displayed = field(default_factory=usual_book)
    sends: Counter[str] = field(default_factory=Counter[str])
    prints: int = 0
    fault: tuple[Where, What] | None = None
    is_silent: bool = False
    """Whether a request waits for an answer that will not come."""
    deaf: int = 0
    """How many questions from now on have no answer."""
    matcher: SymbolMatcher | None = None

    def new_folder(self, template: Path) -> None:
        shutil.copytree(template, self.folder)

    @property
    def file(self) -> Path:
        return self.folder / FILE

    async def come_round(self, *trades: Trade) -> None:
        """Let every order meet the market."""
        assert self.matcher is not None
        await self.matcher.look()
        await self.matcher.meet(trades, self.clock.now_ms())

    async def print_trades(self, *prints: Print) -> None:
        """Let trades happen at once: orders meet them one by one."""
        now_ms = self.clock.now_ms()
        trades: list[Trade] = []
        for price, quantity, buyer_is_maker in prints:
            self.prints += 1
            amounts = Price(Decimal(price)), Quantity(Decimal(quantity))
            trades.append(Trade(self.prints, *amounts, now_ms, buyer_is_maker, self.prints, self.prints))
        await self.come_round(*trades)

    async def match_with(self, store: Store, name: str) -> None:
        """Have this process match from now on; whoever did before has lost its lease."""
        while (token := await matcher_token(store, name, self.clock.now_ms())) is None:
            self.clock.advance(LEASE_MS)
        self.matcher = SymbolMatcher(SYMBOL, PAIR, store, START, RATES, token, self.book, STEP)
        await self.matcher.load()


class Arriving(FakeClock):
    """Whoever waits for an order to arrive has the market come round."""

    def __init__(self, host: Host) -> None:
        super().__init__()
        self._host = host

    async def sleep_ms(self, duration_ms: float) -> None:
        await self._host.come_round()
        await super().sleep_ms(duration_ms)


@dataclass(frozen=True)
class Faulty:
    """The exchange on paper behind a line that fails as it is told, once."""

    host: Host
    broker: PaperBroker

    @property
    def venue(self) -> Venue:
        return self.broker.venue

    @property
    def horizon_ms(self) -> int:
        return self.broker.horizon_ms

    async def place(self, request: Written, gate: Gate) -> Outcome:
        name = name_of(request)

        async def counted() -> None:
            await gate()
            self.host.sends[name] += 1
            await self._meet("after_gate")

        await self._meet("before")
        outcome = await self.broker.place(request, counted)
        await self._meet("after_all")
        return outcome

    async def cancel(self, target: Target, gate: Gate) -> Outcome:
        async def passed() -> None:
            await gate()
            await self._meet("after_gate")

        await self._meet("before")
        outcome = await self.broker.cancel(target, passed)
        await self._meet("after_all")
        return outcome

    async def ask(self, symbol: Symbol, client_order_id: str) -> Order | None:
        if self.host.deaf:
            self.host.deaf -= 1
            raise ExchangeUnavailable(reason="away")
        return await self.broker.ask(symbol, client_order_id)

    async def open_orders(self, symbol: Symbol | None = None) -> tuple[Order, ...]:
        return await self.broker.open_orders(symbol)

    async def _meet(self, where: Where) -> None:
        if self.host.fault is None or self.host.fault[0] != where:
            return
        _, what = self.host.fault
        self.host.fault = None
        match what:
            case "error":
                raise ExchangeUnavailable(reason="away")
            case "defect":
                raise ZeroDivisionError
            case "silence":
                self.host.is_silent = True
                await anyio.sleep_forever()


@dataclass(frozen=True)
class Process:
    """A server on the host, as far as orders go."""

    host: Host
    desk: Desk
    agreements: Agreements

    async def settled(self) -> None:
        """Wait until nothing is without an end, and every open order was asked for."""
        while await self.desk.ledger.unresolved():
            await self.desk.catch_up()
            await anyio.lowlevel.checkpoint()
        self.host.deaf = 0
        await self.desk.catch_up()

    def die(self) -> None:
        """Write nothing from now on, as one that was killed."""
        self.desk.ledger.store.db.close()


@asynccontextmanager
async def started(host: Host, *, matches: bool) -> AsyncGenerator[Process]:
    """Start a process; the first on the host matches for all."""
    async with opened_store(host.folder) as store:
        store.db.execute("PRAGMA synchronous=OFF")  # no power is cut here
        with owner(host.folder) as name:
            if matches:
                await host.match_with(store, name)

            async def pair_of(symbol: Symbol) -> Pair:  # noqa: ARG001 - the port
                return PAIR

            exchange = PaperExchange(store, START, 0, host.clock.now_ms)
            broker = PaperBroker("paper", exchange, pair_of, Venue("mainnet", "paper"), Arriving(host))
            desk = host.desk(HostLedger(store, name), lambda _: Faulty(host, broker), host.clock, host.clock.now_ms)
            desk.background_tasks.last_ms = 0
            async with desk.running():
                await desk.ready()
                yield Process(host, desk, Agreements(store))
