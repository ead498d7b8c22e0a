"""Processes that place and cancel orders on paper and die on the way; what they leave is judged apart."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any, Literal

import anyio

from mcp_binance_server.domain.account import Commission, Venue
from mcp_binance_server.domain.money import Price, Quantity
from mcp_binance_server.domain.order_requests import (
    Amendment,
    Fate,
    Gate,
    ListShape,
    Outcome,
    Replacement,
    Target,
    TermsKind,
    Written,
    WrittenList,
)
from mcp_binance_server.domain.orders import Order
from mcp_binance_server.domain.symbols import Symbol
from mcp_binance_server.trading.desk import Desk, Placed
from mcp_binance_server.trading.journal.ledger import HostLedger
from mcp_binance_server.trading.journal.owner import owner
from mcp_binance_server.trading.journal.records import Intent, NewIntent
from mcp_binance_server.trading.journal.store import opened_store
from mcp_binance_server.trading.judgement.charges import charges
from mcp_binance_server.trading.judgement.exits import Exits
from mcp_binance_server.trading.judgement.policy import Policy
from mcp_binance_server.trading.judgement.released import Released
from mcp_binance_server.trading.paper.account import Pair
from mcp_binance_server.trading.paper.broker import PaperBroker
from mcp_binance_server.trading.paper.exchange import PaperExchange
from mcp_binance_server.trading.paper.matcher import SymbolMatcher, matcher_token
from mcp_binance_server.trading.requests import request_of
from support.clock import FakeClock
from support.terms import NOW_MS, intent
from trading.forking import Tell, forked
from trading.labels import Label, Labels
from trading.paper.displayed import usual_book

SYMBOL, PAIR = Symbol("ABXY"), Pair("AB", "XY")
START = {"XY": Decimal(1000), "AB": Decimal(10)}
RATES = Commission(Decimal("0.001"), Decimal("0.001"))
SENDS = "sends"

Wish = Literal[
    "taken", "rests", "refused", "would_take", "OCO", "OTO", "OTOCO", "OPO", "OPOCO", "resting list", "refused list",
    "instead", "more instead", "smaller", "trails", "part", "whole", "too dear", "nearer",
]  # fmt: skip


def _order(number: int, price: int, quantity: int, kind: TermsKind = "LIMIT", **others: Any) -> NewIntent:  # noqa: ANN401 - any member of the terms
    amounts = {"price": Price(Decimal(price)), "quantity": Quantity(Decimal(quantity))}
    return intent(number, symbol=SYMBOL, kind=kind, counted=price * quantity * 100, **amounts, **others)


def _exits(shape: ListShape, quantity: str) -> Exits:
    """Return the exits of a shape: with one alone OTO has the stop, and OPO the profit; of OTO and OPOCO it trails."""
    profit, stop, least = (Price(Decimal(each)) for each in (105, 95, 94))
    sold = Quantity(Decimal(quantity))
    if shape == "OPO":
        return Exits(shape, sold, profit)
    trailing = 500 if shape in ("OTO", "OPOCO") else None
    return Exits(shape, sold, None if shape == "OTO" else profit, stop, least, trailing)


RESTS = _order(1, 101, 7)
IN_ITS_PLACE: dict[str, Any] = {"replaces": RESTS.client_order_id}
PROFIT, STOP, LEAST = Price(Decimal(105)), Price(Decimal(95)), Price(Decimal(94))
HELD_PAIR = _order(4, 105, 3, "OCO", side="SELL", stop_price=STOP, exits=_exits("OCO", "3"))


def _sale(number: int, price: int, quantity: int, kind: TermsKind = "MARKET", **others: Any) -> NewIntent:  # noqa: ANN401 - as above
    """Return a sale of coins that the pair reserves; the rest of the pair is placed again."""
    whole, rest = Quantity(Decimal(3)), Quantity(Decimal(3 - quantity))
    pair = Released(
        HELD_PAIR.client_order_id, "OCO", "GTC", whole, Quantity(Decimal(0)), rest, PROFIT, STOP, LEAST, 315_00
    )
    stays = "GTC" if kind == "OCO" else "IOC"
    return _order(number, price, quantity, kind, side="SELL", time_in_force=stays, releases=(pair,), **others)


# One order of each fate: filled at once, filled in part, more than the account holds, and a maker that would take. Then
# lists, filled at once if they have an entry, and what takes the place of the order that rests: more than there is
# money for once it is gone, and less of it. Then sales of what the pair reserves: a part, all, at a price at which
# nothing is sold, and another pair.
ORDERS: dict[Wish, NewIntent] = {
    "taken": _order(0, 101, 3),
    "rests": RESTS,
    "refused": _order(2, 99, 11),
    "would_take": _order(3, 101, 1, "LIMIT_MAKER"),
    "OCO": HELD_PAIR,
    "OTO": _order(5, 101, 3, exits=_exits("OTO", "2.99")),
    "OTOCO": _order(6, 101, 3, exits=_exits("OTOCO", "2.99")),
    "OPO": _order(7, 101, 3, exits=_exits("OPO", "3")),
    "OPOCO": _order(8, 101, 3, exits=_exits("OPOCO", "3")),
    "resting list": _order(9, 101, 7, exits=_exits("OPOCO", "7")),
    "refused list": _order(10, 101, 3, "LIMIT_MAKER", exits=_exits("OTOCO", "3")),
    "instead": _order(11, 100, 2, **IN_ITS_PLACE),
    "more instead": _order(12, 100, 9, **IN_ITS_PLACE),
    "smaller": _order(13, 101, 6, amends=True, **IN_ITS_PLACE),
    "trails": _order(14, 94, 3, "STOP_LOSS_LIMIT", side="SELL", stop_price=Price(Decimal(95)), trailing_bps=500),
    "part": _sale(15, 98, 2),
    "whole": _sale(16, 98, 3),
    "too dear": _sale(17, 104, 2),
    "nearer": _sale(18, 105, 2, "OCO", stop_price=STOP, exits=_exits("OCO", "2")),
}


class Late(Desk):
    """A control that must fail: it marks an order as sent once the answer is there."""

    async def _sent(self, intent: Intent) -> Placed:
        async def open_gate() -> None:
            return None

        request = request_of(intent.terms, intent.client_order_id)
        outcome = await self._once(partial(self.broker_of(intent.terms.account).place, request), open_gate)
        if outcome.fate is not Fate.NOT_SENT:
            await self.ledger.mark_sent(intent.preview_id, self.now_ms())
        return Placed(await self._written_down(intent.preview_id, outcome), outcome.reason)


class Resending(Desk):
    """A control that must fail: what it does not know the end of it sends again."""

    async def _asked_for(self, intent: Intent) -> None:
        async def open_gate() -> None:
            return None

        request = request_of(intent.terms, intent.client_order_id)
        await self.broker_of(intent.terms.account).place(request, open_gate)
        await super()._asked_for(intent)


DESKS: dict[str, type[Desk]] = {"desk": Desk, "late": Late, "resending": Resending}


def name_of(request: Written) -> str:
    """Say what a request asks for, in one word: no second one may ask for the same."""
    if isinstance(request, WrittenList):
        return request.client_list_id
    if isinstance(request, Amendment):
        return f"{request.target.client_order_id}/{request.quantity}"
    return request.order.client_order_id if isinstance(request, Replacement) else request.client_order_id


@dataclass(frozen=True)
class Wire:
    """What stands before the exchange and counts, on the disk, what comes past it: a request cannot be taken back."""

    broker: PaperBroker
    sends: Path

    @property
    def venue(self) -> Venue:
        return self.broker.venue

    @property
    def horizon_ms(self) -> int:
        return self.broker.horizon_ms

    async def place(self, request: Written, gate: Gate) -> Outcome:
        async def counted() -> None:
            await gate()
            with self.sends.open("a") as file:
                file.write(f"{name_of(request)}\n")

        return await self.broker.place(request, counted)

    async def cancel(self, target: Target, gate: Gate) -> Outcome:
        return await self.broker.cancel(target, gate)

    async def ask(self, symbol: Symbol, client_order_id: str) -> Order | None:
        return await self.broker.ask(symbol, client_order_id)

    async def open_orders(self, symbol: Symbol | None = None) -> tuple[Order, ...]:
        return await self.broker.open_orders(symbol)


class Market(FakeClock):
    """Whoever waits for the market has it come round: new orders meet the book."""

    def __init__(self, matcher: SymbolMatcher, now_ms: int) -> None:
        super().__init__(now_ms)
        self._matcher = matcher

    async def sleep_ms(self, duration_ms: float) -> None:
        await self.come_round()
        await super().sleep_ms(duration_ms)

    async def come_round(self) -> None:
        await self._matcher.look()
        await self._matcher.meet((), self.now_ms())


@dataclass(frozen=True)
class World:
    """One process: a desk on a folder, and the paper exchange in it."""

    desk: Desk
    folder: Path
    tell: Tell

    async def place(self, wish: Wish) -> Placed:
        new = ORDERS[wish]
        return await self.desk.place(new, charges(new.terms, Policy(), new.way), None)

    async def cancel(self, wish: Wish) -> Placed:
        return await self.desk.cancel("paper", Target(SYMBOL, ORDERS[wish].client_order_id), "me")


@asynccontextmanager
async def opened_world(folder: Path, made: type[Desk], now_ms: int, tell: Tell) -> AsyncGenerator[World]:
    """Start as a server does: the matcher takes its lease, the desk settles what was left."""
    async with opened_store(folder) as store:
        with owner(folder) as name:
            token = await matcher_token(store, name, now_ms)
            assert token is not None
            matcher = SymbolMatcher(SYMBOL, PAIR, store, START, RATES, token, usual_book())
            await matcher.load()
            market = Market(matcher, now_ms)
            clock = FakeClock(now_ms)
            exchange = PaperExchange(store, START, 0, clock.now_ms)

            async def pair_of(symbol: Symbol) -> Pair:  # noqa: ARG001 - the port
                return PAIR

            broker = PaperBroker("paper", exchange, pair_of, Venue("mainnet", "paper"), market)
            wire = Wire(broker, folder / SENDS)
            desk = made(HostLedger(store, name), lambda _: wire, clock, clock.now_ms)
            async with desk.running():
                yield World(desk, folder, tell)


Act = Callable[[World], Awaitable[None]]


@dataclass(frozen=True)
class Life:
    """A process: where, at which desk, when, and the label at which it dies; one that `tells` tells all it comes to."""

    folder: Path
    desk: type[Desk]
    act: Act
    generation: int
    dies_at: Label | None = None
    tells: bool = False

    def live(self) -> list[str]:
        """Live it in a fork, and return what it told; one that should die and does not is an error."""
        ended = forked(self._work)
        if ended.is_killed != (self.dies_at is not None):
            raise RuntimeError(f"{self} did not end as it should")
        return ended.told

    def _work(self, tell: Tell) -> None:
        async def live() -> None:
            async with opened_world(self.folder, self.desk, NOW_MS + 10_000 * self.generation, tell) as world:
                await self.act(world)

        if self.tells or self.dies_at is not None:
            Labels(tell, self.dies_at).watch()
        anyio.run(live)
