"""A desk with a scripted exchange, for tests of the way of an order."""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel

from mcp_binance_server.domain.account import Venue
from mcp_binance_server.domain.market import Sourced
from mcp_binance_server.domain.money import Price, Quantity
from mcp_binance_server.domain.order_requests import (
    Amendment,
    Fate,
    Gate,
    Outcome,
    Replacement,
    Target,
    Written,
    WrittenList,
    WrittenOrder,
)
from mcp_binance_server.domain.orders import FINAL_STATUS, Order
from mcp_binance_server.domain.symbols import Symbol
from mcp_binance_server.errors import ExchangeUnavailable
from mcp_binance_server.trading.desk import Desk, Placed
from mcp_binance_server.trading.journal.ledger import HostLedger
from mcp_binance_server.trading.journal.owner import owner
from mcp_binance_server.trading.journal.records import NewIntent
from mcp_binance_server.trading.journal.store import opened_store
from mcp_binance_server.trading.judgement.charges import charges
from mcp_binance_server.trading.judgement.policy import Policy, cents_up, read_policy
from mcp_binance_server.trading.judgement.terms import TradingMode
from mcp_binance_server.trading.reconciling import OrderWorth, Reconciliation, StartStep, TradedAccount
from support.clock import FakeClock
from support.terms import NOW_MS, intent

ACCOUNT = "k-aaaaaaaaaaaaaaaa"


@dataclass
class Scripted:
    """An exchange that does as it is told, and counts what reached it."""

    fate: Fate = Fate.ACCEPTED
    cancel_fate: Fate = Fate.ACCEPTED
    asked: list[Order | Exception | None] = field(default_factory=list[Order | Exception | None])
    held: anyio.Event | None = None
    holds_before: bool = False
    """Whether it is held with the way open and nothing sent."""
    arrived: int = 0
    is_away: bool = False
    is_mute: bool = False
    """Whether questions have no answer at all; nobody then asks again, and time stands still."""
    lies: bool = False
    reached: list[Written] = field(default_factory=list[Written])
    executes: bool = False
    """Whether it carries out what it does not answer."""
    cancels: list[Target] = field(default_factory=list[Target])
    stands: dict[str, Order] = field(default_factory=dict[str, Order])
    questions: int = 0
    venue: Venue = field(default_factory=lambda: Venue("mainnet", "paper"))
    horizon_ms: int = 17_000
    past: list[Order] = field(default_factory=list[Order])
    """Orders of the account that are over."""
    calls: list[str] = field(default_factory=list[str])

    async def place(self, request: Written, gate: Gate) -> Outcome:
        if self.fate is Fate.NOT_SENT and not self.lies:
            return Outcome(self.fate, reason="as told")
        if self.holds_before and self.held is not None:
            self.arrived += 1
            await self.held.wait()
        await gate()
        self.arrived += 1
        self.reached.append(request)
        if self.held is not None:
            await self.held.wait()
        if self.fate is Fate.ACCEPTED or self.executes:
            self._carry_out(request)
        return self._told(request)

    def _carry_out(self, request: Written) -> None:
        match request:
            case WrittenOrder():
                self.stands[request.client_order_id] = placed(request)
            case WrittenList():
                for number, order in enumerate(request.orders):
                    waits = number > 0 and request.shape != "OCO"
                    self.stands[order.client_order_id] = placed(order, "PENDING_NEW" if waits else "NEW", number + 1)
            case Replacement():
                self.end(request.target.client_order_id)
                self.stands[request.order.client_order_id] = placed(request.order, number=2)
            case Amendment():
                name = request.target.client_order_id
                self.stands[name] = replace(self.stands[name], quantity=request.quantity)

    def _told(self, request: Written) -> Outcome:
        if self.fate is Fate.UNKNOWN:
            return Outcome(self.fate, reason="as told")
        match request:
            case WrittenOrder():
                return Outcome(self.fate, self.stands.get(request.client_order_id), reason="as told")
            case WrittenList():
                found = (self.stands.get(each.client_order_id) for each in request.orders)
                return Outcome(self.fate, legs=tuple(each for each in found if each is not None), reason="as told")
            case Replacement():
                old, new = (self.stands.get(each.client_order_id) for each in (request.target, request.order))
                return Outcome(self.fate, new, target=old, reason="as told")
            case Amendment():
                accepted = self.stands[request.target.client_order_id] if self.fate is Fate.ACCEPTED else None
                return Outcome(self.fate, accepted, reason="as told")

    def end(self, name: str, status: str = "CANCELED") -> None:
        self.stands[name] = replace(self.stands[name], status=status)

    def trade(self, name: str, executed: str, status: str) -> Order:
        """Have an order executed so far, and return how it stands."""
        stands = self.stands[name]
        spent = Quantity(Decimal(executed) * stands.price)
        self.stands[name] = replace(stands, status=status, executed=Quantity(Decimal(executed)), quote_spent=spent)
        return self.stands[name]

    async def cancel(self, target: Target, gate: Gate) -> Outcome:
        await gate()
        self.cancels.append(target)
        if self.held is not None:
            await self.held.wait()
        if target.is_list:
            return self._cancel_list(target)
        order = self.stands.get(target.client_order_id)
        if self.cancel_fate is Fate.ACCEPTED and order is not None:
            order = self.stands[target.client_order_id] = replace(order, status="CANCELED")
        return Outcome(self.cancel_fate, order if self.cancel_fate is not Fate.UNKNOWN else None, reason="as told")

    def _cancel_list(self, target: Target) -> Outcome:
        own = [name for name in self.stands if name.startswith(target.client_order_id)]
        if self.cancel_fate is Fate.ACCEPTED or self.executes:
            for name in own:
                if self.stands[name].status not in FINAL_STATUS:
                    self.end(name)
        legs = tuple(self.stands[name] for name in own) if self.cancel_fate is Fate.ACCEPTED else ()
        return Outcome(self.cancel_fate, legs=legs, reason="as told")

    async def ask(self, symbol: Symbol, client_order_id: str) -> Order | None:  # noqa: ARG002 - the port
        self.questions += 1
        await anyio.lowlevel.checkpoint()
        if self.is_mute:
            await anyio.sleep_forever()
        if self.is_away:
            raise ExchangeUnavailable(reason="away")
        answer = self.asked.pop(0) if self.asked else self.stands.get(client_order_id)
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def open_orders(self, symbol: Symbol | None = None) -> tuple[Order, ...]:
        self.calls.append(f"open {symbol or 'all'}")
        if self.is_away:
            raise ExchangeUnavailable(reason="away")
        found = (each for each in self.stands.values() if each.status not in FINAL_STATUS)
        return tuple(each for each in found if symbol in (None, each.symbol))

    async def order_history(self, symbol: Symbol, limit: int, start_ms: int) -> Sourced[tuple[Order, ...]]:
        self.calls.append(f"history {symbol}")
        if self.is_away:
            raise ExchangeUnavailable(reason="away")
        every = sorted((*self.past, *self.stands.values()), key=lambda each: each.order_id)
        found = [each for each in every if each.symbol == symbol and each.created_ms >= start_ms]
        return Sourced(tuple(found[:limit]), "paper", "configured", NOW_MS)


def placed(order: WrittenOrder, status: str = "NEW", number: int = 1) -> Order:
    nothing = order.quantity * 0
    return Order(
        order_id=number,
        client_order_id=order.client_order_id,
        symbol=order.symbol,
        side=order.side,
        kind=order.kind,
        status=status,
        time_in_force=order.time_in_force,
        price=order.price,
        stop_price=Price(Decimal(0)),
        quantity=order.quantity,
        executed=nothing,  # type: ignore[arg-type]
        quote_spent=nothing,  # type: ignore[arg-type]
        created_ms=NOW_MS,
        updated_ms=NOW_MS,
    )


@dataclass
class Bench:
    """A desk, its exchange, and the clock they live by."""

    desk: Desk
    exchange: Scripted
    clock: FakeClock

    async def place(self, new: NewIntent, policy: Policy | None = None) -> Placed:
        return await self.desk.place(new, charges(new.terms, policy or Policy(), new.way), None)

    async def state(self, new: NewIntent) -> str:
        found = await self.desk.ledger.find(new.preview_id)
        return "" if found is None else found.state

    async def used(self, new: NewIntent) -> dict[str, int]:
        return await self.desk.ledger.used(
            new.terms.account, charges(new.terms, Policy(), new.way), self.clock.now_ms()
        )


@asynccontextmanager
async def opened_bench(
    folder: Path, exchange: Scripted | None = None, mode: TradingMode = "paper", account: str | None = None
) -> AsyncGenerator[Bench]:
    """Open a desk as a process would: each opening is another owner."""
    exchange, clock = exchange or Scripted(), FakeClock(now_ms=NOW_MS)
    async with opened_store(folder) as store:
        with owner(store.folder) as name:
            desk = Desk(HostLedger(store, name), lambda _: exchange, clock, clock.now_ms, mode, account)
            async with desk.running():
                yield Bench(desk, exchange, clock)


async def worth_of(order: Order) -> OrderWorth:
    return OrderWorth(order.symbol.removesuffix("USDT"), cents_up(order.quantity * order.price))


@asynccontextmanager
async def started_bench(
    folder: Path,
    exchange: Scripted,
    limits: str = "",
    first: Callable[[FakeClock], tuple[StartStep, ...]] = lambda _: (),
    clock: FakeClock | None = None,
) -> AsyncGenerator[Bench]:
    """Open a desk that trades at the exchange for the account of one key."""
    clock = clock or FakeClock(now_ms=NOW_MS)
    account = TradedAccount(ACCOUNT, "practice", "testnet")
    async with opened_store(folder) as store:
        with owner(store.folder) as name:
            ledger = HostLedger(store, name)
            desk = Desk(ledger, lambda _: exchange, clock, clock.now_ms, account.mode, account.name)
            start = Reconciliation(
                ledger,
                exchange,
                exchange.order_history,
                account,
                read_policy(f"[limits]\n{limits}".encode()),
                worth_of,
                clock.now_ms,
                first(clock),
            )
            async with desk.running(start):
                yield Bench(desk, exchange, clock)


def own(number: int = 0, **changes: Any) -> NewIntent:  # noqa: ANN401 - any member of the terms
    """Return an order of that account."""
    return intent(number, **{"account": ACCOUNT, "mode": "practice", "network": "testnet", **changes})
