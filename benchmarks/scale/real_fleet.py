"""A real fleet on this machine, small enough to be loaded beside its exchange, its engine and its clients."""

import asyncio
import json
import os
import resource
from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from random import Random
from statistics import median
from urllib.request import Request, urlopen

from mcp_binance_server.clock import processor_ms
from scale.visitors import CLOCK, Heard, Visitor
from support.process import Process
from support.state_server import StateServer, state_server
from support.workers import port_of
from worker_load import cpu_secs, resident_mib

# The exchange's limit is lifted: books begin at once, and what is measured is processors, not weight.
PLENTY = 10_000_000
AFTER_WARMING_MS = 2_000
WARMING_ROUNDS = 4
# About two milliseconds of work, so that it does not disturb.
YARD = {f"level {place}": [f"{place}.50000000", place, None] for place in range(100)}
YARDS = 25
STROKE_EVERY_MS = 500
BEFORE_MS, AROUND_MS = 1_000, 5_000


@dataclass(frozen=True, slots=True)
class Load:
    """Who calls, how often, and for how long that is watched."""

    sessions: int
    pause_secs: float
    seconds: float
    has_addresses: bool = False
    """Each session comes from an address of its own; else all are one caller, who has to share the loop fairly."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What a real run used, in cores and a second, and what its clients saw."""

    calls_a_second: float
    failed: int
    servers: tuple[float, ...]
    engine: float
    exchange: float
    clients: float
    others: float
    """Cores that other programs of the machine took meanwhile."""
    commands_a_second: float
    dialled_a_call: float
    answer_kb: float
    p50_ms: float
    p99_ms: float
    slow_on_the_minute: float
    """Of the slowest hundredth of calls, the share that began around a whole minute; a twelfth would be chance."""
    yardstick_ms: float
    """CPU of a fixed piece of work meanwhile: how fast the machine was."""


@dataclass(frozen=True, slots=True)
class _Meter:
    at_ms: float
    servers: tuple[float, ...]
    engine: float
    exchange: float
    clients: float
    machine: float
    commands: int


@dataclass(frozen=True, slots=True)
class RealFleet:
    """Servers that stand, and whom they stand on."""

    ports: tuple[int, ...]
    pids: tuple[int, ...]
    state: StateServer
    exchange_pid: int
    symbols: list[str]

    async def under(self, load: Load, *, seed: int = 1) -> Seen:
        """Let so many sessions live, and watch them once each has called."""
        heard, chance = Heard(), Random(seed)
        visitors = [
            Visitor(self.ports[place % len(self.ports)], heard, _address(place) if load.has_addresses else "")
            for place in range(load.sessions)
        ]
        for visitor in visitors:
            await visitor.open()
        lives = [asyncio.create_task(each.live(self.symbols, load.pause_secs, chance)) for each in visitors]
        await CLOCK.sleep_ms(load.pause_secs * 1000)
        heard.clear()
        answer = await self._watched(load.seconds, heard)
        for life in lives:
            life.cancel()
        await asyncio.gather(*lives, return_exceptions=True)
        for visitor in visitors:
            visitor.close()
        return answer

    async def idle(self, seconds: float) -> Seen:
        """Watch what live books alone use."""
        return await self._watched(seconds, Heard())

    def memory_mib(self) -> list[float]:
        return [resident_mib(pid) for pid in self.pids]

    async def warm(self) -> None:
        """Have every server read every symbol, until nobody is told to wait."""
        heard = Heard()
        visitors = [Visitor(port, heard) for port in self.ports]
        for visitor in visitors:
            await visitor.open()
        for _ in range(WARMING_ROUNDS):
            heard.clear()
            for visitor in visitors:  # one after the other: the first leads, the others follow
                for symbol in self.symbols:
                    await visitor.call("get_orderbook_metrics", {"symbol": symbol})
            await CLOCK.sleep_ms(AFTER_WARMING_MS)
            if not heard.failed:
                break
        else:
            raise SystemExit(f"not every book stands: {heard.failed}")
        for visitor in visitors:
            visitor.close()

    async def _watched(self, seconds: float, heard: Heard) -> Seen:
        before = self._meter()
        until_ms, strokes = before.at_ms + seconds * 1000, list[float]()
        while CLOCK.monotonic_ms() < until_ms:
            strokes.append(yardstick_ms())
            await CLOCK.sleep_ms(STROKE_EVERY_MS)
        return _between(before, self._meter(), heard, median(strokes))

    def _meter(self) -> _Meter:
        own = resource.getrusage(resource.RUSAGE_SELF)
        return _Meter(
            at_ms=CLOCK.monotonic_ms(),
            servers=tuple(cpu_secs([pid]) for pid in self.pids),
            engine=cpu_secs([self.state.process.pid]),
            exchange=cpu_secs([self.exchange_pid]),
            clients=own.ru_utime + own.ru_stime,
            machine=_machine_secs(),
            commands=self.state.commands(),
        )


def _address(place: int) -> str:
    return f"198.18.{place // 250}.{place % 250 + 1}"


def _machine_secs() -> float:
    with open("/proc/stat", encoding="ascii") as file:  # noqa: PTH123 - as it is documented
        user, nice, system, _, _, irq, softirq, *_ = map(int, file.readline().split()[1:])
    return (user + nice + system + irq + softirq) / os.sysconf("SC_CLK_TCK")


def yardstick_ms() -> float:
    """Do a fixed piece of work of the kind that servers do, and return how long it took of a core.

    It is done twice and timed once: what the caches held before is no matter of the machine's pace.
    """
    began_ms = 0.0
    for _ in range(2):
        began_ms = processor_ms()
        for _ in range(YARDS):
            json.loads(json.dumps(YARD))
    return processor_ms() - began_ms


def _between(before: _Meter, after: _Meter, heard: Heard, stroke_ms: float) -> Seen:
    secs = (after.at_ms - before.at_ms) / 1000
    took = sorted(heard.took_ms)
    slow = [at_ms for ms, at_ms in zip(heard.took_ms, heard.began_ms, strict=True) if ms >= took[int(len(took) * 0.99)]]
    servers = tuple((now - then) / secs for now, then in zip(after.servers, before.servers, strict=True))
    engine, exchange = (after.engine - before.engine) / secs, (after.exchange - before.exchange) / secs
    clients = (after.clients - before.clients) / secs
    ours = sum(servers) + engine + exchange + clients
    return Seen(
        calls_a_second=len(took) / secs,
        failed=heard.failed.total(),
        servers=servers,
        engine=engine,
        exchange=exchange,
        clients=clients,
        others=max(0.0, (after.machine - before.machine) / secs - ours),
        commands_a_second=(after.commands - before.commands) / secs,
        dialled_a_call=heard.dialled / len(took) if took else 0,
        answer_kb=heard.answered_bytes / len(took) / 1000 if took else 0,
        p50_ms=took[len(took) // 2] if took else 0,
        p99_ms=took[int(len(took) * 0.99)] if took else 0,
        slow_on_the_minute=sum((at_ms + BEFORE_MS) % 60_000 < AROUND_MS for at_ms in slow) / len(slow) if slow else 0,
        yardstick_ms=stroke_ms,
    )


@contextmanager
def _running(*arguments: str, environment: Mapping[str, str]) -> Generator[Process]:
    with Process(*arguments, environment=environment) as process:
        try:
            yield process
        finally:
            if process.is_running:
                process.terminate()


@asynccontextmanager
async def real_fleet(servers: int, symbols: int) -> AsyncGenerator[RealFleet]:
    """Start an exchange, an engine and so many servers, which read nothing before they are warmed."""
    with ExitStack() as stack:
        state = stack.enter_context(state_server())
        exchange = stack.enter_context(_running("simulator", "--crowd", str(symbols), environment={}))
        addresses = json.loads(exchange.line())
        lift = Request(f"{addresses['rest']}/control/limit", json.dumps({"weight_limit": PLENTY}).encode())  # noqa: S310
        urlopen(lift, timeout=10).close()  # noqa: S310, ASYNC210 - our own exchange, before anything runs
        settings = {
            "BINANCE_REST_URL": addresses["rest"],
            "BINANCE_STREAM_URL": addresses["streams"],
            "MCP_BINANCE_STATE_URL": state.url,
            "MCP_BINANCE_FEED_SYMBOLS": str(symbols + 10),
            "MCP_BINANCE_SESSION_CAP": "100000",
            "MCP_BINANCE_SESSION_IDLE_SECS": "600",
            "MCP_BINANCE_LOG_LEVEL": "WARNING",
            "MCP_BINANCE_TRUSTED_PROXIES": "127.0.0.1",
        }
        ours = ("--http", "--port", "0")
        running = [stack.enter_context(_running(*ours, environment=settings)) for _ in range(servers)]
        fleet = RealFleet(
            ports=tuple(port_of(each) for each in running),
            pids=tuple(each.pid for each in running),
            state=state,
            exchange_pid=exchange.pid,
            symbols=[f"CROWD{place:03}USDT" for place in range(symbols)],
        )
        yield fleet
