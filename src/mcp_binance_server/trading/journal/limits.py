"""What is used of each limit, counted in the very transaction that takes more. Work for the store's thread."""

from dataclasses import dataclass

from mcp_binance_server.trading.journal.records import Intent
from mcp_binance_server.trading.journal.schema import Rows
from mcp_binance_server.trading.judgement.charges import MINUTE_MS, Charge, daily_money, window_of


class LimitPassed(Exception):
    """A claim that would pass a limit; nothing was claimed."""

    def __init__(self, charge: Charge, used: int) -> None:
        super().__init__(f"{charge.name}: {used} of {charge.most} used")
        self.charge, self.used = charge, used


@dataclass(frozen=True, slots=True)
class PositionRoom:
    """How much of an asset may be held: what is held by value, and when that was read."""

    name: str
    asset: str
    held: int
    read_ms: int
    most: int


def take(rows: Rows, account: str, charges: tuple[Charge, ...], now_ms: int) -> None:
    """Take an order's part of every limit, or of none.

    Raises:
        LimitPassed: one of them does not allow it.
    """
    for charge in charges:
        used = used_of(rows, account, charge, now_ms)
        if charge.breaks(used):
            raise LimitPassed(charge, used)
    count(rows, account, charges, now_ms)


def count(rows: Rows, account: str, charges: tuple[Charge, ...], at_ms: int) -> None:
    """Count an order in the day it was made on, whatever limits say: one that stands is counted, not judged."""
    for charge in charges:
        if charge.span == "day":
            rows.execute(
                "INSERT INTO used VALUES (?,?,?,?) ON CONFLICT DO UPDATE SET amount=amount+excluded.amount",
                (account, charge.name, window_of("day", at_ms), charge.amount),
            )


def give_back(rows: Rows, stands: Intent, amount: int) -> None:
    """Give money back to the day that an intent was counted in."""
    day = window_of("day", stands.prepared_ms)
    for name in daily_money(stands.terms, stands.way):
        rows.execute(
            "UPDATE used SET amount=amount-? WHERE account=? AND name=? AND day=?",
            (amount, stands.terms.account, name, day),
        )


def require_room(rows: Rows, account: str, room: PositionRoom, counted: int) -> None:
    """See to it that a buy leaves the asset below what may be held of it.

    Raises:
        LimitPassed: it would not.
    """
    used = room.held + open_buys(rows, account, room.asset, room.read_ms)
    charge = Charge(room.name, "open", "money", counted, room.most)
    if charge.breaks(used):
        raise LimitPassed(charge, used)


def open_buys(rows: Rows, account: str, asset: str, read_ms: int) -> int:
    """Return what open orders buy of an asset; what has become final since balances were read may not be in them."""
    bought = "SELECT counted FROM intent WHERE account=?1 AND asset=?2 AND side='BUY' AND"
    query = f"SELECT sum(counted) FROM ({bought} final_ms IS NULL UNION ALL {bought} final_ms>=?3)"
    return rows.execute(query, (account, asset, read_ms)).fetchone()[0] or 0


def used_of(rows: Rows, account: str, charge: Charge, now_ms: int) -> int:
    """Return what is used of one limit; orders that are open, and those of the last minute, are counted one by one."""
    match charge.span:
        case "day":
            query = "SELECT coalesce(sum(amount), 0) FROM used WHERE account=? AND name=? AND day=?"
            given: tuple[object, ...] = (account, charge.name, window_of("day", now_ms))
        case "minute":
            query = "SELECT count(*) FROM intent WHERE account=? AND prepared_ms>?"
            given = (account, now_ms - MINUTE_MS)
        case "open":
            query = "SELECT count(*) FROM intent WHERE account=? AND final_ms IS NULL"
            given = (account,)
    (used,) = rows.execute(query, given).fetchone()
    return used
