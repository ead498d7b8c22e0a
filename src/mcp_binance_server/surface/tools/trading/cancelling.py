"""Tools that cancel one order or all orders. Cancelling a stop needs the user's consent."""

from functools import partial

from pydantic.json_schema import SkipJsonSchema

from mcp_binance_server.services.trading.answers import Cancellation, CancellationOfAll, PlacedOrder
from mcp_binance_server.services.trading.cancelling import CancelService, subject_of
from mcp_binance_server.surface.arguments import Arguments
from mcp_binance_server.surface.confirm import Question
from mcp_binance_server.surface.context import Context
from mcp_binance_server.surface.spec import TRADE, Answer, ToolAnswer, ToolSpec
from mcp_binance_server.surface.tools.rows import ClientOrderId, Pair, omitted
from mcp_binance_server.surface.tools.trading.outcomes import REFUSED, OrderOutcome, decided, order_outcome, trading_of
from mcp_binance_server.surface.views.markdown import exact, instant
from mcp_binance_server.surface.views.trading.orders import (
    CancelOutcome,
    cancel_outcome,
    cancel_step,
    cancel_summary,
    cancelled_all_summary,
    cancelled_all_text,
    open_part,
    outcome_text,
)
from mcp_binance_server.surface.views.trading.question import (
    CANCEL,
    CANCEL_ALL,
    DO_NOT_CANCEL,
    DO_NOT_CANCEL_ALL,
    cancel_all_question,
    cancel_question,
)
from mcp_binance_server.surface.views.trading.terms import mode_word, money_notes
from mcp_binance_server.trading.errors import OrderDeclined
from mcp_binance_server.words import word


class CancelOrder(Arguments):
    symbol: Pair
    client_order_id: ClientOrderId


class CancelAllOrders(Arguments):
    symbol: Pair | None = None


class CancelAllAnswer(Answer):
    summary: str
    cancelled: dict[str, dict[str, str]]
    ended: SkipJsonSchema[dict[str, dict[str, str]] | None] = omitted()
    left: dict[str, str]
    mode: str
    network: SkipJsonSchema[str]
    host: SkipJsonSchema[str]
    as_of: SkipJsonSchema[str]


async def cancel_order(context: Context, arguments: CancelOrder) -> ToolAnswer:
    trading = await trading_of(context)
    cancels = CancelService(trading)
    wanted = await cancels.wanted(arguments.symbol, arguments.client_order_id)
    if isinstance(wanted, PlacedOrder):
        return _told(wanted, "already_over")
    match await decided(context, partial(_question, context, wanted)) if wanted.asks else "yes":
        case "yes":
            placed = await cancels.cancel(wanted)
            return _told(placed, cancel_outcome(placed))
        case "no":
            await cancels.decline(wanted)
            raise OrderDeclined
        case "unanswered" | "impossible":
            intent, venue = wanted.intent, trading.broker.venue
            stands = PlacedOrder(intent, wanted.rules, trading.mode, venue, trading.now_ms())
            return _told(stands, "waiting_for_approval")


async def cancel_all_orders(context: Context, arguments: CancelAllOrders) -> ToolAnswer:
    trading = await trading_of(context)
    cancels = CancelService(trading)
    wanted = await cancels.wanted_of_all(arguments.symbol)
    decision = await decided(context, partial(_question_of_all, context, wanted)) if wanted.asks else "impossible"
    if decision == "no":
        await cancels.decline_all(wanted)
        raise OrderDeclined
    is_confirmed, is_answered = decision == "yes", decision != "unanswered"
    found = await cancels.cancel_all(wanted, is_confirmed=is_confirmed, is_answered=is_answered)
    summary = cancelled_all_summary(found)
    answer = CancelAllAnswer(
        summary=summary,
        cancelled=_rows(found.cancelled),
        ended=_rows(found.ended) or None,
        left={each.client_order_id: word(each.reason) for each in found.left},
        mode=found.mode,
        network=found.venue.network,
        host=found.venue.host,
        as_of=instant(found.as_of_ms),
        notes=money_notes(found.mode, found.venue),
    )
    return ToolAnswer(cancelled_all_text(found, summary), answer)


def _rows(orders: tuple[PlacedOrder, ...]) -> dict[str, dict[str, str]]:
    """Return the part of each order that was open, and the executed part of the open part."""
    parts = {each.intent.client_order_id: open_part(each) for each in orders}
    return {name: {"order": order, "executed": exact(executed)} for name, (order, executed) in parts.items()}


def _told(placed: PlacedOrder, outcome: CancelOutcome) -> ToolAnswer:
    summary, step = cancel_summary(placed, outcome), cancel_step(placed, outcome)
    answer = order_outcome(placed, outcome, summary, step)
    return ToolAnswer(outcome_text(placed, summary, step), answer, is_refused=outcome in REFUSED)


async def _question(context: Context, wanted: Cancellation) -> Question:
    trading = await trading_of(context)
    message = cancel_question(wanted, mode_word(trading.mode, trading.broker.venue))
    return Question(wanted.intent.client_order_id, message, CANCEL, DO_NOT_CANCEL)


async def _question_of_all(context: Context, wanted: CancellationOfAll) -> Question:
    trading = await trading_of(context)
    message = cancel_all_question(wanted, mode_word(trading.mode, trading.broker.venue))
    return Question(subject_of(wanted), message, CANCEL_ALL, DO_NOT_CANCEL_ALL)


CANCEL_ORDER = ToolSpec(
    name="cancel_order",
    title="Cancel an order",
    description=(
        "Cancel one open order placed by this server. Fills stay. Cancelling a stop may ask the user. Not for orders "
        "placed elsewhere, unless the operator's limits allow it."
    ),
    arguments=CancelOrder,
    answer=OrderOutcome,
    run=cancel_order,
    read_only=False,
    idempotent=True,
    asks=True,
    toolset=TRADE,
)
CANCEL_ALL_ORDERS = ToolSpec(
    name="cancel_all_orders",
    title="Cancel all orders",
    description=(
        "Cancel all open orders placed by this server, of one symbol or of all (may ask the user); stops that need "
        "confirmation stay and are listed. Not for one order (cancel_order)."
    ),
    arguments=CancelAllOrders,
    answer=CancelAllAnswer,
    run=cancel_all_orders,
    read_only=False,
    idempotent=True,
    asks=True,
    toolset=TRADE,
)
