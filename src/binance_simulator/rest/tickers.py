"""Price endpoints: ticker/24hr, ticker/price, ticker/bookTicker and avgPrice."""

import re

from binance_simulator import refusals
from binance_simulator.exchange import SimulatedExchange
from binance_simulator.market.book import Top
from binance_simulator.market.listing import Symbol, decimal_string
from binance_simulator.market.portfolio import ZERO
from binance_simulator.market.prices import DAY_MS
from binance_simulator.market.scenario import FixedTicker
from binance_simulator.market.source import zone_offset_ms
from binance_simulator.market.synthetic import Day
from binance_simulator.rest.endpoints import Call, Endpoint, flat, listed_symbols
from binance_simulator.rest.signing import Params

AVERAGE_MINUTES = 5
MINUTE_MS = 60_000
UNITS_MS = {"m": MINUTE_MS, "h": 60 * MINUTE_MS, "d": DAY_MS}
LONGEST_WINDOWS = {"m": 59, "h": 23, "d": 7}
WINDOW = re.compile("([0-9]{1,2})([mhd])")
MINI = (
    "symbol",
    "openPrice",
    "highPrice",
    "lowPrice",
    "lastPrice",
    "volume",
    "quoteVolume",
    "openTime",
    "closeTime",
    "firstId",
    "lastId",
    "count",
)


def day_ticker(call: Call) -> object:
    """Answer ticker/24hr."""
    kind = call.params.text("type") or "FULL"
    if kind not in {"FULL", "MINI"}:
        raise refusals.bad_value("type")
    symbols, alone = call.symbols()
    bodies = [day_body(call.exchange, symbol, call.now_ms) for symbol in symbols]
    if kind == "MINI":
        bodies = [{name: body[name] for name in MINI} for body in bodies]
    return bodies[0] if alone else bodies


def trading_day(call: Call) -> object:
    """Answer ticker/tradingDay: the calendar day so far, in a time zone."""
    offset_ms = zone_offset_ms(call.params.text("timeZone") or "0")
    if offset_ms is None:
        raise refusals.bad_value("timeZone")
    opened_ms = (call.now_ms + offset_ms) // DAY_MS * DAY_MS - offset_ms
    return _windows(call, opened_ms, opened_ms + DAY_MS - 1)


def window_ticker(call: Call) -> object:
    """Answer ticker: a rolling window, which begins on a whole minute."""
    size = call.params.text("windowSize") or "1d"
    found = WINDOW.fullmatch(size)
    length = 0 if found is None else int(found[1])
    if found is None or not 1 <= length <= LONGEST_WINDOWS[found[2]]:
        raise refusals.bad_value("windowSize")
    opened_ms = (call.now_ms - length * UNITS_MS[found[2]]) // MINUTE_MS * MINUTE_MS
    return _windows(call, opened_ms, call.now_ms)


def _windows(call: Call, opened_ms: int, closed_ms: int) -> object:
    kind = call.params.text("type") or "FULL"
    if kind not in {"FULL", "MINI"}:
        raise refusals.bad_value("type")
    if call.params.peek("symbol") is None and call.params.peek("symbols") is None:
        raise refusals.missing_either("symbol", "symbols")
    symbols, alone = call.symbols()
    bodies: list[dict[str, object]] = []
    for symbol in symbols:
        history = call.market.history(symbol)
        total = history.window(opened_ms, history.until(call.now_ms))
        figures = _figures(symbol, Day(opened_ms, closed_ms, total, None, None, None))
        body: dict[str, object] = {"symbol": symbol.name, **figures}
        bodies.append({name: body[name] for name in MINI} if kind == "MINI" else body)
    return bodies[0] if alone else bodies


def price_ticker(call: Call) -> object:
    """Answer ticker/price."""
    symbols, alone = call.symbols()
    bodies: list[dict[str, str]] = []
    for symbol in symbols:
        last = call.market.last(symbol, call.now_ms)
        price = ZERO if last is None else symbol.price(last.price)
        bodies.append({"symbol": symbol.name, "price": call.exchange.stage.listed_prices.get(symbol.name, price)})
    return bodies[0] if alone else bodies


def book_ticker(call: Call) -> object:
    """Answer ticker/bookTicker."""
    symbols, alone = call.symbols()
    exchange, market, now_ms = call.exchange, call.market, call.now_ms
    bodies = [
        {"symbol": symbol.name, **_top_body(exchange.top(symbol, now_ms), market.unit(symbol))} for symbol in symbols
    ]
    return bodies[0] if alone else bodies


def average_price(call: Call) -> object:
    """Answer avgPrice: the average of the last five minutes. If there were no trades, it is the last price."""
    symbol = call.symbol()
    history = call.market.history(symbol)
    last = call.market.last(symbol, call.now_ms)
    recent = history.window(call.now_ms - AVERAGE_MINUTES * 60_000, history.until(call.now_ms))
    price = ZERO if last is None else symbol.price(last.price)
    if recent is not None:
        price = symbol.average(recent.value, recent.lots)
    return {"mins": AVERAGE_MINUTES, "price": price, "closeTime": 0 if last is None else last.time_ms}


def _top_body(top: Top | None, symbol: Symbol) -> dict[str, str]:
    if top is None:
        return {"bidPrice": ZERO, "bidQty": symbol.quantity(0), "askPrice": ZERO, "askQty": symbol.quantity(0)}
    return {
        "bidPrice": symbol.price(top.bid[0]),
        "bidQty": symbol.quantity(top.bid[1]),
        "askPrice": symbol.price(top.ask[0]),
        "askQty": symbol.quantity(top.ask[1]),
    }


def day_body(exchange: SimulatedExchange, symbol: Symbol, now_ms: int) -> dict[str, object]:
    """Return the 24-hour statistics with all fields of ticker/24hr."""
    market = exchange.stage.market
    day = market.day(symbol, now_ms)
    fixed = exchange.stage.tickers.get(symbol.name)
    figures = _figures(symbol, day) if fixed is None else _fixed_figures(fixed)
    last = None if day.total is None else day.last
    body: dict[str, object] = {
        "symbol": symbol.name,
        "priceChange": figures["priceChange"],
        "priceChangePercent": figures["priceChangePercent"],
        "weightedAvgPrice": figures["weightedAvgPrice"],
        "prevClosePrice": figures.get("openPrice") if fixed else _price(symbol, day.before and day.before.price),
        "lastPrice": figures["lastPrice"],
        "lastQty": market.unit(symbol).quantity(0 if last is None else last.lots),
        **_top_body(day.top, market.unit(symbol)),
    }
    return body | figures


def day_figures(exchange: SimulatedExchange, symbol: Symbol, now_ms: int) -> dict[str, object]:
    """Return the totals of the last 24 hours, with the names in ticker/24hr."""
    fixed = exchange.stage.tickers.get(symbol.name)
    return _figures(symbol, exchange.stage.market.day(symbol, now_ms)) if fixed is None else _fixed_figures(fixed)


def _price(symbol: Symbol, ticks: int | None) -> str:
    return symbol.price(ticks or 0)


def _figures(symbol: Symbol, day: Day) -> dict[str, object]:
    total = day.total
    change = 0 if total is None else total.close - total.open
    return {
        "priceChange": symbol.price(change),
        "priceChangePercent": "0.000" if total is None else percent(change, total.open),
        "weightedAvgPrice": ZERO if total is None else symbol.average(total.value, total.lots),
        "lastPrice": _price(symbol, total and total.close),
        "openPrice": _price(symbol, total and total.open),
        "highPrice": _price(symbol, total and total.high),
        "lowPrice": _price(symbol, total and total.low),
        "volume": symbol.quantity(0 if total is None else total.lots),
        "quoteVolume": ZERO if total is None else symbol.value(total.value),
        "openTime": day.opened_ms,
        "closeTime": day.closed_ms,
        "firstId": -1 if total is None else total.first_trade,
        "lastId": -1 if total is None else total.first_trade + total.trades - 1,
        "count": 0 if total is None else total.trades,
    }


def _fixed_figures(fixed: FixedTicker) -> dict[str, object]:
    return {
        "priceChange": fixed.change,
        "priceChangePercent": fixed.change_percent,
        "weightedAvgPrice": fixed.average,
        "lastPrice": fixed.last,
        "openPrice": fixed.opened,
        "highPrice": fixed.high,
        "lowPrice": fixed.low,
        "volume": fixed.volume,
        "quoteVolume": fixed.value,
        "openTime": fixed.closed_ms - DAY_MS,
        "closeTime": fixed.closed_ms,
        "firstId": 1,
        "lastId": fixed.count,
        "count": fixed.count,
    }


def percent(change: int, opened: int) -> str:
    """Format a percentage with three decimals, rounded half away from zero."""
    thousandths = (200_000 * abs(change) + opened) // (2 * opened)
    text = decimal_string(thousandths * 10**5)[:-5]
    return f"-{text}" if change < 0 and thousandths else text


def _day_weight(params: Params) -> int:
    count = listed_symbols(params)
    if count is None or count > 100:
        return 80
    return 2 if count <= 20 else 40


def _four_each(params: Params) -> int:
    return min(200, 4 * (listed_symbols(params) or 1))


def _one_or_many(params: Params) -> int:
    return 2 if params.peek("symbol") is not None else 4


TICKERS = (
    Endpoint("/api/v3/ticker/24hr", ("symbol", "symbols", "type", "symbolStatus"), _day_weight, day_ticker),
    Endpoint(
        "/api/v3/ticker/tradingDay", ("symbol", "symbols", "timeZone", "type", "symbolStatus"), _four_each, trading_day
    ),
    Endpoint("/api/v3/ticker", ("symbol", "symbols", "windowSize", "type", "symbolStatus"), _four_each, window_ticker),
    Endpoint("/api/v3/ticker/price", ("symbol", "symbols", "symbolStatus"), _one_or_many, price_ticker),
    Endpoint("/api/v3/ticker/bookTicker", ("symbol", "symbols", "symbolStatus"), _one_or_many, book_ticker),
    Endpoint("/api/v3/avgPrice", ("symbol",), flat(2), average_price),
)
