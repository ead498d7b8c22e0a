"""Bodies that lie about their length, over a real socket to the whole application: refused in time, read no further."""

import json
from collections.abc import AsyncIterator

import pytest
from anyio import to_thread

from mcp_binance_server.app import App
from mcp_binance_server.transports.http.admission.guard import BodyLimits
from support.sockets import exchanged, stubborn
from support.webapp import served_http

CAP = BodyLimits().most
SLACK = 2**20  # what the system holds in buffers on both sides
ADDRESSES = (b"/mcp", b"/mcp/message", b"/mcp/sse")
REVISIONS = (b"", b"mcp-protocol-version: 2026-07-28\r\nmcp-method: tools/list\r\n")
BODY = b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}'


@pytest.fixture
async def port(app: App) -> AsyncIterator[int]:
    async with served_http(app) as url:
        yield int(url.rpartition(":")[2])


def head(address: bytes, revision: bytes, *lines: bytes) -> bytes:
    plain = b"POST %b HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n" % address
    return plain + b"accept: application/json, text/event-stream\r\n" + revision + b"".join(lines) + b"\r\n"


@pytest.mark.parametrize("address", ADDRESSES)
@pytest.mark.parametrize("revision", REVISIONS, ids=["handshake", "2026-07-28"])
@pytest.mark.parametrize(
    ("lines", "status"),
    [
        ((b"content-length: 5\r\ncontent-length: 6\r\n",), 400),
        ((b"content-length: -1\r\n",), 400),
        ((b"content-length: 1e3\r\n",), 400),
        ((b"content-length: 46\r\ntransfer-encoding: chunked\r\n",), 400),
        ((b"transfer-encoding: gzip\r\n",), 501),
        ((b"content-encoding: gzip\r\ncontent-length: 46\r\n",), 415),
        ((b"content-length: 99999999999999999999\r\n",), 413),
    ],
)
async def test_a_length_that_is_none_or_two_is_refused(
    port: int, address: bytes, revision: bytes, lines: tuple[bytes, ...], status: int
) -> None:
    answer = await exchanged(port, head(address, revision, *lines) + BODY)

    assert answer.status in {status, 400}
    assert len(answer.body) <= 1_000
    assert json.loads(answer.body)["jsonrpc"] == "2.0"


@pytest.mark.parametrize("address", ADDRESSES)
async def test_a_body_in_chunks_without_an_end_is_read_to_the_cap_and_no_further(port: int, address: bytes) -> None:
    chunk = b"10000\r\n" + b"x" * 65_536 + b"\r\n"

    answer, taken = await to_thread.run_sync(
        stubborn, port, head(address, b"", b"transfer-encoding: chunked\r\n"), *[chunk] * 400
    )

    assert answer.status in {413, None}  # closed on a client that does not listen, the answer may be lost
    assert taken < CAP + 8 * SLACK


async def test_chunks_are_put_together(port: int) -> None:
    chunks = b"".join(b"1\r\n%c\r\n" % each for each in BODY) + b"0\r\n\r\n"
    lines = (b"transfer-encoding: chunked\r\n", b"mcp-session-id: nobody\r\n")

    answer = await exchanged(port, head(b"/mcp", b"", *lines) + chunks)

    assert answer.status == 404
