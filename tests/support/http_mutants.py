"""Broken HTTP requests by the thousand, the same in every run, and what may come back."""

import json
from collections import Counter
from random import Random

import anyio

from support.raw import ENVELOPE, INITIALIZE, request
from support.sockets import Answer, exchanged

AT_ONCE = 40
LARGEST_REFUSAL = 1_000
CALL = {"name": "get_ticker", "arguments": {"symbol": "BTCUSDT"}}
MODERN = b"mcp-protocol-version: 2026-07-28\r\nmcp-method: tools/call\r\nmcp-name: get_ticker\r\n"
ACCEPT = b"accept: application/json, text/event-stream\r\ncontent-type: application/json\r\n"
WITHOUT_A_BODY = (b"GET /healthz", b"OPTIONS /mcp", b"DELETE /mcp")
HOSTILE = (
    b"evil.com", b"127.0.0.1@evil.com", b"\x00", b"\r\n\r\n", b"\r\nx: y", b"%0d%0a", b"\xff\xfe", b"null", b"-1", b"0",
    b"1e9", b"99999999999999999999", b"chunked", b"gzip", b"close", b"Bearer x", b"../../etc/passwd", b"'", b"<b>",
    b" ",
    b"100-continue", b"websocket", b"upgrade", b"http://localhost:evil.com", b"x" * 20_000, b"=?base64?eA==?=",
)  # fmt: skip
NAMES = (
    b"host", b"origin", b"content-length", b"transfer-encoding", b"content-encoding", b"connection", b"upgrade",
    b"expect", b"mcp-method", b"mcp-name", b"mcp-protocol-version", b"mcp-session-id", b"connection-id", b"accept",
    b"content-type", b"authorization", b"last-event-id", b"x-forwarded-for", b"cookie", b"trailer", b"range",
)  # fmt: skip


def valid_requests() -> list[bytes]:
    """Return requests that each transport of a server would take."""
    opening = json.dumps(INITIALIZE).encode()
    call = json.dumps(request(1, "tools/call", CALL)).encode()
    modern = json.dumps(
        {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {**CALL, "_meta": ENVELOPE}}
    ).encode()
    return [
        _post(b"/mcp", opening),
        _post(b"/mcp", call),
        _post(b"/mcp", modern, MODERN),
        _post(b"/mcp/sse", b""),
        _post(b"/mcp/message", call, b"connection-id: none\r\n"),
        b"POST /mcp HTTP/1.1\r\nhost: 127.0.0.1\r\ntransfer-encoding: chunked\r\n" + ACCEPT + b"\r\n"
        b"%x\r\n%b\r\n0\r\n\r\n" % (len(call), call),
        *(b"%b HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n" % line for line in WITHOUT_A_BODY),
    ]  # fmt: skip


def _post(path: bytes, body: bytes, more: bytes = b"") -> bytes:
    head = b"POST %b HTTP/1.1\r\nhost: 127.0.0.1\r\n" % path + ACCEPT + more
    return head + b"content-length: %d\r\n\r\n" % len(body) + body


def mutant(random: Random, valid: bytes) -> bytes:
    """Return a request with something wrong in its bytes, its headers or its length."""
    match random.randrange(6):
        case 0 | 1:
            return _with_broken_bytes(random, valid)
        case 2:
            head, blank, body = valid.partition(b"\r\n\r\n")
            return head + blank + _with_broken_bytes(random, body or b"{}")
        case 3:
            lines = valid.split(b"\r\n")
            lines.insert(random.randrange(1, 4), random.choice(NAMES) + b": " + random.choice(HOSTILE))
            return b"\r\n".join(lines)
        case 4:
            lines = valid.split(b"\r\n")
            place = random.randrange(min(5, len(lines)))
            lines[place : place + 1] = random.choice([[], [lines[place]] * 2, [lines[place] + random.choice(HOSTILE)]])
            return b"\r\n".join(lines)
        case _:
            return valid[: random.randrange(1, len(valid))] + random.choice([b"", b"", *HOSTILE])


def _with_broken_bytes(random: Random, valid: bytes) -> bytes:
    data = bytearray(valid)
    for _ in range(random.randint(1, 4)):
        place = random.randrange(len(data) + 1)
        match random.randrange(4):
            case 0 if place < len(data):
                data[place] ^= 1 << random.randrange(8)
            case 1:
                del data[place : place + random.randrange(1, 12)]
            case 2:
                data[place:place] = data[place : place + random.randrange(1, 40)]
            case _:
                data.insert(place, random.randrange(256))
    return bytes(data)


async def bombard(port: int, number: int, seed: str) -> Counter[int | None]:
    """Send mutants, each on a connection of its own; return how often each status came back, None for no answer."""
    random, valid, statuses = Random(seed), valid_requests(), Counter[int | None]()
    mutants = [mutant(random, random.choice(valid)) for _ in range(number)]

    async def send_some() -> None:
        while mutants:
            sent = mutants.pop()
            answer = await exchanged(port, sent)
            check(answer, sent)
            statuses[answer.status] += 1

    async with anyio.create_task_group() as senders:
        for _ in range(AT_ONCE):
            senders.start_soon(send_some)
    return statuses


def check(answer: Answer, sent: bytes) -> None:
    """Say what no request may cause: a fault of the server, or a refusal that is long or no JSON-RPC."""
    if answer.status is None or answer.status < 400:
        return
    # Mutants that are still whole open sessions, until there is no place for more.
    assert answer.status < 500 or answer.status == 503, (answer, sent)
    assert len(answer.body) <= LARGEST_REFUSAL, sent
    if answer.body:
        assert json.loads(answer.body)["jsonrpc"] == "2.0", sent
