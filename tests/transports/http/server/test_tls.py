"""TLS of our own over HTTP: the same application behind it, slow and garbled handshakes before it."""

import asyncio
import ssl
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import httpx2
import pytest

from mcp_binance_server.app import App
from mcp_binance_server.errors import SettingsError
from mcp_binance_server.transports.arrival import Certificate
from mcp_binance_server.transports.http.server.connection import ConnectionLimits
from mcp_binance_server.transports.http.server.serving import serve_http
from support.certificates import certificate
from support.webapp import HttpClient, assembled

BALANCES = {"uri": "binance://account/balances"}
ACCEPT = {"accept": "application/json, text/event-stream"}
HOST = "127.0.0.1"


@pytest.fixture
def files(tmp_path: Path) -> Certificate:
    return Certificate(*certificate(tmp_path, valid_for=HOST))


@asynccontextmanager
async def served(app: App, files: Certificate, limits: ConnectionLimits | None = None) -> AsyncGenerator[int]:
    """Serve the application over TLS and return its port."""
    bound: list[int] = []
    is_ready = anyio.Event()

    def ready(port: int) -> None:
        bound.append(port)
        is_ready.set()

    async with assembled(app) as http, anyio.create_task_group() as group:

        async def serve() -> None:
            await serve_http(
                http.asgi, host=HOST, port=0, ready=ready, drain=http.heart.drain, tls=files.context(), limits=limits
            )

        group.start_soon(serve)
        await is_ready.wait()
        yield bound[0]
        group.cancel_scope.cancel()


def client(port: int, files: Certificate) -> HttpClient:
    trusting = ssl.create_default_context(cafile=str(files.chain))
    return HttpClient(base_url=f"https://{HOST}:{port}", headers=ACCEPT, verify=trusting, timeout=60)


async def test_sessions_streams_and_long_bodies_work_over_tls(app: App, files: Certificate) -> None:
    async with served(app, files) as port, client(port, files) as http:
        session = await http.initialize()
        page = await http.ask("resources/read", session, BALANCES)
        long = await http.ask("tools/call", session, {"name": "get_ticker", "arguments": {"symbol": "x" * 2**20}})
        async with http.stream("GET", "/mcp", headers={"mcp-session-id": session}) as stream:
            kind = stream.headers["content-type"]
        ended = await http.delete("/mcp", headers={"mcp-session-id": session})

    assert "Account Balances" in page.text
    assert long.json()["result"]["isError"]
    assert (kind, ended.status_code) == ("text/event-stream", 200)


async def answered(port: int, files: Certificate) -> None:
    """Ask until there is an answer: on a busy machine an honest client may be too slow for such limits too."""
    async with client(port, files) as http:
        while True:
            try:
                assert (await http.get("/healthz")).status_code == 200
            except httpx2.TransportError:
                continue
            return


async def test_who_does_not_shake_hands_harms_nobody_and_is_not_waited_for(
    app: App, files: Certificate, caplog: pytest.LogCaptureFixture
) -> None:
    limits = ConnectionLimits(head_secs=0.3)

    async with served(app, files, limits) as port:
        silent = [await asyncio.open_connection(HOST, port) for _ in range(20)]
        plain = await asyncio.open_connection(HOST, port)
        plain[1].write(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        with anyio.fail_after(60):
            await answered(port, files)
            ends = [await reader.read() for reader, _ in (*silent, plain)]
        for _, writer in (*silent, plain):
            writer.close()

    assert all(b"HTTP" not in each for each in ends)
    assert [record for record in caplog.records if record.levelname in {"WARNING", "ERROR"}] == []


async def test_a_cipher_without_forward_secrecy_is_not_spoken(app: App, files: Certificate) -> None:
    old = ssl.create_default_context(cafile=str(files.chain))
    old.maximum_version = ssl.TLSVersion.TLSv1_2
    old.set_ciphers("AES128-SHA")

    async with served(app, files) as port, httpx2.AsyncClient(verify=old, timeout=60) as http:
        with pytest.raises(httpx2.ConnectError):
            await http.get(f"https://{HOST}:{port}/healthz")


def test_what_cannot_be_used_is_named_by_its_flag(files: Certificate, tmp_path: Path) -> None:
    garbage, other = tmp_path / "garbage.pem", Certificate(*certificate(tmp_path, valid_for="127.0.0.2"))
    garbage.write_text("no certificate")
    wrong = {
        "--tls-cert": Certificate(tmp_path / "none.crt", files.key),
        "--tls-key": Certificate(files.chain, tmp_path / "none.key"),
        "no PEM": Certificate(garbage, files.key),
        "PEM": Certificate(files.chain, garbage),
        "mismatch": Certificate(files.chain, other.key),
    }

    for word, each in wrong.items():
        with pytest.raises(SettingsError) as caught:
            each.context()
        assert word.removeprefix("no ") in caught.value.message
        assert "Traceback" not in caught.value.message
