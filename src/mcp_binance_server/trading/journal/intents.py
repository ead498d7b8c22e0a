"""Table of intents, and every change of their state. These functions run in the store's thread."""

from collections.abc import Mapping
from typing import Any, get_args

from mcp_binance_server.domain.money import Quantity, written
from mcp_binance_server.domain.orders import FINAL_STATUS, NOTHING, Order
from mcp_binance_server.trading.journal.chain import append
from mcp_binance_server.trading.journal.limits import give_back
from mcp_binance_server.trading.journal.records import (
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
    legs_in,
    legs_json,
    moment_in,
    one_of,
    text_in,
)
from mcp_binance_server.trading.journal.schema import Rows
from mcp_binance_server.trading.judgement.charges import given_back
from mcp_binance_server.trading.judgement.exits import Exits, OrderStanding, standing_of, with_leg
from mcp_binance_server.trading.judgement.exposure import Purpose
from mcp_binance_server.trading.judgement.policy import Way
from mcp_binance_server.trading.judgement.terms import PreviewId, Terms, without_suffix

# Status of a completed change of an order. The exchange has no such status.
AMENDED = "AMENDED"
INTENT_COLUMNS = (
    "id, client_order_id, visitor, owner, state, status, order_id, executed, spent, counted, way, terms, "
    "prepared_ms, updated_ms, final_ms, legs, quantity, purpose, released_for"
)


def find(rows: Rows, preview_id: str) -> Intent | None:
    row = rows.execute(f"SELECT {INTENT_COLUMNS} FROM intent WHERE id=?", (preview_id,)).fetchone()
    return None if row is None else to_intent(row)


def named(rows: Rows, client_order_id: str) -> Intent | None:
    """Return the intent that an ID at the exchange belongs to.

    It is the ID of an order, of a list, or of a change of an order.
    """
    query = f"SELECT {INTENT_COLUMNS} FROM intent WHERE client_order_id=?"
    names = dict.fromkeys((client_order_id, without_suffix(client_order_id)))
    rows_found = (rows.execute(query, (name,)).fetchone() for name in names)
    found = next((to_intent(row) for row in rows_found if row is not None), None)
    if found is None or not found.terms.amends:
        return found
    # The exchange knows only the order, because a change keeps the order's ID.
    changed = rows.execute(query, (found.exchange_id,)).fetchone()
    return found if changed is None else to_intent(changed)


def insert(rows: Rows, new: NewIntent, owner: str, now_ms: int, purpose: Purpose = "entry") -> Intent:
    """Record a new intent."""
    _add(rows, new, owner, "PREPARED", (now_ms, now_ms), purpose)
    append(rows, now_ms, new.preview_id, "PREPARED", _agreed(new, purpose))
    return _found(rows, new.preview_id)


def adopt(rows: Rows, new: NewIntent, owner: str, order: Order, now_ms: int) -> Intent:
    """Record an order that the exchange has and the journal lacked. The intent starts at the order's creation time."""
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
    final_ms = now_ms if is_over else None  # an order that was given up and found later is open again
    rows.execute(
        "UPDATE intent SET state=?, updated_ms=?, final_ms=? WHERE id=?", (state, now_ms, final_ms, preview_id)
    )
    if is_over:
        give_back(rows, stands, stands.counted)
    append(rows, now_ms, preview_id, state, facts)
    return _found(rows, preview_id)


def follow(rows: Rows, preview_id: PreviewId, order: Order, now_ms: int) -> Intent:
    """Record the state of an order as the exchange reports it. The state only advances."""
    stands = _found(rows, preview_id)
    if stands.terms.exits is not None:
        return _follow_leg(rows, stands, stands.terms.exits, order, now_ms)
    if stands.terms.amends:
        return _follow_amended(rows, stands, order, now_ms)
    is_open = stands.final_ms is None or (stands.state in STANDING and stands.status not in FINAL_STATUS)
    is_news = is_open and (order.status, order.executed) != (stands.status, stands.executed)
    if not is_news or order.executed < stands.executed:
        return stands
    is_final = order.status in FINAL_STATUS
    told = OrderStanding(
        order.status, order.order_id, order.executed, order.quote_spent, is_settled=is_final, is_final=is_final
    )
    return _stand(rows, stands, told, now_ms, is_settled_now=is_final)


def follow_named(rows: Rows, account: str, order: Order, now_ms: int) -> None:
    """Record an order's state from the answer to another request. Ignore orders that are not in the journal."""
    found = named(rows, order.client_order_id)
    if found is not None and found.terms.account == account and found.state in STANDING:
        follow(rows, found.preview_id, order, now_ms)


def _follow_leg(rows: Rows, stands: Intent, exits: Exits, order: Order, now_ms: int) -> Intent:
    legs = with_leg(stands.legs, order) if order.client_order_id in stands.order_ids else stands.legs
    # A refused list was refunded in full, so reports about its orders change nothing.
    if legs == stands.legs or stands.state in NEVER_EXECUTED:
        return stands
    before, after = standing_of(exits, stands.legs), standing_of(exits, legs)
    rows.execute("UPDATE intent SET legs=? WHERE id=?", (legs_json(legs), stands.preview_id))
    return _stand(rows, stands, after, now_ms, is_settled_now=after.is_settled and not before.is_settled)


def _follow_amended(rows: Rows, stands: Intent, order: Order, now_ms: int) -> Intent:
    """Finish a change that the exchange has made to an order. The order itself continues under its own intent."""
    if stands.final_ms is not None:
        return stands
    target = named(rows, order.client_order_id)
    if target is not None and target.terms.account == stands.terms.account:
        facts = {"quantity": written(order.quantity), "by": stands.preview_id}
        rows.execute("UPDATE intent SET quantity=? WHERE id=?", (written(order.quantity), target.preview_id))
        append(rows, now_ms, target.preview_id, AMENDED, facts)
        follow_named(rows, stands.terms.account, order, now_ms)
    told = OrderStanding(AMENDED, order.order_id, NOTHING, NOTHING, is_settled=True, is_final=True)
    return _stand(rows, stands, told, now_ms, is_settled_now=True)


def _stand(rows: Rows, stands: Intent, told: OrderStanding, now_ms: int, *, is_settled_now: bool) -> Intent:
    rows.execute(
        "UPDATE intent SET status=?, order_id=?, executed=?, spent=?, updated_ms=?, final_ms=? WHERE id=?",
        (
            told.status,
            told.order_id,
            written(told.executed),
            written(told.spent),
            now_ms,
            now_ms if told.is_final else None,
            stands.preview_id,
        ),
    )
    if is_settled_now:
        give_back(rows, stands, given_back(stands.counted, stands.terms.quantity, told.executed))
    moved = _weigh(rows, stands.preview_id)
    facts: dict[str, Any] = {"status": told.status, "executed": written(told.executed), "spent": written(told.spent)}
    append(rows, now_ms, stands.preview_id, "STATUS", facts | ({"legs": legs_json(moved.legs)} if moved.legs else {}))
    return moved


def release(rows: Rows, preview_id: str, released_for: str) -> None:
    """Record for which intent an order is cancelled; "" if for none. Its unsold coins are at risk once it has ended."""
    rows.execute("UPDATE intent SET released_for=? WHERE id=?", (released_for, preview_id))
    _weigh(rows, preview_id)


def _weigh(rows: Rows, preview_id: str) -> Intent:
    found = _found(rows, preview_id)
    rows.execute("UPDATE intent SET at_risk=? WHERE id=?", (written(found.failed_exit), preview_id))
    return found


def unresolved(rows: Rows, account: str | None) -> list[Intent]:
    marks = ",".join("?" * len(UNRESOLVED))
    where = f"final_ms IS NULL AND state IN ({marks})" + ("" if account is None else " AND account=?")
    given = (*UNRESOLVED, *(() if account is None else (account,)))
    found = rows.execute(f"SELECT {INTENT_COLUMNS} FROM intent WHERE {where} ORDER BY prepared_ms", given)
    return [to_intent(row) for row in found]


def to_intent(row: tuple[Any, ...]) -> Intent:
    preview_id, name, visitor, owner, state, status, order_id, executed, spent, counted, way, terms, *times = row
    prepared_ms, updated_ms, final_ms, legs, quantity, purpose, released_for = times
    agreed, stands = Terms.from_json(terms), Quantity(amount_in(quantity))
    return Intent(
        PreviewId(preview_id),
        text_in(name),
        text_in(visitor),
        text_in(owner),
        one_of(state, NEXT),  # type: ignore[arg-type] # a key of NEXT
        text_in(status),
        None if order_id is None else count_in(order_id),
        Quantity(amount_in(executed)),
        Quantity(amount_in(spent)),
        count_in(counted),
        one_of(way, get_args(Way)),  # type: ignore[arg-type] # one of Way
        agreed,
        moment_in(prepared_ms),
        moment_in(updated_ms),
        None if final_ms is None else moment_in(final_ms),
        legs_in(legs),
        None if stands == agreed.quantity else stands,
        one_of(purpose, get_args(Purpose)),  # type: ignore[arg-type] # one of Purpose
        text_in(released_for),
    )


def _add(  # noqa: PLR0917 - all parts of a row
    rows: Rows, new: NewIntent, owner: str, state: IntentState, times_ms: tuple[int, int], purpose: Purpose = "entry"
) -> None:
    terms, (prepared_ms, now_ms) = new.terms, times_ms
    rows.execute(
        "INSERT INTO intent VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,'[]',?,'0','')",
        (
            new.preview_id, new.client_order_id, terms.account, new.visitor, owner, terms.symbol, new.asset,
            terms.side, state, "", None, str(terms.quantity), "0", "0", terms.taken, new.way, terms.to_json(),
            prepared_ms, now_ms, None, purpose,
        ),
    )  # fmt: skip


def _agreed(new: NewIntent, purpose: Purpose = "entry") -> dict[str, str]:
    agreed = {"terms": new.terms.to_json(), "way": new.way, "client_order_id": new.client_order_id}
    return agreed if purpose == "entry" else {**agreed, "purpose": purpose}


def _found(rows: Rows, preview_id: str) -> Intent:
    found = find(rows, preview_id)
    if found is None:
        raise IllegalMove(f"no intent {preview_id}")
    return found
