"""The first questions to a server that has just been started: what need not wait for the symbol list does not."""

from collections import Counter
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager

import anyio
import httpx2
import pytest
from mcp import Client, MCPError

from binance_simulator.exchange import SimulatedExchange
from mcp_binance_server.app import app_on, running_app
from mcp_binance_server.settings import Settings, read_settings
from mcp_binance_server.upstream import MORE_CONNECTIONS, opened_upstream
from support.clock import FakeClock
from support.desk import NETWORK, Loop
from support.requirement import requirement

LIST, TICKER, CANDLES = "/api/v3/exchangeInfo", "/api/v3/ticker/24hr", "/api/v3/klines"
ACCOUNT, PRICES, TIME = "/api/v3/account", "/api/v3/ticker/price", "/api/v3/time"
DEPTH, ORDERS, AVERAGE = "/api/v3/depth", "/api/v3/openOrders", "/api/v3/avgPrice"


def _refuse(request: httpx2.Request) -> httpx2.Response:
    raise httpx2.ConnectError("refused", request=request)


class LateList(Loop):
    """An exchange that gives its list only once it was asked a number of other things."""

    def __init__(self, exchange: SimulatedExchange, others: int) -> None:
        super().__init__(exchange)
        self.is_asked, self._others_asked, self._others = anyio.Event(), anyio.Event(), others

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        if request.url.path == LIST:
            self.is_asked.set()
            await self._others_asked.wait()
        else:
            self._others -= 1
            if self._others == 0:
                self._others_asked.set()
        return await super().handle_async_request(request)


def asked(exchange: SimulatedExchange) -> Mapping[str, int]:
    return Counter(request.path for request in exchange.requests)


@asynccontextmanager
async def asking_early(
    transport: LateList, clock: FakeClock, settings: Settings | None = None
) -> AsyncGenerator[Client]:
    """Open a client of a server whose symbol list is on its way."""
    chosen = settings or read_settings({})
    with anyio.fail_after(60):
        async with (
            running_app(chosen, clock=clock, network=NETWORK, transport=transport, preload=True) as app,
            Client(app.server, cache=None) as client,
        ):
            await transport.is_asked.wait()
            yield client


@requirement("SC-001")
@pytest.mark.parametrize(
    ("has_key", "sent"),
    [
        (False, {LIST: 1, TICKER: 1, AVERAGE: 1, CANDLES: 3, DEPTH: 1}),
        (True, {LIST: 1, TICKER: 1, AVERAGE: 1, CANDLES: 3, DEPTH: 1, ACCOUNT: 1, ORDERS: 1, PRICES: 1}),
    ],
)
async def test_a_first_analysis_reads_beside_the_list_and_sends_nothing_twice(
    settings: Settings, clock: FakeClock, exchange: SimulatedExchange, sent: Mapping[str, int], *, has_key: bool
) -> None:
    chosen, transport = settings if has_key else read_settings({}), LateList(exchange, others=sum(sent.values()) - 1)

    async with asking_early(transport, clock, chosen) as client:
        await client.get_prompt("trading_analysis", {"symbol": "btcusdt"})
        cold = asked(exchange)
        clock.advance(60_000)
        await client.get_prompt("trading_analysis", {"symbol": "btcusdt"})

    assert cold == sent
    assert asked(exchange) == {path: count if path == LIST else 2 * count for path, count in sent.items()}


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [("get_ticker", {}), ("get_klines", {"interval": "1h"}), ("get_average_price", {}), ("get_recent_trades", {})],
)
async def test_a_first_read_of_a_symbol_does_not_wait_for_the_list(
    clock: FakeClock, exchange: SimulatedExchange, tool: str, arguments: Mapping[str, str]
) -> None:
    transport = LateList(exchange, others=1)

    async with asking_early(transport, clock) as client:
        result = await client.call_tool(tool, {"symbol": "BTCUSDT", **arguments})

    assert result.is_error is False
    assert len(exchange.requests) == 2


async def test_a_question_that_comes_before_the_list_was_even_asked_for_does_not_wait_for_it(
    clock: FakeClock, exchange: SimulatedExchange
) -> None:
    transport = LateList(exchange, others=1)

    with anyio.fail_after(60):
        async with running_app(
            read_settings({}), clock=clock, network=NETWORK, transport=transport, preload=True
        ) as app:
            assert not transport.is_asked.is_set()
            await app.market.ticker("btcusdt")

    assert asked(exchange) == {LIST: 1, TICKER: 1}


@requirement("SC-001")
async def test_what_a_first_question_needs_is_under_way_before_the_server_is_built(
    clock: FakeClock, exchange: SimulatedExchange
) -> None:
    chosen, transport = read_settings({}), Loop(exchange)
    async with opened_upstream(chosen, clock=clock, network=NETWORK, transport=transport) as upstream:
        await upstream.prepare()
        await upstream.directory.table()
        early = asked(exchange)
        async with app_on(upstream, chosen, transport=transport) as app, Client(app.server, cache=None) as client:
            await client.get_prompt("trading_analysis", {"symbol": "BTCUSDT"})

    assert early == {LIST: 1, TIME: MORE_CONNECTIONS}
    assert asked(exchange) == {**early, TICKER: 1, AVERAGE: 1, CANDLES: 3, DEPTH: 1}


async def test_an_exchange_that_cannot_be_reached_does_not_stop_the_start(clock: FakeClock) -> None:
    chosen, transport = read_settings({}), httpx2.MockTransport(_refuse)
    async with opened_upstream(chosen, clock=clock, network=NETWORK, transport=transport) as upstream:
        for _ in range(3):  # until it is known that the host fails, and nothing is even sent
            await upstream.prepare()
            clock.advance(200)
        assert upstream.caller.attempts.hosts_down == 1
        async with app_on(upstream, chosen, transport=transport) as app, Client(app.server, cache=None) as client:
            result = await client.call_tool("get_ticker", {"symbol": "BTCUSDT"})

    assert result.is_error is True


@requirement("ruling/10")
async def test_an_unknown_symbol_is_refused_with_what_was_meant_even_before_the_list(
    clock: FakeClock, exchange: SimulatedExchange
) -> None:
    transport = LateList(exchange, others=6)

    async with asking_early(transport, clock) as client:
        with pytest.raises(MCPError) as early:
            await client.get_prompt("trading_analysis", {"symbol": "BTCUSD"})
        cost = len(exchange.requests)
        with pytest.raises(MCPError) as later:
            await client.get_prompt("trading_analysis", {"symbol": "BTCUSD"})

    assert early.value.code == -32003
    assert "BTCUSDT" in early.value.data["did_you_mean"]
    assert later.value.data == early.value.data
    # Once the list is here nothing is sent for a symbol that is not on it, and the list was not doubted.
    assert (cost, len(exchange.requests)) == (7, 7)


@requirement("ruling/10")
async def test_garbage_is_refused_before_the_list_and_without_a_request(
    clock: FakeClock, exchange: SimulatedExchange
) -> None:
    transport = LateList(exchange, others=1)

    async with asking_early(transport, clock) as client:
        with pytest.raises(MCPError) as caught:
            await client.get_prompt("trading_analysis", {"symbol": "BTC/USDT"})

    assert caught.value.code == -32003
    assert exchange.requests == []


@pytest.mark.parametrize("skew_ms", [-7_000, -1_200, 1_200, 7_000, 3_600_000])
async def test_a_machine_whose_clock_is_wrong_reads_its_account_at_the_first_question(
    settings: Settings, clock: FakeClock, exchange: SimulatedExchange, skew_ms: int
) -> None:
    exchange.skew_ms = skew_ms

    async with (
        running_app(settings, clock=clock, network=NETWORK, transport=Loop(exchange), preload=True) as app,
        Client(app.server, cache=None) as client,
    ):
        await app.market.directory.table()
        result = await client.call_tool("get_account_info", {})

    assert result.is_error is False
    assert asked(exchange)["/api/v3/time"] == 1


async def test_a_clock_that_seemed_right_and_is_not_is_learned_at_the_first_refusal(
    settings: Settings, clock: FakeClock, exchange: SimulatedExchange
) -> None:
    # Fast by 1.2 s at the beginning of a second: as near to the header's second as a right clock on a slow line.
    clock.set_wall(1_784_592_123_250)
    exchange.skew_ms = -1_200

    async with (
        running_app(settings, clock=clock, network=NETWORK, transport=Loop(exchange), preload=True) as app,
        Client(app.server, cache=None) as client,
    ):
        await app.market.directory.table()
        result = await client.call_tool("get_account_info", {})

    assert result.is_error is False
    assert [request.path for request in exchange.requests] == [LIST, ACCOUNT, "/api/v3/time", ACCOUNT]
