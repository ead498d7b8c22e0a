"""Table of the Spot REST calls in use.

Weights: https://developers.binance.com/docs/binance-spot-api-docs/rest-api
"""

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from mcp_binance_server.domain.order_requests import ListShape
from mcp_binance_server.exchange.endpoints import (
    EXCHANGE_INFO,
    MIB,
    ORDER,
    REACH,
    TIME,
    Endpoint,
    WriteCall,
    signed,
)

DEPTH_WEIGHTS = ((100, 5), (500, 25), (1000, 50), (5000, 250))

TICKER_24H = Endpoint("ticker/24hr", 2)
# All pairs at once; the trading pairs alone are about one MiB. The caller caches the columns, so the answer is not
# shared.
ALL_DAYS = replace(TICKER_24H, weight=80, shared_ms=0, body_cap=8 * MIB, patience=2, for_all=True)
TICKER_PRICE = Endpoint("ticker/price", 2)
TICKER_PRICE_ALL = replace(TICKER_PRICE, weight=4)
BOOK_TICKER = Endpoint("ticker/bookTicker", 2)
BOOK_TICKER_ALL = replace(BOOK_TICKER, weight=4)
AVERAGE_PRICE = Endpoint("avgPrice", 2)
REFERENCE_PRICE = Endpoint("referencePrice", 2)
# The rules of a symbol rarely change; the reference price changes all the time.
EXECUTION_RULES = Endpoint("executionRules", 2, shared_ms=300_000)
# Single trades, `trades`, weigh 25 and add nothing to the taker's side, quantity and price.
AGGREGATE_TRADES = Endpoint("aggTrades", 4)
KLINES = Endpoint("klines", 2)
# Daily candles, shared for an hour, because only the newest one still changes.
DAILY_KLINES = replace(KLINES, shared_ms=3_600_000)
# Candles up to a past moment; the same request is often repeated within a minute.
CLOSED_KLINES = replace(KLINES, shared_ms=60_000)
# Candles for scans of the whole market; the scan caches its results, so the answer is not shared.
SERIES_KLINES = replace(KLINES, shared_ms=0, in_background=True)
DEPTH = Endpoint("depth", 5)
# Snapshot for a live order book; a shared, older one could end before the first stream event.
SNAPSHOT = Endpoint("depth", 50, shared_ms=0, in_background=True)

ACCOUNT = signed("account", 20)
OPEN_ORDERS = signed("openOrders", 6)
OPEN_ORDERS_ALL = replace(OPEN_ORDERS, weight=80)
ALL_ORDERS = signed("allOrders", 20)
MY_TRADES = signed("myTrades", 20)
# https://developers.binance.com/docs/wallet/account/api-key-permission
KEY_RIGHTS = replace(signed("account/apiRestrictions", 1), root="/sapi/v1")

ENDPOINTS: tuple[Endpoint, ...] = (
    TIME,
    REACH,
    EXCHANGE_INFO,
    TICKER_24H,
    ALL_DAYS,
    TICKER_PRICE,
    TICKER_PRICE_ALL,
    BOOK_TICKER,
    BOOK_TICKER_ALL,
    AVERAGE_PRICE,
    REFERENCE_PRICE,
    EXECUTION_RULES,
    AGGREGATE_TRADES,
    KLINES,
    DAILY_KLINES,
    CLOSED_KLINES,
    SERIES_KLINES,
    DEPTH,
    SNAPSHOT,
    ACCOUNT,
    OPEN_ORDERS,
    OPEN_ORDERS_ALL,
    ALL_ORDERS,
    ORDER,
    MY_TRADES,
    KEY_RIGHTS,
)

PLACE_ORDER = WriteCall("order", 1)
# The exchange checks this order like a real one, but never places it.
TRY_ORDER = WriteCall("order/test", 1)
CANCEL_ORDER = WriteCall("order", 1, method="DELETE", may_queue=True)
REPLACE_ORDER = WriteCall("order/cancelReplace", 1)
AMEND_ORDER = WriteCall("order/amend/keepPriority", 4, method="PUT")
PLACE_OCO = WriteCall("orderList/oco", 1)
PLACE_OTO = WriteCall("orderList/oto", 1)
PLACE_OTOCO = WriteCall("orderList/otoco", 1)
PLACE_OPO = WriteCall("orderList/opo", 1)
PLACE_OPOCO = WriteCall("orderList/opoco", 1)
CANCEL_LIST = WriteCall("orderList", 1, method="DELETE", may_queue=True)

LISTS: Mapping[ListShape, WriteCall] = MappingProxyType(
    {"OCO": PLACE_OCO, "OTO": PLACE_OTO, "OTOCO": PLACE_OTOCO, "OPO": PLACE_OPO, "OPOCO": PLACE_OPOCO}
)
WRITES: tuple[WriteCall, ...] = (
    PLACE_ORDER,
    TRY_ORDER,
    CANCEL_ORDER,
    REPLACE_ORDER,
    AMEND_ORDER,
    *LISTS.values(),
    CANCEL_LIST,
)
"""Every call that is not a GET; a test counts them."""


def depth_endpoint(limit: int) -> Endpoint:
    """Return the depth call for a number of levels, with the weight of that number."""
    weight = next(weight for most, weight in DEPTH_WEIGHTS if limit <= most)
    return replace(DEPTH, weight=weight)
