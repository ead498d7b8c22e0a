"""What has happened on a host and what limits still allow, from the bare rows: none of the code that wrote them."""

import json
import sqlite3
from collections import Counter
from pathlib import Path
from typing import Any

from mcp_binance_server.trading.journal.records import NewIntent
from mcp_binance_server.trading.judgement.policy import Policy, read_policy

DAY_MS, MINUTE_MS = 86_400_000, 60_000
PER_DAY, PER_MINUTE, ORDERS_PER_DAY, OPEN_ORDERS = 4_000_00, 5, 20, 4
POLICY: Policy = read_policy(
    f"""[limits]
per_day = "{PER_DAY // 100}"
orders_per_minute = {PER_MINUTE}
orders_per_day = {ORDERS_PER_DAY}
open_orders = {OPEN_ORDERS}
""".encode()
)
STANDING = "SELECT id FROM intent WHERE final_ms IS NULL AND state='ACKED'"
OPEN = (
    "SELECT client_order_id, coalesce(list_id, order_id) FROM paper_order "
    "WHERE status IN ('PENDING_NEW', 'NEW', 'PARTIALLY_FILLED')"
)
# What was to take the place of another and was not found is still looked for, and is no order more.
NOT_OVER = "SELECT count(*) FROM intent WHERE final_ms IS NULL AND NOT (state='NOT_PLACED' AND terms LIKE '%replaces%')"


class BarePast:
    """One journal and the exchange on paper beside it, read only."""

    def __init__(self, file: Path) -> None:
        self._db = sqlite3.connect(f"file:{file}?mode=ro", uri=True)

    def close(self) -> None:
        self._db.close()

    def rows(self, query: str, *given: object) -> list[tuple[Any, ...]]:
        return self._db.execute(query, given).fetchall()

    def standing(self) -> set[str]:
        """Return the previews whose orders stand."""
        return {each for (each,) in self.rows(STANDING)}

    def is_open(self, name: str | None) -> bool:
        """Tell whether the exchange has an open order of that id."""
        return name in {each for each, _ in self.rows(OPEN)}

    def is_stopped(self) -> bool:
        return bool(self.rows("SELECT 1 FROM account_stop"))

    def passes_a_limit(self, new: NewIntent, now_ms: int) -> bool:
        """Tell whether a new order would pass a limit; one in the place of another adds none to those that are open."""
        terms, day = new.terms, now_ms // DAY_MS
        (last_minute,) = self.rows("SELECT count(*) FROM intent WHERE prepared_ms>?", now_ms - MINUTE_MS)[0]
        (today,) = self.rows("SELECT count(*) FROM intent WHERE prepared_ms/?=?", DAY_MS, day)[0]
        (stands,) = self.rows("SELECT count(*) FROM intent WHERE final_ms IS NULL")[0]
        money = self.rows("SELECT coalesce(sum(amount), 0) FROM used WHERE name='per_day' AND day=?", day)[0][0]
        return (
            last_minute >= PER_MINUTE
            or today >= ORDERS_PER_DAY
            or stands + (terms.replaces is None) > OPEN_ORDERS
            or money + (0 if terms.amends else terms.counted) > PER_DAY
        )

    def above_limits(self) -> list[str]:
        """Return what is more than a limit allows."""
        (spent,) = self.rows("SELECT coalesce(max(amount), 0) FROM used WHERE name='per_day'")[0]
        (not_over,) = self.rows(NOT_OVER)[0]
        at_exchange = len({each for _, each in self.rows(OPEN)})
        found = {"money": (spent, PER_DAY), "journal": (not_over, OPEN_ORDERS), "exchange": (at_exchange, OPEN_ORDERS)}
        return [f"{name}: {amount} of {most}" for name, (amount, most) in found.items() if amount > most]

    def happened(self) -> Counter[str]:
        """Count what was written: each event, by itself and by the kind of request, and what lists have come to."""
        found = Counter(state for (state,) in self.rows("SELECT state FROM event"))
        for terms, state in self.rows("SELECT terms, event.state FROM event JOIN intent ON about=id"):
            found.update(f"{kind} {state}" for kind in _kinds(json.loads(terms)))
        filled = self.rows("SELECT is_entry FROM paper_order WHERE list_id IS NOT NULL AND status='FILLED'")
        found.update("entry filled" if is_entry else "exit filled" for (is_entry,) in filled)
        return found


def _kinds(terms: dict[str, Any]) -> list[str]:
    if "exits" in terms:
        return ["list", terms["exits"]["shape"]]
    if "replaces" not in terms:
        return []
    return ["amendment" if terms.get("amends") else "replacement"]
