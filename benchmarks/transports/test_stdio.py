"""What clients on a pipe can make a server hold in memory."""

import json
from collections.abc import Iterator

import pytest

from support.process import Process
from support.raw import request


@pytest.fixture
def server() -> Iterator[Process]:
    with Process("demo") as process:
        yield process


def test_a_hundred_megabytes_on_one_line_cost_little_and_harm_nobody(server: Process) -> None:
    server.shake_hands()
    server.ask(1, "ping", {})
    before = server.resident_mib()

    server.send(b'{"jsonrpc":"2.0","id":2,"method":"ping","params":{"x":"')
    for _ in range(100):
        server.send(b"y" * 1_000_000)
    server.send(b'"}}\n')

    assert server.answer()["error"]["code"] == -32600
    assert server.resident_mib() - before < 32
    assert server.ask(3, "ping", {})["result"] == {}


def test_a_client_that_asks_and_does_not_read_costs_little_and_is_answered_when_it_does(server: Process) -> None:
    server.shake_hands()
    server.ask(0, "tools/list", {})
    before = server.resident_mib()
    flood = b"".join(json.dumps(request(number, "tools/list", {})).encode() + b"\n" for number in range(1, 3_000))

    sent = server.send_while_read(flood, patience_secs=2)
    grown = server.resident_mib() - before
    whole = flood[:sent].count(b"\n")
    answers = [server.answer()["id"] for _ in range(whole)]
    server.send(flood[sent:].split(b"\n", 1)[0] + b"\n")

    assert grown < 32
    assert whole < 2_999
    assert sorted(answers) == list(range(1, whole + 1))
    assert server.answer()["id"] == whole + 1
