"""A running server in a storm of mutants: what its exchange says makes no sense, thousands of times.

python -m support.storm 1000000          (from tests/; scripts/upstream_mutants does it)
"""

import json
import logging
import os
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path
from typing import NoReturn

import anyio
import httpx2
import msgspec

from binance_simulator.exchange import SimulatedExchange
from binance_simulator.streams.loopback import Loopback
from mcp_binance_server.app import App, running_app
from mcp_binance_server.clock import SystemClock
from mcp_binance_server.exchange.dialing import StreamConnection
from mcp_binance_server.settings import read_settings
from mcp_binance_server.surface.catalogue import CATALOGUE
from support.breaking import MARK, Breaker
from support.broken_rows import ROWS, RowBreaker
from support.calls import arguments_of
from support.clock import FakeClock
from support.desk import Loop
from support.orders.list_storm import storm_of_lists
from support.orders.storm import OrderStorm, storm_of_orders
from support.orders.user_storm import UserStorm, storm_of_user_events
from support.planting import Unread
from support.repeating import print_run_command
from support.stepped import LiveMarket, SteppedClock, live_market
from support.whole_market import WITH_FUTURES

FEWEST_A_FRAME, MOST_A_FRAME = 40, 400
# Of a storm this share comes by REST; each of those costs a whole call.
REST_SHARE = 10
# Screens of everything: all that a board says, candles of those that pass, and open interest.
SCREENS: tuple[dict[str, object], ...] = (
    {"market": "perpetual", "underlying": "all", "sort": "price"},
    {"where": ["rsi_14@1h > 0", "rel_volume_24h > 0"], "sort": "vs_sma_200@1h"},
    {"market": "perpetual", "where": ["atr_14@4h > 0", "oi_value > 0"], "show": ["funding_apr", "mark_vs_index_bps"]},
)
FUTURES_KLINES = "/fapi/v1/klines"
FORCED_ORDERS = "!forceOrder@arr"
LIQUIDATED = ("BTCUSDT", "SOLUSDT")
LONGEST_SECS = 30
BOOKS = ("get_order_book", "get_orderbook_depth", "get_orderbook_metrics", "get_ticker", "get_recent_trades")


@dataclass
class Outcome:
    """What a storm left behind."""

    events: int = 0
    answers: int = 0
    pages: int = 0
    seen: list[str] = field(default_factory=list[str])
    defects: list[str] = field(default_factory=list[str])
    met: list[str] = field(default_factory=list[str])
    """Which calls were answered by mutants."""
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
    orders: list[bytes] = field(default_factory=list[bytes])
    """The true frames that told of a liquidation."""

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
        if FORCED_ORDERS.encode() in frame[:60]:
            self.storm.orders.append(frame)
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

    def __init__(self, exchange: SimulatedExchange, breaker: Breaker, rows: RowBreaker | None = None) -> None:
        super().__init__(exchange)
        self.exchange = exchange
        self._breaker, self._rows = breaker, rows or RowBreaker(0)
        self.is_storming = False
        self.sent = 0
        self.met: set[str] = set()
        self._kept: dict[str, httpx2.Response] = {}

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        if not self.is_storming:
            return await super().handle_async_request(request)
        path = request.url.path
        # Of all symbols, or of one: other answers to the same call.
        asked = path if "symbol" in request.url.params or path not in ROWS else f"{path} of all"
        # A valid answer is made once, because making each takes the exchange longer than everything else.
        if asked not in self._kept:
            response = await super().handle_async_request(request)
            if response.status_code != 200:
                return response
            body = await response.aread()
            headers = {each: value for each, value in response.headers.items() if each.lower() != "content-length"}
            self._kept[asked] = httpx2.Response(200, headers=headers, content=body)
        kept = self._kept[asked]
        name = "klines" if path == FUTURES_KLINES else asked.removeprefix("/api/v3/")
        mutant = self._breaker.answer(name, kept.content) or self._rows.mutant(path, kept.content)
        if mutant is not None:
            self.sent += 1
            self.met.add(asked)
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


async def storm_of_liquidations(count: int, outcome: Outcome, seed: int = 3) -> None:
    """Send mutants of forced orders and mark prices; what is told at the end must be the true ones alone."""
    clock = SteppedClock()
    exchange = SimulatedExchange(clock)
    exchange.hub.by_hand = exchange.futures.hub.by_hand = True
    dialer = StormyDialer(exchange, Breaker(seed))
    dialer.a_frame = max(FEWEST_A_FRAME, min(MOST_A_FRAME, count // 100))

    def wake() -> None:
        exchange.hub.wake()
        exchange.futures.hub.wake()

    network = replace(WITH_FUTURES, futures_stream_url="ws://futures.simulator.invalid")
    transport = Loop(exchange)
    async with running_app(read_settings({}), clock=clock, network=network, transport=transport, dialer=dialer) as app:
        watch = app.context.derivatives.liquidations.watch
        assert watch is not None
        await watch.ask()
        await clock.run(3_000, wake)
        for turn in range(1, count + 1):
            if outcome.events >= count:
                break
            dialer.only = "@markPrice" if turn % 4 == 0 else FORCED_ORDERS
            left = dialer.left = min(count - outcome.events, dialer.a_frame)
            for number, symbol in enumerate(LIQUIDATED):
                exchange.futures.liquidate(symbol, exchange.now_ms() + 100, lots=turn, sells=(turn + number) % 3 > 0)
            await clock.run(1_200, wake)
            outcome.events += left - dialer.left
            await watch.ask()
            outcome.weigh()
        await clock.run(2_000, wake)
        for symbol in LIQUIDATED:
            told = await app.dispatcher.call_tool(None, "get_derivatives", {"symbol": symbol})
            outcome.look("get_derivatives", told.model_dump(mode="json"))
            shown = told.structured_content["liquidations"]
            sides = {side: (shown[side]["events"], Decimal(shown[side]["value"])) for side in ("longs", "shorts")}
            assert sides == _true_orders(dialer.orders, symbol)
        outcome.refused = watch.left_out


def _true_orders(frames: list[bytes], symbol: str) -> dict[str, tuple[int, Decimal]]:
    orders = [msgspec.json.decode(frame)["data"]["o"] for frame in frames]
    found: dict[str, tuple[int, Decimal]] = {}
    for side, name in (("SELL", "longs"), ("BUY", "shorts")):
        values = [
            Decimal(each["z"]) * Decimal(each["ap"]) for each in orders if (each["s"], each["S"]) == (symbol, side)
        ]
        found[name] = len(values), round(sum(values, Decimal(0)), 2)
    return found


class _NoStreams:
    async def connect(self, url: str) -> NoReturn:
        raise ConnectionRefusedError(url)


@asynccontextmanager
async def _asked(seed: int) -> AsyncGenerator[tuple[App, StormyLoop, FakeClock]]:
    clock = FakeClock()
    exchange = SimulatedExchange(clock)
    account, loop = exchange.account, StormyLoop(exchange, Breaker(seed), RowBreaker(seed))
    settings = read_settings({"BINANCE_API_KEY": account.api_key, "BINANCE_SECRET_KEY": account.secret_key})
    async with running_app(settings, clock=clock, network=WITH_FUTURES, transport=loop, dialer=_NoStreams()) as app:
        yield app, loop, clock


async def storm_of_answers(count: int, outcome: Outcome, seed: int = 2) -> None:
    """Ask a running server for everything while its exchange answers with mutants; then once in peace."""
    toolsets = {"market", "account", "analysis", "derivatives"}
    calls = [(spec.name, arguments_of(spec.name)) for spec in CATALOGUE.tools if spec.toolset in toolsets]
    calls += [("scan_market", screen) for screen in SCREENS]
    async with _asked(seed) as (app, loop, clock):
        await app.dispatcher.call_tool(None, "get_ticker", {"symbol": "BTCUSDT"})
        weighs, looked = max(1, count // 10), 0
        while loop.sent < count:
            loop.is_storming = True
            # The list of symbols is an hour old at most; the weight of a minute is spent at once.
            clock.advance(3_700_000)
            for name, arguments in calls:
                # Past what is shared, past a board, and past the pause after a failure.
                clock.advance(11_000)
                outcome.look(name, await _call(app, name, arguments))
            clock.slept_ms.clear()
            loop.is_storming = False
            loop.exchange.requests.clear()
            clock.advance(120_000)
            outcome.look("get_ticker", answer := await _call(app, "get_ticker"))
            assert "'is_error': False" in str(answer), answer
            if loop.sent // weighs > looked:
                looked = loop.sent // weighs
                outcome.weigh()
        outcome.answers, outcome.met = loop.sent, sorted(loop.met)
        # Whole lists of contracts again, and everything of them.
        clock.advance(3_700_000)
        for name, arguments in (("get_derivatives", {"symbol": "BTCUSDT"}), ("scan_market", SCREENS[0])):
            outcome.look(name, answer := await _call(app, name, arguments))
            assert "'is_error': False" in str(answer), answer


async def storm_of_order_answers(count: int, outcome: Outcome) -> None:
    """Place and cancel orders that are answered with mutants."""
    await _storm_of_writes(count, outcome, storm_of_orders)


async def storm_of_list_answers(count: int, outcome: Outcome) -> None:
    """Place lists, replace and amend orders, and be answered with mutants."""
    await _storm_of_writes(count, outcome, storm_of_lists)


async def _storm_of_writes(count: int, outcome: Outcome, storm: Callable[[int, OrderStorm], Awaitable[None]]) -> None:
    found = OrderStorm()
    await storm(count, found)
    outcome.answers, outcome.defects, outcome.met = (
        found.answers,
        found.defects,
        sorted({how for how, _ in found.fates}),
    )
    outcome.weigh()


async def storm_of_reports(count: int, outcome: Outcome) -> None:
    """Follow an account that is told mutants."""
    found = UserStorm()
    await storm_of_user_events(count, found)
    outcome.events, outcome.defects, outcome.refused = found.events, found.defects, found.missed
    outcome.restarts = found.lost - 1
    outcome.weigh()


async def _call(app: App, name: str, arguments: Mapping[str, object] | None = None) -> object:
    given = arguments_of(name) if arguments is None else {**arguments}
    with anyio.fail_after(LONGEST_SECS):
        return (await app.dispatcher.call_tool(None, name, given)).model_dump(mode="json")


def main(count: int) -> int:
    """Print what each storm left, and how fast it went; 1 if anything was seen or failed."""
    logging.disable()
    clock, worst = SystemClock(), 0
    for kind, run, share in (
        ("answers", storm_of_answers, count // REST_SHARE),
        ("liquidations", storm_of_liquidations, count // REST_SHARE),
        ("order answers", storm_of_order_answers, count // REST_SHARE),
        ("list answers", storm_of_list_answers, count // REST_SHARE),
        ("reports of orders", storm_of_reports, count // REST_SHARE),
        ("events", storm_of_events, count - 5 * (count // REST_SHARE)),
    ):
        outcome, began_ms = Outcome(), clock.monotonic_ms()
        anyio.run(run, share, outcome)
        secs = (clock.monotonic_ms() - began_ms) / 1000
        told = {"kind": kind, **vars(outcome), "seconds": round(secs), "per_second": round(share / secs)}
        sys.stdout.write(json.dumps(told) + "\n")
        worst |= bool(outcome.seen or outcome.defects or outcome.restarts)
    if worst:
        # Each storm has a seed of its own, and it does not change.
        print_run_command("fixed", "scripts/upstream_mutants", count)
    return worst


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1])))
