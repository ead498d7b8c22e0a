"""Several processes behind one port: a session is found wherever its requests land, and nothing is left behind."""

import json
import os
import re
import signal
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from pathlib import Path

import anyio
import httpx2
import pytest

from mcp_binance_server.cli.main import main
from mcp_binance_server.cli.workers import next_pause_ms, refuse_unshareable_settings
from mcp_binance_server.errors import SettingsError
from mcp_binance_server.settings import read_settings
from mcp_binance_server.transports.http.auth.token_file import TokenEntry, digest_of, new_token
from mcp_binance_server.transports.http.relay import merged
from support.state_server import BINARY
from support.webapp import HttpClient, request
from support.workers import Surroundings, children, http_server, is_alive, kill, surroundings, wait_for

pytestmark = [
    pytest.mark.slow,
    pytest.mark.flood,
    pytest.mark.skipif(sys.platform == "win32", reason="several processes on one port are not for Windows"),
]

ACCEPT = {"accept": "application/json, text/event-stream"}
ONE_EACH = httpx2.Limits(max_keepalive_connections=0)  # each request on a connection of its own, to any process


@pytest.mark.parametrize(
    ("last_ms", "lived_ms", "pause_ms"), [(0, 100, 250), (250, 1_000, 500), (8_000, 10, 10_000), (4_000, 6_000, 250)]
)
def test_what_dies_at_its_start_waits_ever_longer_and_what_has_served_is_replaced_at_once(
    last_ms: float, lived_ms: float, pause_ms: float
) -> None:
    assert next_pause_ms(last_ms, lived_ms) == pause_ms


@pytest.fixture(scope="module")
def around() -> Iterator[Surroundings]:
    if BINARY is None:
        pytest.skip("several workers are not tested here: no redis-server or valkey-server is installed")
    with surroundings() as running:
        yield running


def client(port: int) -> HttpClient:
    return HttpClient(base_url=f"http://127.0.0.1:{port}", headers=ACCEPT, limits=ONE_EACH, timeout=60)


def by_worker(figures: str, name: str) -> dict[str, float]:
    found = re.findall(rf'^{name}\{{worker="(\d)"[^}}]*\}} (\S+)$', figures, re.MULTILINE)
    return {worker: sum(float(value) for of, value in found if of == worker) for worker, _ in found}


@pytest.mark.night
async def test_sessions_are_found_from_every_worker_and_a_dead_ones_are_over(around: Surroundings) -> None:
    with http_server(around, "--workers", "2") as (process, port):
        async with client(port) as http:
            first = await http.initialize()
            answers = await asked_of_both(http, first)

            assert {answer.status_code for answer in answers} == {200}
            assert {answer.headers["mcp-session-id"] for answer in answers} == {first}

            owner = int(first.replace("-", ""), 16) % 2
            opened = await http.post("/mcp/sse")
            pair = opened.headers["connection-id"]
            for number in range(10):
                sent = request("tools/list", {}, number)
                told = await http.post("/mcp/message", json=sent, headers={"connection-id": pair})
                assert (told.status_code, told.json()["id"]) == (200, number)

            await stream_events(http, port)
            await hear_of_a_page(http, first)

            workers = children(process.pid)
            kill(workers[owner])
            wait_for(
                lambda: len(children(process.pid)) == 2 and workers[owner] not in children(process.pid), "a new one"
            )
            assert {(await http.ask("ping", first)).status_code for _ in range(10)} == {404}
            again = await http.initialize()
            assert {(await http.ask("ping", again)).status_code for _ in range(10)} == {200}

        workers = children(process.pid)
        # As a service manager does it: the keeper's word must not be a second one to those who were told already.
        for pid in (*workers, process.pid):
            os.kill(pid, signal.SIGTERM)
        assert process.wait() == 0
        assert [pid for pid in workers if is_alive(pid)] == []
        said = process.errors.read_text().splitlines()
        assert len(said) == 2
        assert re.search(r"worker \d exited with code -9; restart in 250 ms", said[1])


async def test_a_worker_that_hangs_is_replaced_and_its_callers_are_told(around: Surroundings) -> None:
    with http_server(around, "--workers", "2") as (process, port):
        async with client(port) as http:
            sessions = [await http.initialize() for _ in range(12)]
            workers = children(process.pid)
            frozen = [each for each in sessions if int(each.replace("-", ""), 16) % 2 == 0]
            others = [each for each in sessions if each not in frozen]
            os.kill(workers[0], signal.SIGSTOP)

            told = [await pinged(port, each) for each in frozen]
            wait_for(lambda: len(children(process.pid)) == 2 and workers[0] not in children(process.pid), "a new one")
            still = [await pinged(port, each) for each in others]
            again = await http.initialize()

        assert told
        assert set(told) <= {404, 0}
        assert still == [200] * len(others)
        assert again
        said = process.errors.read_text()
        assert "worker 0 sent no heartbeat for 4 s and is killed" in said
        assert process.terminate() == 0


async def pinged(port: int, session: str) -> int:
    """Return the status of a ping in a session; 0 where the connection was cut because its process was ended."""
    for _ in range(20):
        try:
            async with client(port) as http:
                return (await http.ask("ping", session, accept="application/json")).status_code
        except httpx2.TransportError:  # a process that was stopped had taken it; the session is another question
            continue
    return 0


async def test_the_state_server_learns_no_id_of_a_session(around: Surroundings) -> None:
    with http_server(around, "--workers", "2") as (process, port):
        async with client(port) as http:
            sessions = [await http.initialize() for _ in range(4)]
            kept = around.state.dump()
        assert process.terminate() == 0

    assert len(kept) > 100
    assert [each for each in sessions if each.encode() in kept or each.replace("-", "").encode() in kept] == []


async def asked_of_both(http: HttpClient, session: str) -> list[httpx2.Response]:
    """Ask until each process was met; which of them takes a connection is the system's choice."""
    answers: list[httpx2.Response] = []
    for _ in range(20):
        answers += [await http.ask("tools/list", session, request_id=number) for number in range(20)]
        met = by_worker((await http.get("/metrics")).text, "mcp_binance_http_answers_total")
        if {worker for worker, count in met.items() if count} == {"0", "1"}:
            return answers
    pytest.fail("all connections came to one worker, so this shows nothing")


async def stream_events(http: HttpClient, port: int) -> None:
    """Ask on the first transport of MCP, whose answers come on a stream, from connections to every process."""
    async with (
        client(port) as listener,
        listener.stream("GET", "/mcp/sse", headers={"accept": "text/event-stream"}) as stream,
    ):
        lines = stream.aiter_lines()
        endpoint = await next_data(lines)
        asked = [await http.post(endpoint, json=request("ping", None, number)) for number in range(8)]
        heard = [await next_data(lines) for _ in asked]
    assert {answer.status_code for answer in asked} == {202}
    assert len(heard) == 8


async def hear_of_a_page(http: HttpClient, session: str) -> None:
    """Subscribe and listen through whichever process takes the connection: the one of the session tells."""
    uri = "binance://market/btcusdt"
    # An answer that takes long would come as events if it might.
    asked = await http.ask("resources/subscribe", session, {"uri": uri}, accept="application/json")
    async with http.stream("GET", "/mcp", headers={"mcp-session-id": session, "accept": "text/event-stream"}) as stream:
        lines = stream.aiter_lines()
        heard = [json.loads(await next_data(lines)) for _ in range(2)]
    assert asked.json()["result"] == {}
    assert {each["params"]["uri"] for each in heard} == {uri}


async def next_data(lines: AsyncIterator[str]) -> str:
    with anyio.fail_after(30):
        while not (line := await anext(lines)).startswith("data:"):
            pass
    return line.removeprefix("data:").strip()


async def test_workers_end_when_their_keeper_was_killed(around: Surroundings) -> None:
    with http_server(around, "--workers", "2") as (process, _):
        workers = children(process.pid)
        assert len(workers) == 2

        kill(process.pid)

        wait_for(lambda: not any(is_alive(pid) for pid in workers), "the end of the workers")


@pytest.mark.night
async def test_the_port_for_probes_answers_for_all_workers(around: Surroundings, tmp_path: Path) -> None:
    tokens = tmp_path / "tokens"
    entry = TokenEntry("ann", digest_of(new_token()), frozenset({"market:read"}))
    tokens.write_text(f"{entry.line}\n")
    tokens.chmod(0o600)

    with http_server(around, "--workers", "2", "--probe-port", "0", MCP_BINANCE_TOKEN_FILE=str(tokens)) as (
        process,
        port,
    ):
        told = re.search(r"2 workers; probes: port (\d+);", process.errors.read_text())
        assert told is not None
        async with client(port) as main_port, client(int(told[1])) as probes:
            health, ready = await probes.get("/healthz"), await probes.get("/readyz")
            figures, asked = await probes.get("/metrics"), await main_port.get("/metrics")
            held = children(process.pid)[0]
            os.kill(held, signal.SIGSTOP)
            with_one_held = await probes.get("/healthz")
            ready_by_the_other = await probes.get("/readyz")
            # On a busy machine the other may be late with its word; that of a successor would not be its own.
            while ready_by_the_other.status_code != 200 and held in children(process.pid):
                ready_by_the_other = await probes.get("/readyz")
            with suppress(ProcessLookupError):
                os.kill(held, signal.SIGCONT)

    assert (health.status_code, health.json()) == (200, {"status": "ok", "workers": 2, "alive": 2})
    assert (ready.status_code, ready.json()["status"]) == (200, "ready")
    assert (figures.status_code, set(by_worker(figures.text, "mcp_binance_sessions"))) == (200, {"0", "1"})
    assert asked.status_code == 401
    assert (with_one_held.status_code, ready_by_the_other.status_code) == (200, 200)


def test_without_a_shared_state_several_workers_are_refused() -> None:
    with pytest.raises(SettingsError, match="needs MCP_BINANCE_STATE_URL"):
        refuse_unshareable_settings(read_settings({}), 2, "linux")


def test_windows_gets_a_sentence() -> None:
    with pytest.raises(SettingsError, match="on Windows only one process can use a port"):
        refuse_unshareable_settings(read_settings({"MCP_BINANCE_STATE_URL": "redis://127.0.0.1"}), 2, "win32")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--workers", "2"), "needs --http"),
        (("--probe-port", "0"), "needs --http"),
        (("--grpc", "--probe-port", "0"), "needs --http"),
        (("--http", "--probe-port", "65536"), "0 to 65535"),
        (("--http", "--workers", "0"), "1 to 64, not 0"),
        (("--http", "--workers", "65"), "1 to 64, not 65"),
    ],
)
def test_what_goes_with_http_alone_and_wrong_numbers_are_told(
    arguments: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)

    assert ended.value.code == 2
    assert said in capsys.readouterr().err


def test_figures_of_several_workers_are_one_text() -> None:
    text = '# HELP a first\n# TYPE a counter\na{route="/mcp"} 1.0\n# HELP b second\n# TYPE b gauge\nb 2.0\n'

    assert merged({0: text, 1: text}).splitlines() == [
        "# HELP a first",
        "# TYPE a counter",
        'a{worker="0",route="/mcp"} 1.0',
        'a{worker="1",route="/mcp"} 1.0',
        "# HELP b second",
        "# TYPE b gauge",
        'b{worker="0"} 2.0',
        'b{worker="1"} 2.0',
    ]
