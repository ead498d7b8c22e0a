"""Tools that read the account's orders and trades."""

from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from typing import Annotated, Any, Self

from pydantic import Field, model_validator
from pydantic.json_schema import SkipJsonSchema
from pydantic_core import PydanticCustomError

from mcp_binance_server.domain.money import percent_of, written
from mcp_binance_server.domain.orders import (
    AccountFills,
    Fill,
    OneOrder,
    OpenOrders,
    Order,
    OrderHistory,
    OrdersOfSymbol,
)
from mcp_binance_server.domain.symbols import SymbolRules
from mcp_binance_server.services.account.orders import HISTORY_ROWS
from mcp_binance_server.services.account.trade_pages import MOST_ROWS
from mcp_binance_server.surface.arguments import Arguments
from mcp_binance_server.surface.context import Context
from mcp_binance_server.surface.spec import NEXT_PAGE, Answer, ListAnswer, ToolAnswer, ToolSpec
from mcp_binance_server.surface.tools.rows import ClientOrderId, Pair, Row, omitted, optional
from mcp_binance_server.surface.views.markdown import NO_STEP, exact, exact_average, instant, next_step
from mcp_binance_server.surface.views.orders.history import (
    NO_FILLS,
    NO_OPEN_ORDERS,
    fills_text,
    history_notes,
    history_text,
    no_orders,
    open_orders_text,
    order_text,
    orders_text,
    unvalued_notes,
)
from mcp_binance_server.surface.views.portfolio.holdings import venue_notes

MOST_PAIRS = 20
LARGEST_ID = 2**63 - 1

Limit = Annotated[int, Field(description="Maximum number of rows, the newest", ge=1, le=MOST_ROWS)]
OrderId = Annotated[int, Field(description="Order ID of the exchange", ge=1, le=LARGEST_ID)]
Moment = Annotated[str, Field(max_length=200)] | int | None


class GetOpenOrders(Arguments):
    symbol: Pair | None = None
    limit: Limit = 40


class GetOrder(Arguments):
    symbol: Pair
    order_id: OrderId | None = None
    client_order_id: ClientOrderId | None = None

    @model_validator(mode="after")
    def _one_id(self) -> Self:
        if (self.order_id is None) == (self.client_order_id is None):
            raise ValueError("give exactly one of order_id and client_order_id")
        return self


class GetAllOrders(Arguments):
    symbol: Pair | None = optional("Trading pair, e.g. BTCUSDT; all you hold or have ordered if left out")
    limit: Limit = 50
    start: Moment = optional("Start time: ISO instant, epoch ms, '36h', 'yesterday'; UTC")
    end: Moment = optional("End time; at most 24 hours after start")

    @model_validator(mode="after")
    def _periods_are_of_one_symbol(self) -> Self:
        if self.symbol is None and (self.start is not None or self.end is not None):
            raise PydanticCustomError(
                "period", "start and end need a symbol: Binance lists past orders one symbol at a time"
            )
        return self


class GetAccountTrades(Arguments):
    symbol: Pair | None = optional("Trading pair, e.g. BTCUSDT")
    symbols: Annotated[list[str], Field(min_length=1, max_length=MOST_PAIRS)] | None = optional(
        "Several pairs, instead of symbol"
    )
    limit: Annotated[int, Field(description="Maximum number of rows", ge=1, le=MOST_ROWS)] = 50
    start: Moment = optional("Start time, as in get_all_orders; gives the first trades after it, not the newest")
    end: Moment = optional("End time")
    order_id: OrderId | None = Field(None, description="Only the trades of this order")

    @model_validator(mode="after")
    def _what_goes_together(self) -> Self:
        if (self.symbol is None) == (self.symbols is None):
            raise ValueError("give symbol or symbols, not both")
        if self.order_id is not None and (self.symbol is None or self.start is not None or self.end is not None):
            raise ValueError("order_id needs one symbol, and no start or end")
        return self

    @property
    def pairs(self) -> list[str]:
        return self.symbols or ([] if self.symbol is None else [self.symbol])


class OrderRow(Row):
    order_id: int
    client_order_id: str
    symbol: str
    side: str
    type: str
    status: str
    time_in_force: str
    price: str
    stop_price: str
    quantity: str
    executed: str
    quote_spent: str
    time: str
    updated: str
    expiry_reason: SkipJsonSchema[str | None] = omitted()
    average_price: SkipJsonSchema[str | None] = omitted()
    trailing: SkipJsonSchema[str | None] = omitted()
    trailing_since: SkipJsonSchema[str | None] = omitted()


class FillRow(Row):
    trade_id: int
    order_id: int
    symbol: str
    side: str
    price: str
    quantity: str
    quote_quantity: str
    commission: str
    commission_asset: str
    is_maker: bool
    time: str


class OrdersAnswer(ListAnswer):
    orders: list[OrderRow]
    network: str
    host: str
    as_of: str


class AllOrdersAnswer(OrdersAnswer):
    symbols_asked: list[str] | None = omitted("Without a symbol: symbols searched")
    not_asked: list[str] | None = omitted()
    no_answer: list[str] | None = omitted()


class OpenOrdersAnswer(OrdersAnswer):
    total: int
    value_by_quote: dict[str, str]
    buys: SkipJsonSchema[dict[str, str]]
    sells: SkipJsonSchema[dict[str, str]]


class OrderAnswer(Answer):
    order: OrderRow
    average_price: str | None
    network: str
    host: str
    as_of: str


class TradesAnswer(ListAnswer):
    symbol: str | None = omitted()
    symbols: list[str] | None = omitted()
    trades: list[FillRow]
    network: str
    host: str
    as_of: str


def order_row(order: Order, rules: SymbolRules | None) -> OrderRow:
    average = order.average_price
    return OrderRow(
        order_id=order.order_id,
        client_order_id=order.client_order_id,
        symbol=order.symbol,
        side=order.side,
        type=order.kind,
        status=order.status,
        time_in_force=order.time_in_force,
        price=f"{order.price:f}",
        stop_price=f"{order.stop_price:f}",
        quantity=f"{order.quantity:f}",
        executed=f"{order.executed:f}",
        quote_spent=f"{order.quote_spent:f}",
        time=instant(order.created_ms),
        updated=instant(order.updated_ms),
        expiry_reason=order.expiry_reason or None,
        trailing=None if order.trailing_bps is None else f"{written(percent_of(order.trailing_bps))}%",
        trailing_since=None if order.trailing_ms is None else instant(order.trailing_ms),
        average_price=None if average is None else exact_average(average, NO_STEP if rules is None else rules.tick),
    )


def fill_row(fill: Fill) -> FillRow:
    return FillRow(
        trade_id=fill.trade_id,
        order_id=fill.order_id,
        symbol=fill.symbol,
        side="BUY" if fill.is_buyer else "SELL",
        price=f"{fill.price:f}",
        quantity=f"{fill.quantity:f}",
        quote_quantity=f"{fill.quote_quantity:f}",
        commission=f"{fill.commission:f}",
        commission_asset=fill.commission_asset,
        is_maker=fill.is_maker,
        time=instant(fill.time_ms),
    )


def _exact_sums(sums: Mapping[str, Decimal]) -> dict[str, str]:
    return {quote: exact(value) for quote, value in sums.items()}


async def get_open_orders(context: Context, arguments: GetOpenOrders) -> ToolAnswer:
    view = await context.orders.open(arguments.symbol)
    newest_last = sorted(view.orders, key=lambda order: (order.created_ms, order.order_id))
    shown = tuple(newest_last[-arguments.limit :])
    more = _more_open(view, arguments)
    answer = OpenOrdersAnswer(
        count=len(shown),
        limit=arguments.limit,
        more=more,
        orders=[order_row(each, view.rules.get(each.symbol)) for each in shown],
        network=view.venue.network,
        host=view.venue.host,
        as_of=instant(view.as_of_ms),
        total=len(view.orders),
        value_by_quote=_exact_sums(view.value_by_quote),
        buys=_exact_sums(view.buys_by_quote),
        sells=_exact_sums(view.sells_by_quote),
        notes=[*([] if shown else [NO_OPEN_ORDERS]), *unvalued_notes(view), *venue_notes(view.venue)],
    )
    return ToolAnswer(open_orders_text(view, shown, arguments.limit, more), answer)


async def get_order(context: Context, arguments: GetOrder) -> ToolAnswer:
    view = await context.orders.one(
        arguments.symbol, order_id=arguments.order_id, client_order_id=arguments.client_order_id
    )
    return ToolAnswer(order_text(view), order_answer(view))


def order_answer(view: OneOrder) -> OrderAnswer:
    average = view.order.average_price
    return OrderAnswer(
        order=order_row(view.order, view.rules),
        average_price=None if average is None else exact_average(average, view.rules.tick),
        network=view.venue.network,
        host=view.venue.host,
        as_of=instant(view.as_of_ms),
        notes=venue_notes(view.venue),
    )


async def get_all_orders(context: Context, arguments: GetAllOrders) -> ToolAnswer:
    if arguments.symbol is None:
        return _history(await context.orders.history(), arguments.limit)
    view = await context.orders.all(arguments.symbol, arguments.limit, arguments.start, arguments.end)
    more = _more_orders(view, arguments)
    answer = AllOrdersAnswer(
        count=len(view.orders),
        limit=arguments.limit,
        more=more,
        orders=[order_row(each, view.rules) for each in view.orders],
        network=view.venue.network,
        host=view.venue.host,
        as_of=instant(view.as_of_ms),
        notes=[*no_orders(view), *venue_notes(view.venue)],
    )
    return ToolAnswer(orders_text(view, arguments.limit, more), answer)


def _history(found: OrderHistory, limit: int) -> ToolAnswer:
    view = replace(found, orders=found.orders[:limit], cut=found.cut or len(found.orders) > limit)
    answer = AllOrdersAnswer(
        count=len(view.orders),
        limit=min(limit, HISTORY_ROWS),
        more="get_all_orders with one symbol" if view.cut else None,
        orders=[order_row(each, view.rules.get(each.symbol)) for each in view.orders],
        symbols_asked=[*view.asked],
        not_asked=[*view.not_asked] or None,
        no_answer=[*view.failed] or None,
        network=view.venue.network,
        host=view.venue.host,
        as_of=instant(view.as_of_ms),
        notes=[*history_notes(view), *venue_notes(view.venue)],
    )
    return ToolAnswer(history_text(view, answer.limit, answer.more), answer)


async def get_account_trades(context: Context, arguments: GetAccountTrades) -> ToolAnswer:
    if arguments.order_id is None:
        view = await context.orders.fills(arguments.pairs, arguments.limit, arguments.start, arguments.end)
    else:
        view = await context.orders.fills_of_order(arguments.pairs[0], arguments.order_id, arguments.limit)
    following = _following(view, arguments)
    more = None if following is None else next_step("get_account_trades", **following)
    answer = TradesAnswer(
        count=len(view.fills),
        limit=arguments.limit,
        more=more,
        symbol=view.one.symbol if view.one else None,
        symbols=None if view.one else [*view.rules],
        trades=[fill_row(each) for each in view.fills],
        network=view.venue.network,
        host=view.venue.host,
        as_of=instant(view.as_of_ms),
        notes=[*([] if view.fills else [NO_FILLS]), *venue_notes(view.venue)],
    )
    meta = {NEXT_PAGE: following} if view.newer and following else None
    return ToolAnswer(fills_text(view, arguments.limit, more), answer, meta=meta)


def _more_open(view: OpenOrders, arguments: GetOpenOrders) -> str | None:
    if len(view.orders) <= arguments.limit:
        return None
    return next_step("get_open_orders", symbol=arguments.symbol, limit=min(len(view.orders), MOST_ROWS))


def _more_orders(view: OrdersOfSymbol, arguments: GetAllOrders) -> str | None:
    steps: list[str] = []
    if view.newer:
        after = instant(view.orders[-1].created_ms + 1)
        steps.append(
            f"{next_step('get_all_orders', symbol=arguments.symbol, limit=arguments.limit, start=after)} (newer)"
        )
    if view.older:
        before = instant(view.orders[0].created_ms - 1)
        steps.append(
            f"{next_step('get_all_orders', symbol=arguments.symbol, limit=arguments.limit, end=before)} (older)"
        )
    return " or ".join(steps) or None


def _following(view: AccountFills, arguments: GetAccountTrades) -> dict[str, Any] | None:
    """Return the arguments of the next page: later trades if `start` was given, otherwise earlier ones."""
    if not view.fills or not (view.older or view.newer):
        return None
    given = arguments.model_dump(mode="json", exclude_none=True)
    if arguments.order_id is not None:
        # A query with an order ID cannot page by time, so an order with a thousand trades must be read by symbol.
        return None if arguments.limit == MOST_ROWS else {**given, "limit": MOST_ROWS}
    if view.newer:
        return {**given, "start": instant(view.fills[-1].time_ms + 1)}
    return {**given, "end": instant(view.fills[0].time_ms - 1)}


GET_OPEN_ORDERS = ToolSpec(
    name="get_open_orders",
    title="Open orders",
    description=(
        "Orders of the account that are still on the book, newest last, with the value left to execute. Name a symbol "
        "if you can: all symbols cost thirteen times the weight. Not for filled or cancelled orders (get_all_orders), "
        "placing or cancelling."
    ),
    arguments=GetOpenOrders,
    answer=OpenOrdersAnswer,
    run=get_open_orders,
    read_only=True,
    toolset="orders",
)
GET_ORDER = ToolSpec(
    name="get_order",
    title="One order",
    description=(
        "State of one order of the account: status, filled quantity, average price. Needs its symbol and exactly one "
        "of order_id and client_order_id. Not for lists of orders (get_open_orders, get_all_orders)."
    ),
    arguments=GetOrder,
    answer=OrderAnswer,
    run=get_order,
    read_only=True,
    toolset="orders",
)
GET_ALL_ORDERS = ToolSpec(
    name="get_all_orders",
    title="Order history",
    description=(
        "Orders of the account, of every status. With a symbol: newest last; start and end narrow them (Binance "
        "allows at most 24 hours). Without: the newest 50, newest first, of symbols with an open order or a holding "
        "(ten times the weight). Not for single executions (get_account_trades)."
    ),
    arguments=GetAllOrders,
    answer=AllOrdersAnswer,
    run=get_all_orders,
    read_only=True,
    toolset="orders",
)
GET_ACCOUNT_TRADES = ToolSpec(
    name="get_account_trades",
    title="Account trades",
    description=(
        "Executions of the account's own orders on one pair or several, newest last: price, quantity, fee, maker or "
        "taker. The newest, or those between start and end. order_id selects one order at a quarter of the weight. "
        "Not for public trades or unfilled orders."
    ),
    arguments=GetAccountTrades,
    answer=TradesAnswer,
    run=get_account_trades,
    read_only=True,
    toolset="account",
)
