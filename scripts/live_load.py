"""Measure how many live books one process can follow. The simulated exchange runs in another process.

    python scripts/live_load.py --symbols 400 --seconds 120 [--levels 55] [--profile] [--learn]

Each book has ten events a second. `--levels` is the minimum number of levels in an event, near the best prices.
Recorded events of large symbols have 40 to 55 levels. With `--learn` each minute is also analysed, as in a server. If
the system allows it, each of the two processes has its own core.

Prints one JSON object with CPU, memory, gaps and two delays until a book is readable. The first delay starts at the
event's own time and includes the exchange's work for all symbols. The second starts when this process woke up for the
event, if that was later.
"""

import argparse
import asyncio
import cProfile
import json
import os
import pstats
import resource
import selectors
import subprocess
import sys
import time
from contextlib import ExitStack
from dataclasses import replace
from statistics import median

import anyio
import httpx2

from mcp_binance_server.analytics.book.grid import PriceGrid
from mcp_binance_server.channel import Channel
from mcp_binance_server.clock import SystemClock, processor_ms
from mcp_binance_server.domain.market import BookDelta
from mcp_binance_server.domain.symbols import Symbol
from mcp_binance_server.exchange.attempt import Attempts
from mcp_binance_server.exchange.budget import Budget
from mcp_binance_server.exchange.caller import ExchangeCaller
from mcp_binance_server.exchange.dialing import NetworkDialer
from mcp_binance_server.exchange.endpoints import Network
from mcp_binance_server.exchange.server_time import ServerTime
from mcp_binance_server.exchange.spot.directory import Directory
from mcp_binance_server.exchange.spot.rest import SpotClient
from mcp_binance_server.feeds.feed import SymbolFeed
from mcp_binance_server.feeds.hub import Hub
from mcp_binance_server.feeds.snapshots import SNAPSHOT_LEVELS
from mcp_binance_server.loading import tune_gc
from mcp_binance_server.state.memory import MemoryEngine
from mcp_binance_server.state.pace import LoopPace

PLENTY = 10_000_000
SETTLE_MS = 5_000
# By then, the first whole minute of every symbol has begun.
LEARN_SETTLE_MS = 65_000


class WakeTimes(selectors.DefaultSelector):
    """Selector that records when the loop was last idle. Events that are waiting now have arrived since then."""

    def __init__(self) -> None:
        super().__init__()
        self.since_ms = 0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        # Events that this poll finds have arrived while the loop was busy.
        found = super().select(0)
        if not found and (timeout is None or timeout > 0):
            found = super().select(timeout)
            self.since_ms = SystemClock().now_ms()
        return found


class Lags:
    """Delays in ms until a book could be read, measured from two start times."""

    def __init__(self, waking: WakeTimes) -> None:
        self.found: list[float] = []
        self.own: list[float] = []
        self._waking = waking
        self._depth = SymbolFeed.on_depth

    def watch(self) -> None:
        lags, own, waking, apply, clock = self.found, self.own, self._waking, self._depth, SystemClock()

        def timed(feed: SymbolFeed, delta: BookDelta, time_ms: int) -> None:
            apply(feed, delta, time_ms)
            now_ms = clock.now_ms()
            lags.append(now_ms - delta.event_ms)
            own.append(now_ms - max(delta.event_ms, waking.since_ms))

        SymbolFeed.on_depth = timed  # type: ignore[method-assign]


def summary(lags: list[float]) -> dict[str, float]:
    ordered = sorted(lags)
    places = {"p50": len(ordered) // 2, "p99": len(ordered) * 99 // 100, "max": len(ordered) - 1}
    return {name: round(ordered[place], 1) for name, place in places.items()}


def pin(process: int, core: int) -> None:
    """Pin a process to a core, if there are several and the system supports it."""
    if hasattr(os, "sched_setaffinity") and len(os.sched_getaffinity(0)) > 1:
        os.sched_setaffinity(process, {core})


async def measured(
    symbols: int, seconds: float, waking: WakeTimes, *, levels: int, profile: bool, learn: bool
) -> dict[str, object]:
    crowd = ["--crowd", str(symbols), "--crowd-levels", str(levels)]
    command = [sys.executable, "-m", "mcp_binance_server", "simulator", *crowd]
    exchange = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)  # noqa: ASYNC220, S603
    pin(exchange.pid, 1)
    pin(0, 0)
    try:
        addresses = json.loads(exchange.stdout.readline() if exchange.stdout else "{}")
        async with httpx2.AsyncClient() as http:
            await http.post(f"{addresses['rest']}/control/limit", content=json.dumps({"weight_limit": PLENTY}))
        return await _run(addresses, symbols, seconds, waking, profile=profile, learn=learn)
    finally:
        exchange.terminate()
        exchange.wait()


async def _run(
    addresses: dict[str, str], symbols: int, seconds: float, waking: WakeTimes, *, profile: bool, learn: bool
) -> dict[str, object]:
    clock = SystemClock()
    engine, channel, at = MemoryEngine(clock), Channel(deadline_secs=30), ServerTime(clock)
    budget = Budget(engine, at, clock, "load")
    network = Network("load", addresses["rest"], "", stream_url=addresses["streams"])
    caller = ExchangeCaller(Attempts(network, channel, budget, at), clock)
    client = SpotClient(caller, engine, LoopPace(processor_ms))
    directory = Directory(caller, engine, clock)
    await directory.table()
    budget.limit = PLENTY
    hub = Hub(
        url=f"{network.stream_url}/stream",
        dialer=NetworkDialer(),
        fetch=lambda symbol: client.snapshot(symbol, SNAPSHOT_LEVELS),
        time=at,
        clock=clock,
        most=symbols,
        linger_ms=60_000,
    )
    names = [Symbol(f"CROWD{place:03}USDT") for place in range(symbols)]
    async with hub.running():
        with ExitStack() as readers:
            began = clock.monotonic_ms()
            opened = [readers.enter_context(hub.reading(name)) for name in names]
            feeds = [feed for feed in opened if feed is not None]
            with anyio.fail_after(120):
                while not all(feed.is_live for feed in feeds):
                    await clock.sleep_ms(100)
            live_ms = clock.monotonic_ms() - began
            if learn:
                for feed in feeds:
                    rules = await directory.find(feed.symbol)
                    feed.minutes.measure_in(PriceGrid.of(rules))
            await clock.sleep_ms(LEARN_SETTLE_MS if learn else SETTLE_MS)
            before = [replace(feed.counts) for feed in feeds]
            lags, profiler = Lags(waking), cProfile.Profile()
            lags.watch()
            if profile:
                profiler.enable()
            cpu, wall = time.process_time(), clock.monotonic_ms()
            await clock.sleep_ms(seconds * 1000)
            cpu, wall = time.process_time() - cpu, (clock.monotonic_ms() - wall) / 1000
            profiler.disable()
            if profile:
                pstats.Stats(profiler).sort_stats("tottime").print_stats(25)
            counts = [(feed.counts, then) for feed, then in zip(feeds, before, strict=True)]
            answer: dict[str, object] = {
                "symbols": symbols,
                "seconds": round(wall, 1),
                "all_live_after_s": round(live_ms / 1000, 1),
                "depth_events_a_second": round(len(lags.found) / wall),
                "cpu_percent": round(100 * cpu / wall, 1),
                "cpu_us_a_symbol_and_second": round(1e6 * cpu / wall / symbols),
                "lag_ms": summary(lags.found),
                "own_lag_ms": summary(lags.own),
                "rss_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
                "gaps": sum(now.gaps - then.gaps for now, then in counts),
                "resyncs": sum(now.joins - then.joins for now, then in counts),
                "malformed": sum(now.malformed - then.malformed for now, then in counts),
                "connections": len(hub.sockets()),
                "median_levels": median(feed.book.level_counts.bids for feed in feeds),
            }
    await channel.close()
    await engine.close()
    return answer


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--symbols", type=int, default=400)
    options.add_argument("--seconds", type=float, default=120)
    options.add_argument("--levels", type=int, default=8)
    options.add_argument("--profile", action="store_true")
    options.add_argument("--learn", action="store_true")
    given = options.parse_args()
    tune_gc()
    waking = WakeTimes()
    told = anyio.run(
        lambda: measured(
            given.symbols, given.seconds, waking, levels=given.levels, profile=given.profile, learn=given.learn
        ),
        backend_options={"loop_factory": lambda: asyncio.SelectorEventLoop(waking)},
    )
    print(json.dumps(told))


if __name__ == "__main__":
    main()
