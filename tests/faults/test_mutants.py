"""Valid frames with broken bytes, thousands of them, over real pipes: every question still gets its answer."""

import json
from collections import Counter
from collections.abc import Iterator
from random import Random
from typing import Any, cast

import pytest

from support.mutating import mutant
from support.process import Process
from support.raw import ENVELOPE, INITIALIZE

pytestmark = pytest.mark.flood

MUTANTS = {"handshake": 6_000, "modern": 4_000}
BATCH = 100
VALID_CALL_EVERY = 1_000
NULL = "null id"

METHODS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("ping", {}),
    ("tools/list", {}),
    ("tools/call", {"name": "get_ticker", "arguments": {"symbol": "BTCUSDT"}}),
    ("tools/call", {"name": "get_derivatives", "arguments": {"symbol": "BTCUSDT"}}),
    ("tools/call", {"name": "scan_market", "arguments": {"market": "perpetual", "where": ["rsi_14@1h < 50"]}}),
    ("tools/call", {"name": "get_chart_bars", "arguments": {
        "config": {"symbol": "BINANCE:BTCUSDT", "interval": "1h", "studies": [{"name": "RSI"}]}, "since": 1}}),
    ("tools/call", {"name": "preview_order", "arguments": {
        "symbol": "BTCUSDT", "side": "BUY", "quantity": "0.001", "price": "90000", "time_in_force": "GTC"}}),
    ("tools/call", {"name": "place_order", "arguments": {"preview_id": "abcdefghijklmnopqrst"}}),
    ("tools/call", {"name": "cancel_order", "arguments": {"symbol": "BTCUSDT", "client_order_id": "mbp-abcdefgh"}}),
    ("tools/call", {"name": "get_trading_status", "arguments": {}}),
    ("resources/list", {}),
    ("resources/templates/list", {}),
    ("resources/read", {"uri": "binance://market/btcusdt"}),
    ("resources/read", {"uri": "binance://invalid/resource"}),
    ("prompts/list", {}),
    ("prompts/get", {"name": "nothing", "arguments": {}}),
    ("completion/complete", {"ref": {"type": "ref/resource", "uri": "binance://market/{symbol}"},
                             "argument": {"name": "symbol", "value": "b"}}),
    ("server/discover", {}),
    ("initialize", INITIALIZE["params"]),
)  # fmt: skip


def frames(random: Random, *, modern: bool) -> Iterator[bytes]:
    for number in range(10**9):
        method, params = random.choice(METHODS)
        message: dict[str, Any] = {"jsonrpc": "2.0", "id": f"m{number}", "method": method, "params": params}
        if modern:
            message["params"] = {**params, "_meta": ENVELOPE}
        if random.random() < 0.1:
            message = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "none-such"}}
        elif random.random() < 0.3:
            message["id"] = number
        yield json.dumps(message).encode()


def expected_answer(line: bytes) -> str | int | None:
    """Return the id an answer must carry, NULL for any answer under null or a rescued id, None for no answer."""
    try:
        value: Any = json.loads(line.decode("utf-8"))
    except (ValueError, RecursionError):
        return NULL if line.strip() else None
    if not isinstance(value, dict):
        return NULL
    message = cast("dict[str, Any]", value)
    request_id = message.get("id")
    usable = isinstance(request_id, str | int) and not isinstance(request_id, bool) and is_encodable(request_id)
    is_call = message.get("jsonrpc") == "2.0" and isinstance(message.get("method"), str)
    has_params = isinstance(message.get("params"), dict | None)
    if "id" not in message and is_call and has_params and is_encodable(message):
        return None
    return request_id if usable else NULL


def is_encodable(value: object) -> bool:
    """Whether a value can be written as UTF-8: a lone surrogate escape cannot."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


@pytest.mark.timeout(900)
@pytest.mark.parametrize("era", MUTANTS)
def test_no_mutant_breaks_the_server_and_every_question_is_answered_once(era: str, scale: int) -> None:
    random = Random(f"mutants-{era}")
    modern = era == "modern"
    with Process("demo", environment={"MCP_BINANCE_LOG_LEVEL": "WARNING"}, warm=True) as server:
        if not modern:
            server.shake_hands()
        source = frames(random, modern=modern)
        sent_bytes = sent_lines = 0
        for batch in range(scale * MUTANTS[era] // BATCH):
            mutants = [mutant(random, next(source)) for _ in range(BATCH)]
            lines = [line for data in mutants for line in data.split(b"\n")]
            check_batch(server, lines, f"barrier-{batch}", modern=modern)
            sent_lines += len(lines)
            sent_bytes += sum(map(len, lines))
            if batch * BATCH % VALID_CALL_EVERY == 0:
                answer = server.ask(
                    f"call-{batch}", "resources/read", {"uri": "binance://market/btcusdt"}, modern=modern
                )
                assert answer["result"]["contents"][0]["text"].startswith("# BTCUSDT")
        server.close_input()
        assert server.line() == b""
        assert server.wait() == 0

    assert server.errors.stat().st_size <= 200 * sent_lines
    assert sent_bytes > 100 * scale * MUTANTS[era]


def check_batch(server: Process, lines: list[bytes], barrier: str, *, modern: bool) -> None:
    wanted = Counter(answer for line in lines if (answer := expected_answer(line)) is not None)
    server.send(b"\n".join(lines) + b"\n")
    answers = [server.answer() for _ in range(wanted.total())]
    # Nothing more may come: the next line is the answer to the barrier.
    server.say(
        {"jsonrpc": "2.0", "id": barrier, "method": "resources/list", "params": {"_meta": ENVELOPE} if modern else {}}
    )
    last = server.answer()

    assert last["id"] == barrier, (last, lines)
    assert all(answer["jsonrpc"] == "2.0" and ("result" in answer) != ("error" in answer) for answer in answers)
    got = Counter(answer["id"] for answer in answers)
    for request_id, count in wanted.items():
        if request_id != NULL:
            assert got[request_id] >= count, (request_id, lines)
