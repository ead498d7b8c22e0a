"""The server as a client starts it: a process, two pipes, JSON lines."""

import json
import os
import signal
import sys
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest

from mcp_binance_server import __version__
from mcp_binance_server.transports.frames import FRAME_CAP
from support.golden import golden_text
from support.process import Process
from support.raw import INITIALIZE, request
from support.requirement import requirement
from support.samples import INVALID_SYMBOL_DATA, NOT_FOUND_DATA, SAMPLE_MOMENT_MS
from support.slow_line import slow_line

pytestmark = pytest.mark.flood  # most start a process, which counting lines would double

REVISIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")


@pytest.fixture
def server() -> Iterator[Process]:
    with Process("demo", warm=True) as process:
        yield process


@pytest.fixture(scope="module")
def one_for_all() -> Iterator[Process]:
    with Process("demo", warm=True) as process:
        process.shake_hands()
        yield process


@pytest.fixture
def shared(one_for_all: Process) -> Iterator[Process]:
    """A server that has shaken hands and serves one test after another: none may leave it a fault or an answer."""
    yield one_for_all
    assert one_for_all.ask("afterwards", "ping", {})["result"] == {}


@pytest.fixture
def contract_exchange() -> Iterator[dict[str, str]]:
    """An exchange in a process of its own that plays the contract's samples, at the contract's time."""
    with Process("simulator", warm=True) as process:
        described: dict[str, str] = json.loads(process.line())
        now = httpx2.get(f"{described['rest']}/api/v3/time").json()["serverTime"]
        httpx2.post(f"{described['control']}/clock", json={"skew_ms": SAMPLE_MOMENT_MS - now}).raise_for_status()
        # Its last 24 hours end when it begins.
        httpx2.post(f"{described['control']}/scenario", json={"name": "contract"}).raise_for_status()
        yield described
        process.terminate()


@pytest.mark.night
@requirement("data-model/stdio-transport", "resources/btcusdt-page", "resources/ethusdt-page")
@pytest.mark.parametrize("modern", [False, True])
def test_the_contracts_pages_come_over_real_pipes_from_an_exchange_over_a_real_socket(
    contract_exchange: dict[str, str], *, modern: bool
) -> None:
    environment = {
        "BINANCE_REST_URL": contract_exchange["rest"],
        "BINANCE_API_KEY": contract_exchange["api_key"],
        "BINANCE_SECRET_KEY": contract_exchange["secret_key"],
    }
    with Process("--stdio", environment=environment, warm=True) as process:
        if not modern:
            process.shake_hands()
        pages = {
            uri: process.ask(place, "resources/read", {"uri": uri}, modern=modern)["result"]["contents"][0]["text"]
            for place, uri in enumerate(["binance://market/btcusdt", "binance://market/ethusdt"], 1)
        }

    assert pages == {uri: golden_text(f"views/market_{uri.rpartition('/')[2]}.contract.md") for uri in pages}


@requirement("resources/not-found", "resources/invalid-symbol", "ruling/04", "ruling/06")
@pytest.mark.parametrize("modern", [False, True])
def test_the_contracts_errors_come_as_raw_frames_in_both_eras(server: Process, *, modern: bool) -> None:
    if not modern:
        server.shake_hands()

    symbol = server.ask("a", "resources/read", {"uri": "binance://market/invalidsymbol"}, modern=modern)
    category = server.ask("b", "resources/read", {"uri": "binance://invalid/resource"}, modern=modern)

    assert symbol == {
        "jsonrpc": "2.0",
        "id": "a",
        "error": {
            "code": -32003,
            "message": "Invalid trading symbol 'INVALIDSYMBOL'. Expected format: BTCUSDT, ETHUSDT",
            "data": INVALID_SYMBOL_DATA,
        },
    }
    assert category["error"] == {
        "code": -32404,
        "message": "Resource not found: binance://invalid/resource",
        "data": NOT_FOUND_DATA,
    }


@requirement("ruling/01", "resources/protocol-revision", "ruling/03")
@pytest.mark.parametrize("revision", REVISIONS)
def test_each_handshake_revision_is_answered_in_kind(server: Process, revision: str) -> None:
    hello = {"protocolVersion": revision, "capabilities": {}, "clientInfo": {"name": "t", "version": "0"}}

    result = server.ask(0, "initialize", hello)["result"]

    assert result["protocolVersion"] == revision
    assert result["serverInfo"]["name"] == "mcp-binance-server"
    assert result["serverInfo"]["version"] == __version__


@requirement("ruling/01")
def test_the_newest_revision_needs_no_handshake(server: Process) -> None:
    result = server.ask(1, "server/discover", {}, modern=True)["result"]

    assert "2026-07-28" in json.dumps(result)


@pytest.mark.parametrize("is_cancelled", [False, True])
def test_a_client_that_gave_up_on_discover_can_initialize(server: Process, *, is_cancelled: bool) -> None:
    discover = request(1, "server/discover", {}, modern=True)
    cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}

    server.say(discover, *([cancel] if is_cancelled else []), INITIALIZE)

    answer = server.answer()
    assert (answer["id"], answer["result"]["protocolVersion"]) == (0, "2024-11-05")


def test_requests_before_the_end_of_input_are_answered_before_the_process_ends(server: Process) -> None:
    server.shake_hands()
    server.say(*(request(place, "resources/read", {"uri": "binance://market/btcusdt"}) for place in range(1, 21)))
    server.close_input()

    answers = [server.answer() for _ in range(20)]

    assert sorted(answer["id"] for answer in answers) == list(range(1, 21))
    assert all("result" in answer for answer in answers)
    assert server.line() == b""
    assert server.wait() == 0


def test_a_last_line_without_its_newline_is_read(server: Process) -> None:
    server.shake_hands()
    server.send(json.dumps(request(7, "ping", {})).encode())
    server.close_input()

    assert server.answer() == {"jsonrpc": "2.0", "id": 7, "result": {}}


def test_blank_lines_and_carriage_returns_are_nothing(shared: Process) -> None:
    shared.send(b"\n  \n\r\n" + json.dumps(request(1, "ping", {})).encode() + b"\r\n")

    assert shared.answer()["id"] == 1


@pytest.mark.night
@pytest.mark.parametrize(("extra", "is_answered"), [(0, True), (1, False)])
def test_the_cap_is_four_mebibytes_to_the_byte(shared: Process, extra: int, *, is_answered: bool) -> None:
    frame: dict[str, Any] = request("big", "ping", {"x": ""})
    padding = FRAME_CAP - len(json.dumps(frame)) + extra
    frame["params"]["x"] = "y" * padding

    shared.say(frame)

    answer = shared.answer()
    assert answer["id"] == "big"
    assert ("result" in answer) is is_answered


@pytest.mark.night
@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_sigterm_lets_the_answers_in_hand_leave_and_takes_no_more() -> None:
    with Process("simulator", warm=True) as simulator:
        exchange = json.loads(simulator.line())
        with (
            slow_line(int(exchange["rest"].rpartition(":")[2]), 0.2) as line,
            Process("--stdio", environment={"BINANCE_REST_URL": line.url}, warm=True) as process,
        ):
            process.shake_hands()
            process.ask(0, "tools/list", {})
            # Answered before the first, the second shows that the first was read.
            process.say(request(1, "tools/call", {"name": "get_server_time", "arguments": {}}), request(2, "ping", {}))
            assert process.answer()["id"] == 2
            os.kill(process.pid, signal.SIGTERM)
            answer = process.answer()

            assert answer["id"] == 1
            assert answer["result"]["structuredContent"]["success"] is True
            assert process.line() == b""
            assert process.wait() == 0
        simulator.terminate()


def test_a_cancelled_request_does_not_hold_up_the_end(server: Process) -> None:
    server.shake_hands()
    server.say(
        request(1, "resources/read", {"uri": "binance://market/btcusdt"}),
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}},
    )
    server.close_input()

    server.wait()


@pytest.mark.parametrize(
    ("frame", "code"),
    [
        (b"hello", -32700),
        (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600),
        (b"[]", -32600),
        (b"\xef\xbb\xbf{}", -32600),
        (b"\xff\xfe", -32700),
        (b"NaN", -32600),
        (b"[" * 100_000, -32700),
    ],
)
def test_a_frame_without_an_id_is_answered_under_null(shared: Process, frame: bytes, code: int) -> None:
    shared.send(frame + b"\n")

    answer = shared.answer()

    assert (answer["id"], answer["error"]["code"]) == (None, code)


def test_whatever_a_library_prints_never_reaches_the_protocol() -> None:
    noise = (
        "import os, subprocess, sys, warnings\n"
        "from mcp_binance_server.surface import resources\n"
        "page = resources.market_page\n"
        "def loud(view):\n"
        "    print('printed')\n"
        "    sys.stdout.write('written'); sys.stdout.flush()\n"
        "    os.write(1, b'raw')\n"
        "    subprocess.run(['echo', 'child'])\n"
        "    warnings.warn('warned')\n"
        "    return page(view)\n"
        "resources.market_page = loud\n"
        "from mcp_binance_server.cli.main import main\n"
        "sys.exit(main(['demo']))\n"
    )
    with Process(code=noise) as process:
        process.shake_hands()
        answers = [process.ask(place, "resources/read", {"uri": "binance://market/btcusdt"}) for place in range(1, 4)]

        assert all("result" in answer for answer in answers)
        process.close_input()
        assert process.line() == b""
        process.wait()

    errors = process.errors.read_text()
    assert all(word in errors for word in ("printed", "written", "raw", "child", "warned"))
