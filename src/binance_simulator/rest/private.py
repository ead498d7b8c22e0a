"""The signed endpoints: account, orders and the account's own trades."""

from binance_simulator import refusals
from binance_simulator.market.portfolio import ZERO, Balance, Order, Portfolio
from binance_simulator.market.prices import DAY_MS
from binance_simulator.rest.endpoints import Call, Endpoint, flat
from binance_simulator.rest.signing import SIGNING, Params

NO_COMMISSION = {"maker": ZERO, "taker": ZERO, "buyer": ZERO, "seller": ZERO}
COMMISSION = NO_COMMISSION | {"maker": "0.00100000", "taker": "0.00100000"}
DISCOUNT: dict[str, object] = {
    "enabledForAccount": True,
    "enabledForSymbol": True,
    "discountAsset": "BNB",
    "discount": "0.75000000",
}
TRADE_FILTERS = (
    set[str](),
    {"orderId"},
    {"startTime"},
    {"endTime"},
    {"fromId"},
    {"startTime", "endTime"},
    {"orderId", "fromId"},
)


def account(call: Call) -> object:
    """Answer account. It includes zero balances of all listed assets unless omitZeroBalances is set."""
    portfolio = call.portfolio
    balances = _all_balances(call, portfolio)
    if call.params.flag("omitZeroBalances", usual=False):
        balances = [balance for balance in balances if not balance.empty]
    return {
        "makerCommission": 10,
        "takerCommission": 10,
        "buyerCommission": 0,
        "sellerCommission": 0,
        "commissionRates": COMMISSION,
        "canTrade": portfolio.can_trade,
        "canWithdraw": portfolio.can_withdraw,
        "canDeposit": portfolio.can_deposit,
        "brokered": False,
        "requireSelfTradePrevention": False,
        "preventSor": False,
        "updateTime": portfolio.updated_ms,
        "accountType": "SPOT",
        "balances": [{"asset": one.asset, "free": one.free, "locked": one.locked} for one in balances],
        "permissions": ["SPOT"],
        "uid": 700_012_345,
    }


def open_orders(call: Call) -> object:
    """Answer openOrders."""
    symbol = call.optional_symbol()
    orders = call.portfolio.orders
    return [order.body() for order in orders if order.open and (symbol is None or order.symbol == symbol.name)]


def all_orders(call: Call) -> object:
    """Answer allOrders: from an order ID on, within a day, or the newest ones."""
    symbol, limit = call.symbol(), call.params.limit(500, 1000)
    first, (start_ms, end_ms) = call.params.whole("orderId"), _day_span(call)
    orders = [
        order
        for order in call.portfolio.orders
        if order.symbol == symbol.name and (first is None or order.order_id >= first)
    ]
    inside = [order for order in orders if start_ms <= order.placed_ms <= end_ms]
    oldest_first = first is not None or call.params.peek("startTime") is not None
    return [order.body() for order in (inside[:limit] if oldest_first else inside[-limit:])]


def one_order(call: Call) -> object:
    """Answer order."""
    symbol = call.symbol()
    number, client_id = call.params.whole("orderId"), call.params.text("origClientOrderId")
    if number is None and client_id is None:
        raise refusals.missing_either("origClientOrderId", "orderId")
    orders = [order for order in call.portfolio.orders if order.symbol == symbol.name]
    # A client order ID can be reused after its order has ended. Return the newest order with the ID.
    order = next((one for one in reversed(orders) if _named(one, number, client_id)), None)
    if order is None or not call.exchange.orders.visible(order, call.now_ms):
        raise refusals.no_such_order()
    if client_id not in {None, order.client_order_id}:
        raise refusals.wrong_client_id()
    return order.body()


def my_trades(call: Call) -> object:
    """Answer myTrades. Only the documented combinations of parameters are allowed."""
    symbol, limit = call.symbol(), call.params.limit(500, 1000)
    sent = {name for name in ("orderId", "fromId", "startTime", "endTime") if call.params.peek(name) is not None}
    if sent not in TRADE_FILTERS:
        raise refusals.bad_combination()
    number, first, (start_ms, end_ms) = call.params.whole("orderId"), call.params.whole("fromId"), _day_span(call)
    fills = [
        fill
        for fill in call.portfolio.fills
        if fill.symbol == symbol.name
        and number in {None, fill.order_id}
        and (first is None or fill.trade_id >= first)
        and start_ms <= fill.time_ms <= end_ms
    ]
    oldest_first = bool(sent & {"fromId", "startTime"})
    return [fill.body() for fill in (fills[:limit] if oldest_first else fills[-limit:])]


def order_counts(call: Call) -> object:
    """Answer rateLimit/order."""
    ledger, holder = call.exchange.orders.ledger, call.exchange.holder(call.key).api_key
    return [
        {
            "rateLimitType": "ORDERS",
            "interval": limit.interval,
            "intervalNum": limit.number,
            "limit": limit.limit,
            "count": ledger.count(holder, limit, call.now_ms),
        }
        for limit in ledger.limits
    ]


def commission(call: Call) -> object:
    """Answer account/commission."""
    return {
        "symbol": call.symbol().name,
        "standardCommission": COMMISSION,
        "specialCommission": NO_COMMISSION,
        "taxCommission": NO_COMMISSION,
        "discount": DISCOUNT,
    }


def prevented_matches(call: Call) -> object:
    """Answer myPreventedMatches, by the ID of a match or of an order."""
    symbol, limit = call.symbol(), call.params.limit(500, 1000)
    match_id, number = call.params.whole("preventedMatchId"), call.params.whole("orderId")
    first = call.params.whole("fromPreventedMatchId")
    if (match_id is None) == (number is None) or (first is not None and number is None):
        raise refusals.bad_combination()
    holder = call.exchange.holder(call.key).api_key
    rows: dict[int, dict[str, object]] = {}
    for each in call.exchange.executions.since(0, holder):
        found = each.prevention
        if found is None or each.order.symbol != symbol.name:
            continue
        ids = (each.order.order_id, found.other_order_id)
        if match_id not in {None, found.match_id} or (number is not None and number not in ids):
            continue
        if found.match_id >= (first or 0):
            taker, maker = ids if found.taker else ids[::-1]
            rows[found.match_id] = {
                "symbol": symbol.name,
                "preventedMatchId": found.match_id,
                "takerOrderId": taker,
                "makerSymbol": found.other_symbol,
                "makerOrderId": maker,
                "tradeGroupId": found.trade_group_id,
                "selfTradePreventionMode": each.order.self_trade,
                "price": found.other_price,
                "makerPreventedQuantity": found.other_prevented if found.taker else found.last_prevented,
                "transactTime": each.at_ms,
            }
    return [rows[one] for one in sorted(rows)][:limit]


def allocations(call: Call) -> object:
    """Answer myAllocations: none, since no symbol has smart order routing."""
    call.symbol()
    call.params.limit(500, 1000)
    for name in ("fromAllocationId", "orderId"):
        call.params.whole(name)
    _day_span(call)
    return []


def my_filters(call: Call) -> object:
    """Answer myFilters with the filters of the symbol. Accounts have no filters of their own."""
    name = call.symbol().name
    record = next(record for record in call.exchange.listing.records if record["symbol"] == name)
    exchange_filters = call.exchange.listing.document["exchangeFilters"]
    return {"exchangeFilters": exchange_filters, "symbolFilters": record["filters"], "assetFilters": list[str]()}


def _all_balances(call: Call, portfolio: Portfolio) -> list[Balance]:
    held = [balance.asset for balance in portfolio.balances]
    listed = call.exchange.listing.symbols.values()
    assets = dict.fromkeys(asset for symbol in listed for asset in (symbol.base, symbol.quote))
    return [*portfolio.balances, *(Balance(asset, ZERO, ZERO) for asset in assets if asset not in held)]


def _day_span(call: Call) -> tuple[int, int]:
    start_ms, end_ms = call.span()
    if start_ms is not None and end_ms is not None and end_ms - start_ms > DAY_MS:
        raise refusals.too_many_hours()
    return start_ms or 0, call.now_ms if end_ms is None else end_ms


def _named(order: Order, number: int | None, client_id: str | None) -> bool:
    return order.order_id == number if number is not None else order.client_order_id == client_id


def _open_orders_weight(params: Params) -> int:
    return 80 if params.peek("symbol") is None else 6


def _my_trades_weight(params: Params) -> int:
    return 20 if params.peek("orderId") is None else 5


def _matches_weight(params: Params) -> int:
    return 20 if params.peek("orderId") is not None else 2


def _signed(path: str, *names: str) -> tuple[str, tuple[str, ...]]:
    return f"/api/v3/{path}", (*names, *SIGNING)


PRIVATE = (
    Endpoint(*_signed("account", "omitZeroBalances"), flat(20), account, signed=True),
    Endpoint(*_signed("openOrders", "symbol"), _open_orders_weight, open_orders, signed=True),
    Endpoint(
        *_signed("allOrders", "symbol", "orderId", "startTime", "endTime", "limit"), flat(20), all_orders, signed=True
    ),
    Endpoint(*_signed("order", "symbol", "orderId", "origClientOrderId"), flat(4), one_order, signed=True),
    Endpoint(
        *_signed("myTrades", "symbol", "orderId", "startTime", "endTime", "fromId", "limit"),
        _my_trades_weight,
        my_trades,
        signed=True,
    ),
    Endpoint(*_signed("rateLimit/order"), flat(40), order_counts, signed=True),
    Endpoint(*_signed("account/commission", "symbol"), flat(20), commission, signed=True),
    Endpoint(
        *_signed("myPreventedMatches", "symbol", "preventedMatchId", "orderId", "fromPreventedMatchId", "limit"),
        _matches_weight,
        prevented_matches,
        signed=True,
    ),
    Endpoint(
        *_signed("myAllocations", "symbol", "startTime", "endTime", "fromAllocationId", "limit", "orderId"),
        flat(20),
        allocations,
        signed=True,
    ),
    Endpoint(*_signed("myFilters", "symbol"), flat(40), my_filters, signed=True),
)
