"""Numbers at the wire: finite, plain, of limited length; prices above zero, quantities zero or more."""

from collections.abc import Iterator

import msgspec
import pytest

from binance_simulator.exchange import SimulatedExchange
from mcp_binance_server.app import running_app
from mcp_binance_server.domain.market import BookDelta
from mcp_binance_server.exchange.spot.account import BalanceWire, FillWire, OrderWire
from mcp_binance_server.exchange.spot.streams import DepthEventWire, QuoteEventWire, TickerEventWire, TradeEventWire
from mcp_binance_server.exchange.spot.wire import AggregateTradeWire, DepthWire, ExchangeListWire, TickerWire
from mcp_binance_server.exchange.wire import KlineWire
from mcp_binance_server.settings import read_settings
from support.breaking import Breaker
from support.clock import FakeClock
from support.desk import NETWORK, raw
from support.storm import StormyLoop

NO_NUMBERS = (
    "", " ", "abc", "NaN", "nan", "sNaN", "Infinity", "-Infinity", "inf", "1e400", "1E5", "1e-320", "0E-8", "1_000",
    "+1", ".5", "5.", "1.2.3", "1,000", "01", "000.0", "-0", "-0.00", "-1", " 1", "1 ", "1\n", "1\u200b", "\uff11",
    "9" * 300, "0." + "1" * 300, "1" * 21, "null", "true", "1;2 3", "1 2;", "\u0661", "0x10",
)  # fmt: skip
REFUSED = "level|begins|Expected|matching|out of range"
LEVEL = ("100.00000000", "5.00000000")


def depth_event(*levels: tuple[str, str], **members: object) -> bytes:
    body = {"e": "depthUpdate", "E": 1_784_592_123_456, "s": "BTCUSDT", "U": 5, "u": 7, "b": levels, "a": ()}
    return msgspec.json.encode(body | members)


def read_event(body: bytes) -> BookDelta:
    return msgspec.json.decode(body, type=DepthEventWire).to_domain()


@pytest.mark.parametrize("text", NO_NUMBERS)
def test_a_level_that_is_no_number_is_refused_among_good_ones_in_streams_and_snapshots(text: str) -> None:
    for bad in ((text, "1"), ("1", text)):
        with pytest.raises(ValueError, match=REFUSED):
            read_event(depth_event(LEVEL, bad, LEVEL))
        snapshot = msgspec.json.encode({"lastUpdateId": 5, "bids": [LEVEL, bad], "asks": []})
        with pytest.raises(ValueError, match=REFUSED):
            msgspec.json.decode(snapshot, type=DepthWire)


def test_the_exchanges_own_numbers_pass_as_they_are_written() -> None:
    levels = (LEVEL, ("0.00000001", "0.00000000"), ("99999999999999999.1234567891", "0"), ("7", "12"))

    delta = read_event(depth_event(*levels))

    assert tuple(delta.bids) == levels
    assert read_event(depth_event()).bids == []


@pytest.mark.parametrize("price", ["0", "0.00000000"])
def test_nothing_stands_at_a_price_of_zero(price: str) -> None:
    with pytest.raises(ValueError, match=REFUSED):
        read_event(depth_event((price, "1")))


@pytest.mark.parametrize(
    "members",
    [
        {"U": 8}, {"U": -1}, {"u": 10**19}, {"u": "7"}, {"u": 7.5}, {"E": -1}, {"E": 10**16}, {"E": None}, {"s": 5},
        {"b": [["1"]]}, {"b": [["1", "2", "3"]]}, {"b": {"1": "2"}}, {"b": [[1, 2]]}, {"b": None},
    ],
    ids=str,
)  # fmt: skip
def test_ids_times_and_shapes_that_make_no_sense_are_refused(members: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=REFUSED):
        read_event(depth_event(LEVEL, **members))


async def test_every_number_of_every_answer_is_checked(exchange: SimulatedExchange) -> None:
    ticker = await raw(exchange, "ticker/24hr?symbol=BTCUSDT")
    (candle,) = await raw(exchange, "klines?symbol=BTCUSDT&interval=1h&limit=1")
    (trade,) = await raw(exchange, "aggTrades?symbol=BTCUSDT&limit=1")
    order = {
        "symbol": "BTCUSDT", "orderId": 1, "clientOrderId": "x", "price": "1", "origQty": "1", "executedQty": "0",
        "cummulativeQuoteQty": "-1.00000000", "status": "NEW", "timeInForce": "GTC", "type": "LIMIT", "side": "BUY",
        "time": 1, "updateTime": 1, "stopPrice": "0",
    }  # fmt: skip
    fill = {
        "symbol": "BTCUSDT", "id": 1, "orderId": 1, "price": "1", "qty": "1", "quoteQty": "1", "commission": "-0.1",
        "commissionAsset": "BNB", "time": 1, "isBuyer": True, "isMaker": True,
    }  # fmt: skip
    quote = {"u": 1, "s": "BTCUSDT", "b": "1", "B": "1", "a": "2", "A": "0"}
    told = {"a": 1, "s": "BTCUSDT", "p": "1", "q": "1", "f": 1, "l": 1, "T": 1, "m": True}
    day = {
        "s": "BTCUSDT", "p": "-1", "P": "-0.1", "w": "1", "c": "1", "b": "1", "a": "1", "o": "1", "h": "1", "l": "1",
        "v": "1", "q": "1", "O": 1, "C": 1, "n": 1,
    }  # fmt: skip
    kinds: list[tuple[type, object]] = [
        (TickerWire, ticker), (KlineWire, candle), (AggregateTradeWire, trade), (OrderWire, order), (FillWire, fill),
        (QuoteEventWire, quote), (TradeEventWire, told), (TickerEventWire, day),
        (BalanceWire, {"asset": "BTC", "free": "1", "locked": "0"}),
    ]  # fmt: skip
    broken = 0
    for kind, body in kinds:
        content = msgspec.json.encode(body)
        msgspec.json.decode(content, type=kind)
        for mutant in numbers_replaced(content, read=_names(kind)):
            broken += 1
            with pytest.raises(ValueError, match=REFUSED):
                msgspec.json.decode(mutant, type=kind)

    assert broken >= 130


def _names(kind: type) -> frozenset[str]:
    fields = msgspec.structs.fields(kind)
    return frozenset(map(str, range(len(fields)))) if kind is KlineWire else frozenset(x.encode_name for x in fields)


def numbers_replaced(content: bytes, *, read: frozenset[str]) -> Iterator[bytes]:
    """Write a body once for each of its numbers that is read, with something in its place that is none."""
    is_row = content.startswith(b"[")
    row = msgspec.json.decode(content, type=list[object]) if is_row else []
    body = {str(at): value for at, value in enumerate(row)} or msgspec.json.decode(content, type=dict[str, object])
    for name in read & body.keys():
        value = body[name]
        is_text = isinstance(value, str) and value.replace(".", "").replace("-", "").isdigit()
        if is_text or (isinstance(value, int) and not isinstance(value, bool)):
            for bad in ("NaN", "1e5", "9" * 300) if is_text else ("1", -1, 10**20):
                changed = body | {name: bad}
                yield msgspec.json.encode(list(changed.values()) if is_row else changed)


async def test_a_list_with_a_symbol_that_makes_no_sense_is_used_without_it_and_says_so(
    exchange: SimulatedExchange, clock: FakeClock, caplog: pytest.LogCaptureFixture
) -> None:
    loop = StormyLoop(exchange, Breaker(1))
    loop.is_storming = True
    async with running_app(read_settings({}), clock=clock, network=NETWORK, transport=loop) as app:
        table = await app.market.directory.table()

    assert len(table.rules) == len(exchange.listing.symbols) - 1
    assert "1 symbols of the exchange's list are invalid" in caplog.text


async def test_one_symbol_that_makes_no_sense_does_not_cost_the_others(exchange: SimulatedExchange) -> None:
    info = await raw(exchange, "exchangeInfo")
    first = info["symbols"][0]
    first["filters"] = [{"filterType": "PRICE_FILTER", "tickSize": "NaN"}]

    table = msgspec.json.decode(msgspec.json.encode(info), type=ExchangeListWire).to_domain(otherwise=6_000)

    assert first["symbol"] not in table.rules
    assert len(table.rules) == len(info["symbols"]) - 1
