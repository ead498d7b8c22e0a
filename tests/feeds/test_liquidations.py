"""The stream of liquidations: opened when asked, heard by one for all, closed again, and never taken for calm."""

from collections import defaultdict
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from decimal import Decimal

from binance_simulator.exchange import SimulatedExchange
from binance_simulator.faults import StreamFault
from binance_simulator.futures.quirks import Quirk
from binance_simulator.streams.loopback import Loopback
from mcp_binance_server.analytics.derivatives.liquidation_minutes import LiquidationTally
from mcp_binance_server.domain.symbols import Symbol
from mcp_binance_server.errors import EngineUnavailable
from mcp_binance_server.exchange.dialing import Dialer, StreamConnection
from mcp_binance_server.exchange.server_time import ServerTime
from mcp_binance_server.feeds.liquidations import LEASE_MS, LiquidationsHeard, LiquidationWatch, Listens
from mcp_binance_server.state.engine import Lease
from mcp_binance_server.state.memory import MemoryEngine
from support.stepped import SteppedClock, settled

URL = "ws://futures.simulator.invalid"
SOL, BTC = Symbol("SOLUSDT"), Symbol("BTCUSDT")
LINGER_MS = 120_000


class MoodyEngine(MemoryEngine):
    """An engine in this process that can be away for a while."""

    is_away = False

    async def get(self, key: str) -> bytes | None:
        self._answer("get")
        return await super().get(key)

    async def lease(self, name: str, owner: str, *, ttl_ms: int) -> Lease | None:
        self._answer("lease")
        return await super().lease(name, owner, ttl_ms=ttl_ms)

    def _answer(self, operation: str) -> None:
        if self.is_away:
            raise EngineUnavailable(operation=operation)


@dataclass(frozen=True, slots=True)
class OffTheRoute:
    """Dials the right host by another route, as an address that has grown old would."""

    dialer: Dialer

    async def connect(self, url: str) -> StreamConnection:
        return await self.dialer.connect(url.replace("/market/", "/public/"))


@dataclass
class Ward:
    """The exchange, watches on one engine, and the way to let time pass for all."""

    clock: SteppedClock
    exchange: SimulatedExchange
    engine: MoodyEngine
    watches: list[LiquidationWatch]
    stacks: list[AsyncExitStack] = field(default_factory=list[AsyncExitStack])

    async def run(self, seconds: float, step_ms: float = 250) -> None:
        await self.clock.run(seconds * 1000, self.exchange.futures.hub.wake, step_ms=step_ms)

    async def ask(self, place: int = 0) -> LiquidationsHeard:
        heard = await self.watches[place].ask()
        await settled()
        return heard

    @property
    def sockets(self) -> int:
        return self.exchange.futures.hub.open_connections

    def liquidate(self, symbol: Symbol, seconds: float, *, count: int = 1, sells: bool = True) -> None:
        """Have positions liquidated at a moment to come."""
        at_ms = self.clock.now_ms() + round(seconds * 1000)
        self.exchange.futures.liquidate(symbol, at_ms, count=count, sells=sells)


@asynccontextmanager
async def ward(count: int = 1, *, listens: Listens = "asked", is_off_route: bool = False) -> AsyncGenerator[Ward]:
    clock = SteppedClock()
    exchange = SimulatedExchange(clock)
    exchange.futures.hub.by_hand = True
    engine = MoodyEngine(clock)
    dialer = OffTheRoute(Loopback(exchange)) if is_off_route else Loopback(exchange)
    watches = [
        LiquidationWatch(
            stream_url=URL,
            dialer=dialer,
            engine=engine,
            time=ServerTime(clock),
            clock=clock,
            listens=listens,
            linger_ms=LINGER_MS,
        )
        for _ in range(count)
    ]
    opened = Ward(clock, exchange, engine, watches)
    async with AsyncExitStack() as whole:
        for watch in watches:
            stack = await whole.enter_async_context(AsyncExitStack())
            await stack.enter_async_context(watch.running())
            opened.stacks.append(stack)
        yield opened
    await engine.close()


async def test_nobody_asks_and_nothing_is_opened() -> None:
    async with ward() as floor:
        await floor.run(60, step_ms=1_000)

        assert floor.sockets == 0


async def test_the_first_question_opens_the_stream_and_has_heard_nothing_yet() -> None:
    async with ward() as floor:
        first = await floor.ask()
        await floor.run(10)
        second = await floor.ask()

        assert (first.hearing, first.summary) == ("began", None)
        assert second.hearing == "heard"
        assert second.summary is not None
        assert 8_000 <= second.summary.observed_ms <= 10_000
        assert floor.exchange.futures.hub.streams() == {"!forceOrder@arr": 1, "btcusdt@markPrice@1s": 1}


async def test_of_ten_in_one_second_one_is_seen() -> None:
    async with ward() as floor:
        await floor.ask()
        await floor.run(3)
        floor.liquidate(SOL, 1.5, count=10)
        began_ms = floor.clock.now_ms()
        await floor.run(5)
        heard = await floor.ask()

        true = floor.exchange.futures.liquidations(began_ms, floor.clock.now_ms(), SOL)
        assert len(true) == 10
        assert heard.summary is not None
        assert heard.summary.of(SOL).longs == 1
        assert heard.summary.of(SOL).shorts == 0


async def test_what_is_counted_is_the_newest_of_each_symbol_and_second() -> None:
    async with ward() as floor:
        await floor.ask()
        await floor.run(3)
        began_ms = floor.clock.now_ms()
        for second in range(12):
            floor.liquidate(SOL, 2 + second, count=1 + second % 3, sells=second % 2 == 0)
            floor.liquidate(BTC, 2 + second / 2, sells=False)
        await floor.run(20)
        heard = await floor.ask()

        expected: dict[str, LiquidationTally] = defaultdict(LiquidationTally)
        told = {
            (order.contract.name, order.time_ms // 1000): order  # the last of a second stays
            for order in floor.exchange.futures.liquidations(began_ms, floor.clock.now_ms())
        }
        for (symbol, _), order in told.items():
            contract = order.contract
            value = Decimal(contract.quantity(order.lots)) * Decimal(contract.price(order.average))
            one = LiquidationTally(1, value) if order.sells else LiquidationTally(0, Decimal(0), 1, value)
            expected[symbol].add(one)
        assert heard.summary is not None
        assert expected[SOL].longs == expected[SOL].shorts == 6
        assert heard.summary.of(SOL) == expected[SOL]
        # One of coin-margined contracts comes beside each of these, and is another product.
        assert heard.summary.of(BTC).shorts == expected[BTC].shorts
        assert floor.watches[0].left_out == expected[BTC].shorts


async def test_after_the_last_question_and_a_while_there_is_no_socket() -> None:
    async with ward() as floor:
        await floor.ask()
        await floor.run(60, step_ms=1_000)
        await floor.ask()
        await floor.run(100, step_ms=1_000)
        during = floor.sockets
        await floor.run(30, step_ms=1_000)
        after = floor.sockets
        again = await floor.ask()
        await floor.run(2)

        assert (during, after) == (1, 0)
        assert again == LiquidationsHeard("began")
        assert floor.sockets == 1


async def test_of_several_processes_one_listens_and_all_tell_the_same() -> None:
    async with ward(3) as floor:
        for place in range(3):
            await floor.ask(place)
        await floor.run(10)
        floor.liquidate(SOL, 1)
        await floor.run(10)

        heard = [await floor.ask(place) for place in range(3)]
        assert floor.sockets == 1
        assert {each.hearing for each in heard} == {"heard"}
        assert [each.summary.of(SOL).longs for each in heard if each.summary] == [1, 1, 1]
        observed = [each.summary.observed_ms for each in heard if each.summary]
        assert max(observed) - min(observed) <= 2_000


async def test_when_the_one_who_listens_is_gone_another_begins() -> None:
    async with ward(2) as floor:
        await floor.ask(1)
        await floor.run(2)
        await floor.ask(0)
        await floor.run(10)
        await floor.stacks[1].aclose()
        assert floor.sockets == 0

        await floor.run(LEASE_MS / 1000 + 5)
        heard = await floor.ask(0)

        assert floor.sockets == 1
        assert heard.hearing == "heard"
        assert heard.summary is not None
        assert heard.summary.observed_ms < 20_000  # what the other heard is not this one's


async def test_a_question_elsewhere_keeps_the_one_who_listens() -> None:
    async with ward(2) as floor:
        await floor.ask(0)
        await floor.run(90, step_ms=1_000)
        await floor.ask(1)
        await floor.run(90, step_ms=1_000)

        assert floor.sockets == 1
        assert (await floor.ask(1)).hearing == "heard"


async def test_a_stream_on_the_wrong_route_is_silent_and_not_calm() -> None:
    async with ward(is_off_route=True) as floor:
        await floor.ask()
        await floor.run(10)
        early = await floor.ask()
        await floor.run(20)
        heard = await floor.ask()

        assert floor.sockets >= 1
        assert early.hearing == "began"
        assert heard.hearing == "silent"
        assert heard.summary is not None
        assert heard.summary.observed_ms == 0


async def test_a_connection_that_falls_silent_is_noticed_and_replaced() -> None:
    async with ward() as floor:
        await floor.ask()
        await floor.run(10)
        floor.exchange.futures.hub.faults.add(StreamFault(kind="silent"))
        await floor.run(20)
        heard = await floor.ask()

        assert heard.hearing == "heard"
        assert heard.summary is not None
        assert heard.summary.observed_ms < 18_000  # of the 30 seconds the silent ones do not count


async def test_while_every_connection_is_silent_that_is_told() -> None:
    async with ward() as floor:
        await floor.ask()
        await floor.run(10)
        floor.exchange.futures.hub.faults.add(StreamFault(kind="silent", times=None))
        await floor.run(20)
        silent = await floor.ask()
        floor.exchange.futures.hub.faults.clear()
        await floor.run(60)
        heard = await floor.ask()

        assert silent.hearing == "silent"
        assert silent.summary is not None
        assert silent.summary.observed_ms < 12_000
        assert heard.hearing == "heard"


async def test_a_lost_connection_is_opened_again_and_its_seconds_are_not_claimed() -> None:
    async with ward() as floor:
        await floor.ask()
        await floor.run(10)
        floor.exchange.futures.quirks.add(Quirk(kind="region"))
        floor.exchange.futures.hub.faults.add(StreamFault(kind="cut"))
        await floor.run(30)
        away = await floor.ask()
        floor.exchange.futures.quirks.clear()
        await floor.run(60)
        heard = await floor.ask()

        assert away.hearing == "unreachable"
        assert away.summary is not None
        assert away.summary.observed_ms < 12_000
        assert heard.hearing == "heard"
        assert heard.summary is not None
        assert heard.summary.observed_ms < 75_000


async def test_events_that_make_no_sense_are_counted_and_survived() -> None:
    async with ward() as floor:
        await floor.ask()
        await floor.run(3)
        floor.exchange.futures.hub.faults.add(StreamFault(kind="malformed", stream="!forceOrder@arr", times=None))
        for second in range(4):
            floor.liquidate(SOL, 1.5 + second)
        await floor.run(3)  # two of them
        floor.exchange.futures.hub.faults.clear()
        await floor.run(5)
        heard = await floor.ask()

        watch = floor.watches[0]
        assert watch.socket is not None
        assert watch.left_out + watch.socket.counts.unreadable >= 2
        assert heard.hearing == "heard"
        assert heard.summary is not None
        assert heard.summary.of(SOL).longs == 2


async def test_an_event_told_twice_counts_once() -> None:
    async with ward() as floor:
        await floor.ask()
        await floor.run(3)
        floor.exchange.futures.hub.faults.add(StreamFault(kind="duplicate", stream="!forceOrder@arr"))
        floor.liquidate(SOL, 1.5)
        await floor.run(5)
        heard = await floor.ask()

        assert heard.summary is not None
        assert heard.summary.of(SOL).longs == 1


async def test_who_always_listens_needs_no_question_and_does_not_end() -> None:
    async with ward(listens="always") as floor:
        await floor.run(LINGER_MS / 1000 + 60, step_ms=1_000)
        heard = await floor.ask()

        assert floor.sockets == 1
        assert heard.hearing == "heard"


async def test_while_the_engine_is_away_the_one_who_listens_goes_on() -> None:
    async with ward() as floor:
        await floor.ask()
        await floor.run(5)
        floor.engine.is_away = True
        await floor.run(30)
        during = floor.sockets
        floor.engine.is_away = False
        await floor.run(10)
        heard = await floor.ask()

        assert during == floor.sockets == 1
        assert heard.hearing == "heard"


async def test_what_is_told_to_others_of_a_whole_market_is_small() -> None:
    async with ward(2) as floor:
        await floor.ask()
        await floor.run(3)
        for contract in floor.exchange.futures.contracts(floor.clock.now_ms()).values():
            if contract.trading:
                floor.liquidate(Symbol(contract.name), 1)
        await floor.run(5)
        heard = await floor.ask(1)
        packed = await floor.engine.get(f"liquidations:{URL}")

        assert heard.summary is not None
        assert packed is not None
        symbols = len(heard.summary.tallies)
        assert symbols >= 20
        # In proportion, all 900 contracts of the exchange in one hour.
        assert len(packed) * 900 / symbols < 20_000
