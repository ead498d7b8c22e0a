"""Queries of the journal: newest intents, history of an intent, recent orders, integrity."""

import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal

from mcp_binance_server.domain.symbols import Symbol
from mcp_binance_server.trading.journal.chain import Event, all_events, broken_link
from mcp_binance_server.trading.journal.intents import INTENT_COLUMNS, named, to_intent
from mcp_binance_server.trading.journal.limits import PositionRoom, oldest_of, open_buys, used_of
from mcp_binance_server.trading.journal.records import (
    LAST_MOMENT_MS,
    NEXT,
    UNRESOLVED,
    Intent,
    IntentState,
    Stopped,
    amount_in,
    legs_in,
    moment_in,
    one_of,
    text_in,
)
from mcp_binance_server.trading.journal.schema import one_moment
from mcp_binance_server.trading.journal.stops import stopped_in, stops_in
from mcp_binance_server.trading.journal.store import Rows, Store
from mcp_binance_server.trading.judgement.charges import DAY_MS, Charge
from mcp_binance_server.trading.judgement.exposure import Holding, OpenOrder
from mcp_binance_server.trading.judgement.guards import DUPLICATE_MS, RecentOrder
from mcp_binance_server.trading.judgement.terms import PreviewId, Terms, is_made_here

# Event: a paper account was given its initial balances again.
PAPER_RESET = "PAPER_RESET"


@dataclass(frozen=True, slots=True)
class Traded:
    """Amounts of one symbol bought and sold in a day, in its base and quote assets."""

    symbol: str
    bought: Decimal
    paid: Decimal
    sold: Decimal
    received: Decimal


@dataclass(frozen=True, slots=True)
class OrderPast:
    """Inputs of the guards from the journal: the stop, the usage of limits, and orders that may be repeated."""

    stopped: Stopped | None
    used: dict[str, int]
    open_buys: int
    """Value that open orders will buy of the order's asset, in hundredths.

    Includes orders that ended since the balances were read.
    """
    recent: tuple[RecentOrder, ...]
    orders: tuple[OpenOrder, ...] = ()
    """Orders of the same asset that are open, or ended since the balances were read."""
    oldest_ms: Mapping[str, int] = field(default_factory=dict[str, int])
    """Time of the oldest order in the last minute, by the name of its limit."""


@dataclass(frozen=True, slots=True)
class JournalReader:
    """Read-only queries of one journal."""

    store: Store

    async def newest(self, limit: int, account: str | None = None, before_ms: int | None = None) -> list[Intent]:
        """Return the newest intents of one account or of all, newest first.

        Of several intents in one millisecond, the last written comes first.
        """
        # With OR in the condition, SQLite would read all rows. Without OR, the index on the account finds the newest
        # intents.
        of = "" if account is None else "account=:account AND "

        def work(rows: Rows) -> list[Intent]:
            query = (
                f"SELECT {INTENT_COLUMNS} FROM intent WHERE {of}prepared_ms<:before ORDER BY prepared_ms DESC, "
                "(SELECT min(seq) FROM event WHERE about=intent.id) DESC LIMIT :limit"
            )
            given = {"account": account, "before": LAST_MOMENT_MS if before_ms is None else before_ms, "limit": limit}
            return [to_intent(row) for row in rows.execute(query, given)]

        return await self.store.read(work)

    async def by_client_order_id(self, account: str, client_order_id: str) -> Intent | None:
        """Return the intent of an order of one account. For an order in a list, return the intent of the list."""
        found = await self.of_any_account(client_order_id)
        return found if found is not None and found.terms.account == account else None

    async def states_of(self, client_order_ids: Collection[str]) -> dict[str, IntentState]:
        """Return the state of each order that is in the journal, for any account."""

        def work(rows: Rows) -> dict[str, IntentState]:
            found = {each: named(rows, each) for each in client_order_ids}
            return {name: intent.state for name, intent in found.items() if intent is not None}

        return await self.store.read(work)

    async def market_orders(self, client_order_ids: Collection[str]) -> frozenset[str]:
        """Return the IDs of the given orders that were agreed as market orders, of any account."""

        def is_market(rows: Rows, name: str) -> bool:
            intent = named(rows, name) if is_made_here(name) else None
            return intent is not None and intent.terms.is_market and intent.order_ids[0] == name

        def work(rows: Rows) -> frozenset[str]:
            return frozenset(each for each in client_order_ids if is_market(rows, each))

        return await self.store.read(work)

    async def adopted(self, account: str, since_ms: int) -> list[Intent]:
        """Return the orders adopted from the exchange since `since_ms`, oldest first.

        Orders of other workers are excluded: their visitor is known.
        """
        query = (
            f"SELECT {INTENT_COLUMNS} FROM intent WHERE account=? AND state='ADOPTED' AND visitor='' AND id IN "
            "(SELECT about FROM event WHERE state='ADOPTED' AND at_ms>=?) ORDER BY prepared_ms"
        )
        given = (account, since_ms)
        return await self.store.read(lambda rows: [to_intent(row) for row in rows.execute(query, given)])

    async def symbols_since(self, account: str, since_ms: int) -> list[Symbol]:
        """Return the symbols that an account has ordered since `since_ms`."""
        query = "SELECT DISTINCT symbol FROM intent WHERE account=? AND prepared_ms>=? ORDER BY symbol"
        given = (account, since_ms)
        return await self.store.read(lambda rows: [Symbol(row[0]) for row in rows.execute(query, given)])

    async def traded_since(self, account: str, since_ms: int) -> list[Symbol]:
        """Return the symbols with executed orders that an account has made since `since_ms`."""
        query = (
            "SELECT DISTINCT symbol FROM intent WHERE account=? AND prepared_ms>=? AND executed<>'0' ORDER BY symbol"
        )
        given = (account, since_ms)
        return await self.store.read(lambda rows: [Symbol(row[0]) for row in rows.execute(query, given)])

    async def reset_ms(self, account: str) -> int:
        """Return the time of the last reset of a paper account, in ms; 0 if it was never reset."""

        def work(rows: Rows) -> int:
            found = rows.execute("SELECT at_ms, facts FROM event WHERE state=? ORDER BY seq DESC", (PAPER_RESET,))
            return next((at_ms for at_ms, facts in found if json.loads(facts).get("account") == account), 0)

        return await self.store.read(work)

    async def of_any_account(self, client_order_id: str) -> Intent | None:
        """Return an intent of any account. Use it only for the desk and the operator of this machine."""
        return await self.store.read(lambda rows: named(rows, client_order_id))

    async def tally(self) -> dict[IntentState, int]:
        """Count the intents of every account by their state."""
        query = "SELECT state, count(*) FROM intent GROUP BY state"
        return await self.store.read(lambda rows: dict(rows.execute(query).fetchall()))

    async def base_of(self, symbol: str) -> str:
        """Return the base asset of a symbol that was ordered here.

        Raises:
            KeyError: the symbol was never ordered.
        """
        query = "SELECT asset FROM intent WHERE symbol=? LIMIT 1"
        row = await self.store.read(lambda rows: rows.execute(query, (symbol,)).fetchone())
        if row is None:
            raise KeyError(symbol)
        return row[0]

    async def asset_of(self, preview_id: PreviewId) -> str:
        """Return the asset of an intent; "" if the intent is not here."""
        query = "SELECT asset FROM intent WHERE id=?"
        row = await self.store.read(lambda rows: rows.execute(query, (preview_id,)).fetchone())
        return "" if row is None else row[0]

    async def since_or_open(self, account: str, since_ms: int) -> list[Intent]:
        """Return the intents of an account that began since `since_ms` or are not final, oldest first."""
        query = (
            f"SELECT {INTENT_COLUMNS} FROM intent WHERE account=? AND (prepared_ms>=? OR final_ms IS NULL) "
            "ORDER BY prepared_ms"
        )
        given = (account, since_ms)
        return await self.store.read(lambda rows: [to_intent(row) for row in rows.execute(query, given)])

    async def events_since(self, seq: int) -> list[Event]:
        """Return the events after number `seq`, the oldest first."""
        query = "SELECT * FROM event WHERE seq>? ORDER BY seq"
        return await self.store.read(lambda rows: [Event(*row) for row in rows.execute(query, (seq,))])

    async def changed_since(self, seq: int) -> tuple[int, frozenset[str]]:
        """Return the number of the newest event, and the accounts whose orders have events after `seq`."""

        def work(rows: Rows) -> tuple[int, frozenset[str]]:
            (newest,) = rows.execute("SELECT coalesce(max(seq), 0) FROM event").fetchone()
            query = "SELECT DISTINCT account FROM event JOIN intent ON intent.id=event.about WHERE seq>? AND seq<=?"
            return newest, frozenset(account for (account,) in rows.execute(query, (seq, newest)))

        return await self.store.read(work)

    async def history(self, preview_id: PreviewId) -> list[Event]:
        """Return every event of an intent, oldest first."""
        query = "SELECT * FROM event WHERE about=? ORDER BY seq"
        return await self.store.read(lambda rows: [Event(*row) for row in rows.execute(query, (preview_id,))])

    async def stops(self) -> list[Stopped]:
        """Return all stops, the global one first. Use it only for the operator of this machine."""
        return await self.store.read(lambda rows: stops_in(rows, self.store))

    async def past(
        self,
        terms: Terms,
        charges: tuple[Charge, ...],
        now_ms: int,
        room: PositionRoom | None,
        holding: Holding | None = None,
    ) -> OrderPast:
        """Read the inputs of the guards from the journal."""

        def work(rows: Rows) -> OrderPast:
            with one_moment(rows):
                return past_of(rows, self.store, terms, charges, now_ms, room, holding)

        return await self.store.read(work)

    async def traded(self, account: str, now_ms: int) -> list[Traded]:
        """Return today's traded amounts by symbol."""

        def work(rows: Rows) -> list[Traded]:
            query = "SELECT symbol, side, executed, spent, legs FROM intent WHERE account=? AND prepared_ms>=?"
            sums: dict[str, list[Decimal]] = {}
            for symbol, side, executed, spent, legs in rows.execute(query, (account, now_ms // DAY_MS * DAY_MS)):
                own = sums.setdefault(symbol, [Decimal(0)] * 4)
                first = 0 if side == "BUY" else 2
                own[first] += amount_in(executed)
                own[first + 1] += amount_in(spent)
                if first == 0:  # the exits of an entry are sales; a pair that sells is already counted as a whole
                    for each in legs_in(legs):
                        own[2] += 0 if each.is_entry else each.executed
                        own[3] += 0 if each.is_entry else each.spent
            return [Traded(symbol, *own) for symbol, own in sums.items()]

        return await self.store.read(work)

    async def bought_here(self, account: str, asset: str) -> Decimal:
        """Return the quantity of an asset that orders of the journal have bought and not yet sold."""

        def work(rows: Rows) -> Decimal:
            query = "SELECT side, executed, legs FROM intent WHERE account=? AND asset=? AND executed<>'0'"
            bought = Decimal(0)
            for side, executed, legs in rows.execute(query, (account, asset)):
                bought += amount_in(executed) if side == "BUY" else -amount_in(executed)
                if side == "BUY":
                    bought -= sum((each.executed for each in legs_in(legs) if not each.is_entry), Decimal(0))
            return bought

        return await self.store.read(work)

    async def failed_exits(self, account: str) -> dict[str, list[Intent]]:
        """Return orders with a failed exit.

        Also return, by asset, the later sales and the open sales of the same assets.
        """

        def work(rows: Rows) -> dict[str, list[Intent]]:
            columns = ", ".join(f"intent.{each.strip()}" for each in INTENT_COLUMNS.split(","))
            own = f"SELECT asset, {columns} FROM intent WHERE account=?"
            found: dict[str, list[Intent]] = {}
            for asset, *row in rows.execute(f"{own} AND at_risk<>'0'", (account,)):
                found.setdefault(asset, []).append(to_intent(tuple(row)))
            for asset, failed in found.items():
                since_ms = min(each.final_ms or 0 for each in failed)
                plans = {each.released_for for each in failed}
                named = ",".join("?" * len(plans))
                sales = (
                    f"{own} AND asset=? AND side='SELL' AND at_risk='0' AND (prepared_ms>=? OR id IN ({named})) "
                    "AND (executed<>'0' OR final_ms IS NULL OR status='CANCELED')"
                )
                given = (account, asset, since_ms, *plans)
                failed += [to_intent(tuple(row)) for _, *row in rows.execute(sales, given)]
            return found

        return await self.store.read(work)

    async def orders_of(self, account: str, holding: Holding) -> list[OpenOrder]:
        """Return the orders of an asset that are open, or ended since its balance was read.

        An order that was not found is left out: most likely it sells nothing.
        """
        return await self.store.read(lambda rows: [*_orders(rows, account, holding, "AND state<>'NOT_PLACED'")])

    async def broken_link(self) -> int | None:
        """Return the number of the first event that breaks the hash chain, or None if the journal is intact."""
        return await self.store.read(lambda rows: broken_link(all_events(rows)))


def past_of(  # noqa: PLR0917 - all inputs of a limit
    rows: Rows,
    store: Store,
    terms: Terms,
    charges: tuple[Charge, ...],
    now_ms: int,
    room: PositionRoom | None,
    holding: Holding | None = None,
) -> OrderPast:
    """Read the inputs of the guards from the journal. Runs in the store's thread."""
    minutes = [each for each in charges if each.span == "minute"]
    return OrderPast(
        stopped_in(rows, store, terms.account),
        {each.name: used_of(rows, terms.account, each, now_ms) for each in charges},
        0 if room is None else open_buys(rows, terms.account, room.asset, room.read_ms),
        tuple(_recent(rows, terms, now_ms)),
        () if holding is None else tuple(_orders(rows, terms.account, holding)),
        {each.name: oldest for each in minutes if (oldest := oldest_of(rows, terms.account, each, now_ms)) is not None},
    )


def _orders(rows: Rows, account: str, holding: Holding, only: str = "") -> Iterator[OpenOrder]:
    own = f"SELECT {INTENT_COLUMNS} FROM intent WHERE account=?1 AND asset=?2 {only} AND"
    query = f"{own} final_ms IS NULL UNION ALL {own} final_ms>=?3"
    for row in rows.execute(query, (account, holding.asset, holding.read_ms)):
        yield to_intent(row).exposure(holding.read_ms)


def _recent(rows: Rows, terms: Terms, now_ms: int) -> list[RecentOrder]:
    """Return orders with this symbol and side: equal orders of the last seconds, and orders with an unknown outcome."""
    marks = ",".join("?" * len(UNRESOLVED))
    own = "SELECT client_order_id, terms, prepared_ms, state FROM intent WHERE account=? AND symbol=? AND side=?"
    given = (terms.account, terms.symbol, terms.side)
    # A busy caller's orders mostly have other prices. The query does not read them.
    soon = f"{own} AND prepared_ms>? AND instr(terms, ?)"
    query = f"{soon} UNION {own} AND final_ms IS NULL AND state IN ({marks})"
    found = rows.execute(query, (*given, now_ms - DUPLICATE_MS, terms.amounts_json, *given, *UNRESOLVED))
    return [
        RecentOrder(text_in(name), Terms.from_json(told), moment_in(at_ms), one_of(state, NEXT) in UNRESOLVED)
        for name, told, at_ms, state in found
    ]
