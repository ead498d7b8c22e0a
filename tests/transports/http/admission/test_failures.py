"""A defect while a request is answered: said once in the log, and to the client in the one way that is left."""

import logging

import anyio
import httpx2
import pytest
from mcp.types import jsonrpc
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mcp_binance_server.app import App
from mcp_binance_server.transports.http.admission.refusals import contained
from support.loops import LOOPS, Backend
from support.sockets import HEAD, serving, until_closed
from support.webapp import HttpClient, assembled, served

UNWRITABLE = jsonrpc.JSONRPCNotification(jsonrpc="2.0", method="notifications/message", params={"data": object()})
ACCEPT = {"accept": "application/json, text/event-stream"}
START: Message = {"type": "http.response.start", "status": 200, "headers": []}
POST = HEAD + b"content-length: 2\r\n\r\nhi"


@pytest.fixture(params=LOOPS)
def anyio_backend(request: pytest.FixtureRequest) -> Backend:
    return request.param


async def test_a_stream_that_fails_is_broken_off_and_nothing_else_is_answered(
    app: App, caplog: pytest.LogCaptureFixture
) -> None:
    async with assembled(app) as http, served(http) as url, HttpClient(base_url=url, headers=ACCEPT) as client:
        named = {"mcp-session-id": await client.initialize()}
        async with client.stream("GET", "/mcp", headers=named) as stream:
            (call,) = http.heart.http_sessions.opened()
            assert call.stream.listener is not None
            call.stream.listener.put(UNWRITABLE)
            with anyio.fail_after(20), pytest.raises(httpx2.RemoteProtocolError, match="incomplete"):
                await stream.aread()
        counted = (await client.get("/metrics")).text

    (said,) = errors_in(caplog)
    assert said.startswith("GET /mcp failed after its response had started, error_id=")
    assert 'status="500"' not in counted


@pytest.mark.parametrize("begun", [[START], [START, {"type": "http.response.body", "body": b"one", "more_body": True}]])
async def test_what_was_begun_is_neither_ended_nor_begun_again(
    begun: list[Message], caplog: pytest.LogCaptureFixture
) -> None:
    async def begins_and_fails(_scope: Scope, _receive: Receive, send: Send) -> None:
        for message in begun:
            await send(message)
        raise ValueError("a defect")

    assert await heard_from(begins_and_fails) == len(begun[1:]) * b"3\r\none\r\n"
    assert len(errors_in(caplog)) == 1


async def test_a_second_answer_is_a_defect_too(caplog: pytest.LogCaptureFixture) -> None:
    async def answers_twice(_scope: Scope, _receive: Receive, send: Send) -> None:
        await send(START)
        await send({**START, "status": 404})

    assert await heard_from(answers_twice) == b""
    assert len(errors_in(caplog)) == 1


async def test_what_fails_before_it_answers_gets_an_id_to_report(caplog: pytest.LogCaptureFixture) -> None:
    async def fails(_scope: Scope, _receive: Receive, _send: Send) -> None:
        raise ValueError("a defect")

    async with serving(contained(fails)) as port, await anyio.connect_tcp("127.0.0.1", port) as client:
        await client.send(POST)
        heard = await client.receive()

    (said,) = errors_in(caplog)
    assert heard.startswith(b"HTTP/1.1 500 ")
    assert said.rpartition("=")[2].encode() in heard
    assert b"defect" not in heard


async def heard_from(app: ASGIApp) -> bytes:
    """Return what follows the one head that an application's client sees, until the connection is closed."""
    async with serving(contained(app)) as port, await anyio.connect_tcp("127.0.0.1", port) as client:
        await client.send(POST)
        head, _, rest = (await until_closed(client)).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 ")
    return rest


def errors_in(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR]
