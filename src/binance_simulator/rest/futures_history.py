"""Historical data of a contract: fundingRate, openInterest, klines and the endpoints under /futures/data."""

from collections.abc import Callable, Iterator
from heapq import merge as merged
from itertools import islice

from binance_simulator import refusals
from binance_simulator.futures.funding import Payment
from binance_simulator.futures.listing import Contract
from binance_simulator.futures.market import FuturesMarket
from binance_simulator.futures.ratios import RatioKind
from binance_simulator.market.listing import UNIT, decimal_string
from binance_simulator.market.portfolio import ZERO
from binance_simulator.market.prices import DAY_MS, HOUR_MS
from binance_simulator.market.source import Interval, known
from binance_simulator.rest.endpoints import flat
from binance_simulator.rest.futures_calls import FuturesCall, FuturesEndpoint
from binance_simulator.rest.history import candle_row, openings
from binance_simulator.rest.signing import Params

Row = dict[str, object]

MINUTE_MS = 60_000
KEPT_MS = 30 * DAY_MS
PERIODS = {
    **{f"{count}m": count * MINUTE_MS for count in (5, 15, 30)},
    **{f"{count}h": count * HOUR_MS for count in (1, 2, 4, 6, 12)},
    "1d": DAY_MS,
}
CONTRACT_TYPES = ("PERPETUAL", "CURRENT_QUARTER", "NEXT_QUARTER")


def open_interest(call: FuturesCall) -> object:
    """Answer openInterest."""
    contract = call.contract()
    lots = call.market.interest(contract).at(call.now_ms) if contract.trading else 0
    return {"openInterest": contract.quantity(lots), "symbol": contract.name, "time": call.now_ms}


def funding_rate(call: FuturesCall) -> object:
    """Answer fundingRate, oldest first. Return the rates from a start time on, or the newest ones."""
    value = call.params.text("symbol")
    chosen = list(call.futures.contracts(call.now_ms).values()) if value is None else [call.find(value)]
    limit = call.params.limit(200, 1000)
    start_ms, end_ms = call.params.whole("startTime"), call.params.whole("endTime")
    until_ms = call.now_ms if end_ms is None else min(call.now_ms, end_ms)
    lists = [_payments(call.market, contract, until_ms, start_ms or 0) for contract in chosen if contract.trading]
    newest_first = merged(*lists, key=lambda found: -found[1].at_ms)
    found = list(newest_first if start_ms is not None else islice(newest_first, limit))[::-1]
    return [_payment_row(call.market, contract, payment) for contract, payment in found[:limit]]


def _payments(
    market: FuturesMarket, contract: Contract, until_ms: int, start_ms: int
) -> Iterator[tuple[Contract, Payment]]:
    funding = market.funding(contract)
    for payment in () if funding is None else funding.payments(until_ms):
        if payment.at_ms < start_ms:
            return
        yield contract, payment


def _payment_row(market: FuturesMarket, contract: Contract, payment: Payment) -> Row:
    return {
        "symbol": contract.name,
        "fundingTime": payment.at_ms,
        "fundingRate": decimal_string(payment.rate),
        "markPrice": decimal_string(market.mark_at(contract, payment.at_ms).mark),
        "rateType": "Special" if payment.special else "Regular",
    }


def klines(call: FuturesCall) -> object:
    """Answer klines."""
    contract = call.contract()
    name = call.params.required("interval")
    if not known(name) or name == "1s":
        raise refusals.bad_interval()
    limit = call.params.limit(500, 1500)
    start_ms, end_ms = call.params.whole("startTime"), call.params.whole("endTime")
    tape = call.market.tape(contract)
    until = tape.spot.until(call.now_ms)
    interval = Interval(name)
    found = openings(interval, limit, start_ms, min(until - 1, until if end_ms is None else end_ms))
    rows: list[list[object]] = []
    for opening in found:
        following = interval.following(opening)
        candle = tape.window(opening, min(following, until))
        if candle is not None and opening >= contract.onboard_ms:
            rows.append(candle_row(contract, candle, opening, following))
    return rows


def interest_history(call: FuturesCall) -> object:
    """Answer openInterestHist with the open interest and its value at the mark price."""
    contract = call.contract()
    interest = call.market.interest(contract)
    rows: list[Row] = []
    for at_ms in _stamps(call):
        lots, mark = interest.at(at_ms), call.market.mark_at(contract, at_ms).mark
        row: Row = {
            "symbol": contract.name,
            "sumOpenInterest": decimal_string(lots * contract.lot),
            "sumOpenInterestValue": decimal_string(lots * contract.lot * mark // UNIT),
            "CMCCirculatingSupply": ZERO,
            "timestamp": at_ms,
        }
        rows.append(row)
    return rows


def ratio_of(kind: RatioKind) -> Callable[[FuturesCall], object]:
    """Return the handler of one of the three long/short ratios.

    All three have field names about accounts.
    """

    def ratio(call: FuturesCall) -> object:
        contract = call.contract()
        ratios = call.market.ratios(contract)
        return [_ratio_row(contract, ratios.long_share(kind, at_ms), at_ms) for at_ms in _stamps(call)]

    return ratio


def _ratio_row(contract: Contract, long: int, at_ms: int) -> Row:
    short = 10_000 - long
    return {
        "symbol": contract.name,
        "longAccount": _four(long),
        "longShortRatio": _four((20_000 * long + short) // (2 * short)),
        "shortAccount": _four(short),
        "timestamp": at_ms,
    }


def taker_ratio(call: FuturesCall) -> object:
    """Answer takerlongshortRatio. Its timestamp is the start of the period."""
    contract = call.contract()
    tape = call.market.tape(contract)
    length_ms = _period(call)
    rows: list[Row] = []
    for end_ms in _stamps(call, length_ms):
        found = tape.window(end_ms - length_ms, end_ms)
        if found is not None:
            row: Row = {
                "buySellRatio": _four((20_000 * found.buy_lots + found.sell_lots) // (2 * found.sell_lots)),
                "sellVol": contract.quantity(found.sell_lots),
                "buyVol": contract.quantity(found.buy_lots),
                "timestamp": end_ms - length_ms,
            }
            rows.append(row)
    return rows


def basis(call: FuturesCall) -> object:
    """Answer basis, for a pair and a contract type."""
    pair, kind = call.params.required("pair"), call.params.required("contractType")
    if kind not in CONTRACT_TYPES:
        raise refusals.Refusal(-1130, "parameter 'contractType' is invalid.")
    wanted = {kind, "TRADIFI_PERPETUAL"} if kind == "PERPETUAL" else {kind}
    listed = call.futures.contracts(call.now_ms).values()
    contract = next((each for each in listed if each.pair == pair and each.kind in wanted), None)
    if contract is None:
        raise refusals.bad_symbol()
    return [_basis_row(call.market, contract, kind, at_ms) for at_ms in _stamps(call)]


def _basis_row(market: FuturesMarket, contract: Contract, kind: str, at_ms: int) -> Row:
    mark = market.mark_at(contract, at_ms)
    apart = mark.mark - mark.index
    rate = (20_000 * abs(apart) + mark.index) // (2 * mark.index)
    return {
        "indexPrice": decimal_string(mark.index),
        "contractType": kind,
        "basisRate": _four(rate if apart >= 0 else -rate),
        "futuresPrice": decimal_string(mark.mark),
        "annualizedBasisRate": "",
        "basis": decimal_string(apart),
        "pair": contract.pair,
        "timestamp": at_ms,
    }


def _four(units: int) -> str:
    """Format a multiple of 0.0001."""
    text = decimal_string(units * 10_000)
    return text[:-4]


def _period(call: FuturesCall) -> int:
    length_ms = PERIODS.get(call.params.required("period"))
    if length_ms is None:
        raise refusals.Refusal(-1130, "parameter 'period' is invalid.")
    return length_ms


def _stamps(call: FuturesCall, length_ms: int | None = None) -> list[int]:
    """Read period, limit and time span. Return the ends of the periods, oldest first."""
    length_ms = _period(call) if length_ms is None else length_ms
    limit = call.params.whole("limit")
    if limit is not None and not 1 <= limit <= 500:
        raise refusals.Refusal(-1130, "parameter 'limit' is invalid.")
    start_ms, end_ms = call.params.whole("startTime"), call.params.whole("endTime")
    oldest_ms = call.now_ms - KEPT_MS
    if start_ms is not None and start_ms < oldest_ms:
        raise refusals.Refusal(-1130, "parameter 'startTime' is invalid.")
    newest_ms = call.now_ms if end_ms is None else min(call.now_ms, end_ms)
    newest = newest_ms // length_ms
    first = -(-max(start_ms or 0, oldest_ms) // length_ms)
    return [place * length_ms for place in range(max(first, newest - (limit or 30) + 1), newest + 1)]


def _kline_weight(params: Params) -> int:
    text = params.peek("limit") or ""
    limit = int(text) if text.isdecimal() else 500
    return next(weight for most, weight in ((99, 1), (499, 2), (1000, 5), (float("inf"), 10)) if limit <= most)


OF_SYMBOL = ("symbol", "period", "limit", "startTime", "endTime")
HISTORY = (
    FuturesEndpoint("/fapi/v1/openInterest", ("symbol",), flat(1), open_interest),
    FuturesEndpoint(
        "/fapi/v1/fundingRate", ("symbol", "startTime", "endTime", "limit"), flat(0), funding_rate, "funding"
    ),
    FuturesEndpoint("/fapi/v1/klines", ("symbol", "interval", "startTime", "endTime", "limit"), _kline_weight, klines),
    FuturesEndpoint("/futures/data/openInterestHist", OF_SYMBOL, flat(0), interest_history, "data"),
    FuturesEndpoint("/futures/data/globalLongShortAccountRatio", OF_SYMBOL, flat(0), ratio_of("accounts"), "data"),
    FuturesEndpoint("/futures/data/topLongShortAccountRatio", OF_SYMBOL, flat(0), ratio_of("top_accounts"), "data"),
    FuturesEndpoint("/futures/data/topLongShortPositionRatio", OF_SYMBOL, flat(0), ratio_of("top_positions"), "data"),
    FuturesEndpoint("/futures/data/takerlongshortRatio", OF_SYMBOL, flat(0), taker_ratio, "data"),
    FuturesEndpoint(
        "/futures/data/basis",
        ("pair", "contractType", "period", "limit", "startTime", "endTime"),
        flat(0),
        basis,
        "data",
    ),
)
