"""Claims, limits and the states of intents: each change is one transaction that every process of this host sees."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from mcp_binance_server.domain.money import Quantity
from mcp_binance_server.domain.orders import Order
from mcp_binance_server.trading.charges import MINUTE_MS, Charge, daily_money, given_back, window_of
from mcp_binance_server.trading.journal.chain import Event, link
from mcp_binance_server.trading.journal.records import (
    FINAL_STATUS,
    NEVER_EXECUTED,
    NEXT,
    UNRESOLVED,
    IllegalMove,
    Intent,
    IntentState,
    NewIntent,
    Stopped,
)
from mcp_binance_server.trading.journal.store import Rows, Store
from mcp_binance_server.trading.terms import PreviewId, Terms

STOP_FILE = "STOP"
INTENT_COLUMNS = (
    "id, client_order_id, visitor, owner, state, status, order_id, executed, spent, counted, way, terms, "
    "prepared_ms, updated_ms, final_ms"
)


class LimitPassed(Exception):
    """A claim that would pass a limit; nothing was claimed."""

    def __init__(self, charge: Charge, used: int) -> None:
        super().__init__(f"{charge.name}: {used} of {charge.most} used")
        self.charge, self.used = charge, used


class TradingIsStopped(Exception):
    """A claim or a sending while trading is stopped; nothing was changed."""

    def __init__(self, stopped: Stopped) -> None:
        super().__init__(stopped.why)
        self.stopped = stopped


@dataclass(frozen=True, slots=True)
class PositionRoom:
    """How much of an asset may be held: what is held by value, and when that was read."""

    name: str
    asset: str
    held: int
    read_ms: int
    most: int


@dataclass(frozen=True, slots=True)
class HostLedger:
    """The journal of one folder, for one process."""

    store: Store
    owner: str

    async def claim(
        self, new: NewIntent, charges: tuple[Charge, ...], now_ms: int, room: PositionRoom | None = None
    ) -> tuple[Intent, bool]:
        """Claim an intent and its part of every limit, or nothing; return it, and whether it is new.

        The second caller with the same intent gets what the first has made of it: an intent is its own idempotency key.

        Raises:
            LimitPassed: a limit does not allow it.
            TradingIsStopped: no new order is taken.
        """

        def work(rows: Rows) -> tuple[Intent, bool]:
            if (found := find(rows, new.preview_id)) is not None:
                return found, False
            self._require_started(rows)
            account = new.terms.account
            for charge in charges:
                used = used_of(rows, account, charge, now_ms)
                if charge.breaks(used):
                    raise LimitPassed(charge, used)
            if room is not None:
                _require_room(rows, account, room, new.terms.counted)
            for charge in charges:
                if charge.span == "day":
                    _take(rows, account, charge.name, window_of("day", now_ms), charge.amount)
            _insert(rows, new, self.owner, now_ms)
            append(rows, now_ms, new.preview_id, "PREPARED", _first_facts(new))
            return _found(rows, new.preview_id), True

        return await self.store.write(work)

    async def mark_sent(self, preview_id: PreviewId, now_ms: int) -> None:
        """Write that it leaves now: the last moment at which a stop still holds it back.

        Raises:
            TradingIsStopped: it must not leave.
            IllegalMove: somebody has settled it meanwhile.
        """

        def work(rows: Rows) -> None:
            self._require_started(rows)
            move(rows, preview_id, "SENT", {}, now_ms)

        await self.store.write(work)

    async def move(self, preview_id: PreviewId, state: IntentState, facts: Mapping[str, Any], now_ms: int) -> Intent:
        """Write what became of an intent; writing the same again changes nothing.

        Raises:
            IllegalMove: that cannot follow on what stands.
        """
        return await self.store.write(lambda rows: move(rows, preview_id, state, facts, now_ms))

    async def follow(self, preview_id: PreviewId, order: Order, now_ms: int) -> Intent:
        """Write what the exchange says of the order; knowledge only grows."""
        return await self.store.write(lambda rows: follow(rows, preview_id, order, now_ms))

    async def note(self, state: str, facts: Mapping[str, Any], now_ms: int, about: str = "") -> None:
        """Write an event that changes no intent: a no, a refusal, a change of the rules."""
        await self.store.write(lambda rows: append(rows, now_ms, about, state, facts))

    async def find(self, preview_id: PreviewId) -> Intent | None:
        return await self.store.read(lambda rows: find(rows, preview_id))

    async def used(self, account: str, charges: tuple[Charge, ...], now_ms: int) -> dict[str, int]:
        """Return what is used of each limit."""
        return await self.store.read(lambda rows: {each.name: used_of(rows, account, each, now_ms) for each in charges})

    async def unresolved(self, account: str | None = None) -> list[Intent]:
        """Return the intents that nobody knows the end of, the oldest first."""
        return await self.store.read(lambda rows: unresolved(rows, account))

    async def stop(self, why: str, by: str, now_ms: int) -> Stopped:
        """Stop every new order; the first reason stays."""

        def work(rows: Rows) -> Stopped:
            if (stopped := self._stopped(rows)) is not None:
                return stopped
            rows.execute("INSERT INTO stop VALUES (1,?,?)", (why, now_ms))
            append(rows, now_ms, "", "STOPPED", {"why": why, "by": by})
            return Stopped(why, now_ms)

        return await self.store.write(work)

    async def resume(self, by: str, now_ms: int) -> None:
        """Take new orders again: the row and the file are gone."""

        def work(rows: Rows) -> None:
            (self.store.folder / STOP_FILE).unlink(missing_ok=True)
            rows.execute("DELETE FROM stop")
            append(rows, now_ms, "", "RESUMED", {"by": by})

        await self.store.write(work)

    async def stopped(self) -> Stopped | None:
        return await self.store.read(self._stopped)

    def _require_started(self, rows: Rows) -> None:
        if (stopped := self._stopped(rows)) is not None:
            raise TradingIsStopped(stopped)

    def _stopped(self, rows: Rows) -> Stopped | None:
        row = rows.execute("SELECT why, since_ms FROM stop").fetchone()
        if row is not None:
            return Stopped(*row)
        try:
            since_ms = (self.store.folder / STOP_FILE).stat().st_mtime_ns // 1_000_000
        except OSError:
            return None
        return Stopped(f"the file {STOP_FILE} is in the trading folder", since_ms)


def find(rows: Rows, preview_id: str) -> Intent | None:
    row = rows.execute(f"SELECT {INTENT_COLUMNS} FROM intent WHERE id=?", (preview_id,)).fetchone()
    return None if row is None else to_intent(row)


def move(rows: Rows, preview_id: PreviewId, state: IntentState, facts: Mapping[str, Any], now_ms: int) -> Intent:
    stands = _found(rows, preview_id)
    if stands.state == state:
        return stands
    if state not in NEXT[stands.state]:
        raise IllegalMove(f"{stands.state} -> {state}")
    is_over = state in NEVER_EXECUTED
    final_ms = now_ms if is_over else stands.final_ms
    rows.execute(
        "UPDATE intent SET state=?, updated_ms=?, final_ms=? WHERE id=?", (state, now_ms, final_ms, preview_id)
    )
    if is_over:
        _give_back(rows, stands, stands.counted)
    append(rows, now_ms, preview_id, state, facts)
    return _found(rows, preview_id)


def follow(rows: Rows, preview_id: PreviewId, order: Order, now_ms: int) -> Intent:
    stands = _found(rows, preview_id)
    is_news = stands.final_ms is None and (order.status, order.executed) != (stands.status, stands.executed)
    if not is_news or order.executed < stands.executed:
        return stands
    is_final = order.status in FINAL_STATUS
    rows.execute(
        "UPDATE intent SET status=?, order_id=?, executed=?, spent=?, updated_ms=?, final_ms=? WHERE id=?",
        (
            order.status,
            order.order_id,
            str(order.executed),
            str(order.quote_spent),
            now_ms,
            now_ms if is_final else None,
            preview_id,
        ),
    )
    if is_final:
        _give_back(rows, stands, given_back(stands.counted, stands.terms.quantity, order.executed))
    facts = {"status": order.status, "executed": str(order.executed), "spent": str(order.quote_spent)}
    append(rows, now_ms, preview_id, "STATUS", facts)
    return _found(rows, preview_id)


def unresolved(rows: Rows, account: str | None) -> list[Intent]:
    marks = ",".join("?" * len(UNRESOLVED))
    where = f"state IN ({marks})" + ("" if account is None else " AND account=?")
    given = (*UNRESOLVED, *(() if account is None else (account,)))
    found = rows.execute(f"SELECT {INTENT_COLUMNS} FROM intent WHERE {where} ORDER BY prepared_ms", given)
    return [to_intent(row) for row in found]


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


def append(rows: Rows, now_ms: int, about: str, state: str, facts: Mapping[str, Any]) -> Event:
    """Add one event to the chain."""
    row = rows.execute("SELECT * FROM event ORDER BY seq DESC LIMIT 1").fetchone()
    event = link(None if row is None else Event(*row), now_ms, about, state, facts)
    rows.execute(
        "INSERT INTO event VALUES (?,?,?,?,?,?,?)",
        (event.seq, event.at_ms, event.about, event.state, event.facts, event.prev, event.hash),
    )
    return event


def to_intent(row: tuple[Any, ...]) -> Intent:
    preview_id, name, visitor, owner, state, status, order_id, executed, spent, counted, way, terms, *times = row
    return Intent(
        PreviewId(preview_id),
        name,
        visitor,
        owner,
        state,
        status,
        order_id,
        Quantity(Decimal(executed)),
        Quantity(Decimal(spent)),
        counted,
        way,
        Terms.from_json(terms),
        *times,
    )


def _found(rows: Rows, preview_id: str) -> Intent:
    found = find(rows, preview_id)
    if found is None:
        raise IllegalMove(f"no intent {preview_id}")
    return found


def _insert(rows: Rows, new: NewIntent, owner: str, now_ms: int) -> None:
    terms = new.terms
    rows.execute(
        "INSERT INTO intent VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
        (
            new.preview_id, new.client_order_id, terms.account, new.visitor, owner, terms.symbol, new.asset,
            terms.side, "PREPARED", "", None, str(terms.quantity), "0", "0", terms.counted, new.way, terms.to_json(),
            now_ms, now_ms, None,
        ),
    )  # fmt: skip


def _first_facts(new: NewIntent) -> dict[str, object]:
    return {"terms": new.terms.to_json(), "way": new.way, "client_order_id": new.client_order_id}


def _take(rows: Rows, account: str, name: str, day: int, amount: int) -> None:
    rows.execute(
        "INSERT INTO used VALUES (?,?,?,?) ON CONFLICT DO UPDATE SET amount=amount+excluded.amount",
        (account, name, day, amount),
    )


def _give_back(rows: Rows, stands: Intent, amount: int) -> None:
    day = window_of("day", stands.prepared_ms)
    for name in daily_money(stands.terms, stands.way):
        rows.execute(
            "UPDATE used SET amount=amount-? WHERE account=? AND name=? AND day=?",
            (amount, stands.terms.account, name, day),
        )


def _require_room(rows: Rows, account: str, room: PositionRoom, counted: int) -> None:
    # What has become final since the balances were read may not be in them yet.
    (open_buys,) = rows.execute(
        "SELECT coalesce(sum(counted), 0) FROM intent WHERE account=? AND asset=? AND side='BUY' "
        "AND (final_ms IS NULL OR final_ms>=?)",
        (account, room.asset, room.read_ms),
    ).fetchone()
    charge = Charge(room.name, "open", "money", counted, room.most)
    if charge.breaks(room.held + open_buys):
        raise LimitPassed(charge, room.held + open_buys)
