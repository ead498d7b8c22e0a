"""Usage of each limit, counted in the same transaction as the order. These functions run in the store's thread."""

from dataclasses import dataclass

from mcp_binance_server.trading.journal.records import Intent
from mcp_binance_server.trading.journal.schema import Rows
from mcp_binance_server.trading.judgement.charges import MINUTE_MS, Charge, daily_money, not_counted, window_of


class LimitPassed(Exception):
    """Claim that would exceed a limit; nothing was claimed."""

    def __init__(self, charge: Charge, used: int) -> None:
        super().__init__(f"{charge.name}: {used} of {charge.most} used")
        self.charge, self.used = charge, used


@dataclass(frozen=True, slots=True)
class PositionRoom:
    """Limit for the value of one asset in the account, with the present value and the time it was read."""

    name: str
    asset: str
    held: int
    read_ms: int
    most: int


def take(rows: Rows, account: str, charges: tuple[Charge, ...], now_ms: int) -> None:
    """Charge an order to all limits, or to none.

    Raises:
        LimitPassed: it would pass one of them.
    """
    for charge in charges:
        used = used_of(rows, account, charge, now_ms)
        if charge.breaks(used):
            raise LimitPassed(charge, used)
    count(rows, account, charges, now_ms)


def count(rows: Rows, account: str, charges: tuple[Charge, ...], at_ms: int) -> None:
    """Count an order for the day of its creation. Limits do not apply, because the order already exists."""
    for charge in charges:
        if charge.span == "day":
            rows.execute(
                "INSERT INTO used VALUES (?,?,?,?) ON CONFLICT DO UPDATE SET amount=amount+excluded.amount",
                (account, charge.name, window_of("day", at_ms), charge.amount),
            )


def give_back(rows: Rows, stands: Intent, amount: int) -> None:
    """Refund money to the day on which the intent was charged."""
    day = window_of("day", stands.prepared_ms)
    for name in daily_money(stands.terms, stands.way, stands.purpose):
        rows.execute(
            "UPDATE used SET amount=amount-? WHERE account=? AND name=? AND day=?",
            (amount, stands.terms.account, name, day),
        )


def require_room(rows: Rows, account: str, room: PositionRoom, counted: int) -> None:
    """Check that a buy does not exceed the position limit of its asset.

    Raises:
        LimitPassed: it would pass the limit.
    """
    used = room.held + open_buys(rows, account, room.asset, room.read_ms)
    charge = Charge(room.name, "open", "money", counted, room.most)
    if charge.breaks(used):
        raise LimitPassed(charge, used)


def open_buys(rows: Rows, account: str, asset: str, read_ms: int) -> int:
    """Return the value of an asset that open orders will buy.

    Orders that became final after the balances were read are included, because the balances may lack them.
    """
    bought = "SELECT counted FROM intent WHERE account=?1 AND asset=?2 AND side='BUY' AND"
    query = f"SELECT sum(counted) FROM ({bought} final_ms IS NULL UNION ALL {bought} final_ms>=?3)"
    return rows.execute(query, (account, asset, read_ms)).fetchone()[0] or 0


def used_of(rows: Rows, account: str, charge: Charge, now_ms: int) -> int:
    """Return the usage of one limit.

    Limits of open orders and of the last minute are counted from the orders, entries and exits apart.
    """
    match charge.span:
        case "day":
            query = "SELECT coalesce(sum(amount), 0) FROM used WHERE account=? AND name=? AND day=?"
            given: tuple[object, ...] = (account, charge.name, window_of("day", now_ms))
        case "minute":
            query = "SELECT count(*) FROM intent WHERE account=? AND prepared_ms>? AND purpose NOT IN (?,?)"
            given = (account, now_ms - MINUTE_MS, *not_counted(charge))
        case "open":
            query = "SELECT count(*) FROM intent WHERE account=? AND final_ms IS NULL AND purpose NOT IN (?,?)"
            given = (account, *not_counted(charge))
    (used,) = rows.execute(query, given).fetchone()
    return used


def oldest_of(rows: Rows, account: str, charge: Charge, now_ms: int) -> int | None:
    """Return the time of the oldest order that a limit of the last minute counts; None without one."""
    query = "SELECT min(prepared_ms) FROM intent WHERE account=? AND prepared_ms>? AND purpose NOT IN (?,?)"
    given = (account, now_ms - MINUTE_MS, *not_counted(charge))
    (oldest,) = rows.execute(query, given).fetchone()
    return oldest
