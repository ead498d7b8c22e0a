"""A board of 1,500 pairs or more: what making, opening and keeping it costs, and how long others wait for it."""

import asyncio
import tracemalloc
from collections.abc import Callable, Coroutine
from statistics import median
from time import thread_time
from typing import Any, get_args

import httpx2
import msgspec
from anyio.lowlevel import checkpoint

from binance_simulator.exchange import SimulatedExchange
from mcp_binance_server.app import running_app
from mcp_binance_server.domain.board import BoardMarket
from mcp_binance_server.exchange.spot.wire import DayRowWire
from mcp_binance_server.services.market.board import BoardService
from mcp_binance_server.services.market.board_parts import pack, unpack
from mcp_binance_server.settings import read_settings
from support.clock import FakeClock
from support.desk import Loop
from support.measured_loop import MeasuringSelector, Seen
from support.whole_market import WITH_FUTURES

PAIRS, CONTRACTS = 1_475, 700
TRIES = 9
LONGEST_MS, LONGEST_OF_MANY_MS = 10.0, 25.0
# Every pair that was ever listed: more than the simulated exchange has, so that it lists each three times.
A_THIRD, TIMES = 1_130, 3


class Replayed(httpx2.AsyncBaseTransport):
    """Says again what the exchange has said once: what is measured is ours alone."""

    def __init__(self, exchange: SimulatedExchange, times: int) -> None:
        self._exchange, self._times = Loop(exchange), times
        self.bodies: dict[str, tuple[dict[str, str], bytes]] = {}

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        asked = str(request.url)
        if asked not in self.bodies:
            response = await self._exchange.handle_async_request(request)
            kept = {name: response.headers[name] for name in ("date", "content-type") if name in response.headers}
            self.bodies[asked] = kept, self._repeated(request.url.path, await response.aread())
        headers, body = self.bodies[asked]
        return httpx2.Response(200, headers=headers, stream=httpx2.ByteStream(body))

    def _repeated(self, path: str, content: bytes) -> bytes:
        """List every spot pair again under other names."""
        if path == "/api/v3/exchangeInfo":
            body = msgspec.json.decode(content, type=dict[str, msgspec.Raw])
            return msgspec.json.encode(body | {"symbols": msgspec.Raw(self._again(body["symbols"]))})
        return self._again(content) if path == "/api/v3/ticker/24hr" else content

    def _again(self, content: bytes | msgspec.Raw) -> bytes:
        rows = msgspec.json.decode(content, type=list[dict[str, object]])
        others = [{**row, "symbol": f"{number}X{row['symbol']}"} for number in range(1, self._times) for row in rows]
        return msgspec.json.encode(rows + others)


def quickest_ms(work: Callable[[], object]) -> float:
    def took() -> float:
        began = thread_time()
        work()
        return (thread_time() - began) * 1000

    return min(took() for _ in range(TRIES))


class Market:
    """A server on replayed answers, and the clock that makes its boards old."""

    def __init__(self, boards: BoardService, clock: FakeClock, transport: Replayed) -> None:
        self.boards, self.clock, self.transport = boards, clock, transport

    def body(self, ending: str) -> bytes:
        return next(body for asked, (_, body) in self.transport.bodies.items() if ending in asked)


def on_a_measured_loop(
    measure: Callable[[Market, Seen], Coroutine[Any, Any, None]], pairs: int = PAIRS, times: int = 1
) -> None:
    seen = Seen()

    async def run() -> None:
        clock = FakeClock()
        transport = Replayed(SimulatedExchange(clock, crowd=pairs, contracts=CONTRACTS), times)
        async with running_app(read_settings({}), clock=clock, network=WITH_FUTURES, transport=transport) as app:
            boards = app.context.screener.boards
            await boards.read("spot")
            await boards.read("perpetual")
            await measure(Market(boards, clock, transport), seen)

    with asyncio.Runner(loop_factory=lambda: asyncio.SelectorEventLoop(MeasuringSelector(seen))) as runner:
        runner.run(run())


async def longest_turn_ms(market: Market, seen: Seen, name: BoardMarket) -> float:
    """Return the longest turn of the loop while a board is made, as it usually is."""
    found: list[float] = []
    for _ in range(TRIES):
        market.clock.advance(11_000)
        await checkpoint()
        seen.told()
        await market.boards.read(name)
        found.append(max(each[0] for each in seen.longest))
    return median(found)


def test_nobody_waits_long_for_the_loop_while_a_board_is_made() -> None:
    longest: dict[str, float] = {}

    async def measure(market: Market, seen: Seen) -> None:
        for name in get_args(BoardMarket):
            longest[name] = await longest_turn_ms(market, seen, name)

    on_a_measured_loop(measure)

    assert {name: ms for name, ms in longest.items() if ms > LONGEST_MS} == {}


def test_nobody_waits_long_while_a_board_of_every_pair_there_ever_was_is_made() -> None:
    longest: list[float] = []

    async def measure(market: Market, seen: Seen) -> None:
        longest.append(await longest_turn_ms(market, seen, "spot"))
        made = market.boards.made("spot")
        assert made is not None
        assert made.board.count >= 3_500

    on_a_measured_loop(measure, A_THIRD, TIMES)

    assert longest[0] <= LONGEST_OF_MANY_MS


def test_a_board_is_opened_quicker_than_read_and_is_small() -> None:
    async def measure(market: Market, _seen: Seen) -> None:
        made = market.boards.made("spot")
        assert made is not None
        assert made.board.count > 1_450
        packed, body = pack(made), market.body("/api/v3/ticker/24hr")
        decode = msgspec.json.Decoder(list[DayRowWire]).decode
        opening, decoding = quickest_ms(lambda: unpack(packed)), quickest_ms(lambda: decode(body))
        tracemalloc.start()
        before = tracemalloc.get_traced_memory()[0]
        opened = unpack(packed)
        held = tracemalloc.get_traced_memory()[0] - before
        tracemalloc.stop()

        assert opened == made
        assert opening <= 1.5 * decoding
        assert len(packed) <= 512 * 1024
        assert held <= 8 * len(packed)

    on_a_measured_loop(measure)
