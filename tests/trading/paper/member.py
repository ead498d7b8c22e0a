"""One process that places orders of every kind on paper at random, and matches them on a generated market."""

import random
from contextlib import suppress
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import get_args

from mcp_binance_server.domain.money import Price, Quantity
from mcp_binance_server.domain.order_requests import (
    Amendment,
    ListShape,
    Replacement,
    Side,
    Target,
    WrittenList,
    WrittenOrder,
)
from mcp_binance_server.trading.errors import InsufficientBalance
from mcp_binance_server.trading.paper.exchange import PaperExchange
from mcp_binance_server.trading.paper.lists import problem_of
from mcp_binance_server.trading.paper.matcher import LEASE_MS, LeaseLost, SymbolMatcher, matcher_token
from mcp_binance_server.trading.paper.store import PaperStore
from mcp_binance_server.trading.paper.tables import PaperRow
from trading.paper.auditing import INSTEAD_OF
from trading.paper.generated import (
    ACCOUNTS,
    BEGAN_MS,
    PAIR,
    PRINT_MS,
    RATES,
    START,
    STEP,
    SYMBOL,
    ShownBook,
    middle,
    printed,
)

# Distances of trailing stops on a tape that swings by a hundredth, and how many of the orders are such.
TRAILING, TRAILING_FROM = (10, 30, 60, 90), 0.92


@dataclass
class Member:
    """One process: it places and cancels at random, and matches while it has the right to."""

    store: PaperStore
    folder: Path
    chance: random.Random
    name: str
    book: ShownBook
    placed: int = 0

    @property
    def now_ms(self) -> int:
        return BEGAN_MS + self.book.number * PRINT_MS

    @property
    def exchange(self) -> PaperExchange:
        return PaperExchange(self.store, START, 30, lambda: self.now_ms)

    def move_on(self, prints: int) -> None:
        """Let the market go on; what it has reached outlives whoever saw it."""
        present = self.folder / "present"
        self.book.number = (int(present.read_text()) if present.exists() else 1) + prints
        beside = self.folder / f"present-{self.name}"
        beside.write_text(str(self.book.number))
        beside.replace(present)

    async def run(self, turns: int = 10_000) -> None:
        """Take the right to match, meet what was missed, and go on for so many turns."""
        # Longer than the right of whoever was there before.
        self.move_on(self.chance.randint(LEASE_MS // PRINT_MS + 1, LEASE_MS // PRINT_MS + 150))
        token = await matcher_token(self.store, self.name, self.now_ms)
        if token is None:
            return
        matcher = SymbolMatcher(SYMBOL, PAIR, self.store, START, RATES, token, self.book, STEP)
        await matcher.load()
        with suppress(LeaseLost):
            for turn in range(turns):
                await self.meet(matcher, is_replay=turn == 0)
                await self.trade()
                self.move_on(self.chance.randint(1, 4))
                if await matcher_token(self.store, self.name, self.now_ms) != token:
                    return

    async def meet(self, matcher: SymbolMatcher, *, is_replay: bool) -> None:
        await matcher.look()
        seen = matcher.seen.tape_id if matcher.seen and matcher.is_watching else self.book.number
        missed = [printed(number) for number in range(seen + 1, self.book.number + 1)]
        if not matcher.is_watching:
            matcher.skip_to(printed(self.book.number))
        for start in range(0, len(missed), 100):
            await matcher.meet(missed[start : start + 100], self.now_ms, is_replay=is_replay)
        await matcher.meet((), self.now_ms)

    async def trade(self) -> None:
        """Ask one thing of the exchange: an end, a list, another order in the stead of one, less of it, or an order."""
        chance, account = self.chance, self.chance.choice(ACCOUNTS)
        standing = await self.exchange.open_orders(account)
        self.placed += 1
        name, way = f"{self.name}-{self.placed}", chance.random()
        with suppress(InsufficientBalance):
            if standing and way < 0.2:
                await self.cancel(account, chance.choice(standing))
            elif standing and way < 0.3:
                await self.replace(account, chance.choice(standing), name)
            elif standing and way < 0.35:
                found = chance.choice(standing).order
                amendment = Amendment(Target(SYMBOL, found.client_order_id), Quantity(found.quantity - 1))
                await self.exchange.amend(account, amendment, PAIR)
            elif way < 0.75:
                listed = self.random_list(name)
                assert not problem_of(listed)
                await self.exchange.accept_list(account, listed, PAIR)
                self.note("accepted", *(each.client_order_id for each in listed.orders))
            else:
                order = self.random_stop(name) if way > TRAILING_FROM else self.random_order(name)
                await self.exchange.accept(account, order, PAIR)
                self.note("accepted", name)

    async def cancel(self, account: str, standing: PaperRow) -> None:
        name = standing.order.client_order_id
        target = Target(SYMBOL, name)
        if standing.part is not None and self.chance.random() < 0.5:
            target = Target(SYMBOL, standing.part.list_id, is_list=True)
        rows = await self.exchange.cancel(account, target, PAIR)
        if name in (ended := [row.order.client_order_id for row in rows if row.order.status == "CANCELED"]):
            self.note("cancelled", *ended)

    async def replace(self, account: str, standing: PaperRow, name: str) -> None:
        old = standing.order.client_order_id
        new = self.random_order(f"{name}{INSTEAD_OF}{old}")
        found = await self.exchange.replace(account, Replacement(Target(SYMBOL, old), new), PAIR)
        if found.new is not None:
            self.note("accepted", new.client_order_id)
        if found.new is not None or found.refusal:
            self.note("cancelled", old)

    def random_order(
        self,
        name: str,
        away: tuple[int, ...] = (-9, -6, -4, -3, -2, 1, 3),
        sides: tuple[Side, ...] = ("BUY", "SELL"),
    ) -> WrittenOrder:
        chance = self.chance
        side = chance.choice(sides)
        toward = 1 if side == "BUY" else -1
        price = middle(self.book.number) + toward * chance.choice(away)
        force = chance.choice(("GTC", "GTC", "GTC", "GTC", "IOC", "FOK"))
        amounts = Quantity(Decimal(chance.randint(1, 12))), Price(Decimal(price))
        return WrittenOrder(name, SYMBOL, side, "LIMIT", force, *amounts)

    def random_stop(self, name: str) -> WrittenOrder:
        """Write down a trailing stop; now and then its limit lies on the other side of the market."""
        order = self.random_order(name, (14, 10, 6, -3))
        trailing = self.chance.choice(TRAILING)
        return replace(order, kind="STOP_LOSS_LIMIT", time_in_force="GTC", trailing_bps=trailing)

    def random_list(self, name: str) -> WrittenList:
        """Write down a list of any shape; of an entry with one exit this is the one above or the one below."""
        chance = self.chance
        shape: ListShape = chance.choice(get_args(ListShape))
        sides: tuple[Side, ...] = ("BUY",) if shape.startswith("OPO") else ("BUY", "SELL")
        entry = self.random_order(f"{name}-w", (-3, -2, 0, 1, 3), sides)
        side: Side = "SELL" if entry.side == "BUY" else "BUY"
        here = middle(self.book.number) if shape == "OCO" else int(entry.price)
        above, below = here + chance.randint(1, 7), here - chance.randint(1, 7)
        target, stop, limit = (above, below, below - 1) if side == "SELL" else (below, above, above + 1)
        profit = replace(entry, side=side, kind="LIMIT_MAKER", time_in_force="GTC", price=Price(Decimal(target)))
        loss = replace(profit, kind="STOP_LOSS_LIMIT", price=Price(Decimal(limit)), stop_price=Price(Decimal(stop)))
        if chance.random() < 0.4:
            loss = replace(loss, stop_price=None, trailing_bps=chance.choice(TRAILING))
        upper, lower = (profit, loss) if side == "SELL" else (loss, profit)
        exits = replace(upper, client_order_id=f"{name}-a"), replace(lower, client_order_id=f"{name}-b")
        if shape in ("OTO", "OPO"):
            exits = (chance.choice(exits),)
        return WrittenList(name, shape, exits if shape == "OCO" else (entry, *exits))

    def note(self, what: str, *names: str) -> None:
        """Write down what this process was promised: it is kept by the system though the process is killed."""
        with (self.folder / what).open("a") as told:
            told.writelines(f"{name}\n" for name in names)
