"""What a day costs our server: on a clock that is moved, at a simulated exchange that counts weight as Binance does."""

from collections import Counter
from collections.abc import AsyncGenerator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from mcp import Client

from binance_simulator.exchange import SimulatedExchange
from binance_simulator.streams.loopback import Loopback
from mcp_binance_server.app import running_app
from mcp_binance_server.settings import read_settings
from peers.bench import fill
from peers.day import DayCall
from support.desk import Loop
from support.stepped import STREAMED, SteppedClock, settled

# Until twenty books are in step: two snapshots at a time.
SETTLE_MS = 60_000
SECOND_MS = 1_000
# The table of symbols is read once an hour, the clock is compared now and then; neither belongs to a step.
UPKEEP = frozenset({"exchangeInfo", "time"})


@dataclass(slots=True)
class Spent:
    """The weight of each step and of the upkeep, and how old the oldest answer was when it was given."""

    weights: Counter[str] = field(default_factory=Counter[str])
    calls: Counter[str] = field(default_factory=Counter[str])
    ages_ms: dict[str, int] = field(default_factory=dict[str, int])

    @property
    def total(self) -> int:
        return self.weights.total()

    @property
    def oldest_ms(self) -> int:
        return max(self.ages_ms.values(), default=0)


@dataclass(frozen=True, slots=True)
class OurServer:
    """Our server with one key, the exchange it asks, and the clock of both."""

    clock: SteppedClock
    exchange: SimulatedExchange
    client: Client

    async def spend(self, calls: Iterable[DayCall], asked: Mapping[str, Mapping[str, Any]]) -> Spent:
        """Make the calls, each at its time, and count what reaches the exchange meanwhile."""
        spent, began_ms = Spent(), self.clock.monotonic_ms()
        self.exchange.requests.clear()
        for call in calls:
            await self._wait_until(began_ms + call.at_ms)
            wish = fill(asked[call.step], {"symbol": _symbols(call.symbol + 1)[-1]})
            result = await self.client.call_tool(wish["name"], wish["arguments"])
            answer = result.structured_content
            assert answer is not None
            assert not result.is_error, answer
            age_ms = self.clock.now_ms() - _read_ms(answer["as_of"])
            spent.ages_ms[call.step] = max(spent.ages_ms.get(call.step, 0), age_ms)
            spent.calls[call.step] += 1
            for request in self.exchange.requests:
                name = request.path.removeprefix("/api/v3/")
                spent.weights["upkeep" if name in UPKEEP else call.step] += request.weight
            self.exchange.requests.clear()
        return spent

    async def _wait_until(self, at_ms: float) -> None:
        """Let time pass: nobody streams, then at once; else second by second, and the last ones as they happen."""
        left_ms = max(0.0, at_ms - self.clock.monotonic_ms())
        if not self.exchange.hub.open_connections:
            self.clock.advance(left_ms)
            await settled()
            return
        closely_ms = min(left_ms, 2 * SECOND_MS)
        await self.clock.run((left_ms - closely_ms) // SECOND_MS * SECOND_MS, self.exchange.hub.wake, step_ms=SECOND_MS)
        await self.clock.run(at_ms - self.clock.monotonic_ms(), self.exchange.hub.wake)


@asynccontextmanager
async def our_server(symbols: int, *, live: bool) -> AsyncGenerator[OurServer]:
    """Start our server with a key; `live`, it streams the symbols from the start, and their books are in step."""
    clock = SteppedClock()
    exchange = SimulatedExchange(clock, crowd=symbols)
    exchange.hub.by_hand = True
    account = exchange.account
    environment = {
        "BINANCE_API_KEY": account.api_key,
        "BINANCE_SECRET_KEY": account.secret_key,
        "MCP_BINANCE_STATE_DIR": "off",
    }
    if live:
        environment["MCP_BINANCE_FEED_SYMBOLS"] = str(2 * symbols)
        environment["MCP_BINANCE_LEARN_SYMBOLS"] = ",".join(_symbols(symbols))
    async with (
        running_app(
            read_settings(environment),
            clock=clock,
            network=STREAMED,
            transport=Loop(exchange),
            dialer=Loopback(exchange),
            preload=True,
        ) as app,
        Client(app.server, cache=None) as client,
    ):
        await clock.run(SETTLE_MS if live else SECOND_MS, exchange.hub.wake)
        hub = app.context.live.hub
        assert hub is not None
        assert sum(each.feed.is_live for each in hub.watched()) == (symbols if live else 0)
        yield OurServer(clock, exchange, client)


def _symbols(count: int) -> list[str]:
    return [f"CROWD{number:03}USDT" for number in range(count)]


def _read_ms(instant: str) -> int:
    return round(datetime.fromisoformat(instant).timestamp() * 1000)
