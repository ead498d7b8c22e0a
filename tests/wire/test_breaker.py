"""A host that fails: one try a second from all who want something, and no herd when it is back."""

from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import anyio
import httpx2
import pytest

from binance_simulator.exchange import SimulatedExchange
from binance_simulator.faults import Fault
from mcp_binance_server.channel import MOST_CONNECTIONS, Channel
from mcp_binance_server.domain.symbols import Symbol
from mcp_binance_server.errors import AppError, ExchangeUnavailable
from mcp_binance_server.state.engine import Reserves
from mcp_binance_server.state.memory import MemoryEngine
from support.desk import NETWORK, Desk, Loop
from support.stepped import SteppedClock, settled

pytestmark = pytest.mark.anyio

BTC = Symbol("BTCUSDT")
STEP_MS = 50
OUTAGE_SECS, CALLERS = 12, 50


class Line(Loop):
    """A line to the exchange that can be cut, or go silent, and that knows when it was used."""

    def __init__(self, exchange: SimulatedExchange, clock: SteppedClock) -> None:
        super().__init__(exchange)
        self.clock, self.fault, self.used_ms = clock, "", list[float]()

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        self.used_ms.append(self.clock.monotonic_ms())
        if self.fault == "silent":
            await self.clock.sleep_ms(3_000)
            raise httpx2.ReadTimeout("silent")
        if self.fault:
            raise httpx2.ReadError("cut")
        return await super().handle_async_request(request)

    def by_second(self) -> Counter[int]:
        return Counter(int(moment // 1000) for moment in self.used_ms)


@dataclass
class Crowd:
    """Callers who ask different things of one exchange, from as many processes as there are desks."""

    clock: SteppedClock
    exchange: SimulatedExchange
    line: Line
    desks: tuple[Desk, ...]
    told: list[str] = field(default_factory=list[str])
    waits: list[int | None] = field(default_factory=list[int | None])
    asking: int = 0

    async def run(self, seconds: float, callers: int, *, each_ms: float = 500) -> None:
        """Let everybody ask again and again."""
        async with anyio.create_task_group() as group:
            for number in range(callers):
                group.start_soon(self._ask_on, number, self.clock.monotonic_ms() + seconds * 1000, each_ms)
            await self.clock.run(seconds * 1000, lambda: None, step_ms=STEP_MS)
            while self.asking:
                await self.clock.run(1_000, lambda: None, step_ms=STEP_MS)

    async def ask(self, number: int) -> None:
        try:
            await self.desks[number % len(self.desks)].spot.candles(BTC, "1m", number + 1)
            self.told.append("ok")
        except AppError as error:
            self.told.append(error.error_type)
            self.waits.append(getattr(error, "retry_after_secs", None))

    async def _ask_on(self, number: int, until_ms: float, each_ms: float) -> None:
        self.asking += 1
        await self.clock.sleep_ms(number * 7 % each_ms)
        while self.clock.monotonic_ms() < until_ms:
            await self.ask(number)
            await self.clock.sleep_ms(each_ms)
        self.asking -= 1


@asynccontextmanager
async def crowd(processes: int = 1) -> AsyncGenerator[Crowd]:
    clock = SteppedClock()
    exchange = SimulatedExchange(clock)
    line = Line(exchange, clock)
    engine, channel = MemoryEngine(clock, reserves=Reserves.none()), Channel(deadline_secs=30, transport=line)
    desks = tuple(Desk(engine, channel, clock, NETWORK) for _ in range(processes))
    for desk in desks:
        desk.budget.learn_limit(exchange.weight_limit)
    try:
        yield Crowd(clock, exchange, line, desks)
    finally:
        await channel.close()
        await engine.close()


@pytest.mark.parametrize("processes", [1, 4])
@pytest.mark.parametrize("fault", ["cut", "silent"])
async def test_an_outage_costs_one_try_a_second_whoever_asks(fault: str, processes: int, scale: int) -> None:
    async with crowd(processes) as callers:
        callers.line.fault = fault

        await callers.run(OUTAGE_SECS * scale, CALLERS)

    # Those that were on their way already, and their second attempts, until the first of them failed for a while.
    settling_secs = 1 if fault == "cut" else 5
    tries = callers.line.by_second()
    assert max(tries[second] for second in range(settling_secs, OUTAGE_SECS * scale)) == 1
    assert sum(tries[second] for second in range(settling_secs)) <= CALLERS + MOST_CONNECTIONS * processes
    assert set(callers.told) == {"exchange_unavailable"}
    assert Counter(callers.waits)[1] > 0.9 * len(callers.waits)


@pytest.mark.night
@pytest.mark.parametrize("processes", [1, 4])
async def test_a_host_that_is_back_is_found_in_two_seconds_and_not_by_a_herd(processes: int) -> None:
    async with crowd(processes) as callers:
        callers.line.fault = "cut"
        await callers.run(2, 20)
        back_ms, callers.line.fault = callers.clock.monotonic_ms(), ""
        callers.told.clear()

        await callers.run(3.5, 70)

    later_ms = [moment - back_ms for moment in callers.line.used_ms if moment >= back_ms]
    by_second = Counter(int((moment - later_ms[0]) // 1000) for moment in later_ms)
    assert later_ms[0] <= 2_000
    assert 1 < by_second[0] <= MOST_CONNECTIONS * processes
    assert by_second[2] > MOST_CONNECTIONS
    assert callers.told[-1] == "ok"


async def test_connections_that_are_cut_all_at_once_are_no_outage() -> None:
    async with crowd() as callers, anyio.create_task_group() as group:
        callers.line.fault = "cut"
        for number in range(16):
            group.start_soon(callers.ask, number)
        await settled()
        callers.line.fault = ""
        await callers.clock.run(1_000, lambda: None, step_ms=STEP_MS)

    assert callers.told == ["ok"] * 16


@pytest.mark.parametrize(
    ("fault", "hosts_down"),
    [
        (Fault(kind="status", status=503, code=-1008, times=None), 1),
        (Fault(kind="status", status=504, body="<html>", times=None), 1),
        (Fault(kind="status", status=400, code=-1100, times=None), 0),
        (Fault(kind="status", status=403, body="<html>", times=None), 0),
        (Fault(kind="status", status=429, code=-1003, headers={"Retry-After": "1"}, times=None), 0),
        (Fault(kind="html", times=None), 0),
        (Fault(kind="gzip", times=None), 0),
        (Fault(kind="huge", size=3_000_000, times=None), 0),
        (Fault(kind="cut_within", times=None), 1),
    ],
    ids=lambda value: f"{value.kind}-{value.status}" if isinstance(value, Fault) else "",
)
async def test_only_a_host_that_fails_itself_is_left_alone(fault: Fault, hosts_down: int) -> None:
    async with crowd() as callers, anyio.create_task_group() as group:
        callers.exchange.faults.add(fault)
        group.start_soon(callers.ask, 1)
        await callers.clock.run(3_000, lambda: None, step_ms=STEP_MS)

        assert callers.desks[0].caller.attempts.hosts_down == hosts_down


async def test_a_failure_that_comes_after_a_later_answer_is_of_the_past() -> None:
    down = list[int]()
    async with crowd() as callers, anyio.create_task_group() as group:
        callers.line.fault = "silent"
        for number in range(5):
            group.start_soon(callers.ask, number)
        await callers.clock.run(2_000, lambda: None, step_ms=STEP_MS)
        callers.line.fault = ""
        await callers.ask(9)
        attempts = callers.desks[0].caller.attempts
        await callers.clock.run(2_000, lambda: down.append(attempts.hosts_down), step_ms=STEP_MS)

    assert (max(down), callers.told) == (0, ["ok"] * 6)


async def test_while_the_host_is_down_what_is_kept_is_served_and_the_rest_told_at_once() -> None:
    async with crowd() as callers, anyio.create_task_group() as group:
        (desk,) = callers.desks
        kept = await desk.spot.daily_candles(BTC, 30)
        callers.line.fault = "cut"
        group.start_soon(callers.ask, 1)
        await callers.clock.run(1_000, lambda: None, step_ms=STEP_MS)
        tries, now_ms = len(callers.line.used_ms), callers.clock.monotonic_ms()

        with pytest.raises(ExchangeUnavailable) as caught:
            await desk.spot.ticker(BTC)

        assert await desk.spot.daily_candles(BTC, 30) == kept
        assert (len(callers.line.used_ms), callers.clock.monotonic_ms()) == (tries, now_ms)
        assert caught.value.data()["retry_after_secs"] == 1
        assert "failing for 1 s; one request a second is tried" in caught.value.message


@pytest.mark.night
@pytest.mark.parametrize("processes", [1, 4])
async def test_after_a_stop_one_request_finds_out_whether_it_is_over(processes: int) -> None:
    async with crowd(processes) as callers:
        refusal = Fault(kind="status", status=418, code=-1003, headers={"Retry-After": "3"}, times=None)
        callers.exchange.faults.add(refusal)
        await callers.run(10, 40)
        stopped = callers.line.by_second()
        callers.exchange.faults.clear()
        callers.line.used_ms.clear()
        await callers.run(4, 40)

    assert sum(stopped[second] for second in range(1, 11)) <= 4
    assert max(stopped[second] for second in range(1, 11)) == 1
    assert set(callers.told) == {"rate_limited", "ok"}
    assert callers.told[-1] == "ok"
    first_ms = callers.line.used_ms[0]
    assert sum(moment < first_ms + 1_000 for moment in callers.line.used_ms) <= MOST_CONNECTIONS * processes


async def test_an_outage_spends_hardly_any_of_the_minute() -> None:
    async with crowd() as callers:
        callers.line.fault = "cut"
        await callers.run(5, 50)

        assert await callers.desks[0].budget.used() < 200
