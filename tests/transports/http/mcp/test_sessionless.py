"""Requests of 2026-07-28 at a real socket: plain answers, streams where there is more to say, clients that leave."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import httpx2
import pytest
from mcp import types
from mcp.server.lowlevel import Server

from mcp_binance_server.app import App
from mcp_binance_server.transports.http.assembly import assemble
from support.loops import LOOPS, Backend
from support.webapp import ENVELOPE, MODERN, OPTIONS, request, served, served_http

ACCEPT = "application/json, text/event-stream"
TICKER = {"name": "get_ticker", "arguments": {"symbol": "BTCUSDT"}}
CHART = {
    "name": "generate_chart_image",
    "arguments": {"config": {"symbol": "BINANCE:BTCUSDT", "interval": "1h", "range": "1D"}},
}


@pytest.fixture(params=LOOPS)
def anyio_backend(request: pytest.FixtureRequest) -> Backend:
    return request.param


@asynccontextmanager
async def client_of(url: str) -> AsyncGenerator[httpx2.AsyncClient]:
    async with httpx2.AsyncClient(base_url=url, headers={"accept": ACCEPT}, timeout=30) as client:
        yield client


async def ask(
    client: httpx2.AsyncClient, method: str, params: dict[str, Any], beat: str | None = None, **headers: str
) -> httpx2.Response:
    meta = ENVELOPE if beat is None else {**ENVELOPE, "progressToken": beat}
    sent = {"mcp-protocol-version": MODERN, "mcp-method": method, "mcp-name": params.get("name") or params["uri"]}
    return await client.post("/mcp", json=request(method, {**params, "_meta": meta}), headers={**sent, **headers})


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("tools/call", TICKER),
        ("tools/call", {"name": "none"}),
        ("tools/call", {"name": "get_ticker", "arguments": "BTCUSDT"}),
        ("resources/read", {"uri": "binance://market/btcusdt"}),
        ("resources/read", {"uri": "binance://nothing"}),
        ("resources/write", {"uri": "binance://market/btcusdt"}),
    ],
)
async def test_a_plain_answer_says_what_a_stream_would_end_with(app: App, method: str, params: dict[str, Any]) -> None:
    async with served_http(app) as url, client_of(url) as client:
        plain = await ask(client, method, params)
        watched = await ask(client, method, params, beat="p")

    assert plain.status_code == watched.status_code
    assert plain.headers["content-type"] == watched.headers["content-type"] == "application/json"
    assert plain.json() == watched.json()


@pytest.mark.night
@pytest.mark.slow
async def test_who_watches_a_slow_tool_hears_of_its_progress(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mcp_binance_server.surface.caller.BEAT_SECS", 0.0)

    async with served_http(app) as url, client_of(url) as client:
        answer = await ask(client, "tools/call", CHART, beat="p")

    assert answer.headers["content-type"] == "text/event-stream"
    assert b"notifications/progress" in answer.content
    assert b'"result"' in answer.content.splitlines()[-2]


@pytest.mark.parametrize("named", ["get_ticker", "generate_chart_image"])
async def test_headers_that_lie_about_the_body_are_refused(app: App, named: str) -> None:
    other = CHART if named == "get_ticker" else TICKER
    async with served_http(app) as url, client_of(url) as client:
        answer = await ask(client, "tools/call", other, **{"mcp-name": named})
        deaf = await ask(client, "tools/call", TICKER, accept="application/json")

    assert (answer.status_code, deaf.status_code) == (400, 406)


async def test_a_header_that_is_sent_twice_is_refused(app: App) -> None:
    body = request("tools/call", {**TICKER, "_meta": ENVELOPE})
    twice = [("mcp-name", "get_ticker"), ("mcp-name", "get_ticker")]
    sent = [("mcp-protocol-version", MODERN), ("mcp-method", "tools/call"), *twice]

    async with served_http(app) as url, client_of(url) as client:
        answer = await client.post("/mcp", json=body, headers=sent)

    assert (answer.status_code, answer.json()["id"]) == (400, 1)
    assert "more than once" in answer.json()["error"]["message"]


async def test_arguments_that_a_schema_wants_in_headers_too_are_compared_with_them(app: App) -> None:
    async def said(_ctx: object, _params: types.CallToolRequestParams) -> types.CallToolResult:
        return types.CallToolResult(content=[types.TextContent(type="text", text="done")])

    schema = {"type": "object", "properties": {"symbol": {"type": "string", "x-mcp-header": "Symbol"}}}
    server: Server[Any] = Server("mirroring", on_call_tool=said, get_tool_input_schema=lambda _name: schema)
    http = assemble(server, app.dispatcher, app.clock, OPTIONS)

    async with http.heart.running(), served(http) as url, client_of(url) as client:
        told = await ask(client, "tools/call", TICKER, **{"mcp-param-symbol": "BTCUSDT"})
        lied = await ask(client, "tools/call", TICKER, **{"mcp-param-symbol": "ETHUSDT"})
        left_out = await ask(client, "tools/call", TICKER)

    assert [each.status_code for each in (told, lied, left_out)] == [200, 400, 400]


async def test_work_for_a_client_that_has_left_is_ended(app: App) -> None:
    begun, ended = anyio.Event(), anyio.Event()

    async def never(_ctx: object, _params: types.CallToolRequestParams) -> types.CallToolResult:
        begun.set()
        try:
            await anyio.sleep_forever()
        finally:
            ended.set()
        raise AssertionError("it sleeps for ever")

    server: Server[Any] = Server("never", on_call_tool=never, get_tool_input_schema=lambda _name: None)
    http = assemble(server, app.dispatcher, app.clock, OPTIONS)
    was_ended = False

    async with http.heart.running(), served(http) as url, client_of(url) as client, anyio.create_task_group() as group:
        asking = anyio.CancelScope()

        async def leave() -> None:
            with asking:
                await ask(client, "tools/call", TICKER)

        group.start_soon(leave)
        with anyio.move_on_after(10):
            await begun.wait()
            asking.cancel()
            await ended.wait()
        was_ended = ended.is_set()  # whatever is left is ended with the server, soon after

    assert was_ended
