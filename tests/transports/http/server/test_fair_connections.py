"""Connections are shared: whoever opens as many as there are, with a token or without, shuts out nobody."""

import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import anyio
import pytest
from anyio.abc import SocketStream

from mcp_binance_server.app import App
from mcp_binance_server.transports.http.server.connection import ConnectionLimits
from support.holders import Holders
from support.loops import LOOPS, Backend
from support.sockets import Answer, one_answer, serving, until_closed
from support.webapp import ENVELOPE, MODERN, assembled, request

MOST = 12
# No deadline of theirs may help.
LIMITS = ConnectionLimits(most=MOST, head_secs=60, idle_secs=60)
# Renewed as soon as one of them is closed, these once shut out everybody else.
HALVES = (
    b"",
    b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nx-slow: ",
    b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 9\r\n\r\n{",
)


@pytest.fixture(params=LOOPS)
def anyio_backend(request: pytest.FixtureRequest) -> Backend:
    return request.param


@pytest.fixture
def holders(tmp_path: Path) -> Holders:
    return Holders(tmp_path / "tokens", "mallory", "ann", "ben")


@pytest.fixture
async def port(app: App, holders: Holders) -> AsyncIterator[int]:
    async with (
        assembled(app, authentication=holders.authentication(app.clock)) as http,
        serving(http.asgi, LIMITS) as number,
    ):
        yield number


async def ping(client: SocketStream, holders: Holders, name: str) -> Answer:
    body = json.dumps(request("prompts/list", {"_meta": ENVELOPE})).encode()
    head = (
        f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: {holders.bearer(name)['authorization']}\r\n"
        f"Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"
        f"MCP-Protocol-Version: {MODERN}\r\nMcp-Method: prompts/list\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    await client.send(head.encode() + body)
    return await one_answer(client)


@pytest.mark.parametrize("half", HALVES)
async def test_halves_of_requests_from_the_same_address_keep_nobody_out(
    port: int, holders: Holders, half: bytes
) -> None:
    async with AsyncExitStack() as stack:

        async def connect() -> SocketStream:
            return await stack.enter_async_context(await anyio.connect_tcp("127.0.0.1", port))

        ann = await connect()
        assert (await ping(ann, holders, "ann")).status == 200

        for _ in range(3 * MOST):
            slow = await connect()
            if half:
                await slow.send(half)
        ben = await connect()

        assert (await ping(ben, holders, "ben")).status == 200
        assert (await ping(ann, holders, "ann")).status == 200


async def test_a_token_that_holds_every_connection_loses_the_one_that_was_idle_longest(
    port: int, holders: Holders
) -> None:
    async with AsyncExitStack() as stack:

        async def connect() -> SocketStream:
            return await stack.enter_async_context(await anyio.connect_tcp("127.0.0.1", port))

        held = [await connect() for _ in range(MOST)]
        for client in held:
            assert (await ping(client, holders, "mallory")).status == 200

        for name in ("ann", "ben"):
            assert (await ping(await connect(), holders, name)).status == 200

        assert [await until_closed(client) for client in held[:2]] == [b"", b""]
        for client in held[2:]:
            assert (await ping(client, holders, "mallory")).status == 200
