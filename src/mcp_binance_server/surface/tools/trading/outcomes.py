"""Answers of the tools that place or cancel orders."""

from collections.abc import Awaitable, Callable
from typing import Literal

from pydantic.json_schema import SkipJsonSchema

from mcp_binance_server.services.trading.answers import PlacedOrder
from mcp_binance_server.services.trading.service import TradingService
from mcp_binance_server.surface.confirm import Decision, Question
from mcp_binance_server.surface.context import Context
from mcp_binance_server.surface.spec import Answer
from mcp_binance_server.surface.tools.rows import omitted
from mcp_binance_server.surface.views.markdown import exact, exact_average, instant
from mcp_binance_server.surface.views.trading.orders import LEGS, leg_words, open_notes, step_lines
from mcp_binance_server.surface.views.trading.terms import confirmed_words, money_notes, order_words
from mcp_binance_server.words import word

OutcomeName = Literal[
    "placed", "rejected", "not_sent", "unknown", "waiting_for_approval", "cancelled", "already_over", "not_cancelled"
]


class OrderOutcome(Answer):
    """Amounts are decimal text. `journal` is the order's state in our journal, `status` its state at the exchange."""

    outcome: OutcomeName
    summary: str
    next_step: str | None = omitted()
    mode: str
    order: str
    client_order_id: str | None = omitted()
    order_id: int | None = omitted()
    status: str | None = omitted()
    journal: SkipJsonSchema[str | None] = omitted()
    executed: str | None = omitted()
    spent: SkipJsonSchema[str | None] = omitted()
    average_price: str | None = omitted()
    legs: SkipJsonSchema[dict[str, str] | None] = omitted()
    unprotected: SkipJsonSchema[str | None] = omitted()
    gone: SkipJsonSchema[str | None] = omitted()
    steps: SkipJsonSchema[list[str] | None] = omitted()
    fees: dict[str, str] | None = omitted()
    confirmed_by: SkipJsonSchema[str | None] = omitted()
    reason: SkipJsonSchema[str | None] = omitted()
    expires: SkipJsonSchema[str | None] = omitted()
    network: SkipJsonSchema[str]
    host: SkipJsonSchema[str]
    as_of: SkipJsonSchema[str]


async def trading_of(context: Context) -> TradingService:
    """Return the trading service for the caller's account.

    Raises:
        LookupError: trading is off.
        TradingNotReady: the caller's account is not open yet.
        AppError: the exchange refuses the caller's key, or does not answer.
    """
    if context.trading is None:
        raise LookupError("trading is off")
    return await context.trading.opened()


async def decided(context: Context, question: Callable[[], Awaitable[Question]]) -> Decision:
    """Ask the user a question if the client supports it, and count the decision in the metrics.

    Raises:
        AnswerNeeded: the client must repeat the call with the answer.
    """
    decision = "impossible" if context.asker is None else await context.asker.ask(await question())
    (await trading_of(context)).figures.answers[decision] += 1
    return decision


# Outcomes of requests that the exchange or this server has refused.
REFUSED = frozenset[OutcomeName]({"rejected", "not_sent", "not_cancelled"})


def order_outcome(placed: PlacedOrder, outcome: OutcomeName, summary: str, step: str) -> OrderOutcome:
    """Return the state of an order as a tool's answer."""
    intent, average = placed.intent, placed.intent.average_price
    return OrderOutcome(
        outcome=outcome,
        summary=summary,
        next_step=step or None,
        mode=placed.mode,
        order=order_words(intent.current_terms, placed.rules.base),
        client_order_id=intent.exchange_id,
        order_id=intent.order_id,
        status=intent.status or None,
        journal=intent.state,
        executed=exact(intent.executed),
        spent=exact(intent.spent),
        average_price=None if average is None else exact_average(average, placed.rules.tick),
        legs={LEGS[each.client_order_id[-2:]]: leg_words(each, placed.rules) for each in intent.legs} or None,
        unprotected=exact(intent.unprotected) if intent.unprotected else None,
        gone=None if placed.gone is None else order_words(placed.gone.terms, placed.rules.base),
        steps=[*step_lines(placed)] or None,
        fees={asset: exact(amount) for asset, amount in placed.fees.items()} or None,
        confirmed_by=confirmed_words(intent),
        reason=word(placed.reason) or None,
        network=placed.venue.network,
        host=placed.venue.host,
        as_of=instant(placed.as_of_ms),
        notes=[*open_notes(placed), *money_notes(placed.mode, placed.venue)],
    )
