"""How many live books one process carries: a simulated exchange in another process, ten events a second each.

    python scripts/live_load.py --symbols 400 --seconds 120 [--profile] [--learn]

With --learn every whole minute of them is judged too, as in a server.
Prints one JSON object: CPU of this process and of each part of the work, lag from the exchange's own time of an event
to the moment its book can be read, memory, gaps.
"""

import argparse
import cProfile
import json
import pstats
import resource
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
from mcp_binance_server.cli.serve import calm
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
from mcp_binance_server.state.memory import MemoryEngine
from mcp_binance_server.state.pace import LoopPace

PLENTY = 10_000_000
SETTLE_MS = 5_000
# Until the first whole minute of every symbol has begun.
LEARN_SETTLE_MS = 65_000


class Lags:
    """Milliseconds from the exchange's time of an event to the moment when its book could be read."""

    def __init__(self) -> None:
        self.found: list[float] = []
        self._depth = SymbolFeed.on_depth

    def watch(self) -> None:
        lags, apply, clock = self.found, self._depth, SystemClock()

        def timed(feed: SymbolFeed, delta: BookDelta, time_ms: int) -> None:
            apply(feed, delta, time_ms)
            lags.append(clock.now_ms() - delta.event_ms)

        SymbolFeed.on_depth = timed  # type: ignore[method-assign]

    def at(self, percent: float) -> float:
        ordered = sorted(self.found)
        return round(ordered[min(len(ordered) - 1, int(len(ordered) * percent / 100))], 1)


async def measured(symbols: int, seconds: float, *, profile: bool, learn: bool) -> dict[str, object]:
    command = [sys.executable, "-m", "mcp_binance_server", "simulator", "--crowd", str(symbols)]
    exchange = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)  # noqa: ASYNC220, S603
    try:
        addresses = json.loads(exchange.stdout.readline() if exchange.stdout else "{}")
        async with httpx2.AsyncClient() as http:
            await http.post(f"{addresses['rest']}/control/limit", content=json.dumps({"weight_limit": PLENTY}))
        return await _run(addresses, symbols, seconds, profile=profile, learn=learn)
    finally:
        exchange.terminate()
        exchange.wait()


async def _run(
    addresses: dict[str, str], symbols: int, seconds: float, *, profile: bool, learn: bool
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
            lags, profiler = Lags(), cProfile.Profile()
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
                "lag_ms": {"p50": lags.at(50), "p99": lags.at(99), "max": round(max(lags.found), 1)},
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
    options.add_argument("--profile", action="store_true")
    options.add_argument("--learn", action="store_true")
    given = options.parse_args()
    calm()
    print(
        json.dumps(anyio.run(lambda: measured(given.symbols, given.seconds, profile=given.profile, learn=given.learn)))
    )


if __name__ == "__main__":
    main()
