"""Tables of paper accounts: balances, orders, fills and the matching lease.

These functions run in the store's thread.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, get_args

from mcp_binance_server.domain.money import Price, Quantity
from mcp_binance_server.domain.order_requests import Kind, ListShape, Side, TimeInForce, WrittenOrder
from mcp_binance_server.domain.orders import FINAL_STATUS, Fill, Order
from mcp_binance_server.domain.symbols import Symbol
from mcp_binance_server.trading.journal.records import amount_in, count_in, moment_in, one_of, text_in
from mcp_binance_server.trading.journal.store import Rows
from mcp_binance_server.trading.judgement.intent import OrderIntent
from mcp_binance_server.trading.paper.account import PaperAccount
from mcp_binance_server.trading.paper.lists import paying_entries
from mcp_binance_server.trading.paper.order import OPEN, PENDING, ListPart, PaperFill, PaperOrder

ZERO = Decimal(0)
STATUSES = OPEN | FINAL_STATUS
LAST_MS = 2**63 - 1
_OPEN = ",".join(f"'{each}'" for each in sorted(OPEN))
_COLUMNS = (
    "order_id, account, client_order_id, symbol, side, kind, time_in_force, price, stop_price, quantity, executed, "
    "spent, status, reason, ahead, triggered, arrives_ms, created_ms, updated_ms, list_id, shape, is_entry, "
    "trailing_bps, best"
)


@dataclass(frozen=True, slots=True)
class PaperRow:
    """Stored order: the state that the exchange would report, and its queue position."""

    account: str
    order: Order
    ahead: Quantity | None
    is_triggered: bool
    arrives_ms: int
    reason: str
    part: ListPart | None = None
    best: Price | None = None

    def to_paper(self) -> PaperOrder:
        order = self.order
        intent = OrderIntent(order.side, order.kind)  # type: ignore[arg-type] # checked by `_row`
        return PaperOrder(
            order_id=order.order_id,
            side=intent.side,
            kind=intent.kind,
            time_in_force=order.time_in_force,  # type: ignore[arg-type] # checked by `_row`
            price=order.price,
            quantity=order.quantity,
            arrives_ms=self.arrives_ms,
            stop_price=order.stop_price or None,
            trailing_bps=order.trailing_bps,
            best=self.best,
            triggers_above=(bool(order.stop_price) or order.trailing_bps is not None) and intent.triggers_above,
            filled=order.executed,
            ahead=self.ahead,
            is_triggered=self.is_triggered,
            status=order.status,
            part=self.part,
            reason=self.reason,
        )


@dataclass(frozen=True, slots=True)
class SeenPrint:
    """ID and time of a trade on the tape."""

    tape_id: int
    at_ms: int


def read_account(rows: Rows, account: str, start: Mapping[str, Decimal]) -> PaperAccount:
    """Return the balances of an account. A new account has the start balances."""
    found = rows.execute("SELECT asset, free, locked FROM paper_account WHERE account=?", (account,)).fetchall()
    if not found:
        return PaperAccount.starting_with(start)
    free = {text_in(asset): Quantity(amount_in(amount)) for asset, amount, _ in found}
    return PaperAccount(free, {asset: Quantity(amount_in(amount)) for asset, _, amount in found})


def write_account(rows: Rows, account: str, holds: PaperAccount) -> None:
    for each in holds.balances:
        rows.execute(
            "INSERT OR REPLACE INTO paper_account VALUES (?,?,?,?)",
            (account, each.asset, str(each.free), str(each.locked)),
        )


def forget_account(rows: Rows, account: str) -> None:
    """Delete the balances of an account, so that it restarts with the start balances."""
    rows.execute("DELETE FROM paper_account WHERE account=?", (account,))


def forget_old(rows: Rows, before_ms: int) -> None:
    """Delete orders that ended before a time, their fills, and accounts without any orders.

    The newest order and the newest fill stay, because they hold the last numbers.
    """
    rows.execute(
        f"DELETE FROM paper_order WHERE status NOT IN ({_OPEN}) AND updated_ms<? "
        "AND order_id<(SELECT MAX(order_id) FROM paper_order)",
        (before_ms,),
    )
    rows.execute(
        "DELETE FROM paper_fill WHERE order_id NOT IN (SELECT order_id FROM paper_order) "
        "AND trade_id<(SELECT MAX(trade_id) FROM paper_fill)"
    )
    rows.execute("DELETE FROM paper_account WHERE account NOT IN (SELECT account FROM paper_order)")


def insert_order(
    rows: Rows, account: str, order: WrittenOrder, now_ms: int, arrives_ms: int, *, part: ListPart | None = None
) -> PaperRow:
    """Insert a new order. It has not reached the market yet."""
    rows.execute(
        "INSERT INTO paper_order (account, client_order_id, symbol, side, kind, time_in_force, price, stop_price, "
        "quantity, executed, spent, status, reason, ahead, triggered, arrives_ms, created_ms, "
        "updated_ms, list_id, shape, is_entry, trailing_bps) "
        "VALUES (?,?,?,?,?,?,?,?,?,'0','0',?,'',NULL,0,?,?,?,?,?,?,?)",
        (
            account, order.client_order_id, order.symbol, order.side, order.kind, order.time_in_force,
            str(order.price), None if order.stop_price is None else str(order.stop_price), str(order.quantity),
            PENDING, arrives_ms, now_ms, now_ms, part and part.list_id, part and part.shape, part and part.is_entry,
            order.trailing_bps,
        ),
    )  # fmt: skip
    query = f"SELECT {_COLUMNS} FROM paper_order WHERE order_id=last_insert_rowid()"
    return _row(rows.execute(query).fetchone())


def write_order(rows: Rows, order: PaperOrder, spent: Quantity, now_ms: int) -> None:
    rows.execute(
        "UPDATE paper_order SET quantity=?, executed=?, spent=?, status=?, ahead=?, triggered=?, arrives_ms=?, "
        "reason=?, updated_ms=?, best=? WHERE order_id=?",
        (
            str(order.quantity), str(order.filled), str(spent), order.status,
            None if order.ahead is None else str(order.ahead), order.is_triggered, order.arrives_ms, order.reason,
            now_ms, None if order.best is None else str(order.best), order.order_id,
        ),
    )  # fmt: skip


def insert_fill(rows: Rows, row: PaperRow, fill: PaperFill, commission: Quantity, asset: str) -> None:
    """Insert a fill of an order, with its commission."""
    order = row.order
    rows.execute(
        "INSERT INTO paper_fill (order_id, account, symbol, price, quantity, commission, commission_asset, is_buyer, "
        "is_maker, print, at_ms) VALUES (?,?,?,?,?,?,?,?,?,?,?)",
        (
            order.order_id, row.account, order.symbol, str(fill.price), str(fill.quantity), str(commission), asset,
            order.side == "BUY", fill.is_maker, fill.tape_id, fill.at_ms,
        ),
    )  # fmt: skip


def find_order(
    rows: Rows, account: str, symbol: Symbol, client_order_id: str | None = None, order_id: int | None = None
) -> PaperRow | None:
    """Return one order by either of its IDs. The exchange's ID takes precedence."""
    where, given = ("order_id=?", order_id) if order_id is not None else ("client_order_id=?", client_order_id)
    row = rows.execute(
        f"SELECT {_COLUMNS} FROM paper_order WHERE account=? AND symbol=? AND {where}", (account, symbol, given)
    ).fetchone()
    return None if row is None else _row(row)


def list_rows(rows: Rows, account: str, symbol: Symbol, list_id: str) -> list[PaperRow]:
    """Return the orders of a list in the order of insertion."""
    query = f"SELECT {_COLUMNS} FROM paper_order WHERE account=? AND symbol=? AND list_id=? ORDER BY order_id"
    return [_row(row) for row in rows.execute(query, (account, symbol, list_id))]


def received_by(rows: Rows, order_id: int) -> Quantity:
    """Return the quantity that an order has bought, less commission."""
    found = rows.execute("SELECT quantity, commission FROM paper_fill WHERE order_id=?", (order_id,))
    return Quantity(sum((amount_in(quantity) - amount_in(commission) for quantity, commission in found), ZERO))


def set_aside(rows: Rows, orders: Iterable[PaperOrder]) -> Quantity:
    """Return the amount that open entries have received and keep for their exits."""
    return Quantity(sum((received_by(rows, each.order_id) for each in paying_entries(orders)), ZERO))


def open_rows(rows: Rows, account: str | None = None, *, symbol: Symbol | None = None) -> list[PaperRow]:
    """Return open orders, oldest first: of one account, of one symbol, or all."""
    given = {"account": account, "symbol": symbol}
    where = "".join(f" AND {name}=:{name}" for name, value in given.items() if value is not None)
    query = f"SELECT {_COLUMNS} FROM paper_order WHERE status IN ({_OPEN}){where} ORDER BY order_id"
    return [_row(row) for row in rows.execute(query, given)]


def open_symbols(rows: Rows) -> frozenset[Symbol]:
    """Return the symbols with open orders, of any account."""
    found = rows.execute(f"SELECT DISTINCT symbol FROM paper_order WHERE status IN ({_OPEN})")
    return frozenset(Symbol(symbol) for (symbol,) in found)


def open_marks(rows: Rows) -> frozenset[tuple[str, int, str, str]]:
    """Return account, number, status and executed quantity of each open order.

    Owners are notified when this set changes.
    """
    return frozenset(
        rows.execute(f"SELECT account, order_id, status, executed FROM paper_order WHERE status IN ({_OPEN})")
    )


def file_version(rows: Rows) -> tuple[int, int]:
    """Return a value that changes when any process writes to the file."""
    return rows.execute("PRAGMA data_version").fetchone()[0], rows.total_changes


def orders_between(
    rows: Rows, account: str, symbol: Symbol, limit: int, *, start_ms: int | None, end_ms: int | None
) -> list[PaperRow]:
    """Return the newest orders, oldest first. With `start_ms`, return the first orders since then."""
    query = f"SELECT {_COLUMNS} FROM paper_order WHERE account=? AND symbol=? AND created_ms BETWEEN ? AND ?"
    given = account, symbol, start_ms or 0, LAST_MS if end_ms is None else end_ms, limit
    if start_ms is not None:
        return [_row(row) for row in rows.execute(f"{query} ORDER BY order_id LIMIT ?", given)]
    return [_row(row) for row in rows.execute(f"{query} ORDER BY order_id DESC LIMIT ?", given)][::-1]


def fills_between(
    rows: Rows,
    account: str,
    symbol: Symbol,
    limit: int,
    *,
    order_id: int | None = None,
    start_ms: int | None = None,
    end_ms: int | None = None,
) -> list[Fill]:
    """Return the newest fills, oldest first. With `start_ms`, return the first fills since then."""
    where, of_order = ("", ()) if order_id is None else (" AND order_id=?", (order_id,))
    query = (
        "SELECT trade_id, order_id, symbol, price, quantity, commission, commission_asset, at_ms, is_buyer, is_maker "
        f"FROM paper_fill WHERE account=? AND symbol=?{where} AND at_ms BETWEEN ? AND ?"
    )
    given = account, symbol, *of_order, start_ms or 0, LAST_MS if end_ms is None else end_ms, limit
    if start_ms is not None:
        return [_fill(row) for row in rows.execute(f"{query} ORDER BY trade_id LIMIT ?", given)]
    return [_fill(row) for row in rows.execute(f"{query} ORDER BY trade_id DESC LIMIT ?", given)][::-1]


def take_matcher(rows: Rows, owner: str, now_ms: int, ttl_ms: int) -> int | None:
    """Acquire or renew the matching lease. Return its token, or None while another process holds it."""
    row = rows.execute("SELECT owner, token, until_ms FROM paper_matcher").fetchone()
    holder, token, until_ms = row or (owner, 0, 0)
    # A later expiry was written before the machine's clock was set back.
    is_held = now_ms < until_ms <= now_ms + ttl_ms
    if is_held and holder != owner:
        return None
    token = token if is_held else token + 1
    rows.execute("INSERT OR REPLACE INTO paper_matcher VALUES (1,?,?,?)", (owner, token, now_ms + ttl_ms))
    return token


def name_matcher(rows: Rows, owner: str, token: int) -> bool:
    """Record the holder of a lease that the state engine grants. Return False if a newer token is recorded."""
    row = rows.execute("SELECT token FROM paper_matcher").fetchone()
    if row is not None and row[0] > token:
        return False
    rows.execute("INSERT OR REPLACE INTO paper_matcher VALUES (1,?,?,0)", (owner, token))
    return True


def release_matcher(rows: Rows, token: int) -> None:
    """Release the lease, unless another process has acquired it."""
    rows.execute("UPDATE paper_matcher SET until_ms=0 WHERE token=?", (token,))


def is_matcher(rows: Rows, token: int) -> bool:
    """Return True if no other process has acquired the lease since the token was issued."""
    row = rows.execute("SELECT token FROM paper_matcher").fetchone()
    return row is not None and row[0] == token


def tape_seen(rows: Rows, symbol: Symbol) -> SeenPrint | None:
    """Return the last trade that was matched on a symbol."""
    row = rows.execute("SELECT print, at_ms FROM paper_tape WHERE symbol=?", (symbol,)).fetchone()
    return None if row is None else SeenPrint(*row)


def write_tape_seen(rows: Rows, symbol: Symbol, seen: SeenPrint) -> None:
    rows.execute("INSERT OR REPLACE INTO paper_tape VALUES (?,?,?)", (symbol, seen.tape_id, seen.at_ms))


def _row(row: tuple[Any, ...]) -> PaperRow:
    order_id, account, name, symbol, side, kind, force, price, stop, quantity, executed, spent, status, *rest = row
    reason, ahead, triggered, arrives_ms, created_ms, updated_ms, list_id, shape, is_entry, trailing_bps, best = rest
    order = Order(
        order_id=count_in(order_id),
        client_order_id=text_in(name),
        symbol=Symbol(text_in(symbol)),
        side=one_of(side, get_args(Side)),
        kind=one_of(kind, get_args(Kind)),
        status=one_of(status, STATUSES),
        time_in_force=one_of(force, get_args(TimeInForce)),
        price=Price(amount_in(price)),
        stop_price=Price(amount_in(stop) if stop is not None else ZERO),
        quantity=Quantity(amount_in(quantity)),
        executed=Quantity(amount_in(executed)),
        quote_spent=Quantity(amount_in(spent)),
        created_ms=moment_in(created_ms),
        updated_ms=moment_in(updated_ms),
        list_id="" if list_id is None else text_in(list_id),
        trailing_bps=None if trailing_bps is None else count_in(trailing_bps),
        trailing_ms=None if best is None else moment_in(arrives_ms),
    )
    stands = None if ahead is None else Quantity(amount_in(ahead))
    part = None if list_id is None else ListPart(text_in(list_id), _shape(shape), bool(is_entry))
    arrives, seen = moment_in(arrives_ms), None if best is None else Price(amount_in(best))
    return PaperRow(text_in(account), order, stands, bool(triggered), arrives, text_in(reason), part, seen)


def _shape(value: object) -> ListShape:
    for shape in get_args(ListShape):
        if value == shape:
            return shape
    raise ValueError("no word of ours")


def _fill(row: tuple[Any, ...]) -> Fill:
    trade_id, order_id, symbol, price, quantity, commission, asset, at_ms, is_buyer, is_maker = row
    amount = Quantity(amount_in(quantity))
    return Fill(
        trade_id=count_in(trade_id),
        order_id=count_in(order_id),
        symbol=Symbol(text_in(symbol)),
        price=Price(amount_in(price)),
        quantity=amount,
        quote_quantity=Quantity(amount_in(price) * amount),
        commission=Quantity(amount_in(commission)),
        commission_asset=text_in(asset),
        time_ms=moment_in(at_ms),
        is_buyer=bool(is_buyer),
        is_maker=bool(is_maker),
    )
