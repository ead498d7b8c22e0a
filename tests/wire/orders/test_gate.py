"""The gate of a write: awaited once, with the connection up and no byte sent; the other side counts bytes."""

import asyncio
import logging
import ssl
from collections.abc import Mapping
from pathlib import Path

import anyio
import httpx2
import pytest
from starlette.types import Receive, Scope, Send

from mcp_binance_server.channel import Channel, HttpAnswer, NoAnswer
from mcp_binance_server.domain.order_requests import Gate
from mcp_binance_server.errors import RateLimited
from mcp_binance_server.proxies.transport import FIRST_BYTE
from mcp_binance_server.settings import read_settings
from support.certificates import certificate
from support.order_faults import FAULTS
from support.order_socket import OrderSocket, answer, serving

ACCEPTS = FAULTS[0].behave
QUERY = "/api/v3/order?newClientOrderId=mbt-1"


def fast(transport: httpx2.AsyncBaseTransport | None = None) -> Channel:
    """Return a channel without certificates of the world: nothing here needs them."""
    empty = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    return Channel(deadline_secs=10, transport=transport or httpx2.AsyncHTTPTransport(verify=empty))


async def open_gate() -> None:
    return None


async def write(channel: Channel, url: str, gate: Gate = open_gate, *, longest_secs: float = 10) -> HttpAnswer:
    return await channel.write("POST", f"{url}{QUERY}", {}, gate, body_cap=1_000, longest_secs=longest_secs)


@pytest.mark.parametrize(
    "error",
    [
        RuntimeError("stop"),
        RateLimited(retry_after_secs=1, current_weight=None, weight_limit=1),
        NoAnswer("late", sent=False),
        TimeoutError(),
        httpx2.WriteError("as if the transport had failed"),
        OSError("disk"),
    ],
    ids=lambda error: type(error).__name__,
)
async def test_what_a_gate_raises_is_raised_and_no_byte_leaves(error: Exception) -> None:
    async def gate() -> None:
        raise error

    channel = fast()
    async with serving(ACCEPTS) as seen:
        with pytest.raises(type(error)) as caught:
            await write(channel, seen.url, gate)
        await channel.close()

    assert caught.value is error
    assert (seen.connections, seen.bytes_in, seen.requests) == (1, 0, [])


async def test_a_task_that_is_cancelled_in_the_gate_sends_no_byte() -> None:
    at_gate, channel = anyio.Event(), fast()

    async def gate() -> None:
        at_gate.set()
        await anyio.sleep_forever()

    async with serving(ACCEPTS) as seen:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(write, channel, seen.url, gate)
            await at_gate.wait()
            tasks.cancel_scope.cancel()
        await channel.close()

    assert (seen.connections, seen.bytes_in) == (1, 0)


async def test_a_gate_that_takes_longer_than_all_is_not_passed() -> None:
    channel = fast()

    async with serving(ACCEPTS) as seen:
        with pytest.raises(NoAnswer) as caught:
            await write(channel, seen.url, anyio.sleep_forever, longest_secs=0.1)
        await channel.close()

    assert caught.value.sent is False
    assert (seen.connections, seen.bytes_in) == (1, 0)


async def test_the_transport_tells_the_first_byte_when_the_connection_is_up() -> None:
    """The name is httpx2's own: an update of it that changes the name, or the moment, fails here."""
    events: list[str] = []

    async def trace(event: str, told: Mapping[str, object]) -> None:
        events.append(event)
        if event == FIRST_BYTE:
            assert getattr(told["request"], "method") == b"POST"  # noqa: B009 - the type is httpx2's own secret
            assert seen.bytes_in == 0

    async with serving(ACCEPTS) as seen, httpx2.AsyncClient() as client:
        await client.post(f"{seen.url}{QUERY}", extensions={"trace": trace})

    assert FIRST_BYTE == "http11.send_request_headers.started"
    assert events[:3] == ["connection.connect_tcp.started", "connection.connect_tcp.complete", FIRST_BYTE]
    assert events.count(FIRST_BYTE) == 1


async def test_each_write_has_a_connection_of_its_own_that_is_not_kept() -> None:
    async def twice(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, seen: OrderSocket) -> None:
        for _ in range(2):
            await seen.take(reader)
            writer.write(answer(200, b"{}"))
            await writer.drain()

    channel = Channel(deadline_secs=10)  # the product's own, whose reads keep their connections
    async with serving(twice) as seen:
        for _ in range(2):
            await channel.get(f"{seen.url}/api/v3/time", {}, body_cap=1_000)
        assert (seen.connections, len(seen.requests)) == (1, 2)
        async with anyio.create_task_group() as tasks:
            for _ in range(3):
                tasks.start_soon(write, channel, seen.url)
        await write(channel, seen.url)
        await channel.close()

    assert (seen.connections, len(seen.requests)) == (5, 6)
    assert {each.headers.get("connection") for each in seen.requests[2:]} == {"close"}


class Silent(httpx2.AsyncHTTPTransport):
    """A transport that tells nothing before it writes, as another version might be."""

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        request.extensions.pop("trace")
        return await super().handle_async_request(request)


class Insisting(httpx2.AsyncHTTPTransport):
    """A transport that sends what failed once more, as another version might."""

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        try:
            return await super().handle_async_request(request)
        except httpx2.TransportError:
            return await super().handle_async_request(request)


async def test_an_answer_to_what_never_passed_the_gate_is_not_believed(caplog: pytest.LogCaptureFixture) -> None:
    channel, passed = fast(Silent()), list[int]()

    async def gate() -> None:
        passed.append(1)

    async with serving(ACCEPTS) as seen:
        with pytest.raises(NoAnswer) as caught:
            await write(channel, seen.url, gate)
        await channel.close()

    assert caught.value.sent is True
    assert passed == []
    assert [each.levelno for each in caplog.records if each.name.endswith("channel")] == [logging.ERROR]


async def test_a_transport_that_would_send_again_sends_nothing_more() -> None:
    async def closes(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, seen: OrderSocket) -> None:
        await seen.take(reader)
        writer.close()

    channel, passed = fast(Insisting()), list[int]()

    async def gate() -> None:
        passed.append(1)

    async with serving(closes) as seen:
        with pytest.raises(NoAnswer) as caught:
            await write(channel, seen.url, gate)
        await channel.close()

    assert caught.value.sent is True
    assert (len(seen.requests), passed) == (1, [1])


@pytest.mark.parametrize("is_open", [True, False])
async def test_in_this_process_the_gate_stands_right_before_the_request(*, is_open: bool) -> None:
    happened: list[str] = []

    async def serve(scope: Scope, _receive: Receive, send: Send) -> None:
        happened.append(scope["method"])
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"{}"})

    async def gate() -> None:
        happened.append("gate")
        if not is_open:
            raise RuntimeError

    channel = fast(httpx2.ASGITransport(serve))
    if is_open:
        assert (await write(channel, "http://exchange.test", gate)).status == 200
    else:
        with pytest.raises(RuntimeError):
            await write(channel, "http://exchange.test", gate)
    await channel.close()

    assert happened == (["gate", "POST"] if is_open else ["gate"])


@pytest.mark.parametrize("lets_through", [True, False])
async def test_a_proxy_is_asked_for_a_tunnel_before_the_gate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, lets_through: bool
) -> None:
    paths = certificate(tmp_path, valid_for="127.0.0.1")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*paths)
    asked: list[bytes] = []
    passed: list[int] = []

    async def proxy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, _seen: OrderSocket) -> None:
        asked.append(await reader.readuntil(b"\r\n\r\n"))
        if not lets_through:
            writer.write(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")
            return
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        host, _, port = asked[0].split()[1].decode().partition(":")
        there, here = await asyncio.open_connection(host, int(port))
        await asyncio.gather(_pipe(reader, here), _pipe(there, writer))

    async def gate() -> None:
        assert seen.bytes_in == 0
        passed.append(len(asked))

    async with serving(ACCEPTS, context) as seen, serving(proxy) as between:
        monkeypatch.setenv("SSL_CERT_FILE", str(paths[0]))
        channel = Channel(deadline_secs=5, proxies=read_settings({"HTTPS_PROXY": between.url}).proxies)
        if lets_through:
            assert (await write(channel, seen.url, gate, longest_secs=5)).status == 200
        else:
            with pytest.raises(NoAnswer) as caught:
                await write(channel, seen.url, gate, longest_secs=5)
            assert caught.value.sent is False
        await channel.close()

    assert len(asked) == 1
    assert passed == ([1] if lets_through else [])
    assert len(seen.requests) == len(passed)


async def _pipe(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    while data := await source.read(65_536):
        target.write(data)
        await target.drain()
    target.close()
