"""The parser of each captured answer: the method of our client that asks for it, and the words of its values."""

import json
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, is_dataclass
from decimal import Decimal
from typing import Any, Literal, cast

import msgspec

from mcp_binance_server.domain.account import Account, Balance, Commission, KeyRights
from mcp_binance_server.domain.derivatives import (
    BasisPoint,
    Contract,
    ContractTable,
    FundingPayment,
    FundingRule,
    FuturesQuote,
    InterestPoint,
    OpenInterest,
    PremiumIndex,
    SharePoint,
    TakerPoint,
)
from mcp_binance_server.domain.market import AveragePrice, BookDelta, BookSnapshot, Quote, Sourced, Ticker, Trade
from mcp_binance_server.domain.orders import Fill, Order
from mcp_binance_server.domain.periods import Candle
from mcp_binance_server.domain.reference_price import ReferencePrice
from mcp_binance_server.domain.symbols import Symbol, SymbolRules, SymbolTable
from mcp_binance_server.exchange.attempt import Params
from mcp_binance_server.exchange.board_part import BoardPart
from mcp_binance_server.exchange.endpoints import EXCHANGE_INFO, ORDER, TIME, RestCall
from mcp_binance_server.exchange.futures import endpoints as futures
from mcp_binance_server.exchange.futures.side import FuturesSide
from mcp_binance_server.exchange.futures.stream_wire import ForceOrderWire
from mcp_binance_server.exchange.spot import endpoints as spot
from mcp_binance_server.exchange.spot.account import AccountClient, read_key_rights
from mcp_binance_server.exchange.spot.streams import (
    DepthEventWire,
    QuoteEventWire,
    TickerEventWire,
    TradeEventWire,
)
from mcp_binance_server.exchange.spot.user_wire import ExecutionReportWire
from mcp_binance_server.upstream import Upstream

Side = Literal["spot", "futures"]
BTC: Params = {"symbol": "BTCUSDT"}
HOURS: Params = {"symbol": "BTCUSDT", "limit": 24}


@dataclass(frozen=True, slots=True)
class Door:
    """One read of the table of endpoints, as a service asks for it."""

    call: RestCall
    ask: Callable[[Upstream, Params], Awaitable[object]]
    params: Params = field(default_factory=dict[str, str | int])
    """The request of `scripts/capture`."""
    side: Side = "spot"
    signed: bool = False


def _account(up: Upstream) -> AccountClient:
    return AccountClient(up.caller, up.principal)


def _futures(up: Upstream) -> FuturesSide:
    assert up.futures is not None
    return up.futures


def _symbol(params: Params) -> Symbol:
    return Symbol(str(params["symbol"]))


def _limit(params: Params, usual: int = 5) -> int:
    return int(params.get("limit", usual))


DOORS: Mapping[str, Door] = {
    "spot.time": Door(TIME, lambda up, _: up.client.clock_check()),
    "spot.exchange_info": Door(EXCHANGE_INFO, lambda up, _: up.directory.table()),
    "spot.ticker": Door(spot.TICKER_24H, lambda up, p: up.client.ticker(_symbol(p)), BTC),
    "spot.all_days": Door(spot.ALL_DAYS, lambda up, _: up.client.all_days()),
    "spot.prices": Door(spot.TICKER_PRICE_ALL, lambda up, _: up.client.prices()),
    "spot.quote": Door(spot.BOOK_TICKER, lambda up, p: up.client.quote(_symbol(p)), BTC),
    "spot.average_price": Door(spot.AVERAGE_PRICE, lambda up, p: up.client.average_price(_symbol(p)), BTC),
    "spot.reference_price": Door(spot.REFERENCE_PRICE, lambda up, p: up.client.reference_price(_symbol(p)), BTC),
    "spot.price_range": Door(spot.EXECUTION_RULES, lambda up, p: up.client.price_range(_symbol(p)), BTC),
    "spot.aggregate_trades": Door(
        spot.AGGREGATE_TRADES,
        lambda up, p: up.client.aggregate_trades(_symbol(p), _limit(p)),
        {**BTC, "limit": 5},
    ),
    "spot.candles": Door(
        spot.KLINES, lambda up, p: up.client.candles(_symbol(p), "1m", _limit(p)), {**BTC, "limit": 5}
    ),
    "spot.depth": Door(spot.DEPTH, lambda up, p: up.client.depth(_symbol(p), _limit(p)), {**BTC, "limit": 5}),
    "spot.account": Door(spot.ACCOUNT, lambda up, _: _account(up).account(), signed=True),
    "spot.open_orders": Door(spot.OPEN_ORDERS, lambda up, p: _account(up).open_orders(_symbol(p)), BTC, signed=True),
    "spot.order_history": Door(
        spot.ALL_ORDERS,
        lambda up, p: _account(up).order_history(_symbol(p), _limit(p)),
        {**BTC, "limit": 5},
        signed=True,
    ),
    "spot.order": Door(ORDER, lambda up, p: _account(up).order(_symbol(p), str(p["origClientOrderId"])), signed=True),
    "spot.fills": Door(
        spot.MY_TRADES, lambda up, p: _account(up).fills(_symbol(p), _limit(p)), {**BTC, "limit": 5}, signed=True
    ),
    "spot.key_rights": Door(spot.KEY_RIGHTS, lambda up, _: read_key_rights(_account(up)), signed=True),
    "futures.exchange_info": Door(futures.CONTRACTS, lambda up, _: _futures(up).contracts.table(), side="futures"),
    "futures.all_days": Door(futures.ALL_DAYS, lambda up, _: _futures(up).client.all_days(), side="futures"),
    "futures.all_premiums": Door(
        futures.ALL_PREMIUMS, lambda up, _: _futures(up).client.all_premiums(), side="futures"
    ),
    "futures.all_quotes": Door(futures.ALL_QUOTES, lambda up, _: _futures(up).client.all_quotes(), side="futures"),
    "futures.premium": Door(
        futures.PREMIUM, lambda up, p: _futures(up).client.premium(_symbol(p)), BTC, side="futures"
    ),
    "futures.quote": Door(futures.QUOTE, lambda up, p: _futures(up).client.quote(_symbol(p)), BTC, side="futures"),
    "futures.open_interest": Door(
        futures.OPEN_INTEREST, lambda up, p: _futures(up).client.open_interest(_symbol(p)), BTC, side="futures"
    ),
    "futures.candles": Door(
        futures.KLINES,
        lambda up, p: _futures(up).client.candles(_symbol(p), "1h", _limit(p)),
        {**BTC, "limit": 5},
        side="futures",
    ),
    "futures.funding_rules": Door(futures.FUNDING_RULES, lambda up, _: _futures(up).contracts.rules(), side="futures"),
    "futures.funding_payments": Door(
        futures.FUNDING_PAYMENTS, lambda up, p: _futures(up).client.funding_payments(_symbol(p)), BTC, side="futures"
    ),
    "futures.interest_hours": Door(
        futures.INTEREST_HISTORY,
        lambda up, p: _futures(up).client.interest_hours(_symbol(p), _limit(p)),
        HOURS,
        side="futures",
    ),
    "futures.accounts_all": Door(
        futures.SHARE_HISTORIES["accounts_all"],
        lambda up, p: _futures(up).client.shares(_symbol(p), "accounts_all", _limit(p)),
        HOURS,
        side="futures",
    ),
    "futures.top_accounts": Door(
        futures.SHARE_HISTORIES["top_accounts"],
        lambda up, p: _futures(up).client.shares(_symbol(p), "top_accounts", _limit(p)),
        HOURS,
        side="futures",
    ),
    "futures.top_positions": Door(
        futures.SHARE_HISTORIES["top_positions"],
        lambda up, p: _futures(up).client.shares(_symbol(p), "top_positions", _limit(p)),
        HOURS,
        side="futures",
    ),
    "futures.taker_hours": Door(
        futures.TAKER_HISTORY,
        lambda up, p: _futures(up).client.taker_hours(_symbol(p), _limit(p)),
        HOURS,
        side="futures",
    ),
    "futures.basis_hours": Door(
        futures.BASIS_HISTORY,
        lambda up, p: _futures(up).client.basis_hours(str(p["pair"]), _limit(p)),
        {"pair": "BTCUSDT", "limit": 24},
        side="futures",
    ),
}
"""Every read of spot and futures that has a parser of its own."""


@dataclass(frozen=True, slots=True)
class StreamDoor:
    """One stream and the struct that reads its events."""

    stream: str
    shape: type[Any]
    side: Side = "spot"


STREAMS: Mapping[str, StreamDoor] = {
    "stream.depth": StreamDoor("btcusdt@depth@100ms", DepthEventWire),
    "stream.trade": StreamDoor("btcusdt@aggTrade", TradeEventWire),
    "stream.quote": StreamDoor("btcusdt@bookTicker", QuoteEventWire),
    "stream.ticker": StreamDoor("btcusdt@ticker", TickerEventWire),
    "stream.liquidation": StreamDoor("!forceOrder@arr", ForceOrderWire, "futures"),
    "user.execution_report": StreamDoor("executionReport", ExecutionReportWire),
}

_TICKER = {
    "symbol": "symbol", "last_price": "lastPrice", "change": "priceChange", "change_percent": "priceChangePercent",
    "open_price": "openPrice", "high": "highPrice", "low": "lowPrice", "weighted_average": "weightedAvgPrice",
    "volume": "volume", "quote_volume": "quoteVolume", "bid": "bidPrice", "ask": "askPrice", "trade_count": "count",
    "open_time_ms": "openTime", "close_time_ms": "closeTime",
}  # fmt: skip
# A value of the domain, and the member of the answer that it must equal to the last digit.
MEANT: Mapping[type[Any], Mapping[str, str | int]] = {
    Ticker: _TICKER,
    Quote: {
        "symbol": "symbol", "bid": "bidPrice", "bid_quantity": "bidQty", "ask": "askPrice", "ask_quantity": "askQty",
    },
    AveragePrice: {"price": "price", "minutes": "mins", "last_trade_ms": "closeTime"},
    ReferencePrice: {"price": "referencePrice"},
    Trade: {
        "trade_id": "a", "price": "p", "quantity": "q", "time_ms": "T", "buyer_is_maker": "m", "first_id": "f",
        "last_id": "l",
    },
    Candle: {
        "open_time_ms": 0, "open": 1, "high": 2, "low": 3, "close": 4, "volume": 5, "close_time_ms": 6,
        "quote_volume": 7, "trade_count": 8, "taker_buy_volume": 9,
    },
    BookSnapshot: {"last_update_id": "lastUpdateId", "bids": "bids", "asks": "asks"},
    BookDelta: {"first_update_id": "U", "last_update_id": "u", "event_ms": "E", "bids": "b", "asks": "a"},
    Account: {
        "balances": "balances", "can_trade": "canTrade", "can_withdraw": "canWithdraw", "can_deposit": "canDeposit",
        "updated_ms": "updateTime", "kind": "accountType", "commission": "commissionRates",
    },
    Balance: {"asset": "asset", "free": "free", "locked": "locked"},
    Commission: {"maker": "maker", "taker": "taker"},
    KeyRights: {
        "reading": "enableReading", "spot_trading": "enableSpotAndMarginTrading", "withdrawals": "enableWithdrawals",
        "ip_restricted": "ipRestrict",
    },
    Order: {
        "order_id": "orderId", "client_order_id": "clientOrderId", "symbol": "symbol", "side": "side", "kind": "type",
        "status": "status", "time_in_force": "timeInForce", "price": "price", "stop_price": "stopPrice",
        "quantity": "origQty", "executed": "executedQty", "quote_spent": "cummulativeQuoteQty", "created_ms": "time",
        "updated_ms": "updateTime", "expiry_reason": "expiryReason",
    },
    Fill: {
        "trade_id": "id", "order_id": "orderId", "symbol": "symbol", "price": "price", "quantity": "qty",
        "quote_quantity": "quoteQty", "commission": "commission", "commission_asset": "commissionAsset",
        "time_ms": "time", "is_buyer": "isBuyer", "is_maker": "isMaker",
    },
    SymbolRules: {
        "symbol": "symbol", "status": "status", "base": "baseAsset", "quote": "quoteAsset", "order_types": "orderTypes",
        "base_places": "baseAssetPrecision",
    },
    Contract: {
        "symbol": "symbol", "pair": "pair", "kind": "contractType", "status": "status", "base": "baseAsset",
        "quote": "quoteAsset", "onboard_ms": "onboardDate", "delivery_ms": "deliveryDate",
    },
    PremiumIndex: {
        "symbol": "symbol", "mark": "markPrice", "index": "indexPrice", "time_ms": "time",
        "funding": "lastFundingRate", "next_funding_ms": "nextFundingTime",
    },
    FuturesQuote: {"symbol": "symbol", "bid": "bidPrice", "ask": "askPrice", "time_ms": "time"},
    OpenInterest: {"symbol": "symbol", "contracts": "openInterest", "time_ms": "time"},
    FundingPayment: {"time_ms": "fundingTime", "rate": "fundingRate"},
    FundingRule: {
        "symbol": "symbol", "interval_hours": "fundingIntervalHours", "cap": "adjustedFundingRateCap",
        "floor": "adjustedFundingRateFloor",
    },
    InterestPoint: {"time_ms": "timestamp", "contracts": "sumOpenInterest", "value": "sumOpenInterestValue"},
    SharePoint: {"time_ms": "timestamp", "long_share": "longAccount", "ratio": "longShortRatio"},
    TakerPoint: {"time_ms": "timestamp", "bought": "buyVol", "sold": "sellVol"},
    BasisPoint: {"time_ms": "timestamp"},
}  # fmt: skip
# The columns of a board, by the member of a row.
COLUMNS: Mapping[str, str] = {
    "symbol": "symbol", "last": "lastPrice", "open": "openPrice", "high": "highPrice", "low": "lowPrice",
    "change_percent": "priceChangePercent", "quote_volume": "quoteVolume", "trades": "count", "closed_ms": "closeTime",
    "bid": "bidPrice", "ask": "askPrice", "mark": "markPrice", "index": "indexPrice",
}  # fmt: skip


def differences(value: object, body: Any, where: str = "") -> Iterator[str]:  # noqa: ANN401 - JSON
    """Yield each value that is not what the answer says."""
    match value:
        case Sourced():
            yield from differences(cast("Sourced[object]", value).value, body, where)
        case SymbolTable() | ContractTable():
            rows = value.rules if isinstance(value, SymbolTable) else value.contracts
            yield from _by_symbol(cast("Mapping[str, object]", rows), body["symbols"], where)
        case BoardPart():
            yield from _board(value, body, where)
        case dict():
            yield from _by_symbol(cast("Mapping[str, object]", value), body, where)
        case tuple() | list():
            yield from _rows(cast("Sequence[object]", value), body, where)
        case _ if is_dataclass(value) and type(value) in MEANT:
            for attribute, member in MEANT[type(value)].items():
                yield from _member(getattr(value, attribute), body, member, f"{where}.{attribute}")
        case _ if is_dataclass(value) or value is None:
            return  # a summary of several answers, such as a reading of the clock
        case _:
            if not is_same(value, body):
                yield f"{where}: {value!r} is read from {body!r}"


def is_same(value: object, written: object) -> bool:
    """Tell whether a value has every digit that was written."""
    if isinstance(value, Decimal):
        return format(value, "f") == written
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value) == str(written)
    return value == written


def _member(value: object, body: Any, member: str | int, where: str) -> Iterator[str]:  # noqa: ANN401 - JSON
    if isinstance(body, dict) and member not in body:
        return  # the struct has a default for what may be missing
    if value is None and not body[member]:
        return
    yield from differences(value, body[member], where)


def _rows(values: Sequence[object], rows: Any, where: str) -> Iterator[str]:  # noqa: ANN401 - JSON
    if len(values) != len(rows):
        yield f"{where}: {len(values)} of {len(rows)} rows are read"
    for number, (value, row) in enumerate(zip(values, rows, strict=False)):
        yield from differences(value, row, f"{where}[{number}]")


def _by_symbol(values: Mapping[str, object], rows: Any, where: str) -> Iterator[str]:  # noqa: ANN401 - JSON
    named = {row["symbol"]: row for row in rows}
    if values.keys() != named.keys():
        yield f"{where}: not read: {sorted(named.keys() - values.keys())}"
    for name in values.keys() & named.keys():
        value, row = values[name], named[name]
        yield from differences(value, row["price"] if isinstance(value, Decimal) else row, f"{where}[{name}]")


def _board(part: BoardPart, rows: Any, where: str) -> Iterator[str]:  # noqa: ANN401 - JSON
    if part.dropped:
        yield f"{where}: {part.dropped} of {len(rows)} rows are not read"
    named = {row["symbol"]: row for row in rows}
    for name, column in part.columns.items():
        if name not in COLUMNS:
            continue
        for symbol, text in zip(part.columns["symbol"], column, strict=True):
            if text != str(named[symbol][COLUMNS[name]]):
                yield f"{where}[{symbol}].{name}: {text!r} is read from {named[symbol][COLUMNS[name]]!r}"


def event_differences(event: Any, body: Any) -> Iterator[str]:  # noqa: ANN401 - a struct, and JSON
    """Yield each member of an event that is not what the frame says."""
    for member in msgspec.structs.fields(event):
        value = getattr(event, member.name)
        if member.encode_name not in body:
            continue
        written = body[member.encode_name]
        if isinstance(value, msgspec.Struct):
            yield from event_differences(value, written)
        elif json.loads(msgspec.json.encode(value)) != written:
            yield f"{member.encode_name}: {value!r} is read from {written!r}"
