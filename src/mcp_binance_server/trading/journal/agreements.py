"""Declined, waiting and approved previews, shared by all processes and by `approve`."""

import json
from dataclasses import dataclass

from mcp_binance_server.trading.journal.chain import append
from mcp_binance_server.trading.journal.records import Waiting
from mcp_binance_server.trading.journal.store import Rows, Store
from mcp_binance_server.trading.judgement.terms import PreviewId, Terms

DECLINED, WAITING, APPROVED, WRONG = "DECLINED", "WAITING", "APPROVED", "WRONG_PASSPHRASE"
# Event: the cancel of a stop order was declined; the order stays open.
CANCEL_DECLINED = "CANCEL_DECLINED"


class PreviewIsDeclined(Exception):
    """Attempt to claim a declined preview; nothing was changed."""


@dataclass(frozen=True, slots=True)
class Agreements:
    """Decisions of people about the orders of one journal."""

    store: Store

    async def decline(self, preview_id: PreviewId, visitor: str, now_ms: int) -> None:
        """Record that a preview was declined. It cannot be placed any more. Repeated calls count once."""

        def work(rows: Rows) -> None:
            rows.execute("DELETE FROM waiting WHERE id=?", (preview_id,))
            if not is_declined(rows, preview_id):
                append(rows, now_ms, preview_id, DECLINED, {"visitor": visitor})

        await self.store.write(work)

    async def is_declined(self, preview_id: PreviewId) -> bool:
        return await self.store.read(lambda rows: is_declined(rows, preview_id))

    async def decline_cancel(self, preview_id: PreviewId, visitor: str, now_ms: int) -> None:
        """Record that the cancel of an order was declined."""
        await self.store.write(lambda rows: append(rows, now_ms, preview_id, CANCEL_DECLINED, {"visitor": visitor}))

    async def is_cancel_declined(self, preview_id: PreviewId, since_ms: int) -> bool:
        query = "SELECT 1 FROM event WHERE about=? AND state=? AND at_ms>?"
        given = (preview_id, CANCEL_DECLINED, since_ms)
        return await self.store.read(lambda rows: rows.execute(query, given).fetchone() is not None)

    async def declined_since(self, visitor: str, since_ms: int) -> list[int]:
        """Return the times after `since_ms` at which a visitor's user declined a preview or a cancel, oldest first."""

        def work(rows: Rows) -> list[int]:
            query = "SELECT at_ms, facts FROM event WHERE state IN (?,?) AND at_ms>? ORDER BY seq"
            found = rows.execute(query, (DECLINED, CANCEL_DECLINED, since_ms))
            return [at_ms for at_ms, facts in found if json.loads(facts).get("visitor") == visitor]

        return await self.store.read(work)

    async def wait(self, preview_id: PreviewId, visitor: str, terms: Terms, now_ms: int) -> None:
        """Let a preview wait for a signature. A preview that already waits is left unchanged."""

        def work(rows: Rows) -> None:
            made = rows.execute(
                "INSERT OR IGNORE INTO waiting VALUES (?,?,?,?,NULL)", (preview_id, visitor, terms.to_json(), now_ms)
            )
            if made.rowcount:
                append(rows, now_ms, preview_id, WAITING, {"terms": terms.to_json()})

        await self.store.write(work)

    async def waiting(self, now_ms: int, visitor: str | None = None) -> list[Waiting]:
        """Return the waiting previews that have not expired, oldest first. `visitor` limits them to one visitor."""

        def work(rows: Rows) -> list[Waiting]:
            found = rows.execute("SELECT id, visitor, terms, since_ms, signature FROM waiting ORDER BY since_ms")
            listed = [Waiting(PreviewId(row[0]), row[1], Terms.from_json(row[2]), row[3], row[4]) for row in found]
            return [each for each in listed if each.terms.expires_ms > now_ms and visitor in (None, each.visitor)]

        return await self.store.read(work)

    async def signature(self, preview_id: PreviewId) -> str | None:
        """Return the signature of a preview, if it was approved."""
        query = "SELECT signature FROM waiting WHERE id=?"
        row = await self.store.read(lambda rows: rows.execute(query, (preview_id,)).fetchone())
        return None if row is None else row[0]

    async def approve(self, preview_id: PreviewId, signature: str, now_ms: int) -> bool:
        """Store a signature; return False if the preview is not waiting."""

        def work(rows: Rows) -> bool:
            made = rows.execute("UPDATE waiting SET signature=? WHERE id=?", (signature, preview_id))
            if made.rowcount:
                append(rows, now_ms, preview_id, APPROVED, {"signature": signature})
            return bool(made.rowcount)

        return await self.store.write(work)

    async def wrong_passphrase(self, now_ms: int) -> int:
        """Record a wrong passphrase. Return the number of wrong passphrases since the last approval or resume."""

        def work(rows: Rows) -> int:
            append(rows, now_ms, "", WRONG, {})
            last = "SELECT coalesce(max(seq), 0) FROM event WHERE state IN (?, 'RESUMED')"
            (right,) = rows.execute(last, (APPROVED,)).fetchone()
            (count,) = rows.execute("SELECT count(*) FROM event WHERE state=? AND seq>?", (WRONG, right)).fetchone()
            return count

        return await self.store.write(work)


def is_declined(rows: Rows, preview_id: PreviewId) -> bool:
    query = "SELECT 1 FROM event WHERE about=? AND state=?"
    return rows.execute(query, (preview_id, DECLINED)).fetchone() is not None
