"""Processes that match orders on paper, killed at any moment; and what their file must still add up to.

Run as a program it forks one process after the other on one file and prints what it found wrong, as JSON. The market is
a function of the print's number: whoever comes next can be told what was missed. Controls break one rule each.
"""

import json
import math
import os
import random
import signal
import sqlite3
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from contextlib import closing, suppress
from dataclasses import dataclass
from decimal import Decimal, localcontext
from pathlib import Path

import anyio

from mcp_binance_server.domain.account import Commission
from mcp_binance_server.domain.market import PriceLevel, Trade
from mcp_binance_server.domain.money import EXACT_DIGITS, Price, Quantity
from mcp_binance_server.domain.order_requests import Side, Target, WrittenOrder
from mcp_binance_server.domain.symbols import Symbol
from mcp_binance_server.trading.errors import InsufficientBalance
from mcp_binance_server.trading.journal.store import FILE, Store, opened_store
from mcp_binance_server.trading.paper import matcher as matching
from mcp_binance_server.trading.paper.account import Pair
from mcp_binance_server.trading.paper.exchange import PaperExchange
from mcp_binance_server.trading.paper.matcher import LEASE_MS, SymbolMatcher, TookOver, matcher_token
from mcp_binance_server.trading.paper.order import PaperOrder
from mcp_binance_server.trading.paper.tables import write_order

SYMBOL, PAIR = Symbol("ABXY"), Pair("AB", "XY")
START = {"AB": Decimal(100_000), "XY": Decimal(10_000_000)}
RATES = Commission(Decimal("0.00075"), Decimal("0.001"))
ACCOUNTS = ("ann", "bob")
PRINT_MS = 10
ARRIVAL = "an order arrives"
BEGAN_MS = 1_784_592_000_000


def middle(number: int) -> int:
    return 1000 + round(6 * math.sin(number / 25) + 3 * math.sin(number / 7))


def printed(number: int) -> Trade:
    """Return a print by its number: always the same."""
    buyer_is_maker = number * 31 % 7 < 3
    price = middle(number) + (-1 if buyer_is_maker else 1) * (1 + number % 3)
    amounts = Price(Decimal(price)), Quantity(Decimal(1 + number * 13 % 9))
    return Trade(number, *amounts, BEGAN_MS + number * PRINT_MS, buyer_is_maker, number, number)


@dataclass
class ShownBook:
    """The book after a print; `told` hears of each order that walks it."""

    number: int = 0
    told: Callable[[str], None] = lambda _what: None

    def best_first(self, side: Side) -> Iterable[PriceLevel]:
        self.told(ARRIVAL)
        away = -1 if side == "BUY" else 1
        for step in range(1, 12):
            price = Price(Decimal(middle(self.number) + away * step))
            yield PriceLevel(price, self.displayed(side, price) or Quantity(Decimal(0)))

    def displayed(self, side: Side, price: Price) -> Quantity | None:
        off = int(price) - middle(self.number)
        stands = 1 <= (-off if side == "BUY" else off) <= 11
        return Quantity(Decimal(1 + (int(price) * 7 + self.number // 5) % 6 if stands else 0))


@dataclass
class Member:
    """One process: it places and cancels at random, and matches while it has the right to."""

    store: Store
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

    async def run(self) -> None:
        # Longer than the right of whoever was there before.
        self.move_on(self.chance.randint(LEASE_MS // PRINT_MS + 1, LEASE_MS // PRINT_MS + 150))
        token = await matcher_token(self.store, self.name, self.now_ms)
        if token is None:
            return
        matcher = SymbolMatcher(SYMBOL, PAIR, self.store, START, RATES, token, self.book)
        await matcher.load()
        with suppress(TookOver):
            for turn in range(10_000):
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
        chance, account = self.chance, self.chance.choice(ACCOUNTS)
        if chance.random() < 0.25 and (standing := await self.exchange.open_orders(account)):
            name = chance.choice(standing).order.client_order_id
            rows = await self.exchange.cancel(account, Target(SYMBOL, name), PAIR)
            if rows and rows[0].order.status == "CANCELED":
                self.note("cancelled", name)
            return
        self.placed += 1
        name = f"{self.name}-{self.placed}"
        side: Side = chance.choice(("BUY", "SELL"))
        toward = 1 if side == "BUY" else -1
        price = middle(self.book.number) + toward * chance.choice((-9, -6, -4, -3, -2, 1, 3))
        force = chance.choice(("GTC", "GTC", "GTC", "GTC", "IOC", "FOK"))
        amounts = Quantity(Decimal(chance.randint(1, 12))), Price(Decimal(price))
        with suppress(InsufficientBalance):
            await self.exchange.accept(account, WrittenOrder(name, SYMBOL, side, "LIMIT", force, *amounts), PAIR)
            self.note("accepted", name)

    def note(self, what: str, name: str) -> None:
        """Write down what this process was promised: it is kept by the system though the process is killed."""
        with (self.folder / what).open("a") as told:
            told.write(f"{name}\n")


def write_order_apart(rows: sqlite3.Connection, order: PaperOrder, spent: Quantity, now_ms: int) -> None:
    """Stand in as a control: balances and fills in one transaction, the order and the tape in the next."""
    rows.execute("COMMIT")
    rows.execute("BEGIN IMMEDIATE")
    write_order(rows, order, spent, now_ms)


def audit(folder: Path) -> list[str]:
    """Add everything up from the rows alone; return what does not agree."""
    # Closed before the next fork: a child that inherits an open file of SQLite can damage it.
    with closing(sqlite3.connect(folder / FILE)) as db, localcontext(prec=EXACT_DIGITS):
        return [*_orders_wrong(db, folder), *_balances_wrong(db), *_prints_wrong(db)]


def _orders_wrong(db: sqlite3.Connection, folder: Path) -> Iterable[str]:
    orders = "SELECT order_id, client_order_id, status, quantity, executed, spent FROM paper_order"
    known: dict[str, str] = {}
    for order_id, name, status, quantity, executed, spent in db.execute(orders):
        known[name] = status
        fills = db.execute("SELECT price, quantity FROM paper_fill WHERE order_id=?", (order_id,)).fetchall()
        got = sum((Decimal(each[1]) for each in fills), Decimal(0))
        paid = sum((Decimal(each[0]) * Decimal(each[1]) for each in fills), Decimal(0))
        if got != Decimal(executed) or paid != Decimal(spent):
            yield f"{name}: filled {got} for {paid}, and says {executed} for {spent}"
        if Decimal(executed) > Decimal(quantity) or (status == "FILLED") != (Decimal(executed) == Decimal(quantity)):
            yield f"{name}: {status} with {executed} of {quantity}"
    for what, wanted in (("accepted", None), ("cancelled", "CANCELED")):
        path = folder / what
        for name in path.read_text().split() if path.exists() else ():
            if name not in known or (wanted and known[name] != wanted):
                yield f"{name} was {what} and is {known.get(name)}"


def _balances_wrong(db: sqlite3.Connection) -> Iterable[str]:
    for account in ACCOUNTS:
        total, locked = defaultdict[str, Decimal](Decimal, START), defaultdict[str, Decimal](Decimal)
        fills = "SELECT price, quantity, commission, commission_asset, is_buyer FROM paper_fill WHERE account=?"
        for price, quantity, commission, asset, is_buyer in db.execute(fills, (account,)):
            sign = 1 if is_buyer else -1
            total[PAIR.base] += sign * Decimal(quantity)
            total[PAIR.quote] -= sign * Decimal(price) * Decimal(quantity)
            total[asset] -= Decimal(commission)
        standing = (
            "SELECT side, price, quantity, executed FROM paper_order WHERE account=? "
            "AND status IN ('PENDING_NEW','NEW','PARTIALLY_FILLED')"
        )
        for side, price, quantity, executed in db.execute(standing, (account,)):
            left = Decimal(quantity) - Decimal(executed)
            locked[PAIR.quote if side == "BUY" else PAIR.base] += left * (Decimal(price) if side == "BUY" else 1)
        for asset, free, held in db.execute(
            "SELECT asset, free, locked FROM paper_account WHERE account=?", (account,)
        ):
            if Decimal(held) != locked[asset] or Decimal(free) + Decimal(held) != total[asset]:
                yield f"{account} {asset}: {free} + {held}, and should be {total[asset]} with {locked[asset]} locked"


def _prints_wrong(db: sqlite3.Connection) -> Iterable[str]:
    given: dict[tuple[str, int], Decimal] = defaultdict(Decimal)
    seen: set[tuple[int, int]] = set()
    fills = (
        "SELECT f.account, f.order_id, f.print, f.quantity, f.price, o.side, o.price, o.arrives_ms FROM paper_fill f "
        "JOIN paper_order o USING (order_id) WHERE f.print IS NOT NULL"
    )
    for account, order_id, number, quantity, price, side, limit, arrived_ms in db.execute(fills):
        trade = printed(number)
        if (order_id, number) in seen:
            yield f"print {number} was given to order {order_id} twice"
        seen.add((order_id, number))
        given[account, number] += Decimal(quantity)
        reaches = trade.price <= Decimal(limit) if side == "BUY" else trade.price >= Decimal(limit)
        if price != limit or not reaches or trade.buyer_is_maker != (side == "BUY") or trade.time_ms < arrived_ms:
            yield f"print {number} at {trade.price} is not for order {order_id} at {limit}"
    for (account, number), quantity in given.items():
        if quantity > printed(number).quantity:
            yield f"print {number} of {printed(number).quantity} gave {account} {quantity}"


def _anybody(_rows: sqlite3.Connection, _token: int) -> bool:
    return True


@dataclass(frozen=True)
class Halt:
    """What befalls a process by itself: a signal, as it comes to so many statements, or to so many arrivals."""

    sign: signal.Signals
    count: int
    what: str = ""


def member(folder: Path, name: str, seed: int, halt: Halt | None) -> None:
    """Be one process until somebody kills it, or until it has come as far as it may."""

    async def run() -> None:
        async with opened_store(folder) as store:
            left = halt.count if halt else 0

            def begin(what: str) -> None:
                nonlocal left
                left -= halt is not None and what.startswith(halt.what)
                if halt is not None and left == 0:
                    left = -1
                    os.kill(os.getpid(), halt.sign)

            store.db.set_trace_callback(begin)
            await Member(store, folder, random.Random(seed), name, ShownBook(told=begin)).run()

    anyio.run(run)


def forked(folder: Path, name: str, seed: int, halt: Halt | None = None) -> int:
    pid = os.fork()
    if pid == 0:
        try:
            member(folder, name, seed, halt)
        finally:
            os._exit(0)
    return pid


@dataclass
class Killing:
    """Processes on one file, one after the other, and how many of them were killed."""

    folder: Path
    chance: random.Random
    kills: int = 0

    def begin(self, halt: Halt | None = None) -> int:
        seed = self.chance.randrange(2**32)
        return forked(self.folder, f"m{seed:08x}", seed, halt)

    def end(self, pid: int) -> None:
        self.kills += os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGKILL

    def at_any_moment(self) -> None:
        pid = self.begin()
        time.sleep(self.chance.uniform(0.03, 0.3))  # noqa: TID251 - that is what any moment means
        os.kill(pid, signal.SIGKILL)
        self.end(pid)

    def at_a_statement(self) -> None:
        self.end(self.begin(Halt(signal.SIGKILL, self.chance.randint(20, 600))))

    def after_a_sleep(self) -> None:
        """Have one sleep between a match and its writing, another take over and die, and the first go on."""
        sleeper = self.begin(Halt(signal.SIGSTOP, self.chance.randint(3, 12), ARRIVAL))
        os.waitpid(sleeper, os.WUNTRACED)
        self.end(self.begin(Halt(signal.SIGKILL, self.chance.randint(200, 400))))
        os.kill(sleeper, signal.SIGCONT)
        time.sleep(0.05)  # noqa: TID251 - it wakes in its own time
        with suppress(ProcessLookupError):
            os.kill(sleeper, signal.SIGKILL)
        self.end(sleeper)


def main(folder: Path, runs: int, seed: int, control: str) -> None:
    """Kill one process after the other until something does not add up; tell what was found."""
    if control == "split":
        matching.write_order = write_order_apart
    if control == "unfenced":
        matching.is_matcher = _anybody
    killing = Killing(folder, random.Random(seed))
    killing.end(killing.begin(Halt(signal.SIGKILL, 100)))
    ways = killing.after_a_sleep, killing.at_any_moment, killing.at_a_statement
    wrong: list[str] = []
    for run in range(runs):
        ways[run % 3 if control != "unfenced" else 0]()
        if wrong := audit(folder):
            break
    counts = {
        "orders": "SELECT COUNT(*) FROM paper_order",
        "makers": "SELECT COUNT(*) FROM paper_fill WHERE is_maker",
        "takers": "SELECT COUNT(*) FROM paper_fill WHERE NOT is_maker",
        "tokens": "SELECT token FROM paper_matcher",
    }
    with closing(sqlite3.connect(folder / FILE)) as db:
        told = {name: db.execute(query).fetchone()[0] for name, query in counts.items()}
    sys.stdout.write(json.dumps({"kills": killing.kills, "wrong": wrong[:5], **told}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4])
