"""Everything that can go wrong on the way to the exchange, and what a caller is told."""

import anyio
import httpx2
import pytest

from binance_simulator.exchange import SimulatedExchange
from binance_simulator.faults import Fault
from mcp_binance_server.channel import HttpAnswer
from mcp_binance_server.domain.symbols import Symbol
from mcp_binance_server.errors import (
    AppError,
    ExchangeRejected,
    ExchangeUnavailable,
    InvalidSymbol,
    RateLimited,
    RegionRestricted,
)
from mcp_binance_server.exchange.endpoints import Network
from mcp_binance_server.exchange.spot.endpoints import TICKER_24H
from mcp_binance_server.exchange.spot.wire import TickerWire
from mcp_binance_server.exchange.wire import read_refusal
from support.desk import NETWORK, Desk, Loop, OpenDesk
from support.requirement import requirement

BTC = Symbol("BTCUSDT")


def tickers(exchange: SimulatedExchange) -> int:
    return sum(request.path == "/api/v3/ticker/24hr" for request in exchange.requests)


@requirement("resources/exchange-unavailable")
@pytest.mark.parametrize(
    "fault",
    [
        Fault(kind="status", status=500, code=-1000),
        Fault(kind="status", status=502, body="<html><h1>502 Bad Gateway</h1></html>"),
        Fault(kind="status", status=503, code=-1008),
        Fault(kind="html"),
        Fault(kind="truncated"),
        Fault(kind="empty"),
        Fault(kind="gzip"),
        Fault(kind="false_gzip"),
        Fault(kind="huge", size=3_000_000),
        Fault(kind="cut_before"),
        Fault(kind="cut_within"),
    ],
    ids=lambda fault: f"{fault.kind}-{fault.status}",
)
async def test_a_fault_that_passes_is_not_seen_and_one_that_stays_is_told_plainly(
    fault: Fault, desk: Desk, exchange: SimulatedExchange
) -> None:
    exchange.faults.add(fault)

    first = await desk.spot.ticker(BTC)

    assert first.value.symbol == "BTCUSDT"
    assert tickers(exchange) == 2
    exchange.requests.clear()
    for _ in range(3):
        exchange.faults.add(fault)
    with pytest.raises(ExchangeUnavailable) as caught:
        await desk.spot.ticker(Symbol("ETHUSDT"))
    assert tickers(exchange) == 3
    assert caught.value.data()["retryable"] is True
    assert "<" not in caught.value.message


@pytest.mark.parametrize("field", ["lastPrice", "volume", "priceChangePercent"])
@pytest.mark.parametrize("value", ['"NaN"', '"Infinity"', '"1e999999"', '"1,0"', '""', "1.5", "null", "[]"])
async def test_an_amount_that_is_no_plain_decimal_is_not_believed(
    field: str, value: str, desk: Desk, exchange: SimulatedExchange
) -> None:
    good = await desk.caller.read(TICKER_24H, {"symbol": BTC}, TickerWire)
    start, _, rest = good.content.decode().partition(f'"{field}":')
    spoilt = f'{start}"{field}":{value}{rest[rest.index(",") :]}'
    for _ in range(3):
        exchange.faults.add(Fault(kind="status", status=200, body=spoilt))

    with pytest.raises(ExchangeUnavailable, match="could not be read"):
        await desk.spot.ticker(BTC)


NO_TEXT = b'{"symbol":"BTC\xff","code":-1100,"msg":"\xff\xfe"}'
TOO_DEEP = b'{"x":' + b"[" * 5_000 + b"]" * 5_000 + b',"code":-1100,"msg":"deep"}'


@pytest.mark.parametrize("body", [NO_TEXT, TOO_DEEP], ids=["no text", "too deep"])
async def test_bytes_that_are_no_text_and_depths_nobody_reads_are_no_defect_of_ours(
    body: bytes, open_desk: OpenDesk
) -> None:
    class Hostile(httpx2.AsyncBaseTransport):
        async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:  # noqa: ARG002 - all alike
            return httpx2.Response(200, stream=httpx2.ByteStream(body))

    async with open_desk(transport=Hostile()) as desk:
        with pytest.raises(ExchangeUnavailable, match="could not be read"):
            await desk.spot.ticker(BTC)


@pytest.mark.parametrize("body", [NO_TEXT, TOO_DEEP], ids=["no text", "too deep"])
def test_a_refusal_that_cannot_be_read_has_its_status_alone(body: bytes) -> None:
    refusal = read_refusal(HttpAnswer(400, {}, body))

    assert (refusal.status, refusal.text) == (400, "HTTP 400")


@pytest.mark.parametrize(
    ("status", "code", "expected"),
    [
        (400, -1100, ExchangeRejected),
        (403, 0, ExchangeRejected),
        (404, -1, ExchangeRejected),
        (400, -1121, InvalidSymbol),
        (429, -1003, RateLimited),
        (418, -1003, RateLimited),
        (400, -1003, RateLimited),
        (451, 0, RegionRestricted),
    ],
)
@requirement("ruling/09")
async def test_a_refusal_is_asked_once_and_means_what_the_code_says(
    status: int, code: int, expected: type[AppError], desk: Desk, exchange: SimulatedExchange
) -> None:
    exchange.faults.add(Fault(kind="status", status=status, code=code, msg="words", times=None))

    with pytest.raises(expected):
        await desk.spot.ticker(BTC)

    assert tickers(exchange) == 1


@pytest.mark.parametrize(
    ("status", "body", "may_pass", "is_passing"),
    [
        (400, b'{"code":-1013,"msg":"Filter failure: LOT_SIZE"}', False, False),
        (503, b'{"code":-1007,"msg":"Timeout"}', True, True),
        (500, b"<html>", True, True),
        (200, b'{"code":-1006,"msg":"Unexpected"}', True, True),
        (400, b'{"code":-1034,"msg":"Too many connections"}', True, True),
        (429, b'{"code":-1015,"msg":"Too many new orders"}', True, False),
        (503, b'{"code":-1003,"msg":"Too many requests"}', True, False),
        (409, b'{"code":-2021,"msg":"partially failed","data":{}}', False, False),
        (403, b"<html>", False, False),
    ],
)
def test_a_read_is_asked_again_only_where_the_exchange_has_not_decided(
    status: int, body: bytes, *, may_pass: bool, is_passing: bool
) -> None:
    refusal = read_refusal(HttpAnswer(status, {}, body))

    assert (refusal.may_pass, refusal.is_passing) == (may_pass, is_passing)


class Broken(httpx2.AsyncBaseTransport):
    """A network that fails in one way, every time."""

    def __init__(self, error: Exception | None) -> None:
        self.error = error
        self.calls = 0

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        assert request.method == "GET"
        self.calls += 1
        if self.error is None:
            await anyio.Event().wait()
        raise self.error or AssertionError


@pytest.mark.parametrize(
    "error",
    [
        httpx2.ConnectError("refused"),
        httpx2.ConnectTimeout("late"),
        httpx2.PoolTimeout("busy"),
        httpx2.ReadError("reset"),
        httpx2.WriteError("reset"),
        httpx2.RemoteProtocolError("short"),
        httpx2.ReadTimeout("silent"),
    ],
    ids=lambda error: type(error).__name__,
)
async def test_a_broken_network_is_tried_three_times(error: Exception, open_desk: OpenDesk) -> None:
    transport = Broken(error)

    async with open_desk(transport=transport) as desk:
        with pytest.raises(ExchangeUnavailable) as caught:
            await desk.spot.ticker(BTC)

    assert transport.calls == 3
    assert "http" not in caught.value.message


async def test_silence_ends_at_the_deadline(open_desk: OpenDesk) -> None:
    transport = Broken(None)

    async with open_desk(transport=transport, deadline_secs=0.01) as desk:
        with pytest.raises(ExchangeUnavailable, match="within"):
            await desk.spot.ticker(BTC)

    assert transport.calls == 3


async def test_all_attempts_together_end_at_the_total_deadline(open_desk: OpenDesk) -> None:
    async with open_desk(transport=Broken(None), deadline_secs=5) as desk:
        desk.caller.total_secs = 0.02
        with pytest.raises(ExchangeUnavailable, match=r"0\.02 s"):
            await desk.spot.ticker(BTC)


class Slow(Loop):
    """A line on which the table of symbols takes a while."""

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        response = await super().handle_async_request(request)
        if request.url.path.endswith("exchangeInfo"):
            await anyio.sleep(0.1)  # noqa: TID251 - real time is what is tested
        return response


async def test_the_large_table_of_symbols_may_take_longer_than_a_ticker(
    open_desk: OpenDesk, exchange: SimulatedExchange
) -> None:
    async with open_desk(transport=Slow(exchange), deadline_secs=0.04) as desk:
        table = await desk.directory.table()

    assert len(table.rules) > 40
    assert len(exchange.requests) == 1


RESTRICTED = Network("mainnet", "http://main.test", "https://help.test/", "http://public.test")


async def test_public_data_moves_to_the_second_host_where_the_first_may_not_serve(
    open_desk: OpenDesk, exchange: SimulatedExchange
) -> None:
    exchange.faults.add(Fault(kind="status", status=451, code=0, msg="restricted location"))

    async with open_desk(network=RESTRICTED) as desk:
        first = await desk.spot.ticker(BTC)
        second = await desk.spot.quote(BTC)

    assert (first.host, first.origin) == ("public.test", "rerouted")
    assert (second.host, second.origin) == ("public.test", "rerouted")
    assert [request.status for request in exchange.requests] == [451, 200, 200]


async def test_signed_calls_never_move(open_desk: OpenDesk, exchange: SimulatedExchange) -> None:
    async with open_desk(network=RESTRICTED) as desk:
        account = desk.account(exchange.account.api_key, exchange.account.secret_key)
        await account.account()
        exchange.faults.add(Fault(kind="status", status=451, code=0, msg="restricted", times=None))

        with pytest.raises(RegionRestricted):
            await account.account()


async def test_where_both_hosts_refuse_the_reason_is_the_region(
    open_desk: OpenDesk, exchange: SimulatedExchange
) -> None:
    exchange.faults.add(Fault(kind="status", status=451, code=0, msg="restricted", times=None))

    async with open_desk(network=RESTRICTED) as desk:
        with pytest.raises(RegionRestricted):
            await desk.spot.ticker(BTC)

    assert tickers(exchange) == 2


async def test_a_clock_that_never_agrees_is_given_up(desk: Desk, exchange: SimulatedExchange) -> None:
    account = desk.account(exchange.account.api_key, exchange.account.secret_key)
    exchange.faults.add(Fault(kind="status", path="*/account", status=400, code=-1021, msg="Timestamp", times=None))

    with pytest.raises(ExchangeRejected):
        await account.account()

    assert [request.path[8:] for request in exchange.requests].count("account") == 2


def test_the_network_of_the_tests_has_no_second_host() -> None:
    assert NETWORK.public_data_url is None
