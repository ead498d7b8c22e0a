"""The table of symbols: one request an hour, an old table rather than none, no request for garbage."""

from decimal import Decimal

import anyio
import pytest

from binance_simulator.exchange import SimulatedExchange
from binance_simulator.faults import Fault
from mcp_binance_server.errors import ExchangeUnavailable, InvalidSymbol
from support.clock import FakeClock
from support.desk import Desk
from support.requirement import requirement

HOUR_MS = 3_600_000


async def test_the_table_is_fetched_once_for_everybody(desk: Desk, exchange: SimulatedExchange) -> None:
    async with anyio.create_task_group() as group:
        for symbol in ("btcusdt", "ethusdt", "1inchusdt", "币安人生usdt") * 50:
            group.start_soon(desk.directory.find, symbol)

    assert [request.path for request in exchange.requests] == ["/api/v3/exchangeInfo"]


async def test_the_table_is_fetched_again_after_an_hour(
    desk: Desk, exchange: SimulatedExchange, clock: FakeClock
) -> None:
    await desk.directory.table()
    clock.advance(HOUR_MS - 1)
    await desk.directory.table()
    assert len(exchange.requests) == 1
    clock.advance(1)

    await desk.directory.table()

    assert len(exchange.requests) == 2


async def test_an_old_table_serves_while_the_exchange_does_not_answer(
    desk: Desk, exchange: SimulatedExchange, clock: FakeClock
) -> None:
    await desk.directory.table()
    clock.advance(HOUR_MS)
    exchange.faults.add(Fault(kind="status", status=503, times=None))

    rules = await desk.directory.find("btcusdt")
    attempts = len(exchange.requests)
    await desk.directory.find("ethusdt")

    assert rules.symbol == "BTCUSDT"
    assert len(exchange.requests) == attempts
    exchange.faults.clear()
    clock.advance(60_000)
    await desk.directory.find("ethusdt")
    assert len(exchange.requests) == attempts + 1


async def test_without_any_table_the_exchanges_silence_is_told(desk: Desk, exchange: SimulatedExchange) -> None:
    exchange.faults.add(Fault(kind="status", status=503, times=None))

    with pytest.raises(ExchangeUnavailable):
        await desk.directory.find("btcusdt")


@requirement("ruling/10")
@pytest.mark.parametrize(
    "text", ["BTC/USDT", "btc usdt", "", "../../etc/passwd", "BTCUSDT&side=SELL", "A" * 10_000_000, "'; DROP TABLE--"]
)
async def test_garbage_is_refused_without_any_request(desk: Desk, exchange: SimulatedExchange, text: str) -> None:
    with pytest.raises(InvalidSymbol) as caught:
        await desk.directory.find(text)

    assert exchange.requests == []
    assert len(caught.value.provided_symbol) <= 200


@requirement("ruling/10")
async def test_a_near_miss_names_what_exists(desk: Desk) -> None:
    await desk.directory.table()

    with pytest.raises(InvalidSymbol) as caught:
        await desk.directory.find("btc-usdt")

    assert caught.value.data()["did_you_mean"][0] == "BTCUSDT"


async def test_a_symbol_that_the_exchange_denies_makes_the_table_doubtful_once_a_minute(
    desk: Desk, exchange: SimulatedExchange, clock: FakeClock
) -> None:
    await desk.directory.table()
    await desk.directory.doubt()
    await desk.directory.table()
    assert len(exchange.requests) == 1
    clock.advance(60_001)

    await desk.directory.doubt()
    await desk.directory.table()

    assert len(exchange.requests) == 2


@pytest.mark.parametrize(
    ("symbol", "expected"),
    [
        ("BTCUSDT", ("BTC", "USDT", Decimal("0.01"), "TRADING")),
        ("PEPEUSDT", ("PEPE", "USDT", Decimal("0.00000001"), "TRADING")),
        ("BTCTRY", ("BTC", "TRY", Decimal(1), "TRADING")),
        ("BTCBUSD", ("BTC", "BUSD", Decimal("0.01"), "HALT")),
        ("TESTBUSDT", ("TESTB", "USDT", Decimal(0), "TRADING")),
    ],
)
async def test_rules_survive_the_way_through_the_engine(
    desk: Desk, symbol: str, expected: tuple[str, str, Decimal, str]
) -> None:
    rules = await desk.directory.find(symbol)

    assert (rules.base, rules.quote, rules.tick, rules.status) == expected
