"""What the file of orders on paper must add up to, from its rows and the generated market alone.

It knows nothing of the matching: it reads the rows, adds for itself, and says what does not agree.
"""

import sqlite3
from collections import defaultdict
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass, fields
from decimal import ROUND_DOWN, Decimal, localcontext
from fractions import Fraction
from pathlib import Path
from typing import Any

from mcp_binance_server.domain.money import EXACT_DIGITS, Price
from mcp_binance_server.trading.journal.store import FILE
from trading.paper.generated import ACCOUNTS, BEGAN_MS, PAIR, PRINT_MS, START, STEP, ShownBook, printed

# An order that was placed in the stead of another has its name too.
INSTEAD_OF = "~"
COLUMNS = {"name": "client_order_id", "stop": "stop_price", "trailing": "trailing_bps"}
OPEN = {"PENDING_NEW", "NEW", "PARTIALLY_FILLED"}
EXITS = {"OCO": 2, "OTO": 1, "OTOCO": 2, "OPO": 1, "OPOCO": 2}
# A taker meets the book that stands, which may be so many prints later than the print that triggered it.
PRINTS_A_TURN = 6


@dataclass(frozen=True, slots=True)
class Kept:
    """A row of an order."""

    order_id: int
    account: str
    name: str
    side: str
    price: Decimal
    stop: Decimal | None
    trailing: int | None
    quantity: Decimal
    executed: Decimal
    spent: Decimal
    status: str
    reason: str
    triggered: bool
    arrives_ms: int
    list_id: str | None
    shape: str | None
    is_entry: bool

    @property
    def is_open(self) -> bool:
        return self.status in OPEN

    @property
    def asset(self) -> str:
        return PAIR.quote if self.side == "BUY" else PAIR.base

    @property
    def holds(self) -> Decimal:
        return (self.quantity - self.executed) * (self.price if self.side == "BUY" else 1)


def kept_orders(db: sqlite3.Connection) -> list[Kept]:
    """Read every order."""
    names = [each.name for each in fields(Kept)]
    columns = ", ".join(COLUMNS.get(each, each) for each in names)
    found: list[Kept] = []
    for values in db.execute(f"SELECT {columns} FROM paper_order"):  # noqa: S608 - names of ours
        row: dict[str, Any] = dict(zip(names, values, strict=True))
        amounts = {each: Decimal(row[each]) for each in ("price", "quantity", "executed", "spent")}
        stop = None if row["stop"] is None else Decimal(row["stop"])
        row |= {**amounts, "stop": stop}
        found.append(Kept(**row))
    return found


def audit(folder: Path) -> list[str]:
    """Add everything up from the rows alone; return what does not agree."""
    # Closed before the next fork: a child that inherits an open file of SQLite can damage it.
    with closing(sqlite3.connect(folder / FILE)) as db:
        return audit_rows(db, folder)


def audit_rows(db: sqlite3.Connection, folder: Path) -> list[str]:
    """Add up rows that are open already; in the folder is what was promised."""
    rules = _lists_wrong, _trailing_wrong, _replaced_wrong, _balances_wrong, _prints_wrong, _takers_wrong
    with localcontext(prec=EXACT_DIGITS):
        return [*_orders_wrong(db, folder), *(wrong for rule in rules for wrong in rule(db))]


def _orders_wrong(db: sqlite3.Connection, folder: Path) -> Iterable[str]:
    known: dict[str, str] = {}
    for order in kept_orders(db):
        name, status, quantity, executed = order.name, order.status, order.quantity, order.executed
        known[name] = status
        fills = db.execute("SELECT price, quantity FROM paper_fill WHERE order_id=?", (order.order_id,)).fetchall()
        got = sum((Decimal(each[1]) for each in fills), Decimal(0))
        paid = sum((Decimal(each[0]) * Decimal(each[1]) for each in fills), Decimal(0))
        if got != executed or paid != order.spent:
            yield f"{name}: filled {got} for {paid}, and says {executed} for {order.spent}"
        if executed > quantity or (status == "FILLED") != (executed == quantity):
            yield f"{name}: {status} with {executed} of {quantity}"
    for what, wanted in (("accepted", None), ("cancelled", "CANCELED")):
        path = folder / what
        for name in path.read_text().split() if path.exists() else ():
            if name not in known or (wanted and known[name] != wanted):
                yield f"{name} was {what} and is {known.get(name)}"


def _lists(orders: Iterable[Kept]) -> Iterable[tuple[list[Kept], list[Kept]]]:
    """Return entries and exits, list by list."""
    found: dict[tuple[str, str], list[Kept]] = defaultdict(list)
    for order in orders:
        if order.list_id is not None:
            found[order.account, order.list_id].append(order)
    for together in found.values():
        yield [each for each in together if each.is_entry], [each for each in together if not each.is_entry]


def _lists_wrong(db: sqlite3.Connection) -> Iterable[str]:
    (seen_ms,) = db.execute("SELECT at_ms FROM paper_tape").fetchone() or (0,)
    for entries, exits in _lists(kept_orders(db)):
        yield from _exits_wrong(exits)
        for order in exits:
            yield from _stop_wrong(order, seen_ms)
        if entries:
            yield from _entry_wrong(db, entries[0], exits)
        elif {each.status for each in exits} & {"PENDING_NEW"} and len({each.status for each in exits}) > 1:
            yield f"{exits[0].list_id}: one has arrived without the other"
        if len(entries) != (exits[0].shape != "OCO"):
            yield f"{exits[0].list_id}: {len(entries)} entries"


def _exits_wrong(exits: list[Kept]) -> Iterable[str]:
    name = exits[0].list_id
    if len(exits) != EXITS[exits[0].shape or ""]:
        yield f"{name}: {len(exits)} exits of {exits[0].shape}"
    went_on = [each for each in exits if each.executed or each.triggered]
    if len(went_on) > 1:
        yield f"{name}: {' and '.join(each.name for each in went_on)} were both filled or triggered"
    if went_on and any(each.status != "EXPIRED" for each in exits if each is not went_on[0]):
        yield f"{name}: {went_on[0].name} came first and did not end the other"
    if not went_on and len({each.is_open for each in exits}) > 1:
        yield f"{name}: one is open without the other"
    if sum(each.executed for each in exits) > exits[0].quantity:
        yield f"{name}: more was filled than the list is of"


def _stop_wrong(order: Kept, seen_ms: int) -> Iterable[str]:
    """Hold a stop against every print since it was in the market."""
    if order.stop is None or order.status not in ("NEW", "PARTIALLY_FILLED", "FILLED"):
        return
    first, last = -(-(order.arrives_ms - BEGAN_MS) // PRINT_MS), (seen_ms - BEGAN_MS) // PRINT_MS
    prices = [printed(number).price for number in range(first, last + 1)]
    is_passed = any(each <= order.stop if order.side == "SELL" else each >= order.stop for each in prices)
    if is_passed != order.triggered:
        yield f"{order.name}: the tape {'came' if is_passed else 'never came'} to {order.stop}"


def _trailing_wrong(db: sqlite3.Connection) -> Iterable[str]:
    """Walk each trailing stop over every print since its start: when it triggers, and that nothing is sold before."""
    (seen_ms,) = db.execute("SELECT at_ms FROM paper_tape").fetchone() or (0,)
    for order in kept_orders(db):
        if order.trailing is None or order.status not in ("NEW", "PARTIALLY_FILLED", "FILLED"):
            continue
        # The print of the moment when it starts has been matched before: it follows from the next one on.
        first, last = (order.arrives_ms - BEGAN_MS) // PRINT_MS + 1, (seen_ms - BEGAN_MS) // PRINT_MS
        tape = [Fraction(printed(number).price) for number in range(first, last + 1)]
        share, is_sale = Fraction(order.trailing, 10_000), order.side == "SELL"
        gone = (
            number
            for number, price in enumerate(tape)
            if (
                price <= max(tape[: number + 1]) * (1 - share)
                if is_sale
                else price >= min(tape[: number + 1]) * (1 + share)
            )
        )
        at = next(gone, None)
        if (at is not None) != order.triggered:
            yield f"{order.name}: the tape {'turned' if at is not None else 'never turned'} by {order.trailing} bps"
        fills = db.execute("SELECT MIN(at_ms) FROM paper_fill WHERE order_id=?", (order.order_id,)).fetchone()
        if fills[0] is not None and (at is None or fills[0] < BEGAN_MS + (first + at) * PRINT_MS):
            yield f"{order.name} was filled at {fills[0]}, and triggered at {at}"


def _entry_wrong(db: sqlite3.Connection, entry: Kept, exits: list[Kept]) -> Iterable[str]:
    said = {each.status for each in exits}
    if entry.is_open and said != {"PENDING_NEW"}:
        yield f"{entry.name} is {entry.status} and its exits {said}"
    if not entry.is_open and "PENDING_NEW" in said:
        yield f"{entry.name} is over and its exits still wait"
    if not entry.is_open and entry.status != "FILLED" and not said <= {"EXPIRED", "REJECTED", "CANCELED"}:
        yield f"{entry.name} is {entry.status} and its exits {said}"
    query = "SELECT price, quantity, commission, at_ms, print FROM paper_fill WHERE order_id=? ORDER BY trade_id"
    fills = db.execute(query, (entry.order_id,)).fetchall()
    received = _received(db, entry)
    for order in exits:
        for _, _, _, at_ms, number in db.execute(query, (order.order_id,)):
            after = max((each[3] for each in fills), default=0)
            if entry.status != "FILLED" or at_ms < after or number in [each[4] for each in fills if each[4]]:
                yield f"{order.name} was filled at {at_ms}, and {entry.name} not before {after}"
        if order.status in ("NEW", "PARTIALLY_FILLED", "FILLED"):
            bound = entry.quantity
            if (order.shape or "").startswith("OPO"):
                bound = received.quantize(STEP, ROUND_DOWN)
            if order.quantity != bound:
                yield f"{order.name} is of {order.quantity}, and should be of {bound}"


def _received(db: sqlite3.Connection, entry: Kept) -> Decimal:
    """Add up what the fills of a purchase have brought."""
    query = "SELECT quantity, commission FROM paper_fill WHERE order_id=?"
    return sum((Decimal(got) - Decimal(cost) for got, cost in db.execute(query, (entry.order_id,))), Decimal(0))


def _locked(db: sqlite3.Connection, account: str) -> dict[str, Decimal]:
    """Add up what open orders hold: those of a list that end each other as much as the dearest of them."""
    locked = defaultdict[str, Decimal](Decimal)
    orders = [each for each in kept_orders(db) if each.account == account]
    for order in orders:
        if order.is_open and (order.list_id is None or order.is_entry):
            locked[order.asset] += order.holds
    for entries, exits in _lists(orders):
        for entry in entries:
            if entry.is_open and (entry.shape or "").startswith("OPO"):
                locked[PAIR.base] += _received(db, entry)
        holding = [each for each in exits if each.is_open and (not entries or each.status != "PENDING_NEW")]
        if holding:
            locked[holding[0].asset] += max(each.holds for each in holding)
    return locked


def _replaced_wrong(db: sqlite3.Connection) -> Iterable[str]:
    status = {each.name: each.status for each in kept_orders(db)}
    for name in status:
        _, has_old, old = name.partition(INSTEAD_OF)
        if has_old and status.get(old) != "CANCELED":
            yield f"{name} was placed in the stead of {old}, which is {status.get(old)}"


def _takers_wrong(db: sqlite3.Connection) -> Iterable[str]:
    """Hold what was taken from a level against the books that stood at about that moment."""
    taken: dict[tuple[str, int, bool, str], Decimal] = defaultdict(Decimal)
    fills = "SELECT account, at_ms, is_buyer, price, quantity FROM paper_fill WHERE print IS NULL"
    for account, at_ms, is_buyer, price, quantity in db.execute(fills):
        taken[account, at_ms, bool(is_buyer), price] += Decimal(quantity)
    for (account, at_ms, is_buyer, price), quantity in taken.items():
        first = (at_ms - BEGAN_MS) // PRINT_MS
        books = [ShownBook(number) for number in range(first, first + PRINTS_A_TURN)]
        shown = [each.displayed("SELL" if is_buyer else "BUY", Price(Decimal(price))) or 0 for each in books]
        if quantity > max(shown):
            yield f"{account} took {quantity} at {price} at {at_ms}, where no more than {max(shown)} stood"


def _balances_wrong(db: sqlite3.Connection) -> Iterable[str]:
    for account in ACCOUNTS:
        total, locked = defaultdict[str, Decimal](Decimal, START), _locked(db, account)
        fills = "SELECT price, quantity, commission, commission_asset, is_buyer FROM paper_fill WHERE account=?"
        for price, quantity, commission, asset, is_buyer in db.execute(fills, (account,)):
            sign = 1 if is_buyer else -1
            total[PAIR.base] += sign * Decimal(quantity)
            total[PAIR.quote] -= sign * Decimal(price) * Decimal(quantity)
            total[asset] -= Decimal(commission)
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
