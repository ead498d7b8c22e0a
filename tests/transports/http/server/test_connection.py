"""Clients at a real socket that are too slow, too many or no clients at all."""

import json
import socket
from collections.abc import AsyncIterator
from contextlib import suppress

import anyio
import pytest
from anyio import to_thread
from anyio.abc import SocketStream
from starlette.types import Receive, Scope, Send

from mcp_binance_server.clock import SystemClock
from mcp_binance_server.transports.http.admission.guard import BodyLimits, Guard
from mcp_binance_server.transports.http.admission.hosts import allow
from mcp_binance_server.transports.http.server.connection import ConnectionLimits
from support.loops import LOOPS, Backend
from support.sockets import HEAD, connected, exchanged, one_answer, parsed, serving, stubborn, until_closed
from support.toy import LONG_ANSWER, Toy

SOON = 0.3
GET = b"GET /echo HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n"
POST = HEAD + b"content-length: 2\r\n\r\nhi"
LIMITS = ConnectionLimits(head_secs=SOON, reading_secs=SOON, idle_secs=1, most=20)
# A busy machine may take longer than "soon" for a few megabytes: only tests of slowness are impatient.
PATIENT = ConnectionLimits(idle_secs=1, most=20)


@pytest.fixture(params=LOOPS)
def anyio_backend(request: pytest.FixtureRequest) -> Backend:
    return request.param


@pytest.fixture
async def port() -> AsyncIterator[int]:
    async with serving(Guard(Toy(), allow(), BodyLimits()), PATIENT) as number:
        yield number


@pytest.fixture
async def hasty_port() -> AsyncIterator[int]:
    async with serving(Guard(Toy(), allow(), BodyLimits(secs=SOON)), LIMITS) as number:
        yield number


async def test_an_answer_says_nothing_about_the_software(port: int) -> None:
    answer = await exchanged(port, POST)

    assert (answer.status, answer.body) == (200, b"hi")
    assert set(answer.headers) == {b"content-type", b"content-length"}


@pytest.mark.parametrize(
    "head", [b"", b"G", b"GET /echo HTTP/1.1\r\n", b"GET /echo HTTP/1.1\r\nhost: 127.0.0.1\r\nx-slow: "]
)
async def test_a_head_that_does_not_come_to_its_end_is_not_waited_for(hasty_port: int, head: bytes) -> None:
    async with await anyio.connect_tcp("127.0.0.1", hasty_port) as client:
        if head:
            await client.send(head)

        assert await until_closed(client) == b""


async def test_a_head_that_drips_is_timed_from_its_first_byte(hasty_port: int) -> None:
    async def drip(client: SocketStream) -> None:
        await client.send(GET[:-2])
        while True:
            await client.send(b"x-slow: 1\r\n")
            await SystemClock().sleep_ms(20)

    async with await anyio.connect_tcp("127.0.0.1", hasty_port) as client:
        with anyio.fail_after(20), pytest.raises((anyio.BrokenResourceError, OSError)):
            await drip(client)


@pytest.mark.night
@pytest.mark.parametrize("pause", [b"", b"GET /echo HT"])
async def test_a_kept_connection_serves_again_but_does_not_wait_for_ever(hasty_port: int, pause: bytes) -> None:
    async with await anyio.connect_tcp("127.0.0.1", hasty_port) as client:
        for _ in range(3):
            await client.send(POST)
            assert (await one_answer(client)).status == 200
        if pause:
            await client.send(pause)

        assert await until_closed(client) == b""


@pytest.mark.parametrize("framing", [b"content-length: 100\r\n\r\n", b"transfer-encoding: chunked\r\n\r\n5\r\nab"])
async def test_a_body_that_does_not_come_to_its_end_is_told_so(hasty_port: int, framing: bytes) -> None:
    async with await anyio.connect_tcp("127.0.0.1", hasty_port) as client:
        await client.send(HEAD + framing)

        answer = parsed(await until_closed(client))

    assert (answer.status, answer.headers[b"connection"]) == (408, b"close")


@pytest.mark.night
async def test_a_client_that_does_not_read_is_cut_off_and_one_that_does_gets_everything(hasty_port: int) -> None:
    with connected(hasty_port, receive_buffer=4_096) as idle:
        idle.sendall(GET.replace(b"/echo", b"/long"))
        reader = await exchanged(hasty_port, GET.replace(b"/echo", b"/long"))
        await SystemClock().sleep_ms(4_000 * SOON)

        got = await to_thread.run_sync(read_to_a_reset, idle)

    assert len(reader.body) == LONG_ANSWER
    assert got < LONG_ANSWER


def read_to_a_reset(client: socket.socket) -> int:
    """Return how many bytes came; an answer that is cut short must not end as if it were whole."""
    got = 0
    with suppress(ConnectionResetError):
        while data := client.recv(2**20):
            got += len(data)
        pytest.fail("the answer came to an orderly end")
    return got


async def test_clients_that_do_not_read_hold_no_more_memory_than_the_limit() -> None:
    patient = ConnectionLimits(reading_secs=60, unsent=3 * LONG_ANSWER)
    long = GET.replace(b"/echo", b"/long")
    async with serving(Guard(Toy(), allow(), BodyLimits()), patient) as port:
        clients = [await to_thread.run_sync(lambda: connected(port, receive_buffer=4_096)) for _ in range(8)]
        for client in clients:
            await to_thread.run_sync(client.sendall, long)
            # Its answer waits before the next one asks.
            await to_thread.run_sync(lambda client=client: client.recv(1))
        good = await exchanged(port, long)
        told = [await to_thread.run_sync(_all_of, client) for client in clients]

    assert len(good.body) == LONG_ANSWER
    assert [size >= LONG_ANSWER for size in told].count(True) <= 4
    assert all(size >= LONG_ANSWER for size in told[-2:])


def _all_of(client: socket.socket) -> int:
    """Return how much of its answer a client still gets."""
    size = 0
    with client, suppress(OSError):
        while size < LONG_ANSWER and (chunk := client.recv(65_536)):
            size += len(chunk)
    return size


async def test_one_too_many_takes_the_place_of_the_oldest_that_has_asked_nothing(port: int) -> None:
    held = [await anyio.connect_tcp("127.0.0.1", port) for _ in range(PATIENT.most)]
    await held[0].send(POST)
    assert (await one_answer(held[0])).status == 200

    assert (await exchanged(port, POST)).status == 200

    assert await until_closed(held[1]) == b""
    for client in (held[0], held[-1]):
        await client.send(POST)
        assert (await one_answer(client)).status == 200
    for client in held:
        await client.aclose()


@pytest.mark.parametrize(
    "garbage",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"hello\r\n\r\n",
        b"GET /echo HTTP/1.1\r\n\r\n",
        b"GET /echo HTTP/1.1\r\nhost: a\r\nhost: b\r\n\r\n",
        b"GET /echo HTTP/1.1\r\nhost: a\r\nx: \x00\r\n\r\n",
        HEAD + b"content-length: x\r\n\r\n",
        HEAD + b"content-length: 1\r\ncontent-length: 2\r\n\r\n",
        HEAD + b"transfer-encoding: gzip\r\n\r\n",
        HEAD + b"transfer-encoding: chunked\r\n\r\nxyz\r\n",
        HEAD + b"x: " + b"y" * 100_000 + b"\r\n\r\n",
    ],
)
async def test_what_is_no_http_gets_a_small_error_and_no_more(port: int, garbage: bytes) -> None:
    answer = await exchanged(port, garbage)

    assert (answer.status, answer.headers[b"connection"]) == (400, b"close")
    assert json.loads(answer.body)["error"]["code"] == -32600
    assert len(answer.body) <= 1_000


async def test_a_body_that_turns_to_garbage_ends_the_work_on_it(caplog: pytest.LogCaptureFixture) -> None:
    seen: list[str] = []

    async def reads_by_itself(_scope: Scope, receive: Receive, send: Send) -> None:
        while (message := await receive())["type"] != "http.disconnect":
            seen.append(message["type"])
        await send({"type": "http.response.start", "status": 200, "headers": []})

    async with serving(reads_by_itself, LIMITS) as number, await anyio.connect_tcp("127.0.0.1", number) as client:
        await client.send(HEAD + b"transfer-encoding: chunked\r\n\r\n2\r\nhi\r\n")
        await SystemClock().sleep_ms(50)
        await client.send(b"garbage\r\n")
        answer = parsed(await until_closed(client))

    assert answer.status == 400
    assert seen == ["http.request"]
    assert "Exception" not in caplog.text


@pytest.mark.parametrize(
    ("more", "status"),
    [
        (b"host: 127.0.0.1\r\n", 200),
        (b"host: 127.0.0.1:80@evil.com\r\n", 421),
        (b"host: 127.0.0.1\r\norigin: http://localhost:evil.com\r\n", 403),
        (b"host: 127.0.0.1\r\nupgrade: websocket\r\nconnection: upgrade\r\n", 200),
        (b"host: 127.0.0.1\r\nexpect: 100-continue\r\n", 200),
        (b"host: 127.0.0.1\r\ncontent-encoding: gzip\r\n", 415),
    ],
)
async def test_the_guard_stands_behind_the_socket(port: int, more: bytes, status: int) -> None:
    answer = await exchanged(port, b"POST /echo HTTP/1.1\r\n" + more + b"content-length: 2\r\n\r\n", b"hi")

    assert answer.status == status


@pytest.mark.parametrize("rest", [b"HTTP/1.0", b"HTTP/9.9", b"HTTP/1.1\r\nhost: 127.0.0.1\r\n folded"])
async def test_a_request_that_gets_round_the_rules_for_a_host_is_misdirected(port: int, rest: bytes) -> None:
    assert (await exchanged(port, b"GET /echo " + rest + b"\r\n\r\n")).status == 421


@pytest.mark.night
async def test_pipelined_requests_are_answered_in_turn(port: int) -> None:
    async with await anyio.connect_tcp("127.0.0.1", port) as client:
        await client.send(POST.replace(b"hi", b"11") + POST.replace(b"hi", b"22") + POST.replace(b"hi", b"33"))
        data = await until_closed(client)

    assert [data.count(body) for body in (b"\r\n\r\n11", b"\r\n\r\n22", b"\r\n\r\n33")] == [1, 1, 1]
    assert data.index(b"\r\n\r\n11") < data.index(b"\r\n\r\n22") < data.index(b"\r\n\r\n33")


@pytest.mark.night
async def test_a_body_that_drips_in_is_looked_at_now_and_then_and_is_answered() -> None:
    pieces: list[bytes] = []

    async def reads_by_itself(_scope: Scope, receive: Receive, send: Send) -> None:
        while (message := await receive()).get("more_body"):
            pieces.append(message["body"])
        pieces.append(message["body"])
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]})
        await send({"type": "http.response.body"})

    async with serving(reads_by_itself, LIMITS) as number, await anyio.connect_tcp("127.0.0.1", number) as client:
        await client.send(HEAD + b"content-length: 60\r\n\r\n")
        for place in range(60):
            await client.send(b"%d" % (place % 10))
            await SystemClock().sleep_ms(10)
        answer = await one_answer(client)

    assert answer.status == 200
    assert b"".join(pieces) == 6 * b"0123456789"
    assert len(pieces) <= 20


@pytest.mark.parametrize("framing", [b"content-length: 100000000\r\n\r\n", b"transfer-encoding: chunked\r\n\r\n"])
async def test_a_hundred_megabytes_are_refused_before_they_are_sent(port: int, framing: bytes) -> None:
    chunk = b"10000\r\n" + b"x" * 65_536 + b"\r\n"

    answer, sent = await to_thread.run_sync(stubborn, port, HEAD + framing, *[chunk] * 1_500)

    assert answer.status == 413
    assert sent < 40 * 2**20
