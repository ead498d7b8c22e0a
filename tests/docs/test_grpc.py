"""The page about gRPC: its client runs as it stands, and its figures are those of the code."""

import asyncio
import re
import subprocess
import sys
from pathlib import Path

import httpx2
import pytest

from binance_simulator.control import build_app
from binance_simulator.exchange import SimulatedExchange
from binance_simulator.streams.loopback import Loopback
from mcp_binance_server.app import running_app
from mcp_binance_server.clock import SystemClock
from mcp_binance_server.exchange.endpoints import OFFLINE
from mcp_binance_server.settings import read_settings
from mcp_binance_server.transports.grpc.answers import EVENTS, MOST_STREAMS, MOST_SYMBOLS
from mcp_binance_server.transports.grpc.errors import ERROR_KEY
from mcp_binance_server.transports.grpc.serving import MOST_CALLS, OPTIONS, PORT, ListeningAddress, running_service

PAGE = (Path(__file__).parents[2] / "docs" / "grpc.md").read_text(encoding="utf-8")


def run(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60)


@pytest.mark.night
async def test_the_client_on_the_page_runs() -> None:
    (example,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    exchange = SimulatedExchange(SystemClock())
    network = httpx2.ASGITransport(build_app(exchange))
    async with (
        running_app(read_settings({}), network=OFFLINE, transport=network, dialer=Loopback(exchange)) as app,
        running_service(app.dispatcher, ListeningAddress("127.0.0.1", 0)) as bound,
    ):
        done = await asyncio.to_thread(run, example.replace(f"127.0.0.1:{PORT}", str(bound)))

    lines = done.stdout.splitlines()
    assert done.stderr == ""
    assert re.fullmatch(r"BTCUSDT \d+\.\d+", lines[0])
    assert len(lines) == 21
    assert {line.split()[1] for line in lines[1:]} >= {"provider.v1.feed", "provider.v1.book"}
    assert len(example.strip().splitlines()) <= 15


def test_the_page_names_limits_events_and_metadata_as_they_are() -> None:
    limits = dict(OPTIONS)

    assert f"A request of {limits['grpc.max_receive_message_length'] // 2**20} MiB" in PAGE
    assert f"{MOST_CALLS} calls at a time, of them {MOST_STREAMS} streams" in PAGE
    assert f"{limits['grpc.max_concurrent_streams']} calls on one connection" in PAGE
    assert f"events of 1 to {MOST_SYMBOLS} pairs" in PAGE
    assert all(f"`{each.type}`" in PAGE for each in EVENTS)
    assert ERROR_KEY in PAGE
