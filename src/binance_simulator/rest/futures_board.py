"""Endpoints for all contracts: exchangeInfo, the tickers, premiumIndex and fundingInfo.

It also has depth, for one contract.
"""

from binance_simulator import refusals
from binance_simulator.futures.funding import INTEREST
from binance_simulator.futures.listing import Contract, zeros
from binance_simulator.futures.market import FuturesMarket
from binance_simulator.market.listing import decimal_string
from binance_simulator.market.portfolio import ZERO
from binance_simulator.rest.endpoints import flat
from binance_simulator.rest.futures_calls import FuturesCall, FuturesEndpoint, one_or_all
from binance_simulator.rest.signing import Params
from binance_simulator.rest.tickers import percent

Row = dict[str, object]

DEPTH_WEIGHTS = {5: 2, 10: 2, 20: 2, 50: 2, 100: 5, 500: 10, 1000: 20}
ASSETS = ("USDT", "USDC", "BTC", "BNB", "ETH")


def ping(_call: FuturesCall) -> object:
    """Answer ping."""
    return {}


def server_time(call: FuturesCall) -> object:
    """Answer time."""
    return {"serverTime": call.now_ms}


def exchange_info(call: FuturesCall) -> object:
    """Answer exchangeInfo, with the weight limit in force."""
    weight: Row = {"rateLimitType": "REQUEST_WEIGHT", "interval": "MINUTE", "intervalNum": 1}
    orders: Row = {"rateLimitType": "ORDERS", "interval": "MINUTE", "intervalNum": 1, "limit": 1200}
    return {
        "timezone": "UTC",
        "serverTime": call.now_ms,
        "futuresType": "U_MARGINED",
        "rateLimits": [weight | {"limit": call.futures.meter.limit}, orders],
        "exchangeFilters": list[Row](),
        "assets": [{"asset": name, "marginAvailable": True, "autoAssetExchange": "-10000"} for name in ASSETS],
        "symbols": [contract_record(contract) for contract in call.futures.contracts(call.now_ms).values()],
    }


def contract_record(contract: Contract) -> Row:
    """Return the record of a contract in exchangeInfo."""
    precision = 8 - zeros(contract.tick)
    step = decimal_string(10 ** zeros(contract.lot))
    return {
        "symbol": contract.name,
        "pair": contract.pair,
        "contractType": contract.kind,
        "deliveryDate": contract.delivery_ms,
        "onboardDate": contract.onboard_ms,
        "status": contract.status,
        "maintMarginPercent": "2.5000",
        "requiredMarginPercent": "5.0000",
        "baseAsset": contract.base,
        "quoteAsset": contract.quote,
        "marginAsset": contract.quote,
        "pricePrecision": precision,
        "quantityPrecision": 8 - zeros(contract.lot),
        "baseAssetPrecision": 8,
        "quotePrecision": 8,
        "underlyingType": "EQUITY" if contract.kind == "TRADIFI_PERPETUAL" else "COIN",
        "underlyingSubType": ["TradFi"] if contract.kind == "TRADIFI_PERPETUAL" else ["PoW"],
        "triggerProtect": "0.0500",
        "liquidationFee": "0.012500",
        "marketTakeBound": "0.05",
        "maxMoveOrderLimit": 10000,
        "filters": [
            {
                "filterType": "PRICE_FILTER",
                "minPrice": decimal_string(contract.tick),
                "maxPrice": "4529764.00000000",
                "tickSize": decimal_string(contract.tick),
            },
            {"filterType": "LOT_SIZE", "minQty": step, "maxQty": "10000000.00000000", "stepSize": step},
            {"filterType": "MARKET_LOT_SIZE", "minQty": step, "maxQty": "1000000.00000000", "stepSize": step},
            {"filterType": "MAX_NUM_ORDERS", "limit": 200},
            {"filterType": "MIN_NOTIONAL", "notional": "5"},
            {"filterType": "PERCENT_PRICE", "multiplierUp": "1.05", "multiplierDown": "0.95", "multiplierDecimal": "4"},
        ],
        "orderTypes": ["LIMIT", "MARKET", "STOP", "STOP_MARKET", "TAKE_PROFIT", "TAKE_PROFIT_MARKET"],
        "timeInForce": ["GTC", "IOC", "FOK", "GTX", "GTD"],
        "permissionSets": ["GRID", "COPY"],
    }


def day_ticker(call: FuturesCall) -> object:
    """Answer ticker/24hr. Settling contracts are included with their last trade."""
    chosen, alone = call.chosen()
    rows = [day_row(call.market, contract, call.now_ms) for contract in chosen]
    return rows[0] if alone else rows


def premium_index(call: FuturesCall) -> object:
    """Answer premiumIndex."""
    chosen, alone = call.chosen()
    rows = [premium_row(call.market, contract, call.now_ms) for contract in chosen]
    return rows[0] if alone else rows


def book_ticker(call: FuturesCall) -> object:
    """Answer ticker/bookTicker."""
    chosen, alone = call.chosen()
    rows = [quote_row(call.market, contract, call.now_ms) for contract in chosen]
    return rows[0] if alone else rows


def price_ticker(call: FuturesCall) -> object:
    """Answer ticker/price."""
    chosen, alone = call.chosen()
    rows = [
        {"symbol": each.name, "price": each.price(call.market.day(each, call.now_ms).last), "time": call.now_ms}
        for each in chosen
    ]
    return rows[0] if alone else rows


def depth(call: FuturesCall) -> object:
    """Answer depth: the best price of each side, and behind it levels one tick apart."""
    contract, limit = call.contract(), call.params.whole("limit") or 500
    if limit not in DEPTH_WEIGHTS:
        raise refusals.bad_value("limit")
    quote = call.market.quote(contract, call.now_ms)

    def side(best: int, lots: int, step: int) -> list[tuple[str, str]]:
        prices = [best + step * number for number in range(limit) if best + step * number > 0]
        return [(contract.price(price), contract.quantity(lots)) for price in prices]

    return {
        "lastUpdateId": call.now_ms // 100,
        "E": call.now_ms,
        "T": call.now_ms,
        "bids": side(quote.bid, quote.bid_lots, -1),
        "asks": side(quote.ask, quote.ask_lots, 1),
    }


def _depth_weight(params: Params) -> int:
    limit = params.peek("limit") or "500"
    return DEPTH_WEIGHTS.get(int(limit) if limit.isdecimal() else 500, 10)


def funding_info(call: FuturesCall) -> object:
    """Answer fundingInfo. It lists only contracts with adjusted terms."""
    told = [(each, each.plan) for each in call.futures.contracts(call.now_ms).values()]
    return [
        {
            "symbol": contract.name,
            "adjustedFundingRateCap": decimal_string(plan.cap),
            "adjustedFundingRateFloor": decimal_string(-plan.cap),
            "fundingIntervalHours": plan.hours,
            "disclaimer": False,
            "updateTime": plan.changed_ms or None,
        }
        for contract, plan in told
        if plan is not None and plan.told
    ]


def day_row(market: FuturesMarket, contract: Contract, now_ms: int) -> Row:
    """Return the 24-hour statistics in the format of spot, without bid and ask."""
    day = market.day(contract, now_ms)
    total, last = day.total, contract.price(day.last)
    if total is None:
        still = dict.fromkeys(("weightedAvgPrice", "openPrice", "highPrice", "lowPrice"), last)
        nothing: Row = {"volume": contract.quantity(0), "quoteVolume": ZERO, "firstId": -1, "lastId": -1, "count": 0}
        figures: Row = {"priceChange": ZERO, "priceChangePercent": "0.000", **still, **nothing}
    else:
        change = day.last - total.open
        figures = {
            "priceChange": contract.price(change),
            "priceChangePercent": percent(change, total.open),
            "weightedAvgPrice": contract.average(total.value, total.lots),
            "openPrice": contract.price(total.open),
            "highPrice": contract.price(total.high),
            "lowPrice": contract.price(total.low),
            "volume": contract.quantity(total.lots),
            "quoteVolume": contract.value(total.value),
            "firstId": total.first_trade,
            "lastId": total.first_trade + total.trades - 1,
            "count": total.trades,
        }
    times: Row = {"openTime": day.opened_ms, "closeTime": day.closed_ms}
    return {"symbol": contract.name, "lastPrice": last, "lastQty": contract.quantity(day.last_lots)} | figures | times


def premium_row(market: FuturesMarket, contract: Contract, now_ms: int) -> Row:
    """Return mark price, index price and the estimated funding rate. A delivery contract has no funding."""
    mark, funding = market.mark(contract, now_ms), market.funding(contract)
    row: Row = {
        "symbol": contract.name,
        "markPrice": decimal_string(mark.mark),
        "indexPrice": decimal_string(mark.index),
        "estimatedSettlePrice": decimal_string(mark.index),
    }
    if funding is None or not contract.trading:
        return row | {"lastFundingRate": "", "interestRate": "", "nextFundingTime": 0, "time": mark.at_ms}
    return row | {
        "lastFundingRate": decimal_string(funding.estimate(now_ms)),
        "interestRate": decimal_string(INTEREST),
        "nextFundingTime": funding.interval(now_ms).end_ms,
        "time": mark.at_ms,
    }


def quote_row(market: FuturesMarket, contract: Contract, now_ms: int) -> Row:
    """Return the best bid and ask."""
    quote = market.quote(contract, now_ms)
    return {
        "symbol": contract.name,
        "bidPrice": contract.price(quote.bid),
        "bidQty": contract.quantity(quote.bid_lots),
        "askPrice": contract.price(quote.ask),
        "askQty": contract.quantity(quote.ask_lots),
        "time": now_ms,
        "lastUpdateId": now_ms // 100,
    }


BOARD = (
    FuturesEndpoint("/fapi/v1/ping", (), flat(1), ping),
    FuturesEndpoint("/fapi/v1/time", (), flat(1), server_time),
    FuturesEndpoint("/fapi/v1/exchangeInfo", (), flat(1), exchange_info),
    FuturesEndpoint("/fapi/v1/ticker/24hr", ("symbol",), one_or_all(1, 40), day_ticker),
    FuturesEndpoint("/fapi/v1/premiumIndex", ("symbol",), one_or_all(1, 10), premium_index),
    FuturesEndpoint("/fapi/v1/ticker/bookTicker", ("symbol",), one_or_all(2, 5), book_ticker),
    FuturesEndpoint("/fapi/v1/ticker/price", ("symbol",), one_or_all(1, 2), price_ticker),
    FuturesEndpoint("/fapi/v1/depth", ("symbol", "limit"), _depth_weight, depth),
    FuturesEndpoint("/fapi/v1/fundingInfo", (), flat(0), funding_info, "funding"),
)
