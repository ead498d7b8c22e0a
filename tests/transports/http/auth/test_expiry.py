"""The stream of an access token: it ends with the token, and not because its issuer is away."""

import asyncio

import anyio
import pytest

from mcp_binance_server.app import App
from mcp_binance_server.transports.http.app import Authentication
from mcp_binance_server.transports.http.auth.oauth import OAuth
from support.clock import FakeClock
from support.issuer import RESOURCE, AuthorizationServer, Wire
from support.webapp import HttpClient, assembled, served

pytestmark = pytest.mark.timeout(90)

ACCEPT = {"accept": "application/json, text/event-stream"}
PATIENCE_SECS = 60.0


async def test_a_stream_ends_when_its_token_expires_and_not_while_nobody_can_tell(
    app: App, authenticator: OAuth, issuer: AuthorizationServer, wire: Wire, clock: FakeClock
) -> None:
    headers = {**ACCEPT, "authorization": f"Bearer {issuer.token(exp=clock.now_ms() // 1000 + 7_200)}"}

    async with (
        assembled(
            app, authentication=Authentication(authenticator, b"{}", RESOURCE), session_idle_secs=100_000
        ) as http,
        served(http) as url,
        HttpClient(base_url=url, headers=headers, timeout=PATIENCE_SECS) as client,
    ):
        session = await client.initialize()
        async with client.stream("GET", "/mcp", headers={"mcp-session-id": session}) as stream:
            ended = asyncio.create_task(stream.aread())
            wire.is_cut = True
            clock.advance(3_700_000)  # the keys are an hour old, and no new ones come
            await anyio.wait_all_tasks_blocked()
            is_open = not ended.done()
            wire.is_cut = False
            clock.advance(3_600_000)
            with anyio.fail_after(PATIENCE_SECS):
                await ended

    assert is_open
