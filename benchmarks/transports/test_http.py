"""What requests over HTTP cost: the guard, a token shown again, an answer in two writes, garbage."""

from collections.abc import AsyncIterator
from time import perf_counter, process_time

import anyio
import anyio.lowlevel
import pytest
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mcp_binance_server.app import App
from mcp_binance_server.channel import Channel
from mcp_binance_server.clock import SystemClock
from mcp_binance_server.transports.http.admission.guard import BodyLimits, Guard
from mcp_binance_server.transports.http.admission.hosts import allow
from mcp_binance_server.transports.http.auth.oauth import OAuth
from mcp_binance_server.transports.http.auth.trust import Trust
from mcp_binance_server.transports.http.server.connection import ConnectionLimits
from support.clock import FakeClock
from support.issuer import ISSUER, RESOURCE, AuthorizationServer, Wire, ec_key, ed_key, rsa_key
from support.loops import LOOPS, Backend
from support.sockets import HEAD, one_answer, serving
from support.toy import Toy
from support.webapp import assembled, called

SOON = 0.3
POST = HEAD + b"content-length: 2\r\n\r\nhi"
LIMITS = ConnectionLimits(head_secs=SOON, reading_secs=SOON, idle_secs=1, most=20)
# Thirty times the bar on a quiet machine: garbage is refused in microseconds, or something is very wrong.
CPU_SECS = 1.5
GARBAGE = (
    b"[" * 5_000,
    b'{"a":' * 100_000,
    b"[" * 100_000 + b"]" * 100_000,
    b'{"jsonrpc":"2.0","id":' + b"9" * 5_000 + b',"method":"ping"}',
    b'{"jsonrpc":"2.0","method":"x","params":{"a":' + b"9" * 5_000 + b"}}",
    b"1e999",
)


@pytest.fixture(params=LOOPS)
def anyio_backend(request: pytest.FixtureRequest) -> Backend:
    return request.param


@pytest.fixture
async def port() -> AsyncIterator[int]:
    async with serving(Guard(Toy(), allow(), BodyLimits(secs=SOON)), LIMITS) as number:
        yield number


async def answers(_scope: Scope, receive: Receive, send: Send) -> None:
    await receive()
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"inside"})


async def test_the_guard_costs_a_fraction_of_a_millisecond() -> None:
    """A few dozen microseconds on a quiet machine; the room is for a loud one."""
    more = [(b"x-header-%d" % place, b"value") for place in range(10)]
    headers = [(b"host", b"localhost:8000"), (b"content-length", b"2"), *more]
    scope, rounds = {"type": "http", "method": "POST", "path": "/mcp", "headers": headers}, 2_000

    async def receive() -> Message:
        await anyio.lowlevel.checkpoint()
        return {"type": "http.request", "body": b"{}", "more_body": False}

    async def send(_message: Message) -> None: ...

    async def cost(app: ASGIApp) -> float:
        started = process_time()
        for _ in range(rounds):
            await app(scope, receive, send)
        return (process_time() - started) / rounds

    bare, guarded = await cost(answers), await cost(Guard(answers, allow()))

    assert guarded - bare < 400e-6


async def test_the_second_request_with_a_token_costs_a_fraction_of_the_first(clock: FakeClock) -> None:
    issuer = AuthorizationServer(clock, ed_key(), ec_key(), rsa_key())
    issuer.publish()
    channel = Channel(deadline_secs=5, transport=Wire(issuer))
    authenticator = OAuth(Trust(ISSUER, RESOURCE), channel, clock)
    tokens = [issuer.token(sub=f"n{number}") for number in range(200)]

    async def enter(token: str) -> None:
        await authenticator.visitor([(b"authorization", f"Bearer {token}".encode())], b"")

    await enter(issuer.token())
    start = process_time()
    for token in tokens:
        await enter(token)
    first = process_time() - start
    for token in tokens:
        await enter(token)
    again = process_time() - start - first
    await authenticator.close()
    await channel.close()

    assert again < first / 2


async def test_an_answer_is_sent_without_delay(port: int) -> None:
    """Head and body are two writes; with the delay that is usual for those, no answer would come within 40 ms."""
    taken: list[float] = []
    async with await anyio.connect_tcp("127.0.0.1", port) as client:
        for _ in range(20):
            started = perf_counter()
            await client.send(POST)
            await one_answer(client)
            taken.append(perf_counter() - started)

    assert min(taken) < 0.03


async def test_a_request_in_a_few_pieces_is_answered_without_delay(port: int) -> None:
    taken: list[float] = []
    async with await anyio.connect_tcp("127.0.0.1", port) as client:
        for _ in range(20):
            started = perf_counter()
            for piece in (POST[:20], POST[20:-2], POST[-2:-1], POST[-1:]):
                await client.send(piece)
                await SystemClock().sleep_ms(1)
            await one_answer(client)
            taken.append(perf_counter() - started)

    assert min(taken) < 0.04


@pytest.mark.parametrize("path", ["/mcp", "/mcp/message"])
async def test_garbage_is_refused_soon(app: App, path: str) -> None:
    kinds = "application/json, text/event-stream"
    headers = [("host", "127.0.0.1"), ("content-type", "application/json"), ("accept", kinds)]
    spent: list[float] = []

    async with assembled(app) as http:
        for body in GARBAGE:
            began = process_time()
            answer = await called(http, "POST", path, body, headers=headers)
            spent.append(process_time() - began)
            assert answer.status >= 400

    assert max(spent) < CPU_SECS
