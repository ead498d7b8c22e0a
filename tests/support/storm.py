"""A running server in a storm of mutants: what its exchange says makes no sense, thousands of times.

python -m support.storm 1000000          (from tests/; scripts/upstream_mutants does it)
"""

import json
import logging
import os
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

import anyio
import httpx2

from mcp_binance_server.app import App, running_app
from mcp_binance_server.clock import SystemClock
from mcp_binance_server.exchange.dialing import StreamConnection
from mcp_binance_server.settings import read_settings
from mcp_binance_server.simulator.exchange import SimulatedExchange
from mcp_binance_server.simulator.streams.loopback import Loopback
from mcp_binance_server.surface.catalogue import CATALOGUE
from support.breaking import MARK, Breaker
from support.calls import arguments_of
from support.clock import FakeClock
from support.desk import NETWORK, Loop
from support.planting import Unread
from support.stepped import LiveMarket, live_market

FEWEST_A_FRAME, MOST_A_FRAME = 40, 400
# Of a storm this share comes by REST; each of those costs a whole call.
REST_SHARE = 10
BOOKS = ("get_order_book", "get_orderbook_depth", "get_orderbook_metrics", "get_ticker", "get_recent_trades")


@dataclass
class Outcome:
    """What a storm left behind."""

    events: int = 0
    answers: int = 0
    pages: int = 0
    seen: list[str] = field(default_factory=list[str])
    defects: list[str] = field(default_factory=list[str])
    refused: int = 0
    restarts: int = 0
    resident_mib: list[float] = field(default_factory=list[float])

    def look(self, name: str, answer: object) -> None:
        """Look for the mark in an answer, however it is written."""
        self.pages += 1
        text = str(answer).replace(",", "").replace("_", "")
        if MARK in text:
            self.seen.append(f"{name}: {text[max(0, text.index(MARK) - 100) :][:200]}")
        if "error_id" in text or "'internal'" in text:
            self.defects.append(f"{name}: {text[:300]}")

    def weigh(self) -> None:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
        self.resident_mib.append(pages * os.sysconf("SC_PAGE_SIZE") / 2**20)


@dataclass
class StormyDialer:
    """Streams on which, while it storms, every frame comes with dozens of mutants of it."""

    exchange: SimulatedExchange
    breaker: Breaker
    left: int = 0
    only: str = ""
    a_frame: int = FEWEST_A_FRAME

    async def connect(self, url: str) -> StreamConnection:
        return _StormyConnection(self, await Loopback(self.exchange).connect(url))


@dataclass
class _StormyConnection:
    storm: StormyDialer
    inner: StreamConnection
    waiting: list[bytes] = field(default_factory=list[bytes])

    async def recv(self) -> bytes:
        if self.waiting:
            return self.waiting.pop()
        frame = await self.inner.recv()
        if self.storm.left <= 0 or self.storm.only.encode() not in frame[:60]:
            return frame
        # The true one comes last: nothing of the others may have been taken for it.
        self.waiting.append(frame)
        for _ in range(min(self.storm.left, self.storm.a_frame)):
            if (mutant := self.storm.breaker.event(frame)) is not None:
                self.waiting.append(mutant)
                self.storm.left -= 1
        return self.waiting.pop()

    async def send(self, text: str) -> None:
        await self.inner.send(text)

    async def close(self) -> None:
        await self.inner.close()


class StormyLoop(Loop):
    """A network whose answers are mutants while it storms."""

    def __init__(self, exchange: SimulatedExchange, breaker: Breaker) -> None:
        super().__init__(exchange)
        self.exchange = exchange
        self._breaker = breaker
        self.is_storming = False
        self.sent = 0
        self._kept: dict[str, httpx2.Response] = {}

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        name = request.url.path.removeprefix("/api/v3/")
        if not self.is_storming:
            return await super().handle_async_request(request)
        # A true answer is needed once; to make each anew takes the exchange longer than all the rest.
        if name not in self._kept:
            response = await super().handle_async_request(request)
            if response.status_code != 200:
                return response
            body = await response.aread()
            headers = {each: value for each, value in response.headers.items() if each.lower() != "content-length"}
            self._kept[name] = httpx2.Response(200, headers=headers, content=body)
        kept = self._kept[name]
        mutant = self._breaker.answer(name, kept.content)
        self.sent += mutant is not None
        headers = {name: value for name, value in kept.headers.items() if name not in {"content-length", "date"}}
        return httpx2.Response(200, headers=headers, stream=Unread(kept.content if mutant is None else mutant))


async def storm_of_events(count: int, outcome: Outcome, seed: int = 1) -> None:
    """Send mutants of stream events through a running server; between storms its book must be the exchange's own."""
    dialers: list[StormyDialer] = []

    def dial(exchange: SimulatedExchange) -> StormyDialer:
        dialers.append(StormyDialer(exchange, Breaker(seed)))
        return dialers[0]

    async with live_market(dialer=dial) as market:
        (dialer,) = dialers
        dialer.a_frame = max(FEWEST_A_FRAME, min(MOST_A_FRAME, count // 2_500))
        await market.watch("BTCUSDT", 3)
        each = max(1, min(count // 8, 20_000))
        while outcome.events < count:
            for only in ("@depth", "@aggTrade", "@ticker", "@bookTicker"):
                dialer.only, dialer.left = only, min(each, count - outcome.events)
                outcome.events += dialer.left
                while dialer.left > 0:
                    await market.run(2)
                    await _look_at_books(market, outcome)
            market.exchange.requests.clear()
            # Garbage is followed by ever longer rests, until a minute has passed without any.
            await _calm(market)
            await _look_at_books(market, outcome)
            outcome.weigh()
        hub = market.app.context.live.hub
        assert hub is not None
        outcome.refused, outcome.restarts = hub.refused, hub.troubles.totals.restarts


async def _calm(market: LiveMarket) -> None:
    hub = market.app.context.live.hub
    assert hub is not None
    for _ in range(200):
        await market.client.call_tool("get_orderbook_metrics", {"symbol": "BTCUSDT"})
        await market.run(0.5)
        feed = hub.peek(next(iter(hub.watched())).feed.symbol)
        if feed is not None and feed.is_live:
            listed = market.exchange.listing.symbols["BTCUSDT"]
            at_ms = market.exchange.now_ms() // 100 * 100
            true = market.exchange.stage.market.depth(listed, 50, at_ms)
            shown = feed.book.written_top(50)
            for side, levels in zip(shown, (true.bids, true.asks), strict=True):
                assert side == [(listed.price(price), listed.quantity(lots)) for price, lots in levels]
            return
    raise AssertionError("the book did not come back")


async def _look_at_books(market: LiveMarket, outcome: Outcome) -> None:
    for name in BOOKS:
        outcome.look(name, (await market.client.call_tool(name, {"symbol": "BTCUSDT"})).model_dump(mode="json"))


class _NoStreams:
    async def connect(self, url: str) -> NoReturn:
        raise ConnectionRefusedError(url)


@asynccontextmanager
async def _asked(seed: int) -> AsyncGenerator[tuple[App, StormyLoop, FakeClock]]:
    clock = FakeClock()
    exchange = SimulatedExchange(clock)
    account, loop = exchange.account, StormyLoop(exchange, Breaker(seed))
    settings = read_settings({"BINANCE_API_KEY": account.api_key, "BINANCE_SECRET_KEY": account.secret_key})
    async with running_app(settings, clock=clock, network=NETWORK, transport=loop, dialer=_NoStreams()) as app:
        yield app, loop, clock


async def storm_of_answers(count: int, outcome: Outcome, seed: int = 2) -> None:
    """Ask a running server for everything while its exchange answers with mutants; then once in peace."""
    calls = [spec.name for spec in CATALOGUE.tools if spec.toolset in {"market", "account", "analysis"}]
    async with _asked(seed) as (app, loop, clock):
        await app.dispatcher.call_tool(None, "get_ticker", {"symbol": "BTCUSDT"})
        weighs, looked = max(1, count // 10), 0
        while loop.sent < count:
            loop.is_storming = True
            # The list of symbols is an hour old at most; the weight of a minute is spent at once.
            clock.advance(3_700_000)
            for name in calls:
                # Past what is shared, and past the pause after a failure.
                clock.advance(5_000)
                outcome.look(name, await _call(app, name))
            clock.slept_ms.clear()
            loop.is_storming = False
            loop.exchange.requests.clear()
            clock.advance(120_000)
            outcome.look("get_ticker", answer := await _call(app, "get_ticker"))
            assert "'is_error': False" in str(answer), answer
            if loop.sent // weighs > looked:
                looked = loop.sent // weighs
                outcome.weigh()
        outcome.answers = loop.sent


async def _call(app: App, name: str) -> object:
    return (await app.dispatcher.call_tool(None, name, arguments_of(name))).model_dump(mode="json")


def main(count: int) -> int:
    """Print what each storm left, and how fast it went; 1 if anything was seen or failed."""
    logging.disable()
    clock, worst = SystemClock(), 0
    for kind, run, share in (
        ("answers", storm_of_answers, count // REST_SHARE),
        ("events", storm_of_events, count - count // REST_SHARE),
    ):
        outcome, began_ms = Outcome(), clock.monotonic_ms()
        anyio.run(run, share, outcome)
        secs = (clock.monotonic_ms() - began_ms) / 1000
        told = {"kind": kind, **vars(outcome), "seconds": round(secs), "per_second": round(share / secs)}
        sys.stdout.write(json.dumps(told) + "\n")
        worst |= bool(outcome.seen or outcome.defects or outcome.restarts)
    return worst


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1])))
