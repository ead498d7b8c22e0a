"""The table of the Spot REST calls we make: path, weight, whose budget it spends, how big an answer may be.

Weights: https://developers.binance.com/docs/binance-spot-api-docs/rest-api
"""

from dataclasses import dataclass, replace
from typing import Literal

MIB = 2**20
DEPTH_WEIGHTS = ((100, 5), (500, 25), (1000, 50), (5000, 250))


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One call: `shared_ms` long equal reads share an answer, and a large one may take `patience` times as long.

    One that nobody waits for runs `in_background` and leaves half of the budget to those who do. One that `may_queue`
    waits for the next minute where that is near.
    """

    name: str
    weight: int
    signed: bool = False
    shared_ms: int = 1_000
    body_cap: int = 2 * MIB
    patience: int = 1
    in_background: bool = False
    may_queue: bool = True
    root: str = "/api/v3"

    @property
    def path(self) -> str:
        return f"{self.root}/{self.name}"

    @property
    def kind(self) -> Literal["public", "private"]:
        return "private" if self.signed else "public"


def _signed(name: str, weight: int) -> Endpoint:
    return Endpoint(name, weight, signed=True, shared_ms=0)


TIME = Endpoint("time", 1, shared_ms=0)
# Whether the exchange is there, for one who has a second to find out.
REACH = replace(TIME, may_queue=False)
# Three thousand symbols with their filters are several MiB, seconds on a slow line; nothing else comes near that.
EXCHANGE_INFO = Endpoint("exchangeInfo", 20, shared_ms=0, body_cap=48 * MIB, patience=6)
TICKER_24H = Endpoint("ticker/24hr", 2)
TICKER_PRICE = Endpoint("ticker/price", 2)
TICKER_PRICE_ALL = replace(TICKER_PRICE, weight=4)
BOOK_TICKER = Endpoint("ticker/bookTicker", 2)
AVERAGE_PRICE = Endpoint("avgPrice", 2)
TRADES = Endpoint("trades", 25)
AGGREGATE_TRADES = Endpoint("aggTrades", 4)
KLINES = Endpoint("klines", 2)
# A day that has ended does not change; only the newest row of this answer grows old.
DAILY_KLINES = replace(KLINES, shared_ms=3_600_000)
# Candles up to a moment that has passed: asked for again while a minute lasts.
CLOSED_KLINES = replace(KLINES, shared_ms=60_000)
DEPTH = Endpoint("depth", 5)
# What a live book stands on; one that was asked for earlier may end before its stream begins.
SNAPSHOT = Endpoint("depth", 50, shared_ms=0, in_background=True)

ACCOUNT = _signed("account", 20)
OPEN_ORDERS = _signed("openOrders", 6)
OPEN_ORDERS_ALL = replace(OPEN_ORDERS, weight=80)
ALL_ORDERS = _signed("allOrders", 20)
ORDER = _signed("order", 4)
MY_TRADES = _signed("myTrades", 20)
# https://developers.binance.com/docs/wallet/account/api-key-permission
KEY_RIGHTS = replace(_signed("account/apiRestrictions", 1), root="/sapi/v1")

ENDPOINTS: tuple[Endpoint, ...] = (
    TIME,
    REACH,
    EXCHANGE_INFO,
    TICKER_24H,
    TICKER_PRICE,
    TICKER_PRICE_ALL,
    BOOK_TICKER,
    AVERAGE_PRICE,
    TRADES,
    AGGREGATE_TRADES,
    KLINES,
    DAILY_KLINES,
    CLOSED_KLINES,
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


def depth_endpoint(limit: int) -> Endpoint:
    """Return the depth call for so many levels: its price rises with the limit."""
    weight = next(weight for most, weight in DEPTH_WEIGHTS if limit <= most)
    return replace(DEPTH, weight=weight)
