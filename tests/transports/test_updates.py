"""A page that moves is told of over every transport that MCP has, and a client that is gone holds nothing."""

from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import anyio
import httpx2
import pytest
from mcp.client.sse import sse_client

from mcp_binance_server.app import App
from support.every_transport import piped
from support.provider import until
from support.raw import lines_of, request, talk
from support.requirement import requirement
from support.stepped import live_market
from support.updates import BTC, ETH, hearing, readers, run_slowly
from support.webapp import served_http

pytestmark = pytest.mark.timeout(60)


@asynccontextmanager
async def over_pipes(app: App) -> AsyncGenerator[Any]:
    yield piped(app)


@asynccontextmanager
async def over_http(app: App) -> AsyncGenerator[Any]:
    async with served_http(app) as url:
        yield f"{url}/mcp"


@asynccontextmanager
async def over_events(app: App) -> AsyncGenerator[Any]:
    async with served_http(app) as url:
        yield sse_client(f"{url}/mcp/sse")


OpenWay = Callable[[App], AbstractAsyncContextManager[Any]]
WAYS: list[tuple[OpenWay, str]] = [
    (over_pipes, "legacy"),
    (over_pipes, "auto"),
    (over_http, "legacy"),
    (over_http, "auto"),
    (over_events, "legacy"),
]


@pytest.mark.night
@pytest.mark.parametrize(("way", "era"), WAYS)
@requirement("resources/subscriptions")
async def test_a_client_hears_when_the_price_moves_and_when_it_has_left_nothing_is_held(way: OpenWay, era: str) -> None:
    async with live_market("busy") as market, way(market.app) as target:
        async with hearing(target, era, BTC, ETH) as heard:
            await until(lambda: len(readers(market)) == 2)
            await run_slowly(market, 2)
            await until(lambda: heard)
            heard.clear()
            await run_slowly(market, 3)
            await until(lambda: len(heard) >= 6)

            assert set(heard) == {BTC, ETH}
        await until(lambda: not any(readers(market).values()))

        assert market.app.context.updates.streams == 0


@pytest.mark.night
@requirement("data-model/session-subscriptions")
async def test_one_session_follows_many_streams_and_lets_all_go_when_it_ends() -> None:
    pages = [f"binance://market/{base}usdt" for base in ("btc", "eth", "bnb", "sol", "xrp")]
    async with live_market("busy") as market, over_http(market.app) as target:
        async with hearing(target, "legacy", *pages) as heard:
            await until(lambda: len(readers(market)) == len(pages))
            await run_slowly(market, 3)
            await until(lambda: set(heard) == set(pages))
            async with httpx2.AsyncClient() as http:
                told = (await http.get(f"{target.removesuffix('/mcp')}/metrics")).text
        await until(lambda: not any(readers(market).values()))

    assert "mcp_binance_sessions 1.0" in told


async def test_a_pipe_that_closes_does_not_wait_for_the_end_of_a_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mcp_binance_server.transports.stdio.DRAIN_SECS", 3_600.0)
    asked = {"notifications": {"resourceSubscriptions": [BTC]}}
    messages = [request(1, "subscriptions/listen", asked, modern=True), request(2, "tools/list", {}, modern=True)]
    async with live_market() as market:
        with anyio.fail_after(30):
            answers = await talk(market.app.server, lines_of(messages))

        assert [answer.get("id") for answer in answers if "result" in answer] == [2]
        assert not any(readers(market).values())
