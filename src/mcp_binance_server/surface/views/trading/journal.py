"""Page of the order journal, and the history of one order as text."""

from mcp_binance_server.domain.account import Venue
from mcp_binance_server.domain.orders import Order
from mcp_binance_server.services.trading.answers import OrderJournal, OrderRecord
from mcp_binance_server.surface.views.markdown import counted, exact, exact_average, instant, plain
from mcp_binance_server.surface.views.trading.status import open_words, stop_scope, terms_words
from mcp_binance_server.surface.views.trading.terms import (
    BRIEF_FOUND,
    BRIEF_WAYS,
    LEG_WORDS,
    confirmed_words,
    mode_word,
    unformatted,
    where_from,
)
from mcp_binance_server.trading.journal.chain import Event
from mcp_binance_server.trading.journal.records import Intent, Stopped, legs_in
from mcp_binance_server.trading.judgement.terms import TradingMode, command
from mcp_binance_server.words import word

COLUMNS = ("Placed", "Order", "State", "Status", "Executed", "Spent", "Confirmed by", "Client order ID")
EMPTY = "No orders yet."
HISTORY = {
    "PREPARED": "recorded, limits charged, nothing sent",
    "SENT": "sent",
    "ACKED": "accepted",
    "REJECTED": "refused",
    "NOT_SENT": "not sent",
    "UNKNOWN": "outcome unknown; being checked",
    "NOT_PLACED": "not found, most likely not executed; monitored for a day",
    "ADOPTED": "found at the exchange, missing from this journal",
    "AMENDED": "reduced",
    "CANCEL_ASKED": "cancel sent",
    "CANCELLED": "cancelled",
    "CANCEL_REFUSED": "cancel refused",
    "CANCEL_UNKNOWN": "outcome of the cancel unknown",
    "CANCEL_DECLINED": "cancel declined by the user",
    "WAITING": "waiting for approval",
    "APPROVED": "approved with a signature",
    "DECLINED": "declined by the user",
    "DENIED": "denied by a guard",
}


def journal_page(page: OrderJournal) -> str:
    """Render the newest orders that this server has placed, newest first."""
    mode = mode_word(page.mode, page.venue)
    table = [f"| {' | '.join(COLUMNS)} |", f"|{'|'.join('---' for _ in COLUMNS)}|", *map(_row, page.intents)]
    lines = [
        f"{mode}: journal of orders, newest first.",
        "",
        *([] if page.stopped is None else [_stopped(page.stopped, page.venue), ""]),
        *(table if page.intents else [EMPTY]),
        "",
        f"*{counted(len(page.intents), page.limit)}{_older(page)}; get_order shows the full history of one*",
        *where_from(page.mode, page.venue, page.as_of_ms),
    ]
    return "\n".join(lines)


def history_of(record: OrderRecord) -> list[str]:
    """Return all journal entries of an order, oldest first, one per line."""
    return [f"{instant(each.at_ms)}: {_event_words(each)}" for each in record.events]


def record_summary(record: OrderRecord, mode: str) -> str:
    """Return the state of an order that the exchange does not know."""
    intent = record.intent
    if intent.is_unresolved:
        return (
            f"{mode}: DO NOT PLACE IT AGAIN. Order {intent.client_order_id} is not at the exchange yet and may still "
            "appear; it is checked until its outcome is known."
        )
    return f"{mode}: order {intent.client_order_id} is not at the exchange; journal: {HISTORY[intent.state]}."


def standing_summary(record: OrderRecord, mode: str) -> str:
    """Return the state of an order list or of a change. The exchange has no order with the ID of either."""
    intent = record.intent
    if intent.is_unresolved or intent.state == "NOT_PLACED":
        return f"{mode}: DO NOT PLACE IT AGAIN. Journal state of {intent.client_order_id}: {HISTORY[intent.state]}."
    return f"{mode}: {open_words(intent)}."


def unasked_summary(record: OrderRecord, mode: str) -> str:
    """Return the state of an order from the journal, because the exchange does not answer."""
    intent = record.intent
    again = "DO NOT PLACE IT AGAIN. " if intent.is_unresolved else ""
    state = intent.status or HISTORY[intent.state]
    return f"{mode}: {again}The exchange could not be queried; journal state of {intent.client_order_id}: {state}."


def record_page(record: OrderRecord, summary: str, mode: TradingMode, venue: Venue, as_of_ms: int) -> str:
    """Render an order that only the journal knows."""
    about = f"**Order**: {terms_words(record.intent.terms)}"
    return "\n".join([summary, "", about, *journal_lines(record), "", *where_from(mode, venue, as_of_ms)])


def journal_lines(record: OrderRecord) -> list[str]:
    """Return the journal's lines on an order. They follow the exchange's lines."""
    intent = record.intent
    return [
        "## Journal",
        f"**State**: {intent.state}",
        *([] if record.change is None else [f"**Change**: {change_words(record.change)}"]),
        *([f"**Current**: {open_words(intent)}"] if intent.legs else []),
        f"**Confirmed by**: {confirmed_words(intent)}",
        *(f"- {unformatted(each)}" for each in history_of(record)),
    ]


def change_words(change: Intent) -> str:
    """Return a change of an order and its result."""
    return f"{terms_words(change.terms)}: {change.status or HISTORY[change.state]}"


def found_summary(record: OrderRecord, order: Order, mode: str) -> str:
    """Return the state of an order at the exchange, after the state of a change with an unknown outcome."""
    change = record.change
    is_open = change is not None and (change.is_unresolved or change.state == "NOT_PLACED")
    doubt = f"DO NOT PLACE IT AGAIN. {change_words(change)}. " if change is not None and is_open else ""
    return f"{mode}: {doubt}order {order.order_id} is {order.status}."


def _row(intent: Intent) -> str:
    average = intent.average_price
    at = "" if average is None else f" at {exact_average(average, intent.terms.price)}"
    cells = (
        instant(intent.prepared_ms)[:19].replace("T", " "),
        terms_words(intent.terms),
        intent.state,
        intent.status or "-",
        f"{exact(intent.executed)}{at}",
        exact(intent.spent),
        BRIEF_FOUND if intent.state == "ADOPTED" else BRIEF_WAYS[intent.way],
        plain(intent.exchange_id),
    )
    return f"| {' | '.join(cells)} |"


def _event_words(event: Event) -> str:
    told = event.told
    if event.state == "STATUS" and "legs" in told:
        return "; ".join(f"{LEG_WORDS[each.client_order_id[-2:]]} {each.status}" for each in legs_in(told["legs"]))
    if event.state == "STATUS":
        return f"{word(str(told.get('status', '')))}, executed {word(str(told.get('executed', '')))}"
    said = [word(str(told[name])) for name in ("guard", "reason", "found", "asked", "quantity") if told.get(name)]
    about = f' ("{", ".join(said)}")' if said else ""
    return f"{HISTORY.get(event.state, event.state)}{about}"


def _stopped(stopped: Stopped, venue: Venue) -> str:
    said = f'"{unformatted(word(stopped.why))}"'
    resume = command("resume", venue.network)
    return f"**Trading is stopped** for {stop_scope(stopped)}: {said}. Only the user can resume: {resume}"


def _older(page: OrderJournal) -> str:
    return "" if page.older_before_ms is None else f", older ones: {command('journal', page.venue.network)}"
