"""Open orders, unfinished cancels and recent errors of a journal."""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from mcp_binance_server.domain.orders import Order
from mcp_binance_server.trading.journal.chain import append
from mcp_binance_server.trading.journal.intents import INTENT_COLUMNS, find, follow, move, release, to_intent
from mcp_binance_server.trading.journal.records import STANDING, IllegalMove, Intent
from mcp_binance_server.trading.journal.stops import is_covered_by_resume, require_started
from mcp_binance_server.trading.journal.store import Rows, Store
from mcp_binance_server.trading.judgement.stop import FOUND_MS, REJECTED_MS, UNKNOWN_MS, TradingTroubles
from mcp_binance_server.trading.judgement.terms import PreviewId

CancelState = Literal["CANCELLED", "CANCEL_REFUSED", "CANCEL_UNKNOWN"]
CANCEL_ASKED = "CANCEL_ASKED"
# Time to watch for an order that was not found, in ms.
WATCHED_MS = 86_400_000


@dataclass(frozen=True, slots=True)
class CancelLeft:
    """A cancel that was requested and has no recorded result."""

    intent: Intent
    owner: str


@dataclass(frozen=True, slots=True)
class OrderWatch:
    """Records and queries about the unfinished orders and cancels of one journal."""

    store: Store

    async def open_intents(self, accounts: Collection[str] | None = None) -> list[Intent]:
        """Return orders that are or may be open, oldest first. `accounts` limits them to some accounts."""

        def work(rows: Rows) -> list[Intent]:
            query = (
                f"SELECT {INTENT_COLUMNS} FROM intent WHERE final_ms IS NULL "
                "AND state IN ('ACKED', 'ADOPTED', 'NOT_PLACED') ORDER BY prepared_ms"
            )
            found = [to_intent(row) for row in rows.execute(query)]
            return [each for each in found if accounts is None or each.terms.account in accounts]

        return await self.store.read(work)

    async def learn(self, preview_id: PreviewId, order: Order, now_ms: int) -> Intent:
        """Record the state of an order that the exchange has. It can be one order of a list.

        Raises:
            IllegalMove: the journal has proof that the order was never placed.
        """
        return await self.store.write(lambda rows: _learn(rows, preview_id, order, now_ms))

    async def sent_ms(self, preview_id: PreviewId) -> int | None:
        """Return the time at which the order was marked as sent, or None if it never was.

        The request's timestamp is never later, because the request is signed before the mark.
        """
        query = "SELECT at_ms FROM event WHERE about=? AND state='SENT' ORDER BY seq DESC LIMIT 1"
        row = await self.store.read(lambda rows: rows.execute(query, (preview_id,)).fetchone())
        return None if row is None else row[0]

    async def ask_to_cancel(
        self, preview_id: PreviewId, owner: str, visitor: str, now_ms: int, plan: PreviewId | None = None
    ) -> None:
        """Record that a cancel is about to be sent. `plan` is the claimed sale that needs the coins of the order.

        Raises:
            TradingIsStopped: the plan must not be carried out.
            IllegalMove: another process has settled the plan.
        """

        def work(rows: Rows) -> None:
            facts = {"owner": owner, "visitor": visitor}
            if plan is not None:
                sale = find(rows, plan)
                if sale is None or sale.state != "PREPARED":
                    raise IllegalMove(f"a step of {plan}")
                require_started(rows, self.store, sale.terms.account, sale.purpose, sale.way)
                facts["plan"] = plan
            if find(rows, preview_id) is not None:
                release(rows, preview_id, plan or "")
            append(rows, now_ms, preview_id, CANCEL_ASKED, facts)

        await self.store.write(work)

    async def end_cancel(
        self, preview_id: PreviewId, state: CancelState, facts: Mapping[str, Any], now_ms: int, *orders: Order
    ) -> Intent | None:
        """Record the result of a cancel, and the state of the orders if known. Return the intent."""

        def work(rows: Rows) -> Intent | None:
            append(rows, now_ms, preview_id, state, facts)
            for order in orders:
                _learn(rows, preview_id, order, now_ms)
            return find(rows, preview_id)

        return await self.store.write(work)

    async def cancels_left(self) -> list[CancelLeft]:
        """Return the cancels without a recorded result."""

        def work(rows: Rows) -> list[CancelLeft]:
            query = (
                "SELECT about, facts FROM event AS asked WHERE state=? AND NOT EXISTS (SELECT 1 FROM event AS later "
                "WHERE later.about=asked.about AND later.seq>asked.seq "
                "AND later.state IN ('CANCELLED', 'CANCEL_REFUSED', 'CANCEL_UNKNOWN')) ORDER BY seq"
            )
            found = rows.execute(query, (CANCEL_ASKED,)).fetchall()
            asked = ((find(rows, about), json.loads(facts)["owner"]) for about, facts in found)
            return [CancelLeft(intent, owner) for intent, owner in asked if intent is not None]

        return await self.store.read(work)

    async def give_up(self, preview_id: PreviewId, why: str, now_ms: int) -> None:
        """Record that an order is no longer watched. Its charge against money limits stays."""

        def work(rows: Rows) -> None:
            query = "UPDATE intent SET final_ms=?, updated_ms=? WHERE id=? AND final_ms IS NULL"
            if rows.execute(query, (now_ms, now_ms, preview_id)).rowcount:
                append(rows, now_ms, preview_id, "GIVEN_UP", {"reason": why})

        await self.store.write(work)

    async def troubled(self, now_ms: int) -> list[str]:
        """Return the accounts with recent errors, for the first check after a start."""
        query = (
            "SELECT DISTINCT account FROM event JOIN intent ON intent.id=event.about "
            "WHERE event.state IN ('UNKNOWN', 'REJECTED', 'NOT_PLACED') AND at_ms>? ORDER BY account"
        )
        since_ms = now_ms - WATCHED_MS - FOUND_MS
        return await self.store.read(lambda rows: [row[0] for row in rows.execute(query, (since_ms,))])

    async def troubles(self, now_ms: int, account: str) -> TradingTroubles:
        """Count the recent errors of an account since its last resume."""

        def work(rows: Rows) -> TradingTroubles:
            resumings = rows.execute("SELECT seq, facts FROM event WHERE state='RESUMED'").fetchall()
            resumed = max(
                (seq for seq, told in resumings if is_covered_by_resume(json.loads(told), account)), default=0
            )
            recent = (
                "FROM event AS last JOIN intent ON intent.id=last.about "
                "WHERE account=? AND last.state=? AND at_ms>? AND last.seq>?"
            )
            count = f"SELECT count(*) {recent}"
            (unknown,) = rows.execute(count, (account, "UNKNOWN", now_ms - UNKNOWN_MS, resumed)).fetchone()
            (rejected,) = rows.execute(count, (account, "REJECTED", now_ms - REJECTED_MS, resumed)).fetchone()
            found = rows.execute(
                f"SELECT client_order_id {recent} AND EXISTS (SELECT 1 FROM event AS before "
                "WHERE before.about=last.about AND before.state='NOT_PLACED' AND before.seq<last.seq) "
                "ORDER BY last.seq LIMIT 1",
                (account, "ACKED", now_ms - FOUND_MS, resumed),
            ).fetchone()
            return TradingTroubles(unknown, rejected, None if found is None else found[0])

        return await self.store.read(work)


def _learn(rows: Rows, preview_id: PreviewId, order: Order, now_ms: int) -> Intent:
    stands = find(rows, preview_id)
    if stands is None or stands.state not in STANDING:
        move(rows, preview_id, "ACKED", {"asked": order.status}, now_ms)
    return follow(rows, preview_id, order, now_ms)
