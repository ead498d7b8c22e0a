"""An order through a proxy: nothing has left before the tunnel stands, and what is cut later is not known."""

import asyncio
import ssl
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from mcp_binance_server.channel import Channel
from mcp_binance_server.domain.order_requests import Fate, Outcome
from mcp_binance_server.settings import read_settings
from support.certificates import certificate
from support.loopback_proxy import LoopbackProxy, cut, cut_in_the_answer, loopback_proxy, notice, stay_silent
from support.order_socket import ORDER, Behave, OrderSocket, ok, ordering, scripted, serving

CANARY = "CaNaRyPassword"
LONGEST_SECS = 5.0


@dataclass
class Sent:
    """What became of one order, what the exchange saw, and how often the gate was awaited."""

    outcome: Outcome
    seen: OrderSocket
    proxy: LoopbackProxy
    gates: int


@pytest.fixture
def tls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ssl.SSLContext:
    paths = certificate(tmp_path, valid_for="api.exchange.test")
    monkeypatch.setenv("SSL_CERT_FILE", str(paths[0]))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*paths)
    return context


@asynccontextmanager
async def market(
    behave: Behave,
    tls: ssl.SSLContext,
    **behaviour: Any,  # noqa: ANN401 - fields of the proxy
) -> AsyncGenerator[tuple[OrderSocket, LoopbackProxy]]:
    async with serving(behave, tls) as seen, loopback_proxy(int(seen.url.rpartition(":")[2]), **behaviour) as proxy:
        yield seen, proxy
    await notice()


async def place(seen: OrderSocket, proxy: LoopbackProxy, url: str, longest_secs: float = LONGEST_SECS) -> Sent:
    gates = list[int]()

    async def gate() -> None:
        assert seen.bytes_in == 0
        gates.append(1)

    channel = Channel(deadline_secs=longest_secs, proxies=read_settings({"HTTPS_PROXY": url}).proxies)
    try:
        async with ordering("https://api.exchange.test", shared=channel, longest_secs=longest_secs) as orders:
            outcome = await orders.place(ORDER, gate)
    finally:
        await channel.close()
        await notice()
    return Sent(outcome, seen, proxy, len(gates))


def not_sent(sent: Sent, *said: str) -> None:
    assert sent.outcome.fate is Fate.NOT_SENT
    assert (sent.gates, sent.seen.bytes_in, sent.seen.requests) == (0, 0, [])
    for words in (
        "Binance was not reached, nothing was sent",
        f"the proxy 127.0.0.1:{sent.proxy.port} (HTTPS_PROXY)",
        *said,
    ):
        assert words in sent.outcome.reason, sent.outcome.reason
    assert "CaNaRy" not in sent.outcome.reason


@pytest.mark.parametrize("scheme", ["http", "socks5"])
async def test_an_order_leaves_through_a_tunnel_and_the_gate_is_awaited_once(tls: ssl.SSLContext, scheme: str) -> None:
    async with market(scripted(ok), tls, login=("me", CANARY)) as (seen, proxy):
        sent = await place(seen, proxy, proxy.with_login("me", CANARY, scheme))

    assert (sent.outcome.fate, sent.gates, len(seen.requests)) == (Fate.ACCEPTED, 1, 1)
    assert proxy.hosts == {"api.exchange.test"}
    assert "proxy-authorization" not in seen.requests[0].headers


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (403, "answered HTTP 403: it does not allow connections to api.exchange.test"),
        (407, "answered HTTP 407: it asks for a user name and a password; write HTTPS_PROXY="),
        (502, "answered HTTP 502: it could not reach api.exchange.test"),
    ],
)
async def test_a_proxy_that_refuses_a_tunnel_sends_no_order(tls: ssl.SSLContext, status: int, said: str) -> None:
    async with market(scripted(ok), tls, status=status) as (seen, proxy):
        sent = await place(seen, proxy, proxy.url)

    not_sent(sent, said)
    assert (len(proxy.asked), seen.connections) == (1, 0)


@pytest.mark.parametrize("scheme", ["http", "socks5"])
async def test_a_proxy_that_does_not_take_the_password_sends_no_order(tls: ssl.SSLContext, scheme: str) -> None:
    async with market(scripted(ok), tls, login=("me", "another")) as (seen, proxy):
        sent = await place(seen, proxy, proxy.with_login("me", CANARY, scheme))

    not_sent(sent, "password")
    assert seen.connections == 0


@pytest.mark.parametrize("fault", [cut, cut_in_the_answer])
@pytest.mark.parametrize("scheme", ["http", "socks5"])
async def test_a_proxy_that_is_cut_before_the_tunnel_stands_sends_no_order(
    tls: ssl.SSLContext, fault: Behave, scheme: str
) -> None:
    async with market(scripted(ok), tls, fault=fault) as (seen, proxy):
        sent = await place(seen, proxy, proxy.url if scheme == "http" else proxy.socks)

    not_sent(sent, "closed the connection before it was connected to api.exchange.test")
    assert (len(proxy.asked), seen.connections) == (1, 0)


@pytest.mark.parametrize("scheme", ["http", "socks5"])
async def test_a_slow_proxy_is_given_up_before_an_order_is_sent(tls: ssl.SSLContext, scheme: str) -> None:
    async with market(scripted(ok), tls, fault=stay_silent) as (seen, proxy):
        sent = await place(seen, proxy, proxy.url if scheme == "http" else proxy.socks, longest_secs=0.3)

    not_sent(sent, "opened no connection to api.exchange.test within 0.3 s")
    assert seen.connections == 0


async def test_a_proxy_that_is_not_there_sends_no_order(tls: ssl.SSLContext) -> None:
    async with market(scripted(ok), tls) as (seen, proxy):
        pass
    sent = await place(seen, proxy, proxy.url)

    not_sent(sent, "cannot be reached (ConnectError); check HTTPS_PROXY")


@pytest.mark.usefixtures("tls")
async def test_a_proxy_that_shows_its_own_certificate_is_said_to(tmp_path: Path) -> None:
    foreign = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    foreign.load_cert_chain(*certificate(tmp_path, valid_for="elsewhere.test"))

    async with market(scripted(ok), foreign) as (seen, proxy):
        sent = await place(seen, proxy, proxy.url)

    not_sent(sent, "opened a tunnel, but TLS with api.exchange.test failed in it", "SSL_CERT_FILE")


@pytest.mark.parametrize("scheme", ["http", "socks5"])
async def test_a_tunnel_that_is_cut_after_the_order_left_leaves_it_unknown(tls: ssl.SSLContext, scheme: str) -> None:
    async def cut_after_reading(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, seen: OrderSocket) -> None:
        await seen.take(reader)
        writer.transport.abort()

    async with market(cut_after_reading, tls) as (seen, proxy):
        sent = await place(seen, proxy, proxy.url if scheme == "http" else proxy.socks)

    assert (sent.outcome.fate, sent.gates, len(seen.requests)) == (Fate.UNKNOWN, 1, 1)
    assert "it may have been executed" in sent.outcome.reason


async def test_an_order_without_an_answer_through_a_tunnel_is_unknown(tls: ssl.SSLContext) -> None:
    async def silent(reader: asyncio.StreamReader, _writer: asyncio.StreamWriter, seen: OrderSocket) -> None:
        await seen.take(reader)

    async with market(silent, tls) as (seen, proxy):
        sent = await place(seen, proxy, proxy.url, longest_secs=1.0)

    assert (sent.outcome.fate, sent.gates, len(seen.requests)) == (Fate.UNKNOWN, 1, 1)
    assert sent.outcome.reason == "no answer within 1 s: it may have been executed"
