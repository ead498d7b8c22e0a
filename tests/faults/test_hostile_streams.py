"""Garbage on the market stream of a running server: it stays up, answers every call, counts it and says so once."""

import json
from collections.abc import Callable
from typing import Any
from urllib.request import Request, urlopen

import anyio
import pytest

from support.process import Process
from support.product import announced
from support.raw import request

pytestmark = pytest.mark.flood

GARBAGE = {"kind": "bad_price", "stream": "btcusdt@depth@100ms", "times": None, "text": "abc"}
SAID = "BTCUSDT: ignored invalid stream events"
BOOK = {"name": "get_orderbook_metrics", "arguments": {"symbol": "BTCUSDT"}}
TICKER = {"name": "get_ticker", "arguments": {"symbol": "ETHUSDT"}}
MOST_TRIES, AFTERWARDS = 5_000, 20


def fetched(address: str, body: dict[str, Any] | None = None, **headers: str) -> str:
    sent = None if body is None else json.dumps(body).encode()
    head = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
    with urlopen(Request(address, sent, head | headers), timeout=60) as answer:  # noqa: S310 - loopback
        return answer.read().decode()


def on_garbage(simulator: Process) -> dict[str, str]:
    """Let the exchange send nothing but garbage of one book, and return the settings of a server on it."""
    exchange: dict[str, str] = json.loads(simulator.line())
    fetched(f"{exchange['control']}/streams/faults", GARBAGE)
    return {
        "BINANCE_REST_URL": exchange["rest"],
        "BINANCE_STREAM_URL": exchange["streams"],
        "MCP_BINANCE_LOG_LEVEL": "WARNING",
    }


def ask_until_said(server: Process, ask: Callable[[int, dict[str, Any]], dict[str, Any]]) -> None:
    """Ask for the book until the server has met the garbage, and on; every call must be answered, and well."""
    left = AFTERWARDS
    for at in range(MOST_TRIES):
        answer = ask(at + 10, TICKER if at % 2 else BOOK)
        assert not answer["result"].get("isError"), answer
        assert "abc" not in json.dumps(answer)
        left -= SAID in server.errors.read_text(encoding="utf-8")
        if not left:
            break

    assert left == 0
    assert server.is_running
    assert server.errors.read_text(encoding="utf-8").count("ignored invalid") == 1


@pytest.mark.night
def test_on_a_pipe_every_call_is_answered_while_the_stream_sends_garbage() -> None:
    with Process("simulator", warm=True) as simulator, Process(environment=on_garbage(simulator), warm=True) as server:
        server.shake_hands()

        ask_until_said(server, lambda at, params: server.ask(at, "tools/call", params))

        simulator.terminate()


@pytest.mark.night
def test_over_http_the_process_stays_and_the_garbage_is_counted() -> None:
    with (
        Process("simulator", warm=True) as simulator,
        Process("--http", "--port", "0", environment=on_garbage(simulator), warm=True) as server,
    ):
        address = anyio.run(announced, server)

        def ask(at: int, params: dict[str, Any]) -> dict[str, Any]:
            headers = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": params["name"]}
            body = request(at, "tools/call", params, modern=True)
            return json.loads(fetched(address, body, **headers))

        ask_until_said(server, ask)
        counted = fetched(f"{address.removesuffix('/mcp')}/metrics")

        refused = next(line for line in counted.splitlines() if line.startswith("mcp_binance_stream_events_refused "))
        assert float(refused.split()[1]) >= 1
        assert "mcp_binance_feed_restarts 0.0" in counted
        assert server.terminate() == 0
        simulator.terminate()
