"""Ctrl-C, a closed pipe and a parent that is gone: each ends a command soon, and without a traceback."""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.process import COMMAND, PATIENCE_SECS, Process, clean_environment, run_warm
from support.raw import request
from support.screen import CTRL_C, Screen
from support.state_server import BINARY
from support.workers import children, is_alive, is_asleep, port_of, surroundings, wait_for

pytestmark = [
    pytest.mark.flood,
    pytest.mark.skipif(sys.platform == "win32", reason="signals and terminals of POSIX"),
]

# One second is promised, a busy machine takes longer; what waits for a client, an exchange or its grace takes ten.
SOON_SECS = 8.0
INTERRUPTED = 130
UNREAD = 141
PRESSED_WHILE_LOADING = """
import sys
from importlib.abc import MetaPathFinder

class Pressed(MetaPathFinder):
    module = sys.argv.pop()

    def find_spec(self, name, path, target=None):
        if name == self.module:
            raise KeyboardInterrupt

sys.meta_path.insert(0, Pressed())
from mcp_binance_server.__main__ import main
sys.exit(main())
"""
STUCK_IN_A_THREAD = """
import sys
from threading import Event
import anyio
from anyio import to_thread
from mcp_binance_server.cli import interruption
interruption.ExitWatchdog.__init__.__defaults__ = (130, float(sys.argv[1]))

def wait():
    print("stuck", flush=True)
    Event().wait()

async def main():
    try:
        await to_thread.run_sync(wait, abandon_on_cancel=True)
    finally:
        print("asked", flush=True)

try:
    interruption.run(main)
except KeyboardInterrupt:
    sys.exit(130)
"""
PARENT = """
import subprocess, sys
pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
child = subprocess.Popen([sys.executable, "-m", "mcp_binance_server", "demo"], bufsize=0, **pipes)
child.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"ping"}\\n')
child.stdout.readline()
print(child.pid, flush=True)
child.wait()
"""
QUESTION = "API key (Enter: none): "
SPEAK_MCP: tuple[tuple[str, ...], ...] = ((), ("demo",))
UGLY = ("Traceback", "Exception ignored", "was destroyed", "never awaited", "Error:")


class BlackHole:
    """An exchange that takes connections and never answers."""

    def __init__(self, listener: socket.socket) -> None:
        self._listener = listener
        self._taken: list[socket.socket] = []
        self.url = f"http://127.0.0.1:{listener.getsockname()[1]}"

    def wait_for_a_request(self) -> None:
        connection, _ = self._listener.accept()
        self._taken.append(connection)
        connection.settimeout(PATIENCE_SECS)
        assert connection.recv(1)

    def close(self) -> None:
        for each in self._taken:
            each.close()


@pytest.fixture
def black_hole() -> Iterator[BlackHole]:
    with socket.create_server(("127.0.0.1", 0), backlog=64) as listener:
        listener.settimeout(PATIENCE_SECS)
        hole = BlackHole(listener)
        yield hole
        hole.close()


def assert_clean(said: str) -> None:
    assert [word for word in UGLY if word in said] == [], said


@pytest.mark.night
@pytest.mark.parametrize(
    ("arguments", "shows", "code"),
    [
        ((), "is waiting for a client", INTERRUPTED),
        (("demo",), "Ctrl-C stops it", INTERRUPTED),
        (("--http", "--port", "0"), "MCP at http://", 0),
        (("demo", "--http", "--port", "0"), "Ctrl-C stops it", 0),
        (("--grpc", "--port", "0"), "provider.v1 on", 0),
        (("simulator",), '"rest"', INTERRUPTED),
        (("setup", "--client", "claude-code"), QUESTION, INTERRUPTED),
        (("ask", "get_ticker", "symbol=BTCUSDT"), "", INTERRUPTED),
        (("doctor",), "Public REST", INTERRUPTED),
    ],
)
def test_the_first_ctrl_c_in_a_terminal_ends_a_command(
    tmp_path: Path, black_hole: BlackHole, arguments: tuple[str, ...], shows: str, code: int
) -> None:
    environment = {"HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path), "BINANCE_REST_URL": black_hole.url}

    # The server itself starts cold: it loads beside its first words, and Ctrl-C must end that, too.
    with Screen(*arguments, environment=environment, folder=tmp_path, warm=bool(arguments)) as screen:
        screen.wait_for(shows)
        if arguments in SPEAK_MCP:
            screen.press(b"hello\n")
            screen.wait_for('"code":-32700')
        if not shows:
            black_hole.wait_for_a_request()
        if shows == QUESTION:
            # Python itself loses what comes between its last look for signals and the read, as in 1 of 150 tries here.
            wait_for(lambda: is_asleep(screen.pid), "a process that reads")
        screen.press(CTRL_C)
        ended = screen.wait(SOON_SECS)

    assert ended == code
    assert_clean(screen.shown)


@pytest.mark.parametrize("command", ["--stdio", "demo"])
def test_the_first_signal_ends_a_server_whose_client_says_nothing(command: str) -> None:
    with Process(command, warm=True) as process:
        process.ask(1, "ping", {})
        assert interrupted(process) == INTERRUPTED

    assert_clean(process.errors.read_text())


def test_the_first_signal_ends_a_server_that_waits_for_the_exchange(black_hole: BlackHole) -> None:
    with Process("--stdio", environment={"BINANCE_REST_URL": black_hole.url}, warm=True) as process:
        process.shake_hands()
        process.ask(1, "tools/list", {})
        process.say(request(2, "tools/call", {"name": "get_ticker", "arguments": {"symbol": "BTCUSDT"}}))
        black_hole.wait_for_a_request()
        assert interrupted(process) == INTERRUPTED

    assert_clean(process.errors.read_text())


def test_the_first_signal_ends_a_server_whose_client_does_not_read() -> None:
    with Process("demo", warm=True) as process:
        process.shake_hands()
        # More than a pipe holds, so that writing waits.
        process.say(*(request(number, "tools/list", {}) for number in range(20)))
        wait_for(process.is_unread, "a full pipe")
        assert interrupted(process) == INTERRUPTED

    assert_clean(process.errors.read_text())


@pytest.mark.night
def test_the_first_signal_ends_an_http_server_with_requests_in_hand(black_hole: BlackHole) -> None:
    with (
        Process("--http", "--port", "0", environment={"BINANCE_REST_URL": black_hole.url}, warm=True) as process,
        socket.create_connection(("127.0.0.1", port_of(process))) as client,
    ):
        ask_over_http(client)
        black_hole.wait_for_a_request()
        assert interrupted(process) == 0

    assert_clean(process.errors.read_text())


@pytest.mark.night
@pytest.mark.slow
@pytest.mark.skipif(BINARY is None, reason="no redis-server or valkey-server is installed")
def test_the_first_ctrl_c_ends_all_workers(black_hole: BlackHole) -> None:
    with surroundings() as around:
        environment = {**around.environment, "BINANCE_REST_URL": black_hole.url}
        with Screen("--http", "--port", "0", "--workers", "2", environment=environment) as screen:
            address = screen.wait_for("Ctrl+C stops").partition("http://")[2].partition("/")[0]
            workers = children(screen.pid)
            with socket.create_connection(("127.0.0.1", int(address.partition(":")[2]))) as client:
                ask_over_http(client)
                black_hole.wait_for_a_request()
                screen.press(CTRL_C)
                code = screen.wait(SOON_SECS)

    assert (code, [pid for pid in workers if is_alive(pid)]) == (0, [])
    assert_clean(screen.shown)


def test_the_first_signal_ends_a_simulator_with_streams_open() -> None:
    with Process("simulator", warm=True) as process:
        host, _, port = json.loads(process.line())["rest"].removeprefix("http://").partition(":")
        with socket.create_connection((host, int(port))) as client:
            client.sendall(
                b"GET /ws/btcusdt@depth@100ms HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: websocket\r\n"
                b"sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
            )
            assert client.recv(12) == b"HTTP/1.1 101"
            assert interrupted(process) == INTERRUPTED

    assert_clean(process.errors.read_text())


@pytest.mark.parametrize("module", ["mcp_binance_server.cli.main", "mcp_binance_server.cli.serve", "anyio"])
def test_ctrl_c_while_a_command_loads_is_no_fault(module: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PRESSED_WHILE_LOADING, module],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECS,
        check=False,
        env=clean_environment({}),
    )

    assert (done.returncode, done.stdout, done.stderr) == (INTERRUPTED, "", "")


@pytest.mark.night
def test_ctrl_c_does_not_wait_for_a_thread_that_cannot_be_woken() -> None:
    with Screen(command=(sys.executable, "-c", STUCK_IN_A_THREAD, "0.8")) as screen:
        screen.wait_for("stuck")
        screen.press(CTRL_C)

        assert screen.wait(SOON_SECS) == INTERRUPTED
    assert_clean(screen.shown)


def test_ctrl_c_pressed_again_ends_what_does_not_end() -> None:
    with Screen(command=(sys.executable, "-c", STUCK_IN_A_THREAD, "3600")) as screen:
        screen.wait_for("stuck")
        screen.press(CTRL_C)
        screen.wait_for("asked")
        screen.press(CTRL_C)

        assert screen.wait(SOON_SECS) == INTERRUPTED
    assert_clean(screen.shown)


@pytest.mark.parametrize("command", ["--stdio", "demo"])
def test_a_server_ends_quietly_when_nobody_reads_it_any_more(command: str) -> None:
    with Process(command, warm=True) as process:
        process.ask(1, "ping", {})
        process.close_output()

        assert process.wait(SOON_SECS) == 0
    assert_clean(process.errors.read_text())


@pytest.mark.night
def test_a_server_ends_quietly_when_whoever_started_it_was_killed() -> None:
    with Process(code=PARENT) as parent:
        child = int(parent.line())
        parent.kill()

        wait_for(lambda: not is_alive(child), "the end of the child")
    assert_clean(parent.errors.read_text())


def test_a_server_ends_when_its_terminal_is_closed() -> None:
    with Screen("demo", warm=True) as screen:
        screen.wait_for("Ctrl-C stops it")
        screen.hang_up()

        assert screen.wait(SOON_SECS) in {0, -signal.SIGHUP}


@pytest.mark.parametrize("arguments", ["--help", "completion bash", "setup --help"])
def test_a_reader_that_has_seen_enough_ends_a_command_without_a_word(arguments: str) -> None:
    reader, writer = os.pipe()
    os.close(reader)  # as `| head` would, only sooner

    with os.fdopen(writer, "wb") as closed:
        done = subprocess.run(
            [*COMMAND, *arguments.split()],
            stdin=subprocess.DEVNULL,
            stdout=closed,
            stderr=subprocess.PIPE,
            text=True,
            timeout=PATIENCE_SECS,
            check=False,
            env=clean_environment({}),
        )

    assert done.stderr == ""
    assert done.returncode in {0, 1, UNREAD}


@pytest.mark.parametrize("arguments", ["doctor --json", "doctor"])
def test_a_reader_that_has_seen_enough_ends_the_doctor_without_a_word(arguments: str) -> None:
    reader, writer = os.pipe()
    os.close(reader)

    with os.fdopen(writer, "wb") as closed, socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))  # bound, and nobody listens: an exchange that refuses at once
        exchange = {"BINANCE_REST_URL": f"http://127.0.0.1:{nobody.getsockname()[1]}"}
        done = run_warm(*arguments.split(), stdout=closed, environment=exchange)

    assert done.stderr == b""
    assert done.returncode in {0, 1, UNREAD}


@pytest.mark.night
@pytest.mark.parametrize("closed", ["<&- >&- 2>&-", "<&-", ">&-", "2>&-"])
def test_a_closed_descriptor_is_no_fault(closed: str) -> None:
    command = f'"$@" {closed}'

    done = subprocess.run(
        ["/bin/sh", "-c", command, "sh", *COMMAND],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECS,
        check=False,
        env=clean_environment({}),
    )

    assert (done.returncode, done.stderr) == (0, "")


def interrupted(process: Process) -> int:
    """Send the signal of Ctrl-C once and return the exit code."""
    os.kill(process.pid, signal.SIGINT)
    return process.wait(SOON_SECS)


def ask_over_http(client: socket.socket) -> None:
    """Ask for what needs the exchange, and leave the answer where it is."""
    call = {"name": "get_ticker", "arguments": {"symbol": "BTCUSDT"}}
    body = json.dumps(request(1, "tools/call", call, modern=True)).encode()
    client.sendall(
        b"POST /mcp HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"
        b"accept: application/json, text/event-stream\r\nmcp-protocol-version: 2026-07-28\r\n"
        b"mcp-method: tools/call\r\nmcp-name: get_ticker\r\ncontent-length: %d\r\n\r\n%s" % (len(body), body)
    )
