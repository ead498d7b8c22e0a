"""`/mcp/sse` and `/mcp/message`: the data model's handshake, and the first HTTP transport of MCP on GET."""

import json
from collections.abc import AsyncIterator
from datetime import datetime
from typing import Any
from uuid import UUID

import httpx2
import pytest

from mcp_binance_server.app import App
from support.requirement import requirement
from support.webapp import HttpClient, request, served_http

INITIALIZE = {"protocolVersion": "2024-11-05", "capabilities": {}, "clientInfo": {"name": "old", "version": "1"}}
LISTED = request("prompts/list")


def reason(response: httpx2.Response) -> tuple[int, str]:
    return response.status_code, response.json()["error"]["data"]["reason"]


@pytest.fixture
async def served(app: App) -> AsyncIterator[HttpClient]:
    async with served_http(app) as url, HttpClient(base_url=url, timeout=30) as http:
        yield http


@requirement("data-model/session-created", "data-model/sse-open", "data-model/session-user-agent", "ruling/27")
async def test_a_post_opens_a_session_and_says_its_id_three_times(http: HttpClient) -> None:
    opened = await http.post("/mcp/sse", headers={"user-agent": "desk/1"})

    body = opened.json()
    assert UUID(body["connection_id"]).version == 4
    assert opened.headers["connection-id"] == opened.headers["mcp-session-id"] == body["connection_id"]
    assert datetime.fromisoformat(body["created_at"]).utcoffset() is not None
    assert body["idle_timeout_secs"] == 30
    (session,) = [call.session for call in http.http.heart.http_sessions.opened()]
    assert (session.user_agent, session.remote_addr) == ("desk/1", "127.0.0.1")
    assert session.created_at == session.last_activity


@requirement("data-model/sse-message")
async def test_the_first_message_can_be_a_question(http: HttpClient) -> None:
    opened = await http.post("/mcp/sse")

    asked = await http.post("/mcp/message", json=LISTED, headers={"connection-id": opened.headers["connection-id"]})

    assert [each["name"] for each in asked.json()["result"]["prompts"]][:2] == ["trading_analysis", "portfolio_risk"]


async def test_an_initialize_that_opens_is_answered_and_names_the_session(http: HttpClient) -> None:
    opened = await http.post("/mcp/sse", json=request("initialize", INITIALIZE, "first"))

    answer = opened.json()
    assert answer["id"] == "first"
    assert answer["result"]["protocolVersion"] == "2024-11-05"
    assert answer["result"]["_meta"]["connection_id"] == opened.headers["connection-id"]


@requirement("ruling/25")
async def test_a_session_of_one_door_is_one_of_the_others(http: HttpClient) -> None:
    opened = await http.post("/mcp/sse")
    session_id = await http.initialize()

    there = await http.ask("prompts/list", opened.headers["connection-id"])
    here = await http.post("/mcp/message", json=LISTED, headers={"connection-id": session_id})

    assert there.json()["result"] == here.json()["result"]


async def test_another_opening_message_is_refused(http: HttpClient) -> None:
    question = await http.post("/mcp/sse", json=LISTED)
    garbage = await http.post("/mcp/sse", content=b"hello", headers={"content-type": "application/json"})

    assert reason(question) == (400, "not_initialize")
    assert garbage.json()["error"]["code"] == -32700
    assert http.http.heart.http_sessions.registry.snapshot().opened == 0


async def test_a_message_without_a_session_is_refused(http: HttpClient) -> None:
    without = await http.post("/mcp/message", json=LISTED)
    unknown = await http.post("/mcp/message", json=LISTED, headers={"connection-id": "nobody"})
    twice = await http.post("/mcp/message?session_id=a&session_id=b", json=LISTED)
    read = await http.get("/mcp/message")

    assert reason(without) == reason(twice) == (400, "session_missing")
    assert reason(unknown) == (404, "session_not_found")
    assert reason(read) == (405, "method_not_allowed")


@requirement("data-model/session-destroyed")
async def test_an_explicit_end_ends_it(http: HttpClient) -> None:
    named = {"connection-id": (await http.post("/mcp/sse")).headers["connection-id"]}

    left = await http.delete("/mcp/sse", headers=named)
    asked = await http.post("/mcp/message", json=LISTED, headers=named)

    assert left.status_code == 200
    assert reason(asked) == (404, "session_not_found")


async def test_with_an_open_stream_a_message_is_accepted_and_answered_there(served: HttpClient) -> None:
    named = {"connection-id": (await served.post("/mcp/sse")).headers["connection-id"]}

    async with served.stream("GET", "/mcp/sse", headers={**named, "accept": "text/event-stream"}) as stream:
        lines = stream.aiter_lines()
        assert [await anext(lines), await anext(lines)] == [
            "event: endpoint",
            f"data: /mcp/message?session_id={named['connection-id']}",
        ]
        accepted = await served.post("/mcp/message", json=LISTED, headers=named)
        second = await served.get("/mcp/sse", headers={**named, "accept": "text/event-stream"})
        answer = await _data(lines)
    while (afterwards := await served.post("/mcp/message", json=LISTED, headers=named)).status_code == 202:
        pass  # until the server, too, has seen the stream end

    assert (accepted.status_code, accepted.content) == (202, b"")
    assert reason(second) == (409, "stream_open")
    assert answer["id"] == 1
    assert afterwards.json()["result"] == answer["result"]


@requirement("data-model/session-destroyed", "ruling/25")
async def test_a_stream_that_opened_its_session_takes_it_along(served: HttpClient) -> None:
    async with served.stream("GET", "/mcp/sse", headers={"accept": "text/event-stream"}) as stream:
        lines = stream.aiter_lines()
        await anext(lines)
        endpoint = (await anext(lines)).removeprefix("data: ")
        accepted = await served.post(endpoint, json=request("initialize", INITIALIZE))
        answer = await _data(lines)
    while (asked := await served.post(endpoint, json=LISTED)).status_code == 202:
        pass  # until the server, too, has seen the stream end

    assert accepted.status_code == 202
    assert answer["result"]["protocolVersion"] == "2024-11-05"
    assert reason(asked) == (404, "session_not_found")


async def test_a_stream_needs_a_client_that_takes_one(http: HttpClient) -> None:
    asked = await http.get("/mcp/sse", headers={"accept": "application/json"})

    assert reason(asked) == (406, "not_acceptable")


async def _data(lines: AsyncIterator[str]) -> dict[str, Any]:
    async for line in lines:
        if line.startswith("data: "):
            return json.loads(line.removeprefix("data: "))
    raise AssertionError("the stream ended")
