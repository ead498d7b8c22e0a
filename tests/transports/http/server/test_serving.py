"""The server as a process: it says its port, and when told to stop it finishes what it began and leaves nothing."""

import json
import os
import signal
import socket
import time
from contextlib import suppress
from typing import Any

import anyio
import pytest
from anyio import to_thread

from mcp_binance_server.clock import SystemClock
from mcp_binance_server.errors import SettingsError
from mcp_binance_server.transports.http.server.serving import serve_http
from support.loops import LOOPS, Backend
from support.process import Process
from support.sockets import HEAD, connected, one_answer, parsed, serving, until_closed
from support.toy import Toy, toy_code

WORK = b"GET /work HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n"
STREAM = WORK.replace(b"/work", b"/stream")
STUCK = WORK.replace(b"/work", b"/stuck")
NOTHING_LEFT = {"descriptors": 0, "tasks": 0}
PATIENCE_SECS = 20  # half a second on a quiet machine


@pytest.fixture(params=LOOPS)
def anyio_backend(request: pytest.FixtureRequest) -> Backend:
    return request.param


@pytest.fixture
def uvloop(anyio_backend: Backend) -> bool:
    return anyio_backend[1]["use_uvloop"]


def report_of(process: Process) -> dict[str, Any]:
    return json.loads(process.line())


def wait_until_refused(port: int) -> None:
    deadline = time.perf_counter() + PATIENCE_SECS
    while time.perf_counter() < deadline:
        try:
            connected(port).close()
        except OSError:
            return
    pytest.fail("it still listens")


@pytest.mark.night
@pytest.mark.flood
async def test_sigterm_under_load_loses_no_request_that_was_begun(*, uvloop: bool) -> None:
    with Process(code=toy_code(uvloop=uvloop), warm=True) as process:
        port, answered = int(process.line()), list[int]()

        async def work() -> None:
            with suppress(anyio.BrokenResourceError, anyio.EndOfStream, OSError):
                async with await anyio.connect_tcp("127.0.0.1", port) as client:
                    while True:
                        await client.send(WORK)
                        status = (await one_answer(client)).status
                        if status is None:
                            return
                        answered.append(status)

        async def listen() -> None:
            async with await anyio.connect_tcp("127.0.0.1", port) as client:
                await client.send(STREAM)
                heard = await until_closed(client)
            answered.append(200 if heard.endswith(b"closed\r\n0\r\n\r\n") else 0)

        async with anyio.create_task_group() as clients:
            for _ in range(40):
                clients.start_soon(work)
            clients.start_soon(listen)
            while len(answered) < 40:
                await SystemClock().sleep_ms(20)
            os.kill(process.pid, signal.SIGTERM)

        code = await to_thread.run_sync(process.wait, PATIENCE_SECS)
        report = report_of(process)

    assert (code, set(answered)) == (0, {200})
    assert report == {"begun": len(answered), "ended": len(answered), "left": NOTHING_LEFT}
    assert process.errors.read_text() == ""


def test_after_the_first_signal_nobody_new_comes_in_and_the_second_ends_it_at_once(*, uvloop: bool) -> None:
    with Process(code=toy_code(grace_secs=100, uvloop=uvloop), warm=True) as process:
        port = int(process.line())
        with connected(port) as stuck, connected(port) as idle:
            stuck.sendall(STUCK)
            idle.sendall(WORK)
            assert idle.recv(1_000).startswith(b"HTTP/1.1 200")
            os.kill(process.pid, signal.SIGTERM)
            wait_until_refused(port)
            os.kill(process.pid, signal.SIGINT)

            code, report = process.wait(), report_of(process)

    assert (code, report["left"]) == (0, NOTHING_LEFT)
    assert process.errors.read_text() == ""


@pytest.mark.night
@pytest.mark.parametrize(
    "framing", [b"content-length: 100\r\n\r\nab", b"transfer-encoding: chunked\r\n\r\n2\r\nab\r\n"]
)
def test_a_request_that_does_not_come_to_its_end_does_not_hold_up_the_end(framing: bytes, *, uvloop: bool) -> None:
    with Process(code=toy_code(grace_secs=1_000, body_secs=1_000, uvloop=uvloop), warm=True) as process:
        port = int(process.line())
        with connected(port) as half:
            half.sendall(HEAD + framing)
            with connected(port) as other:
                other.sendall(WORK)
                assert parsed(other.recv(1_000)).status == 200
            os.kill(process.pid, signal.SIGTERM)

            code, report = process.wait(), report_of(process)
            answer = parsed(half.recv(1_000))

    assert (code, report["left"]) == (0, NOTHING_LEFT)
    assert (answer.status, json.loads(answer.body)["error"]["data"]) == (503, {"reason": "stopping"})
    assert process.errors.read_text() == ""


@pytest.mark.night
def test_what_does_not_end_within_the_grace_time_is_ended(*, uvloop: bool) -> None:
    with Process(code=toy_code(grace_secs=0.5, uvloop=uvloop), warm=True) as process:
        port = int(process.line())
        with connected(port) as stuck:
            stuck.sendall(STUCK)
            with connected(port) as other:
                other.sendall(WORK)
                assert parsed(other.recv(1_000)).status == 200
            os.kill(process.pid, signal.SIGTERM)

            code, report = process.wait(), report_of(process)

    assert (code, report["left"]) == (0, NOTHING_LEFT)
    assert (report["begun"], report["ended"]) == (2, 1)
    assert process.errors.read_text() == ""


async def test_a_port_that_is_taken_is_a_matter_of_settings() -> None:
    toy = Toy()
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(SettingsError, match="cannot listen"):
        await serve_http(toy, host="127.0.0.1", port=taken.getsockname()[1], ready=lambda _port: None, drain=toy.drain)


async def test_a_server_that_is_cancelled_leaves_the_signals_as_they_were() -> None:
    before = [signal.getsignal(each) for each in (signal.SIGTERM, signal.SIGINT)]

    async with serving(Toy()) as port:
        during = [signal.getsignal(each) for each in (signal.SIGTERM, signal.SIGINT)]
        async with await anyio.connect_tcp("127.0.0.1", port) as stuck:
            await stuck.send(STUCK)

    assert during != before
    assert [signal.getsignal(each) for each in (signal.SIGTERM, signal.SIGINT)] == before


async def test_a_server_on_the_sixth_protocol_answers_too() -> None:
    if not socket.has_ipv6:
        pytest.skip("this machine has no IPv6")
    async with serving(Toy(), host="::1") as port, await anyio.connect_tcp("::1", port) as client:
        await client.send(WORK)

        assert (await one_answer(client)).status == 200
