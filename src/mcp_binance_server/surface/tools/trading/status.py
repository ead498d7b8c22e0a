"""Tools that report the state of trading, and stop trading. No tool can start trading."""

from dataclasses import replace
from typing import Annotated

from pydantic import Field
from pydantic.json_schema import SkipJsonSchema

from mcp_binance_server.errors import AppError
from mcp_binance_server.services.trading.answers import TradingStatus
from mcp_binance_server.services.trading.results import PaperPast, paper_result
from mcp_binance_server.services.trading.service import TradingService
from mcp_binance_server.surface.arguments import Arguments
from mcp_binance_server.surface.context import Context
from mcp_binance_server.surface.spec import TRADE, Answer, ToolAnswer, ToolSpec
from mcp_binance_server.surface.tools.rows import omitted
from mcp_binance_server.surface.tools.trading.outcomes import trading_of
from mcp_binance_server.surface.views.markdown import exact, instant
from mcp_binance_server.surface.views.trading.status import (
    NO_COST,
    adopted_words,
    confirmation_of,
    following_notes,
    honest_notes,
    lost_words,
    open_words,
    result_rows,
    rules_of,
    status_summary,
    status_text,
    unread_words,
    unresolved_words,
    waiting_words,
)
from mcp_binance_server.surface.views.trading.terms import money_notes
from mcp_binance_server.words import one_line, word

LONGEST_REASON = 200


class GetTradingStatus(Arguments):
    pass


class StopTrading(Arguments):
    reason: Annotated[str, Field(description="Why, in a sentence", min_length=1, max_length=LONGEST_REASON)]


class TradingStatusAnswer(Answer):
    summary: str
    mode: str
    is_stopped: bool
    stopped_because: str | None = omitted()
    confirmation: list[str]
    rules: SkipJsonSchema[dict[str, str]]
    lost_today: SkipJsonSchema[str | None] = omitted()
    limits: list[dict[str, str]]
    open_orders: list[str]
    unresolved: list[str]
    adopted: SkipJsonSchema[list[str] | None] = omitted()
    waiting: list[str]
    balances: SkipJsonSchema[list[dict[str, str]]]
    result: SkipJsonSchema[dict[str, str] | None] = omitted()
    network: SkipJsonSchema[str]
    host: SkipJsonSchema[str]
    as_of: SkipJsonSchema[str]


async def _told(context: Context, trading: TradingService, found: TradingStatus) -> ToolAnswer:
    status = await _with_result(context, trading, found)
    summary = status_summary(status)
    answer = TradingStatusAnswer(
        summary=summary,
        mode=status.mode,
        is_stopped=status.stopped is not None,
        stopped_because=None if status.stopped is None else word(status.stopped.why),
        confirmation=confirmation_of(status.policy, status.mode),
        rules=rules_of(status.policy),
        lost_today=None if status.lost_today is None else lost_words(status),
        limits=[
            {"limit": each.name, "used": each.used, "most": each.most, "left": each.left} for each in status.limits
        ],
        open_orders=[open_words(each) for each in status.open_intents],
        unresolved=[unresolved_words(each) for each in status.unresolved],
        adopted=[adopted_words(each) for each in status.adopted] or None,
        waiting=[waiting_words(each) for each in status.waiting],
        balances=[
            {"asset": each.asset, "free": exact(each.free), "locked": exact(each.locked)} for each in status.balances
        ],
        result=None if status.result is None else dict(result_rows(status.result)),
        network=status.venue.network,
        host=status.venue.host,
        as_of=instant(status.as_of_ms),
        notes=[
            *([unread_words(status)] if status.unread else []),
            *status.key_notes,
            *following_notes(status),
            *([] if status.result is None else [NO_COST]),
            *honest_notes(status.mode),
            *money_notes(status.mode, status.venue),
        ],
    )
    return ToolAnswer(status_text(status, summary), answer)


async def get_trading_status(context: Context, _arguments: GetTradingStatus) -> ToolAnswer:
    trading = await trading_of(context)
    return await _told(context, trading, await trading.status())


async def stop_trading(context: Context, arguments: StopTrading) -> ToolAnswer:
    reason = one_line(arguments.reason, LONGEST_REASON) or "no reason given"
    trading = await trading_of(context)
    return await _told(context, trading, await trading.stop(reason))


async def _with_result(context: Context, trading: TradingService, status: TradingStatus) -> TradingStatus:
    if status.mode != "paper" or status.unread:
        return status
    try:
        past = await PaperPast.of(trading.situation_reader.reader, trading.trader.account)
        result = await paper_result(trading.policy.paper_balances, past, context.account, context.profit)
    except AppError:  # the state of trading is reported without prices too
        return status
    return replace(status, result=result)


GET_TRADING_STATUS = ToolSpec(
    name="get_trading_status",
    title="Trading status",
    description=(
        "Trading mode, limits and their remaining amounts, balances, open orders, waiting approvals, unknown "
        "outcomes, and whether trading is stopped. Read it before the first order. Not for past orders "
        "(binance://orders/journal)."
    ),
    arguments=GetTradingStatus,
    answer=TradingStatusAnswer,
    run=get_trading_status,
    read_only=True,
    open_world=False,
    # The scope is `account:read`, because the tool only reads. Previews need it too, so every trading caller has it.
    own_scope="account:read",
    toolset=TRADE,
)
STOP_TRADING = ToolSpec(
    name="stop_trading",
    title="Stop trading",
    description=(
        "Stop new orders of this account at once. Only the user can resume trading, outside this chat. Open orders "
        "stay open. Not for cancelling (cancel_all_orders)."
    ),
    arguments=StopTrading,
    answer=TradingStatusAnswer,
    run=stop_trading,
    read_only=False,
    destructive=False,
    idempotent=True,
    open_world=False,
    toolset=TRADE,
)
