"""`/mcp` for clients that shake hands: sessions, statuses, and JSON where nothing streams."""

import json
from typing import Any

import anyio
import httpx2
import pytest
from mcp import types
from mcp.server.lowlevel import Server

from mcp_binance_server.app import App
from mcp_binance_server.transports.http.assembly import assemble
from support.webapp import OPTIONS, HttpClient, http_client, request, served_http

REVISIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
TICKER = {"name": "get_ticker", "arguments": {"symbol": "BTCUSDT"}}
UNKNOWN = "7e57ab1e-0000-4000-8000-000000000000"


def reason(response: httpx2.Response) -> tuple[int, str]:
    return response.status_code, response.json()["error"]["data"]["reason"]


@pytest.mark.parametrize("revision", REVISIONS)
async def test_each_revision_is_answered_in_kind(http: HttpClient, revision: str) -> None:
    opened = await http.initialized(revision)
    session_id = opened.headers["mcp-session-id"]
    asked = await http.ask("tools/call", session_id, TICKER, mcp_protocol_version=revision)

    assert opened.json()["result"]["protocolVersion"] == revision
    assert opened.json()["result"]["serverInfo"]["name"] == "mcp-binance-server"
    assert opened.headers["connection-id"] == session_id
    assert asked.json()["result"]["structuredContent"]["success"]


async def test_an_answer_that_comes_alone_is_json(http: HttpClient) -> None:
    session_id = await http.initialize()

    asked = await http.ask("tools/call", session_id, TICKER)

    assert asked.headers["content-type"] == "application/json"
    assert "text/event-stream" not in asked.headers["content-type"]


@pytest.mark.night
@pytest.mark.slow
async def test_an_answer_after_progress_is_a_stream(http: HttpClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mcp_binance_server.surface.caller.BEAT_SECS", 0.0)
    session_id = await http.initialize()
    drawn = {"name": "generate_chart_image", "arguments": {"config": {"symbol": "BINANCE:BTCUSDT", "interval": "1h"}}}

    asked = await http.ask("tools/call", session_id, {**drawn, "_meta": {"progressToken": "p"}})
    plain = await http.ask(
        "tools/call", session_id, {**drawn, "_meta": {"progressToken": "p"}}, accept="application/json"
    )

    assert asked.headers["content-type"] == "text/event-stream"
    *told, last = events(asked.text)
    assert told
    assert {each["method"] for each in told} == {"notifications/progress"}
    assert [each["type"] for each in last["result"]["content"]] == ["text", "image"]
    assert plain.json()["id"] == 1


async def test_only_initialize_opens_a_session(http: HttpClient) -> None:
    asked = await http.post("/mcp", json=request("tools/list"))
    told = await http.post("/mcp", json=request("notifications/initialized", request_id=None))

    assert reason(asked) == reason(told) == (400, "session_missing")
    assert http.http.heart.http_sessions.registry.snapshot().opened == 0


@pytest.mark.parametrize("session_id", [UNKNOWN, "", "x", "../../etc/passwd", "a" * 5_000])
@pytest.mark.parametrize("method", ["POST", "GET", "DELETE"])
async def test_an_unknown_session_is_not_found(http: HttpClient, method: str, session_id: str) -> None:
    asked = await http.request(method, "/mcp", json=request("tools/list"), headers={"mcp-session-id": session_id})

    assert reason(asked) == (404, "session_not_found")


async def test_whoever_leaves_is_gone(http: HttpClient) -> None:
    session_id = await http.initialize()

    left = await http.delete("/mcp", headers={"mcp-session-id": session_id})
    asked = await http.ask("tools/list", session_id)

    assert left.status_code == 200
    assert reason(asked) == (404, "session_not_found")
    assert http.http.heart.http_sessions.registry.snapshot().live == 0


async def test_an_initialize_that_fails_leaves_no_session(http: HttpClient) -> None:
    response = await http.post("/mcp", json=request("initialize", {"protocolVersion": 5}))

    assert response.status_code == 400
    assert "error" in response.json()
    assert http.http.heart.http_sessions.registry.snapshot().live == 0


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"hello", -32700),
        (b"", -32700),
        (b"\xff\xfe", -32700),
        (b"[" * 5_000, -32700),
        (b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', -32600),
        (b'{"id":5}', -32600),
        (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":[1]}', -32600),
    ],
)
async def test_what_is_no_message_is_refused_with_its_code(http: HttpClient, body: bytes, code: int) -> None:
    session_id = await http.initialize()

    response = await http.post(
        "/mcp", content=body, headers={"mcp-session-id": session_id, "content-type": "application/json"}
    )

    assert response.status_code == 400
    assert response.json()["error"]["code"] == code
    assert len(response.content) <= 1_000


async def test_what_a_client_sends_and_takes_must_fit(http: HttpClient) -> None:
    session_id = await http.initialize()
    named = {"mcp-session-id": session_id}

    text = await http.post("/mcp", content=b"{}", headers={**named, "content-type": "text/plain"})
    picky = await http.post("/mcp", json=request("ping"), headers={**named, "accept": "text/html"})
    deaf = await http.get("/mcp", headers={**named, "accept": "application/json"})
    put = await http.put("/mcp", json=request("ping"), headers=named)

    assert reason(text) == (415, "not_json")
    assert reason(picky) == reason(deaf) == (406, "not_acceptable")
    assert reason(put) == (405, "method_not_allowed")
    assert put.headers["allow"] == "GET, POST, DELETE"


async def test_an_id_that_is_being_answered_is_not_taken_twice(app: App) -> None:
    begun, may_end = anyio.Event(), anyio.Event()

    async def waits(_ctx: object, _params: types.CallToolRequestParams) -> types.CallToolResult:
        begun.set()
        await may_end.wait()
        return types.CallToolResult(content=[])

    http = assemble(Server("waits", on_call_tool=waits), app.dispatcher, app.clock, OPTIONS)
    answers: list[httpx2.Response] = []

    async with http.heart.running(), http_client(http) as client:
        session_id = await client.initialize()

        async def ask() -> None:
            answers.append(await client.ask("tools/call", session_id, TICKER, request_id="same"))

        async with anyio.create_task_group() as group:
            group.start_soon(ask)
            await begun.wait()
            await ask()
            may_end.set()

    second, first = answers
    assert reason(second) == (400, "id_in_use")
    assert (first.status_code, first.json()["id"]) == (200, "same")


@pytest.mark.slow
async def test_equal_ids_of_many_clients_do_not_meet(http: HttpClient) -> None:
    symbols = ["BTCUSDT", "ETHUSDT", "BNBUSDT", "SOLUSDT", "ADAUSDT"] * 8
    sessions = [await http.initialize() for _ in symbols]
    answers: dict[int, str] = {}

    async def ask(number: int) -> None:
        arguments = {"name": "get_ticker", "arguments": {"symbol": symbols[number]}}
        answer = await http.ask("tools/call", sessions[number], arguments)
        answers[number] = answer.json()["result"]["content"][0]["text"]

    async with anyio.create_task_group() as group:
        for number in range(len(symbols)):
            group.start_soon(ask, number)

    assert all(symbols[number] in text for number, text in answers.items())
    assert len(answers) == len(symbols)


async def test_a_session_has_one_stream_and_it_ends_with_the_session(app: App) -> None:
    async with served_http(app) as url, HttpClient(base_url=url, timeout=30) as http:
        session_id = await http.initialize()
        headers = {"mcp-session-id": session_id, "accept": "text/event-stream"}

        async with http.stream("GET", "/mcp", headers=headers) as stream:
            second = await http.get("/mcp", headers=headers)
            await http.delete("/mcp", headers={"mcp-session-id": session_id})
            rest = await stream.aread()

    assert stream.headers["content-type"] == "text/event-stream"
    assert reason(second) == (409, "stream_open")
    assert rest == b""


async def test_a_cancelled_request_is_answered_as_cancelled_and_stops(app: App) -> None:
    async with served_http(app) as url, HttpClient(base_url=url, timeout=30) as http:
        session_id = await http.initialize()
        drawn = {"name": "generate_chart_image", "arguments": {"config": {"symbol": "BINANCE:ETHUSDT"}}}
        answers: list[httpx2.Response] = []

        async def ask() -> None:
            answers.append(await http.ask("tools/call", session_id, drawn, request_id=7))

        async with anyio.create_task_group() as group:
            group.start_soon(ask)
            while not answers:
                await http.ask("notifications/cancelled", session_id, {"requestId": 7}, request_id=None)
        again = await http.ask("ping", session_id)

    assert answers[0].json()["error"]["code"] == -32800
    assert again.json()["result"] == {}


def events(text: str) -> list[dict[str, Any]]:
    """Return the messages of an event stream."""
    blocks = [block for block in text.split("\r\n\r\n") if block and not block.startswith(":")]
    assert all(block.startswith("event: message\r\ndata: ") for block in blocks)
    return [json.loads(block.partition("data: ")[2]) for block in blocks]
