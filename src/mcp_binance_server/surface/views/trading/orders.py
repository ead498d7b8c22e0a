"""Texts about placed, cancelled and waiting orders. The first line states the outcome, and what not to do."""

from collections.abc import Iterator, Mapping
from typing import Literal

from mcp_binance_server.domain.account import Venue
from mcp_binance_server.domain.money import Quantity
from mcp_binance_server.domain.orders import NOTHING
from mcp_binance_server.domain.symbols import SymbolRules
from mcp_binance_server.services.trading.answers import CancelledAll, PlacedOrder
from mcp_binance_server.surface.views.markdown import exact, instant, next_step, plain
from mcp_binance_server.surface.views.trading.terms import (
    LEG_WORDS,
    averaged,
    confirmed_words,
    exits_words,
    mode_word,
    order_words,
    plan_steps,
    released_words,
    trailing_notes,
    unformatted,
    unprotected_words,
    where_from,
)
from mcp_binance_server.trading.journal.records import STANDING
from mcp_binance_server.trading.judgement.exits import Leg
from mcp_binance_server.trading.judgement.terms import StoredPreview, Terms, command
from mcp_binance_server.words import word

CancelOutcome = Literal["cancelled", "already_over", "not_cancelled", "unknown", "waiting_for_approval"]

# State of an order without fills, in words.
DOES = {
    "PENDING_NEW": "on its way to the market",
    "NEW": "open, nothing filled yet",
}
LEGS = {suffix: words.capitalize() for suffix, words in LEG_WORDS.items()}
ASK_AGAIN_SECS = 5


def outcome_summary(placed: PlacedOrder) -> str:
    """Return the outcome of an order in one line."""
    return f"{mode_word(placed.mode, placed.venue)}: {_became(placed)}"


def _became(placed: PlacedOrder) -> str:
    intent, said = placed.intent, _quoted(placed.reason)
    name = intent.exchange_id
    match placed.outcome:
        case "placed":
            return _stands(placed)
        case "rejected":
            return _refused(placed)
        case "not_sent" | "waiting_for_approval":
            return f"not placed. {_unsent(placed)}{said}{_plan_words(placed)}."
        case "unknown" if intent.terms.amends:
            to = f"{exact(intent.terms.quantity)} {plain(placed.rules.base)}"
            return f"DO NOT PLACE IT AGAIN. Order {name} may be reduced to {to}, or still be as it was."
        case "unknown" if intent.state == "NOT_PLACED":
            return f"DO NOT PLACE IT AGAIN. Order {name} was not found, most likely not executed; monitored for a day."
        case "unknown":
            return f"DO NOT PLACE IT AGAIN. Order {name} may be open at {_venue(placed)}."


def _stands(placed: PlacedOrder) -> str:
    intent = placed.intent
    if intent.terms.amends:
        return f"order {intent.exchange_id} reduced to {exact(intent.terms.quantity)} {plain(placed.rules.base)}."
    bare = unprotected_words(intent, placed.rules.base)
    stands = f"order {intent.client_order_id} is {intent.status or 'accepted'}: {_filled(placed)}{_plan_words(placed)}."
    return f"{stands} {bare}." if bare else stands


def _unsent(placed: PlacedOrder) -> str:
    is_cancelled = any(each.is_cancelled for each in placed.steps)
    return "The sale was not sent" if is_cancelled else "Nothing was sent"


def _plan_words(placed: PlacedOrder) -> str:
    """Return what is protected again after a sale that cancelled other orders; "" for any other order."""
    again = [each.again for each in placed.steps if each.again is not None]
    if not placed.steps:
        return ""
    exits = "; ".join(
        f"{exact(each.quantity)} {plain(placed.rules.base)} "
        + (f"have their exits again, {each.client_order_id}" if each.state in STANDING else "have NO exit")
        for each in again
    )
    cancelled = ", ".join(each.planned.client_order_id for each in placed.steps if each.is_cancelled)
    told = f". Cancelled first: {cancelled}" if cancelled else ""
    return f"{told}. {exits}" if exits else told


def _refused(placed: PlacedOrder) -> str:
    said = _quoted(placed.reason)
    if placed.intent.terms.amends:
        return f"order {placed.intent.exchange_id} was not reduced. Rejected{said}."
    if placed.gone is None:
        return f"not placed. Rejected{said}{_plan_words(placed)}."
    gone = placed.gone.client_order_id
    return f"ORDER {gone} WAS CANCELLED and no order is open. Its replacement was rejected{said}."


def outcome_step(placed: PlacedOrder) -> str:
    """Return the next call to make; "" if there is none."""
    intent = placed.intent
    look = next_step("get_order", symbol=intent.terms.symbol, client_order_id=intent.exchange_id)
    match placed.outcome:
        case "placed":
            # A change ends at once, and its order stays open.
            is_over = intent.final_ms is not None and not intent.terms.amends
            return "" if is_over else f"{look} shows its progress; cancel_order cancels it"
        case "unknown" if intent.state == "NOT_PLACED":
            return f"inform the user; {look} checks again. A new order is the user's decision: both may be executed"
        case "unknown":
            return f"{look} in {ASK_AGAIN_SECS} s; place_order again with the same preview_id is safe: it only checks"
        case "rejected" if placed.gone is not None:
            if placed.as_before is None:
                return "inform the user at once; preview_order previews the cancelled order again"
            again = next_step("place_order", preview_id=placed.as_before.preview_id)
            return f"inform the user at once; {again} places the cancelled order again, if the user wants that"
        case _:
            return "preview_order with that corrected, if the user still wants it"


def outcome_text(placed: PlacedOrder, summary: str, step: str) -> str:
    """Render the outcome of a placed order."""
    intent, rules = placed.intent, placed.rules
    average = intent.average_price
    lines = [
        unformatted(summary),
        "",
        f"**Order**: {order_words(intent.current_terms, rules.base)}",
        f"**Client order ID**: {intent.exchange_id}",
        *([f"**Order ID**: {intent.order_id}"] if intent.order_id is not None else []),
        f"**Status**: {intent.status} ({_recorded(intent.state)})" if intent.status else f"**Journal**: {intent.state}",
        *(f"**{LEGS[each.client_order_id[-2:]]}**: {leg_words(each, rules)}" for each in intent.legs),
        *([f"**Cancelled order**: {order_words(placed.gone.terms, rules.base)}"] if placed.gone is not None else []),
        *(f"**Step**: {each}" for each in step_lines(placed)),
        f"**Executed**: {exact(intent.executed)} {plain(rules.base)} for {exact(intent.spent)} {plain(rules.quote)}",
        *([f"**Average price**: {averaged(average, rules)}"] if average is not None else []),
        *([f"**Fees**: {fees_words(placed.fees)}"] if placed.fees else []),
        f"**Confirmed by**: {confirmed_words(intent)}",
        *([f"**Reason**: {unformatted(word(placed.reason))}"] if placed.reason else []),
        *([f"**Next**: {step}"] if step else []),
        "",
        *(f"*{each}*" for each in open_notes(placed)),
        *where_from(placed.mode, placed.venue, placed.as_of_ms),
    ]
    return "\n".join(lines)


def open_notes(placed: PlacedOrder) -> list[str]:
    """Return what its user must know of an order while it is open."""
    is_open = placed.outcome == "placed" and placed.intent.final_ms is None
    return trailing_notes(placed.intent.terms) if is_open else []


def step_lines(placed: PlacedOrder) -> Iterator[str]:
    """Return what became of each order that a sale was to cancel, and the exits placed again for it."""
    base = placed.rules.base
    for each in placed.steps:
        planned, old, again = each.planned, each.old, each.again
        if not each.is_cancelled:
            status = "unknown" if old is None else old.status or old.state
            yield f"order {planned.client_order_id} was not cancelled; it is {status}"
            continue
        yield f"cancelled {planned.client_order_id}: {released_words(planned, planned.quantity, base)}"
        if again is not None and again.state in STANDING:
            yield f"placed again as {again.client_order_id}: {released_words(planned, again.quantity, base)}"
        elif again is not None:
            amount = f"{exact(again.quantity)} {plain(base)}"
            yield f"{amount} NOT placed again: {again.client_order_id} is {again.state}"


def waiting_summary(kept: StoredPreview, mode: str, *, has_approver: bool) -> str:
    """Return the summary of an order that waits for approval."""
    if not has_approver:
        return f"{mode}: not sent. Waiting for your answer: the question was not answered in time"
    return f"{mode}: not sent. Waiting for your approval: {command(f'approve {kept.preview_id}', kept.terms.network)}"


def waiting_step(kept: StoredPreview, *, has_approver: bool, is_asked: bool, is_shown: bool = False) -> str:
    """Return how a waiting order can be approved: by another question or by a signature.

    With `is_shown` an approval page is open.
    """
    call = next_step("place_order", preview_id=kept.preview_id)
    again = f"{call} asks again" if is_asked else f"{call} then places it"
    if is_shown:
        return f"the user decides on the page open on their machine, or runs that command; {again}"
    return f"the user runs that command; {again}" if has_approver else again


def waiting_text(kept: StoredPreview, base: str, venue: Venue, told: tuple[str, str], as_of_ms: int) -> str:
    """Render a waiting order from its summary and next step."""
    terms, (summary, step) = kept.terms, told
    lines = [
        summary,
        "",
        f"**Order**: {order_words(terms, base)}",
        *(f"{number}. {each}" for number, each in enumerate(plan_steps(terms, base), 1)),
        f"**Expires**: {instant(terms.expires_ms)}",
        f"**Next**: {step}",
        "",
        *where_from(terms.mode, venue, as_of_ms),
    ]
    return "\n".join(lines)


def cancel_outcome(placed: PlacedOrder) -> CancelOutcome:
    """Return the outcome of a cancel that was sent, as one word."""
    if placed.intent.is_cancelled and placed.intent.final_ms is not None:
        return "cancelled"
    if placed.intent.final_ms is not None:
        return "already_over"
    return "unknown" if placed.is_cancel_unknown else "not_cancelled"


def cancel_summary(placed: PlacedOrder, outcome: CancelOutcome) -> str:
    """Return the outcome of a cancel in one line."""
    intent = placed.intent
    mode, name, filled = mode_word(placed.mode, placed.venue), intent.client_order_id, _filled(placed)
    match outcome:
        case "cancelled":
            return f"{mode}: order {name} is cancelled: {filled}."
        case "already_over":
            return f"{mode}: nothing to cancel. Order {name} is {intent.status or intent.state}: {filled}."
        case "unknown":
            return f"{mode}: outcome of the cancel unknown. Order {name}: {filled}."
        case "waiting_for_approval":
            own = command(f"cancel {name}", intent.terms.network)
            how = f": {own}" if _is_placed_here(placed) else " at Binance"
            return f"{mode}: not cancelled. It is a stop; cancel it yourself{how}"
        case "not_cancelled":
            return f"{mode}: not cancelled. Order {name} is still open{_quoted(placed.reason)}."


def cancel_step(placed: PlacedOrder, outcome: CancelOutcome) -> str:
    """Return the call to make after a cancel."""
    if outcome in ("cancelled", "already_over"):
        return ""
    symbol, name = placed.intent.terms.symbol, placed.intent.client_order_id
    if outcome == "waiting_for_approval":
        what = "run that command" if _is_placed_here(placed) else "cancel it at Binance"
        return f"ask the user to {what}; the stop protects them until then"
    return f"{next_step('get_order', symbol=symbol, client_order_id=name)} shows its state"


def cancelled_all_summary(found: CancelledAll) -> str:
    """Return the numbers of orders that were cancelled, that had ended before, and that stay open."""
    mode = mode_word(found.mode, found.venue)
    where = "" if found.symbol is None else f" on {plain(found.symbol)}"
    if not (found.cancelled or found.ended or found.left):
        return f"{mode}: nothing to cancel. No open order{where} was placed by this server."
    cancelled = f"{len(found.cancelled)} {'order' if len(found.cancelled) == 1 else 'orders'} cancelled{where}"
    ended = f", {len(found.ended)} had ended before" if found.ended else ""
    left = f", {len(found.left)} left open" if found.left else ", none left open"
    return f"{mode}: {cancelled}{ended}{left}."


def cancelled_all_text(found: CancelledAll, summary: str) -> str:
    """Render the result of cancelling all orders, of one symbol or of all."""
    lines = [
        summary,
        "",
        *(f"- cancelled {_ended_words(each)}" for each in found.cancelled),
        *(f"- {each.intent.status} {_ended_words(each)}" for each in found.ended),
        *(f"- left {each.client_order_id}: {unformatted(word(each.reason))}" for each in found.left),
        "",
        *where_from(found.mode, found.venue, found.as_of_ms),
    ]
    return "\n".join(lines)


def open_part(placed: PlacedOrder) -> tuple[str, Quantity]:
    """Return the part of an order that was open before its cancel, and the executed part.

    For a filled entry, the open part is its exits.
    """
    intent, base = placed.intent, placed.rules.base
    terms, exits = intent.current_terms, intent.terms.exits
    if exits is None or not exits.has_entry or intent.status != "FILLED":
        return order_words(terms, base), intent.executed
    sold = Quantity(sum((each.executed for each in intent.legs if not each.is_entry), NOTHING))
    what = f"exits of {exact(intent.executed)} {plain(base)} bought: {exits_words(exits)} ({plain(terms.symbol)})"
    return what, sold


def _ended_words(placed: PlacedOrder) -> str:
    order, executed = open_part(placed)
    return f"{placed.intent.client_order_id}: {order}, executed {exact(executed)}"


def leg_words(leg: Leg, rules: SymbolRules) -> str:
    """Format the state of one order in an order list."""
    traded = f", {exact(leg.executed)} {plain(rules.base)} for {exact(leg.spent)} {plain(rules.quote)}"
    return f"{leg.client_order_id} {leg.status}{traded if leg.executed else ''}"


def fees_words(fees: Mapping[str, Quantity]) -> str:
    return ", ".join(f"{exact(amount)} {plain(asset)}" for asset, amount in fees.items())


def _filled(placed: PlacedOrder) -> str:
    intent, rules = placed.intent, placed.rules
    done = _done(intent.terms)
    average = intent.average_price
    if average is None:
        return (
            f"nothing was {done}" if intent.final_ms is not None else DOES.get(intent.status, "nothing is filled yet")
        )
    whole = intent.executed == intent.quantity
    share = exact(intent.executed) if whole else f"{exact(intent.executed)} of {exact(intent.quantity)}"
    return f"{share} {plain(rules.base)} {done} at {averaged(average, rules)} {plain(rules.quote)}"


def _is_placed_here(placed: PlacedOrder) -> bool:
    """Return whether the commands on this machine know the order. An adopted order is known only to the exchange."""
    return placed.intent.state != "ADOPTED"


def _recorded(state: str) -> str:
    return "recorded" if state == "ACKED" else f"recorded as {state}"


def _done(terms: Terms) -> str:
    return "bought" if terms.side == "BUY" else "sold"


def _quoted(reason: str) -> str:
    return f': "{word(reason)}"' if reason else ""


def _venue(placed: PlacedOrder) -> str:
    return "the paper exchange" if placed.mode == "paper" else "Binance"
