"""Intents in their table, and every step that one can take. Work for the store's thread."""

from collections.abc import Mapping
from typing import Any, get_args

from mcp_binance_server.domain.money import Quantity, written
from mcp_binance_server.domain.orders import Order
from mcp_binance_server.trading.journal.chain import append
from mcp_binance_server.trading.journal.limits import give_back
from mcp_binance_server.trading.journal.records import (
    FINAL_STATUS,
    NEVER_EXECUTED,
    NEXT,
    STANDING,
    UNRESOLVED,
    IllegalMove,
    Intent,
    IntentState,
    NewIntent,
    amount_in,
    count_in,
    moment_in,
    one_of,
    text_in,
)
from mcp_binance_server.trading.journal.schema import Rows
from mcp_binance_server.trading.judgement.charges import given_back
from mcp_binance_server.trading.judgement.policy import Way
from mcp_binance_server.trading.judgement.terms import PreviewId, Terms

INTENT_COLUMNS = (
    "id, client_order_id, visitor, owner, state, status, order_id, executed, spent, counted, way, terms, "
    "prepared_ms, updated_ms, final_ms"
)


def find(rows: Rows, preview_id: str) -> Intent | None:
    row = rows.execute(f"SELECT {INTENT_COLUMNS} FROM intent WHERE id=?", (preview_id,)).fetchone()
    return None if row is None else to_intent(row)


def insert(rows: Rows, new: NewIntent, owner: str, now_ms: int) -> Intent:
    """Write an intent that is new."""
    _add(rows, new, owner, "PREPARED", (now_ms, now_ms))
    append(rows, now_ms, new.preview_id, "PREPARED", _agreed(new))
    return _found(rows, new.preview_id)


def adopt(rows: Rows, new: NewIntent, owner: str, order: Order, now_ms: int) -> Intent:
    """Write an order that the exchange has and the journal did not know, as of the moment it was made."""
    _add(rows, new, owner, "ADOPTED", (order.created_ms, now_ms))
    append(rows, now_ms, new.preview_id, "ADOPTED", _agreed(new))
    return follow(rows, new.preview_id, order, now_ms)


def move(rows: Rows, preview_id: PreviewId, state: IntentState, facts: Mapping[str, Any], now_ms: int) -> Intent:
    stands = _found(rows, preview_id)
    if stands.state == state:
        return stands
    if state not in NEXT[stands.state]:
        raise IllegalMove(f"{stands.state} -> {state}")
    is_over = state in NEVER_EXECUTED
    final_ms = now_ms if is_over else None  # one that was given up and is found is open again
    rows.execute(
        "UPDATE intent SET state=?, updated_ms=?, final_ms=? WHERE id=?", (state, now_ms, final_ms, preview_id)
    )
    if is_over:
        give_back(rows, stands, stands.counted)
    append(rows, now_ms, preview_id, state, facts)
    return _found(rows, preview_id)


def follow(rows: Rows, preview_id: PreviewId, order: Order, now_ms: int) -> Intent:
    stands = _found(rows, preview_id)
    is_open = stands.final_ms is None or (stands.state in STANDING and stands.status not in FINAL_STATUS)
    is_news = is_open and (order.status, order.executed) != (stands.status, stands.executed)
    if not is_news or order.executed < stands.executed:
        return stands
    is_final = order.status in FINAL_STATUS
    rows.execute(
        "UPDATE intent SET status=?, order_id=?, executed=?, spent=?, updated_ms=?, final_ms=? WHERE id=?",
        (
            order.status,
            order.order_id,
            written(order.executed),
            written(order.quote_spent),
            now_ms,
            now_ms if is_final else None,
            preview_id,
        ),
    )
    if is_final:
        give_back(rows, stands, given_back(stands.counted, stands.terms.quantity, order.executed))
    facts = {"status": order.status, "executed": written(order.executed), "spent": written(order.quote_spent)}
    append(rows, now_ms, preview_id, "STATUS", facts)
    return _found(rows, preview_id)


def unresolved(rows: Rows, account: str | None) -> list[Intent]:
    marks = ",".join("?" * len(UNRESOLVED))
    where = f"final_ms IS NULL AND state IN ({marks})" + ("" if account is None else " AND account=?")
    given = (*UNRESOLVED, *(() if account is None else (account,)))
    found = rows.execute(f"SELECT {INTENT_COLUMNS} FROM intent WHERE {where} ORDER BY prepared_ms", given)
    return [to_intent(row) for row in found]


def to_intent(row: tuple[Any, ...]) -> Intent:
    preview_id, name, visitor, owner, state, status, order_id, executed, spent, counted, way, terms, *times = row
    prepared_ms, updated_ms, final_ms = times
    return Intent(
        PreviewId(preview_id),
        text_in(name),
        text_in(visitor),
        text_in(owner),
        one_of(state, NEXT),  # type: ignore[arg-type] # a key of it
        text_in(status),
        None if order_id is None else count_in(order_id),
        Quantity(amount_in(executed)),
        Quantity(amount_in(spent)),
        count_in(counted),
        one_of(way, get_args(Way)),  # type: ignore[arg-type] # likewise
        Terms.from_json(terms),
        moment_in(prepared_ms),
        moment_in(updated_ms),
        None if final_ms is None else moment_in(final_ms),
    )


def _add(rows: Rows, new: NewIntent, owner: str, state: IntentState, times_ms: tuple[int, int]) -> None:
    terms, (prepared_ms, now_ms) = new.terms, times_ms
    rows.execute(
        "INSERT INTO intent VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
        (
            new.preview_id, new.client_order_id, terms.account, new.visitor, owner, terms.symbol, new.asset,
            terms.side, state, "", None, str(terms.quantity), "0", "0", terms.counted, new.way, terms.to_json(),
            prepared_ms, now_ms, None,
        ),
    )  # fmt: skip


def _agreed(new: NewIntent) -> dict[str, str]:
    return {"terms": new.terms.to_json(), "way": new.way, "client_order_id": new.client_order_id}


def _found(rows: Rows, preview_id: str) -> Intent:
    found = find(rows, preview_id)
    if found is None:
        raise IllegalMove(f"no intent {preview_id}")
    return found
