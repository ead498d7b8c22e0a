"""Tool that reads one order from the exchange and from our journal. It exists only if trading is on."""

from dataclasses import replace
from typing import Any

from pydantic.json_schema import SkipJsonSchema

from mcp_binance_server.domain.symbols import fold
from mcp_binance_server.errors import AppError, ExchangeRejected
from mcp_binance_server.exchange.spot.order_fates import NO_SUCH_ORDER
from mcp_binance_server.services.trading.answers import OrderRecord
from mcp_binance_server.services.trading.service import TradingService
from mcp_binance_server.surface.context import Context
from mcp_binance_server.surface.spec import Answer, ToolAnswer
from mcp_binance_server.surface.tools.orders.history import GET_ORDER, GetOrder, OrderRow, order_answer
from mcp_binance_server.surface.tools.rows import omitted
from mcp_binance_server.surface.tools.trading.outcomes import trading_of
from mcp_binance_server.surface.views.markdown import instant
from mcp_binance_server.surface.views.orders.history import order_text
from mcp_binance_server.surface.views.trading.journal import (
    change_words,
    found_summary,
    history_of,
    journal_lines,
    record_page,
    record_summary,
    standing_summary,
    unasked_summary,
)
from mcp_binance_server.surface.views.trading.status import open_words, terms_words
from mcp_binance_server.surface.views.trading.terms import confirmed_words, mode_word, money_notes


class JournaledOrderAnswer(Answer):
    summary: str
    order: OrderRow | None
    average_price: str | None
    journal: dict[str, Any] | None = omitted("If placed by this server")
    network: SkipJsonSchema[str]
    host: SkipJsonSchema[str]
    as_of: SkipJsonSchema[str]


async def get_journaled_order(context: Context, arguments: GetOrder) -> ToolAnswer:
    trading = await trading_of(context)
    mode = mode_word(trading.mode, trading.venue)
    named = arguments.client_order_id
    record = await _record(trading, named, arguments.symbol)
    if record is not None and record.intent.client_order_id == named and record.is_known_here_alone:
        await trading.desk.catch_up((record.intent.terms.account,))
        record = await _record(trading, named, arguments.symbol) or record
        return _alone(trading, record, standing_summary(record, mode))
    if record is not None and record.change is not None:
        named = record.intent.client_order_id
    try:
        view = await context.orders.one(arguments.symbol, order_id=arguments.order_id, client_order_id=named)
    except AppError as error:
        if record is None:
            raise
        # The order may never have reached the exchange. Then only our journal has it.
        is_absent = isinstance(error, ExchangeRejected) and error.exchange_code == NO_SUCH_ORDER
        return _alone(trading, record, record_summary(record, mode) if is_absent else unasked_summary(record, mode))
    record = record or await _record(trading, view.order.client_order_id, arguments.symbol)
    summary = f"{mode}: order {view.order.order_id} is {view.order.status}."
    if record is not None:
        summary = found_summary(record, view.order, mode)
    told = order_answer(view)
    answer = JournaledOrderAnswer(
        **told.model_dump(exclude={"order", "notes"}),
        order=told.order,
        notes=told.notes,
        summary=summary,
        journal=None if record is None else _journal(record),
    )
    lines = [] if record is None else ["", *journal_lines(record)]
    return ToolAnswer("\n".join([summary, "", order_text(view), *lines]), answer)


async def _record(trading: TradingService, client_order_id: str | None, symbol: str) -> OrderRecord | None:
    if client_order_id is None:
        return None
    found = await trading.record(client_order_id)
    return found if found is not None and found.intent.terms.symbol == fold(symbol) else None


def _alone(trading: TradingService, record: OrderRecord, summary: str) -> ToolAnswer:
    venue, now_ms = trading.broker.venue, trading.now_ms()
    answer = JournaledOrderAnswer(
        summary=summary,
        order=None,
        average_price=None,
        journal={"order": terms_words(record.intent.terms), **_journal(record)},
        network=venue.network,
        host=venue.host,
        as_of=instant(now_ms),
        notes=money_notes(trading.mode, venue),
    )
    return ToolAnswer(record_page(record, summary, trading.mode, venue, now_ms), answer)


def _journal(record: OrderRecord) -> dict[str, Any]:
    return {
        "state": record.intent.state,
        **({} if record.change is None else {"change": change_words(record.change)}),
        **({"stands": open_words(record.intent)} if record.intent.legs else {}),
        "confirmed_by": confirmed_words(record.intent),
        "history": history_of(record),
    }


GET_JOURNALED_ORDER = replace(GET_ORDER, answer=JournaledOrderAnswer, run=get_journaled_order)
