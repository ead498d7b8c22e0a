"""Sessions are shared: one token that holds them all shuts out nobody."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import httpx2
import pytest

from mcp_binance_server.app import App
from support.clock import FakeClock
from support.holders import Holders
from support.webapp import HttpClient, assembled, served

PATIENCE_SECS = 30.0
CAP = 10
ACCEPT = {"accept": "application/json, text/event-stream"}


@pytest.fixture
def holders(tmp_path: Path) -> Holders:
    return Holders(tmp_path / "tokens", "mallory", *(f"modest{number}" for number in range(CAP - 1)))


@pytest.fixture
async def crowd(app: App, holders: Holders) -> AsyncIterator[HttpClient]:
    async with (
        assembled(app, authentication=holders.authentication(app.clock), session_cap=CAP) as http,
        served(http) as url,
        HttpClient(base_url=url, headers=ACCEPT, timeout=PATIENCE_SECS) as client,
    ):
        client.http = http
        yield client


async def ended(stream: httpx2.Response) -> None:
    async for _ in stream.aiter_bytes():
        pass


async def opened(crowd: HttpClient, bearer: str) -> str:
    answer = await crowd.initialized(authorization=bearer)
    assert answer.status_code == 200, answer.text
    return answer.headers["mcp-session-id"]


@pytest.mark.slow
async def test_idle_streams_of_one_token_make_way_for_every_other_token_at_once(
    crowd: HttpClient, holders: Holders, clock: FakeClock
) -> None:
    mallory, *modest = (holders.bearer(name)["authorization"] for name in holders.tokens)
    async with AsyncExitStack() as stack:
        held: list[str] = []
        for _ in range(CAP):
            held.append(await opened(crowd, mallory))
            clock.advance(1)
        listening: list[asyncio.Task[None]] = []
        for session in held:
            headers = {"accept": "text/event-stream", "mcp-session-id": session, "authorization": mallory}
            stream = await stack.enter_async_context(crowd.stream("GET", "/mcp", headers=headers))
            listening.append(asyncio.create_task(ended(stream)))
            stack.callback(listening[-1].cancel)
        assert (await crowd.initialized(authorization=mallory)).status_code == 503

        sessions = [await opened(crowd, each) for each in modest]

        async with asyncio.timeout(PATIENCE_SECS):
            await asyncio.gather(*listening[:-1])
        lost = [await crowd.ask("ping", session, authorization=mallory) for session in held[:-1]]
        assert {(each.status_code, each.json()["error"]["data"]["reason"]) for each in lost} == {
            (404, "session_not_found")
        }
        assert (await crowd.ask("ping", held[-1], authorization=mallory)).status_code == 200
        asked = [
            await crowd.ask("ping", session, authorization=each) for session, each in zip(sessions, modest, strict=True)
        ]
        assert {each.status_code for each in asked} == {200}
        assert crowd.http.heart.http_sessions.registry.snapshot().live == CAP
        assert (await crowd.initialized(authorization=mallory)).status_code == 503
