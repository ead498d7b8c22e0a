"""Pages of orders and of an account's trades."""

from collections.abc import Iterable, Mapping
from decimal import Decimal

from mcp_binance_server.domain.money import decimals_of, percent_of, round_to_places, written
from mcp_binance_server.domain.orders import (
    AccountFills,
    Fill,
    OneOrder,
    OpenOrders,
    Order,
    OrderHistory,
    OrdersOfSymbol,
)
from mcp_binance_server.domain.symbols import Symbol, SymbolRules
from mcp_binance_server.surface.views.markdown import (
    DOLLAR_LIKE,
    NO_STEP,
    average_places,
    counted,
    instant,
    money,
    next_step,
    plain,
    with_more,
)
from mcp_binance_server.surface.views.portfolio.holdings import note, source, word

BY_SYMBOL = (
    "Binance lists past orders one symbol at a time. This covers symbols with an open order or a holding. For any "
    "other symbol, or older orders, call get_all_orders with the symbol."
)
NO_ORDERS = "No orders found."
NOTHING_ASKED = "none: no open orders and no holdings with a market"
NO_OPEN_ORDERS = "No open orders found."
NO_FILLS = "No trades found."
OPEN_ROWS = 50
NAMES_SHOWN = 10
SMALLEST = Decimal("0.00000001")
CENT = Decimal("0.01")
COLUMNS = ("Order ID", "Symbol", "Side", "Type", "Price", "Orig Qty", "Executed Qty", "Status", "Time")
AVERAGE = "Average Price"
TOOL_COLUMNS = (*COLUMNS, AVERAGE, "Quote Spent", "Time in Force", "Client Order ID", "Updated")
FILL_COLUMNS = ("Trade ID", "Order ID", "Symbol", "Side", "Price", "Qty", "Value", "Fee", "Role", "Time")


def open_orders_page(view: OpenOrders) -> str:
    """Render the open orders in the fixed format of this resource."""
    lines = ["# Open Orders", ""]
    if not view.orders:
        lines += ["No open orders found.", "", f"*Last updated: {instant(view.as_of_ms)}*"]
        return "\n".join(lines if view.venue.is_testnet else [*lines[:-1], *source(view.venue, view.as_of_ms)])
    shown = newest(view.orders, OPEN_ROWS)
    lines += [
        *order_table(shown, view.rules),
        "",
        *open_summary(view),
        "",
        *(
            [f"*Shown: the newest {OPEN_ROWS}; for all of them call {next_step('get_open_orders', limit=1000)}*"]
            if len(shown) < len(view.orders)
            else []
        ),
        f"*Last updated: {instant(view.as_of_ms)}*",
        note(view.venue, "Testnet orders"),
    ]
    return "\n".join(lines)


def open_orders_text(view: OpenOrders, shown: tuple[Order, ...], limit: int, more: str | None) -> str:
    """Render the open orders for a tool."""
    table = order_table(shown, view.rules, tool_columns(shown)) if shown else [NO_OPEN_ORDERS]
    summary = ["", *open_summary(view), *_sides(view)] if shown else []
    told = counted(len(shown), limit, len(view.orders))
    return with_more(["# Open Orders", "", *table, *summary, "", told, *source(view.venue, view.as_of_ms)], more)


def open_summary(view: OpenOrders) -> list[str]:
    """Return the number and the unexecuted value of the open orders. Orders without a price have no value."""
    return [
        f"**Total Open Orders**: {len(view.orders)}",
        f"**Total Value**: {_total(view.value_by_quote)}",
        *(f"**Not in the Total**: {each}" for each in unvalued_notes(view)),
    ]


def unvalued_notes(view: OpenOrders) -> list[str]:
    """Return the number of open orders that the total value omits."""
    return [f"{len(view.unvalued)} without a price or on a symbol not listed now"] if view.unvalued else []


def tool_columns(orders: Iterable[Order]) -> tuple[str, ...]:
    """Return the columns of a tool's table. Average prices are a column only if an order has one."""
    has_average = any(each.average_price is not None for each in orders)
    return TOOL_COLUMNS if has_average else tuple(name for name in TOOL_COLUMNS if name != AVERAGE)


def history_text(view: OrderHistory, limit: int, more: str | None) -> str:
    """Render the newest orders of several symbols for a tool, with all columns and the call for further rows."""
    told = counted(len(view.orders), limit)
    return with_more([history_page(view, tool_columns(view.orders)), told], more)


def history_page(view: OrderHistory, columns: tuple[str, ...] = COLUMNS) -> str:
    """Render the newest orders of several symbols as a page.

    List the symbols that were not queried or gave no answer.
    """
    table = order_table(view.orders, view.rules, columns) if view.orders else [NO_ORDERS]
    asked = ", ".join(plain(each) for each in view.asked) or NOTHING_ASKED
    lines = [
        "# Order History",
        "",
        *table,
        "",
        f"**Orders Shown**: {len(view.orders)}, newest first{'; there are older ones' if view.cut else ''}",
        f"**Symbols Asked**: {asked}",
        *([f"**Not Asked**: {_names(view.not_asked)}"] if view.not_asked else []),
        *([f"**No Answer**: {_names(view.failed)}; read this page again"] if view.failed else []),
        "",
        f"*{BY_SYMBOL}*",
        f"*{history_cost(view)}*",
        *source(view.venue, view.as_of_ms),
    ]
    return "\n".join(lines)


def history_notes(view: OrderHistory) -> list[str]:
    """Return notes on the orders: the queried symbols, the cost of the queries, and missing data."""
    empty = [] if view.orders else [NO_ORDERS]
    nowhere = [] if view.asked else [NOTHING_ASKED]
    return [*empty, *nowhere, BY_SYMBOL, history_cost(view)]


def history_cost(view: OrderHistory) -> str:
    return f"Cost: {view.calls} calls, weight {view.weight}"


def orders_text(view: OrdersOfSymbol, limit: int, more: str | None) -> str:
    """Render the orders of one symbol, newest last."""
    columns = tuple(name for name in tool_columns(view.orders) if name != "Symbol")
    table = order_table(view.orders, {view.rules.symbol: view.rules}, columns) if view.orders else no_orders(view)
    title = f"# {plain(view.rules.symbol)} Orders"
    told = counted(len(view.orders), limit)
    return with_more([title, "", *table, "", told, *source(view.venue, view.as_of_ms)], more)


def no_orders(view: OrdersOfSymbol) -> list[str]:
    """Return a line that says that the symbol has no orders; no line if it has orders."""
    return [] if view.orders else [f"No orders found on {plain(view.rules.symbol)}."]


def order_text(view: OneOrder) -> str:
    """Render all data of the exchange on one order."""
    order, rules = view.order, view.rules
    average = order.average_price
    lines = [
        f"# Order {order.order_id}",
        "",
        f"**Symbol**: {plain(order.symbol)}",
        f"**Side**: {word(order.side)}",
        f"**Type**: {word(order.kind)}",
        f"**Status**: {_status(order)}",
        *([f"**Reason**: {word(order.expiry_words)}"] if order.expiry_words != order.expiry_reason else []),
        f"**Price**: {order_price(order, rules)}",
        f"**Orig Qty**: {quantity(order.quantity, rules)}",
        f"**Executed Qty**: {quantity(order.executed, rules)}",
        f"**Quote Spent**: {quantity(order.quote_spent, None)}",
        f"**Average Price**: {'n/a' if average is None else _average(average, rules)}",
        f"**Time in Force**: {word(order.time_in_force)}",
        f"**Client Order ID**: {plain(order.client_order_id)}",
        f"**Placed**: {instant(order.created_ms)}",
        f"**Updated**: {instant(order.updated_ms)}",
        "",
        *source(view.venue, view.as_of_ms),
    ]
    return "\n".join(lines)


def fills_text(view: AccountFills, limit: int, more: str | None) -> str:
    """Render an account's trades of one or several symbols, newest last."""
    one = view.one
    columns = tuple(name for name in FILL_COLUMNS if one is None or name != "Symbol")
    rows = [_fill_row(fill, view.rules[fill.symbol], columns) for fill in view.fills]
    asked = ", ".join(plain(symbol) for symbol in view.rules)
    lines = [
        f"# {'' if one is None else f'{asked} '}Account Trades",
        "",
        *([*_head(columns), *rows] if rows else [NO_FILLS]),
        "",
        *([f"**Symbols**: {asked}"] if one is None else []),
        counted(len(view.fills), limit),
        *source(view.venue, view.as_of_ms),
    ]
    return with_more(lines, more)


def order_table(
    orders: Iterable[Order], rules: Mapping[Symbol, SymbolRules], columns: tuple[str, ...] = COLUMNS
) -> list[str]:
    return [*_head(columns), *(_order_row(order, rules.get(order.symbol), columns) for order in orders)]


def newest(orders: tuple[Order, ...], limit: int) -> tuple[Order, ...]:
    """Return the newest `limit` orders in unchanged sequence."""
    kept = {each.order_id for each in sorted(orders, key=lambda order: (order.created_ms, order.order_id))[-limit:]}
    return tuple(each for each in orders if each.order_id in kept)


def order_price(order: Order, rules: SymbolRules | None, *, with_average: bool = True) -> str:
    """Format an order's limit price, or else its trigger price or `market`, followed by the average fill price."""
    limit = _exact(order.price) if order.price else ""
    stop = f"stop {_exact(order.stop_price)}" if order.stop_price else ""
    if order.trailing_bps is not None:
        since = "" if order.trailing_ms is None else f" since {instant(order.trailing_ms)}"
        stop = f"trailing {written(percent_of(order.trailing_bps))}%{since}"
    if limit:
        return f"{limit} ({stop})" if stop else limit
    average = order.average_price if with_average else None
    filled = "" if average is None else f" (avg {_average(average, rules)})"
    return f"{stop or 'market'}{filled}"


def _average_cell(order: Order, rules: SymbolRules | None) -> str:
    return "" if order.average_price is None else _average(order.average_price, rules)


def quantity(value: Decimal, rules: SymbolRules | None) -> str:
    """Format a quantity without zeros beyond the symbol's step."""
    needed = decimals_of(value)
    sent = max(0, -int(value.as_tuple().exponent))
    step = decimals_of(rules.step) if rules else needed
    return f"{round_to_places(value, min(sent, max(step, needed))):f}"


def _order_row(order: Order, rules: SymbolRules | None, columns: tuple[str, ...]) -> str:
    cells = {
        "Order ID": str(order.order_id),
        "Symbol": plain(order.symbol),
        "Side": word(order.side),
        "Type": word(order.kind),
        "Price": order_price(order, rules, with_average=AVERAGE not in columns),
        "Orig Qty": quantity(order.quantity, rules),
        "Executed Qty": quantity(order.executed, rules),
        "Status": _status(order),
        AVERAGE: _average_cell(order, rules),
        "Time": _time(order.created_ms),
        "Quote Spent": quantity(order.quote_spent, None),
        "Time in Force": word(order.time_in_force),
        "Client Order ID": plain(order.client_order_id),
        "Updated": "" if order.updated_ms == order.created_ms else _time(order.updated_ms),
    }
    return f"| {' | '.join(cells[name] for name in columns)} |"


def _status(order: Order) -> str:
    return f"{word(order.status)} ({word(order.expiry_reason)})" if order.expiry_reason else word(order.status)


def _fill_row(fill: Fill, rules: SymbolRules, columns: tuple[str, ...]) -> str:
    cells = {
        "Trade ID": str(fill.trade_id),
        "Order ID": str(fill.order_id),
        "Symbol": plain(fill.symbol),
        "Side": "BUY" if fill.is_buyer else "SELL",
        "Price": _exact(fill.price),
        "Qty": quantity(fill.quantity, rules),
        "Value": money(fill.quote_quantity, rules.quote, rules.tick),
        "Fee": f"{quantity(fill.commission, None)} {plain(fill.commission_asset)}",
        "Role": "maker" if fill.is_maker else "taker",
        "Time": _time(fill.time_ms),
    }
    return f"| {' | '.join(cells[name] for name in columns)} |"


def _head(columns: tuple[str, ...]) -> list[str]:
    return [f"| {' | '.join(columns)} |", f"|{'|'.join('-' * (len(name) + 2) for name in columns)}|"]


def _exact(price: Decimal) -> str:
    # Never round a limit price as market prices are rounded, because the user chose it.
    return f"{round_to_places(price, max(2, decimals_of(price))):,f}"


def _average(price: Decimal, rules: SymbolRules | None) -> str:
    return f"{round_to_places(price, average_places(rules.tick if rules else NO_STEP, price)):,f}"


def _sides(view: OpenOrders) -> list[str]:
    sides = {"Buys": view.buys_by_quote, "Sells": view.sells_by_quote}
    return [f"**Total Value of {name}**: {_total(sums)}" for name, sums in sides.items() if sums]


def _total(sums: Mapping[str, Decimal]) -> str:
    if not sums:
        return "n/a"
    several = len(sums) > 1
    parts = (
        f"~{money(value, quote, CENT if quote in DOLLAR_LIKE else SMALLEST)}"
        f"{f' in {plain(quote)}' if several and quote in DOLLAR_LIKE else ''}"
        for quote, value in sorted(sums.items())
    )
    return f"{', '.join(parts)} (estimated)"


def _names(symbols: tuple[Symbol, ...]) -> str:
    shown = ", ".join(plain(each) for each in symbols[:NAMES_SHOWN])
    left = len(symbols) - NAMES_SHOWN
    return f"{shown} and {left} more" if left > 0 else shown


def _time(epoch_ms: int) -> str:
    return instant(epoch_ms)[:19].replace("T", " ")
