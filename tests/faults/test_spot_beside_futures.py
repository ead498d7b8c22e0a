"""Spot while futures are refused, banned, slow or cut, and asked for all the time: it waits for none of that."""

import asyncio
from collections.abc import Callable

import anyio
import pytest

from binance_simulator.exchange import SimulatedExchange
from binance_simulator.faults import Fault
from binance_simulator.futures.quirks import Quirk
from mcp_binance_server.app import App
from support.stepped import SteppedClock
from support.whole_market import whole_market

pytestmark = [pytest.mark.flood, pytest.mark.anyio]

CALLS, ASKERS = 60, 12
# While others have long work to do, a round of the loop is left to them now and then; for futures nothing ever waits.
MOST_MORE = 20
SYMBOLS = ("BTCUSDT", "ETHUSDT", "SOLUSDT", "XRPUSDT", "BNBUSDT")
DAY_MS = 86_400_000


def refused(exchange: SimulatedExchange) -> None:
    exchange.futures.quirks.add(Quirk(kind="region"))


def banned(exchange: SimulatedExchange) -> None:
    exchange.futures.quirks.add(Quirk(kind="banned", ms=180_000))


def slow(exchange: SimulatedExchange) -> None:
    exchange.futures.faults.add(Fault(kind="delay", delay_ms=DAY_MS, times=None))


def failing(exchange: SimulatedExchange) -> None:
    exchange.futures.faults.add(Fault(kind="cut_within", times=None))


class Turns:
    """Counts the turns of the loop from a moment on, until it is stopped."""

    def __init__(self) -> None:
        self.count = 0
        self._loop = asyncio.get_running_loop()
        self._next = self._loop.call_soon(self._turn)

    def stop(self) -> int:
        self._next.cancel()
        return self.count

    def _turn(self) -> None:
        self.count += 1
        self._next = self._loop.call_soon(self._turn)


async def ask_for_futures(app: App, clock: SteppedClock, number: int) -> None:
    """Ask for ever, whatever comes back."""
    questions = (
        ("get_derivatives", {"symbol": SYMBOLS[number % len(SYMBOLS)]}),
        ("scan_market", {"market": "perpetual"}),
    )
    while True:
        await app.dispatcher.call_tool(None, *questions[number % 2])
        await clock.sleep_ms(300 + 10 * number)


async def p95_of_tickers(app: App, clock: SteppedClock) -> int:
    """Return how many turns of the loop all but the slowest answers take, each asked for anew."""
    found = list[int]()
    for number in range(CALLS):
        clock.advance(1_100)
        turns = Turns()
        told = await app.dispatcher.call_tool(None, "get_ticker", {"symbol": SYMBOLS[number % len(SYMBOLS)]})
        found.append(turns.stop())
        assert not told.is_error, told.content
    return sorted(found)[CALLS * 95 // 100]


@pytest.mark.night
@pytest.mark.parametrize("fault", [refused, banned, slow, failing], ids=lambda fault: fault.__name__)
async def test_a_ticker_waits_for_nothing_of_futures(
    fault: Callable[[SimulatedExchange], None],
) -> None:
    clock = SteppedClock()
    exchange = SimulatedExchange(clock)
    async with whole_market(clock, exchange) as market:
        await market.app.dispatcher.call_tool(None, "get_ticker", {"symbol": "BTCUSDT"})
        assert market.app.futures is not None
        await market.app.futures.contracts.table()
        await market.app.futures.contracts.rules()
        alone = beside = await p95_of_tickers(market.app, clock)
        fault(exchange)
        asked = len(exchange.futures.requests)
        async with anyio.create_task_group() as group:
            for number in range(ASKERS):
                group.start_soon(ask_for_futures, market.app, clock, number)
            beside = await p95_of_tickers(market.app, clock)
            group.cancel_scope.cancel()

    assert len(exchange.futures.requests) > asked
    assert beside <= alone + MOST_MORE
