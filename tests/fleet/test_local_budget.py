"""Whole servers that lose their state: reads go on out of what each was promised, and no further; orders do not."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack

import anyio
import pytest

from binance_simulator.exchange import SimulatedExchange
from mcp_binance_server.app import App, running_app
from mcp_binance_server.clock import SystemClock
from mcp_binance_server.domain.symbols import Symbol
from mcp_binance_server.errors import EngineUnavailable, RateLimited
from mcp_binance_server.exchange.spot.endpoints import ALL_DAYS, CANCEL_ORDER, KLINES, PLACE_ORDER, SNAPSHOT
from mcp_binance_server.settings import read_settings
from mcp_binance_server.state.redis import RedisEngine
from mcp_binance_server.state.redis.local_budget import AHEAD_MINUTES
from mcp_binance_server.state.weight import most_for_one
from support.desk import NETWORK, Loop
from support.engine_calls import is_answered
from support.state_server import StateServer

pytestmark = pytest.mark.anyio

BTC = Symbol("BTCUSDT")
# A hundredth of the limit of today, in questions for candles.
PROMISED = most_for_one(6_000)
READS = PROMISED // KLINES.weight
# For a while that no healthy call takes; calls to a frozen server end after it.
CALL_SECS = 5


class RunningOn(SystemClock):
    """The machine's clock, which can be made to have run on."""

    ahead_ms = 0

    def now_ms(self) -> int:
        return super().now_ms() + self.ahead_ms

    def monotonic_ms(self) -> float:
        return super().monotonic_ms() + self.ahead_ms

    def run_on(self, minutes: int) -> None:
        """Come to ten seconds after the begin of a later minute: far from every edge."""
        self.ahead_ms += minutes * 60_000 + 10_000 - self.now_ms() % 60_000


@pytest.fixture
def clock() -> RunningOn:
    return RunningOn()


@pytest.fixture
def exchange(clock: RunningOn) -> SimulatedExchange:
    return SimulatedExchange(clock)


@pytest.fixture
async def apps(
    server: StateServer, exchange: SimulatedExchange, clock: RunningOn, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[list[App]]:
    """Two servers to which the current minute is promised."""
    usual = RedisEngine.__init__.__kwdefaults__ or {}
    monkeypatch.setattr(RedisEngine.__init__, "__kwdefaults__", {**usual, "call_secs": CALL_SECS})
    async with AsyncExitStack() as stack:
        apps = [await stack.enter_async_context(started(server, exchange, clock)) for _ in range(2)]
        for number, app in enumerate(apps, 1):
            await ask(app, number)
        await until(lambda: len(promises(server)) == 2 + len(apps))
        clock.run_on(AHEAD_MINUTES + 2)
        minute = f"minute:{clock.now_ms() // 60_000}"
        await until(lambda: promises(server).get(minute) == str(len(apps) * PROMISED))
        yield apps


def started(server: StateServer, exchange: SimulatedExchange, clock: RunningOn) -> AbstractAsyncContextManager[App]:
    settings = read_settings({"MCP_BINANCE_STATE_URL": server.url})
    return running_app(settings, network=NETWORK, transport=Loop(exchange), clock=clock)


async def ask(app: App, number: int) -> None:
    """Read what no other has read, once the limit is known and once more."""
    await app.market.directory.table()
    for limit in (number, 100 + number):
        await app.context.live.client.candles(BTC, "5m", limit)


def promises(server: StateServer) -> dict[str, str]:
    """Return all that the state server keeps of promises."""
    told = server.command("HGETALL", "{mcp-binance}:local-budget:local").split("\r\n")[2::2]
    return dict(zip(told[::2], told[1::2], strict=False))


async def until(condition: Callable[[], bool]) -> None:
    with anyio.fail_after(30):
        while not condition():
            await SystemClock().sleep_ms(20)


async def reads(app: App, most: int = 2 * READS) -> tuple[int, list[RateLimited]]:
    """Ask for different candles at once; return how many came, and the refusals."""
    refused: list[RateLimited] = []

    async def read(limit: int) -> None:
        try:
            await app.context.live.client.candles(BTC, "1m", limit)
        except RateLimited as error:
            refused.append(error)

    async with anyio.create_task_group() as group:
        for limit in range(1, most + 1):
            group.start_soon(read, limit)
    return most - len(refused), refused


@pytest.mark.parametrize("away", [StateServer.kill, StateServer.freeze], ids=["killed", "frozen"])
async def test_reads_go_on_exactly_up_to_what_was_promised_and_are_then_told_when_to_come_back(
    away: Callable[[StateServer], None],
    apps: list[App],
    server: StateServer,
    exchange: SimulatedExchange,
    clock: RunningOn,
) -> None:
    # What the engine may grant of this minute has been used up.
    exchange.meter.charge(5_400 - exchange.meter.used(exchange.now_ms()), exchange.now_ms())
    before = len(exchange.requests)
    away(server)

    answered = [await reads(app) for app in apps]

    assert [came for came, _ in answered] == [READS, READS]
    assert {1 <= each.retry_after_secs <= 51 for _, refused in answered for each in refused} == {True}
    sent = exchange.requests[before:]
    assert sum(each.weight for each in sent) == 2 * PROMISED
    assert {each.status for each in sent} == {200}
    assert exchange.meter.used(exchange.now_ms()) == 5_400 + 2 * PROMISED <= exchange.weight_limit
    budgets = [app.market.directory.caller.budget for app in apps]
    assert [each.spent_locally for each in budgets] == [PROMISED, PROMISED]
    clock.run_on(1)
    assert (await reads(apps[0]))[0] == READS


async def test_what_is_no_read_that_somebody_waits_for_is_refused_and_so_is_what_costs_more_than_was_promised(
    apps: list[App], server: StateServer, exchange: SimulatedExchange
) -> None:
    server.kill()
    before = len(exchange.requests)

    for call in (PLACE_ORDER, CANCEL_ORDER, SNAPSHOT, ALL_DAYS):
        with pytest.raises(EngineUnavailable):
            await apps[0].market.directory.caller.budget.spend(call)

    assert apps[0].market.directory.caller.budget.spent_locally == 0
    assert len(exchange.requests) == before


@pytest.mark.usefixtures("apps")
async def test_a_process_that_never_saw_the_state_sends_nothing(
    server: StateServer, exchange: SimulatedExchange, clock: RunningOn
) -> None:
    server.kill()
    before = len(exchange.requests)

    async with started(server, exchange, clock) as stranger:
        with pytest.raises(EngineUnavailable):
            await stranger.context.live.client.quote(BTC)

    assert len(exchange.requests) == before


async def test_one_who_came_after_the_loss_has_no_promise_and_the_others_keep_theirs(
    apps: list[App], server: StateServer, exchange: SimulatedExchange, clock: RunningOn
) -> None:
    server.kill()
    server.start_empty()
    clock.run_on(1)
    async with started(server, exchange, clock) as newcomer:
        await ask(newcomer, 3)
        await until(lambda: len(promises(server)) == 2 + len(apps) + 1)  # all have asked, and nothing is promised
        server.kill()

        with pytest.raises(EngineUnavailable):
            await newcomer.context.live.client.average_price(BTC)

    assert (await reads(apps[0]))[0] == READS


async def test_a_symbol_table_that_cannot_be_renewed_is_used_on(
    apps: list[App], server: StateServer, clock: RunningOn
) -> None:
    server.kill()
    clock.run_on(61)

    assert BTC in (await apps[0].market.directory.table()).rules


async def test_a_stop_that_one_was_told_holds_all_back_while_the_state_is_away(
    apps: list[App], server: StateServer, exchange: SimulatedExchange
) -> None:
    await apps[0].engine.stop_weight("local", ms=120_000, reason="HTTP 429")
    await SystemClock().sleep_ms(2_000)  # each process greets its state twice a second
    server.kill()
    before = len(exchange.requests)

    answered = [await reads(app, 3) for app in apps]

    assert [came for came, _ in answered] == [0, 0]
    assert min(each.retry_after_secs for _, refused in answered for each in refused) > 60
    assert len(exchange.requests) == before


async def test_when_the_state_is_back_reads_are_booked_there_again(
    apps: list[App], server: StateServer, exchange: SimulatedExchange
) -> None:
    server.freeze()
    assert (await reads(apps[0]))[0] == READS
    server.thaw()
    budget = apps[0].market.directory.caller.budget
    with anyio.fail_after(30):
        while not await is_answered(apps[0].engine):
            await SystemClock().sleep_ms(50)

    assert (await reads(apps[0], READS + 1))[0] == READS + 1

    assert budget.spent_locally == PROMISED
    assert {each.status for each in exchange.requests} == {200}
