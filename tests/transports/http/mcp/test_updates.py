"""What only HTTP shows of pages that change: streams that come and go, sessions that end, a server that winds down."""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest

from mcp_binance_server.domain.access import Visitor
from mcp_binance_server.transports.http.app import Authentication
from mcp_binance_server.transports.http.assembly import Assembled
from mcp_binance_server.transports.http.auth.authenticator import Headers
from support.provider import until
from support.stepped import LiveMarket, live_market
from support.updates import BTC, ETH, readers, run_slowly
from support.webapp import ENVELOPE, MODERN, HttpClient, assembled, request, served

pytestmark = pytest.mark.timeout(60)

ACCEPT = {"accept": "application/json, text/event-stream"}
LISTEN = {"mcp-protocol-version": MODERN, "mcp-method": "subscriptions/listen"}
SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"


@asynccontextmanager
async def floor(**changes: Any) -> AsyncGenerator[tuple[LiveMarket, HttpClient]]:  # noqa: ANN401 - fields of Options
    async with (
        live_market("busy", environment={"MCP_BINANCE_FEED_LINGER_SECS": "5"}) as market,
        assembled(market.app, **changes) as http,
        served(http) as url,
        HttpClient(base_url=url, headers=ACCEPT, timeout=30) as client,
    ):
        client.http = http
        yield market, client


async def data(lines: AsyncIterator[str]) -> dict[str, Any]:
    with anyio.fail_after(20):
        while not (line := await anext(lines)).startswith("data: "):
            pass
    return json.loads(line.removeprefix("data: "))


def wish(*uris: str) -> dict[str, Any]:
    params = {"notifications": {"resourceSubscriptions": [*uris]}, "_meta": ENVELOPE}
    return request("subscriptions/listen", params, "stream")


def streams(http: Assembled) -> list[bool]:
    return [call.stream.listener is not None for call in http.heart.http_sessions.opened()]


async def test_what_changed_while_nobody_listened_is_told_once_for_each_page_when_they_do() -> None:
    async with floor() as (market, http):
        session = await http.initialize()
        named = {"mcp-session-id": session, "accept": "text/event-stream"}
        for uri in (BTC, ETH):
            assert (await http.ask("resources/subscribe", session, {"uri": uri})).json()["result"] == {}
        await run_slowly(market, 5)
        async with http.stream("GET", "/mcp", headers=named) as stream:
            lines = stream.aiter_lines()
            missed = [await data(lines), await data(lines)]
            await run_slowly(market, 1)
            moved = [await data(lines), await data(lines)]
        await until(lambda: streams(http.http) == [False])
        await run_slowly(market, 5)
        await http.ask("resources/unsubscribe", session, {"uri": ETH})
        async with http.stream("GET", "/mcp", headers=named) as stream:
            lines = stream.aiter_lines()
            again = await data(lines)
            await http.delete("/mcp", headers={"mcp-session-id": session})
            rest = [line async for line in lines if line.startswith("data")]

    assert [each["params"]["uri"] for each in missed] == [BTC, ETH]
    assert {each["method"] for each in missed} == {"notifications/resources/updated"}
    assert {each["params"]["uri"] for each in moved} == {BTC, ETH}
    assert again["params"]["uri"] == BTC
    assert rest == []


async def test_what_was_told_is_not_told_again_on_the_next_stream() -> None:
    async with floor() as (market, http):
        session = await http.initialize()
        named = {"mcp-session-id": session, "accept": "text/event-stream"}
        await http.ask("resources/subscribe", session, {"uri": BTC})
        await run_slowly(market, 3)
        async with http.stream("GET", "/mcp", headers=named) as stream:
            told = await data(stream.aiter_lines())
        await until(lambda: streams(http.http) == [False])
        async with http.stream("GET", "/mcp", headers=named) as stream:
            await http.delete("/mcp", headers={"mcp-session-id": session})
            again = await stream.aread()

    assert told["params"] == {"uri": BTC}
    assert again == b""


@pytest.mark.night
@pytest.mark.parametrize("ending", ["delete", "idle"])
async def test_a_session_that_ends_lets_its_pages_go(ending: str) -> None:
    async with floor() as (market, http):
        await http.ask("resources/subscribe", await http.initialize(), {"uri": BTC})
        session = await http.initialize()
        named = {"mcp-session-id": session}
        before = len(asyncio.all_tasks())
        await http.ask("resources/subscribe", session, {"uri": ETH})
        await run_slowly(market, 1)
        assert readers(market) == {"BTCUSDT": 1, "ETHUSDT": 1}
        if ending == "delete":
            await http.delete("/mcp", headers=named)
            await until(lambda: readers(market) == {"BTCUSDT": 1, "ETHUSDT": 0})
        else:
            await market.clock.run(31_000, lambda: None, step_ms=1_000)
            await until(lambda: readers(market) == {"BTCUSDT": 0, "ETHUSDT": 0})

        await run_slowly(market, 7)
        await until(lambda: len(asyncio.all_tasks()) < before)


async def test_the_pair_is_told_on_its_stream_too() -> None:
    async with floor() as (market, http):
        named = {"connection-id": (await http.post("/mcp/sse")).headers["connection-id"]}
        asked = await http.post("/mcp/message", json=request("resources/subscribe", {"uri": BTC}), headers=named)
        async with http.stream("GET", "/mcp/sse", headers={**named, "accept": "text/event-stream"}) as stream:
            lines = stream.aiter_lines()
            await anext(lines)
            await anext(lines)
            await run_slowly(market, 2)
            told = await data(lines)

    assert asked.json()["result"] == {}
    assert told["params"] == {"uri": BTC}


async def test_a_stream_of_its_own_begins_with_what_it_will_tell_and_ends_with_an_answer() -> None:
    async with floor() as (market, http), http.stream("POST", "/mcp", json=wish(BTC), headers=LISTEN) as stream:
        lines = stream.aiter_lines()
        begun = await data(lines)
        await run_slowly(market, 2)
        told = await data(lines)
        await http.http.heart.drain()
        while "result" not in (last := await data(lines)):
            assert last["params"]["uri"] == BTC
        ended = [line async for line in lines if line]
        await until(lambda: readers(market) == {"BTCUSDT": 0})

    assert stream.headers["content-type"].startswith("text/event-stream")
    assert begun["method"] == "notifications/subscriptions/acknowledged"
    assert begun["params"]["notifications"] == {"resourceSubscriptions": [BTC]}
    assert told["params"]["uri"] == BTC
    assert told["params"]["_meta"] == {SUBSCRIPTION: "stream"}
    assert (last["id"], last["result"]["_meta"][SUBSCRIPTION]) == ("stream", "stream")
    assert ended == []


async def test_a_client_that_drops_its_stream_is_let_go() -> None:
    async with floor() as (market, http):
        before = len(asyncio.all_tasks())
        async with http.stream("POST", "/mcp", json=wish(BTC, ETH), headers=LISTEN) as stream:
            await data(stream.aiter_lines())
            assert readers(market) == {"BTCUSDT": 1, "ETHUSDT": 1}
        await until(lambda: readers(market) == {"BTCUSDT": 0, "ETHUSDT": 0})
        await run_slowly(market, 7)

        assert market.app.context.updates.streams == 0
        figures = (await http.get("/metrics")).text
        assert 'mcp_binance_requests_total{method="subscriptions/listen",outcome="cancelled"} 1.0' in figures
        assert 'mcp_binance_request_seconds_count{method="subscriptions/listen"}' not in figures
        await until(lambda: len(asyncio.all_tasks()) <= before)


async def test_a_stream_that_cannot_be_is_refused_as_any_request() -> None:
    async with floor() as (market, http):
        asked = await http.post("/mcp", json=wish(BTC, "binance://market/nothing"), headers=LISTEN)
        held = readers(market)

    error = asked.json()["error"]
    assert (asked.status_code, error["code"], error["data"]["uri"]) == (200, -32003, "binance://market/nothing")
    assert held == {}


class Poor:
    """Knows everybody, and allows nobody the markets."""

    async def visitor(self, headers: Headers, query: bytes) -> Visitor:  # noqa: ARG002 - whoever they are
        return Visitor("poor", frozenset({"account:read"}))


async def test_whoever_may_not_read_a_page_may_not_hear_of_it() -> None:
    async with floor(authentication=Authentication(Poor())) as (market, http):
        listened = await http.post("/mcp", json=wish(BTC), headers=LISTEN)
        session = await http.initialize()
        subscribed = await http.ask("resources/subscribe", session, {"uri": BTC})
        held = readers(market)

    assert [listened.status_code, subscribed.status_code] == [403, 403]
    assert held == {}


def nobody_asks(_method: str, _name: str, _arguments: object = None) -> None:
    """Need no scope, whatever is asked."""


async def test_nor_if_the_door_had_not_looked() -> None:
    async with floor(authentication=Authentication(Poor())) as (market, http):
        http.http.heart.scope_needed = nobody_asks
        listened = await http.post("/mcp", json=wish(BTC), headers=LISTEN)
        session = await http.initialize()
        subscribed = await http.ask("resources/subscribe", session, {"uri": BTC})
        held = readers(market)

    errors = [each.json()["error"]["data"] for each in (listened, subscribed)]
    assert [(each["error_type"], each["needed_scopes"]) for each in errors] == [
        ("insufficient_scope", ["market:read"])
    ] * 2
    assert held == {}
