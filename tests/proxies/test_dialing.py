"""WebSockets through a proxy: the same way as REST, and the proxy's own answer where there is none."""

import asyncio
import re
from pathlib import Path

import pytest
from websockets.asyncio.server import ServerConnection, serve

import mcp_binance_server
from mcp_binance_server.exchange.dialing import NetworkDialer
from mcp_binance_server.proxies.environment import ProxyFailure
from mcp_binance_server.settings import read_settings
from support.loopback_proxy import LoopbackProxy, loopback_proxy
from support.order_socket import reset

CANARY = "CaNaRyPassword"
URL = "ws://stream.exchange.test/ws"


async def refused(proxy: LoopbackProxy, value: str) -> str:
    dialer = NetworkDialer(read_settings({"ALL_PROXY": value}).proxies)
    with pytest.raises(ProxyFailure) as caught:
        await dialer.connect(URL)
    said = str(caught.value)
    assert said.startswith(f"the proxy 127.0.0.1:{proxy.port} (ALL_PROXY) ")
    assert CANARY not in said + repr(caught.value) + repr(dialer)
    return said


@pytest.mark.parametrize("scheme", ["http", "socks5"])
async def test_a_proxy_resolves_the_name_of_a_stream(scheme: str) -> None:
    async def speak(connection: ServerConnection) -> None:
        await connection.send("{}")

    async with serve(speak, "127.0.0.1", 0) as server:
        port: int = next(iter(server.sockets)).getsockname()[1]
        async with loopback_proxy(port, login=("me", CANARY)) as proxy:
            value = proxy.with_login("me", CANARY, scheme)
            connection = await NetworkDialer(read_settings({"ALL_PROXY": value}).proxies).connect(URL)
            frame = await connection.recv()
            await connection.close()

    assert frame == b"{}"
    assert proxy.hosts == {"stream.exchange.test"}


@pytest.mark.parametrize(
    ("status", "said"),
    [(403, "HTTP 403: it does not allow connections to stream.exchange.test"), (502, "HTTP 502: it could not reach")],
)
async def test_a_status_of_a_proxy_is_told_as_its_answer(status: int, said: str) -> None:
    async with loopback_proxy(status=status) as proxy:
        assert said in await refused(proxy, proxy.with_login("me", CANARY))


async def test_a_password_that_a_proxy_refuses_is_told_and_not_shown() -> None:
    async with loopback_proxy(login=("me", "another")) as proxy:
        by_http = await refused(proxy, proxy.with_login("me", CANARY))
        by_socks = await refused(proxy, proxy.with_login("me", CANARY, "socks5"))

    assert "HTTP 407: it does not accept the user name and password in ALL_PROXY" in by_http
    assert "opens no connection to stream.exchange.test: " in by_socks


async def reset_by_proxy(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    # An orderly end makes websockets raise a second time, in a callback of the loop.
    reset(writer)


async def test_a_proxy_that_ends_the_connection_or_is_away_is_told() -> None:
    async with loopback_proxy(fault=reset_by_proxy) as proxy:
        ended = await refused(proxy, proxy.url)
    away = await refused(proxy, proxy.url)

    assert "stream.exchange.test" in ended
    assert "gave no connection to stream.exchange.test (ConnectionRefusedError)" in away


def test_every_connection_of_the_product_is_given_its_proxies() -> None:
    package = Path(mcp_binance_server.__file__).parent
    made = re.compile(r"(?<![\w.])(?:Channel|NetworkDialer)\(([^)]*)\)")
    found = {
        f"{path.name}: {call}": call
        for path in package.rglob("*.py")
        for call in made.findall(path.read_text(encoding="utf-8"))
    }

    assert len(found) >= 7
    assert [where for where, call in found.items() if "settings.proxies" not in call] == []
