"""Who practises never reaches a host where money is real: not for data, not to look a key up, not by any tool."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest

from binance_simulator.account import KeyRights
from binance_simulator.exchange import SimulatedExchange
from binance_simulator.faults import Fault
from binance_simulator.streams.loopback import Loopback
from mcp_binance_server.app import App, running_app
from mcp_binance_server.clock import SystemClock
from mcp_binance_server.exchange.dialing import StreamConnection
from mcp_binance_server.exchange.endpoints import NETWORKS, REST_TWINS
from mcp_binance_server.settings import read_settings
from support.calls import arguments_of
from support.desk import Loop
from support.process import Process

MAINNET = NETWORKS["mainnet"]
ADDRESSES = (MAINNET.rest_url, MAINNET.public_data_url, MAINNET.stream_url, MAINNET.ws_api_url)
FUTURES = (MAINNET.futures_rest_url, MAINNET.futures_stream_url)
PRODUCTION = {urlsplit(each or "").hostname for each in (*ADDRESSES, *FUTURES)} | {*REST_TWINS["mainnet"]}
REFUSED = Fault(
    kind="status", path="/api/v3/account", times=None, status=401, code=-2015,
    msg="Invalid API-key, IP, or permissions for action.",
)  # fmt: skip


@dataclass
class Dialled(httpx2.AsyncBaseTransport):
    """Every host that is asked, or connected to; whichever it is, one simulated exchange answers."""

    exchange: SimulatedExchange
    hosts: set[str] = field(default_factory=set[str])

    def __post_init__(self) -> None:
        self._answers, self._streams = Loop(self.exchange), Loopback(self.exchange)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        self.hosts.add(request.url.host)
        return await self._answers.handle_async_request(request)

    async def connect(self, url: str) -> StreamConnection:
        self.hosts.add(urlsplit(url).hostname or "")
        return await self._streams.connect(url)


@asynccontextmanager
async def trading_at(network: str, folder: Path, mode: str = "practice") -> AsyncGenerator[tuple[App, Dialled]]:
    clock = SystemClock()
    exchange = SimulatedExchange(clock, seed=7)
    exchange.rights = KeyRights(trading=True)
    dialled = Dialled(exchange)
    settings = read_settings(
        {
            "BINANCE_NETWORK": network,
            "MCP_BINANCE_TRADING": mode,
            "MCP_BINANCE_TRADING_DIR": str(folder / "trading"),
            "BINANCE_API_KEY": exchange.account.api_key,
            "BINANCE_SECRET_KEY": exchange.account.secret_key,
        }
    )
    async with running_app(settings, clock=clock, transport=dialled, dialer=dialled) as app:
        yield app, dialled


async def told(app: App, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    result = await app.dispatcher.call_tool(None, tool, arguments)
    return result.structured_content or {}


@pytest.mark.parametrize("network", ["testnet", "demo"])
async def test_no_tool_of_a_practice_server_asks_a_host_of_production(network: str, tmp_path: Path) -> None:
    order = {"symbol": "BTCUSDT", "side": "BUY", "price": "116500", "quantity": "0.0005"}
    async with trading_at(network, tmp_path) as (app, dialled):
        preview_id = (await told(app, "preview_order", order))["preview_id"]
        placed = await told(app, "place_order", {"preview_id": preview_id})
        for spec in app.dispatcher.catalogue.tools:
            if spec.toolset in ("market", "account", "orders", "derivatives") and spec.read_only:
                await told(app, spec.name, arguments_of(spec.name))
        await told(app, "cancel_all_orders", {"symbol": "BTCUSDT"})

    own = NETWORKS[network]
    assert placed["status"] == "NEW", placed
    assert urlsplit(own.rest_url).hostname in dialled.hosts
    assert dialled.hosts & PRODUCTION == set()


@pytest.mark.parametrize(("mode", "others"), [("practice", {"demo"}), ("off", {"demo", "mainnet"})])
async def test_a_key_that_is_refused_in_practice_is_not_shown_to_mainnet(
    mode: str, others: set[str], tmp_path: Path
) -> None:
    async with trading_at("testnet", tmp_path, mode) as (app, dialled):
        dialled.exchange.faults.add(REFUSED)
        dialled.exchange.rights = KeyRights(ip_restricted=True, address_listed=False)
        answer = await told(app, "get_account_info", {})

    assert answer["error_type"] == "invalid_credentials"
    assert {
        name for name in ("demo", "mainnet") if urlsplit(NETWORKS[name].rest_url).hostname in dialled.hosts
    } == others


WATCHED = """
import os, sys
heard = os.open(os.environ["DIALLED"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

def hear(event, told):
    if event == "socket.getaddrinfo":
        os.write(heard, f"{told[0]!r}\\n".encode())
    elif event == "socket.connect":
        address = told[1]
        os.write(heard, f"{address[0] if isinstance(address, tuple) else address!r}\\n".encode())

sys.addaudithook(hear)
from mcp_binance_server.cli.main import main
sys.exit(main())
"""


@pytest.mark.night
def test_a_practice_process_opens_no_socket_but_on_this_machine(tmp_path: Path) -> None:
    heard = tmp_path / "dialled"
    with Process("simulator", warm=True) as simulator:
        served = simulator.answer()
        around = {
            "DIALLED": str(heard),
            "BINANCE_NETWORK": "testnet",
            "MCP_BINANCE_TRADING": "practice",
            "MCP_BINANCE_TRADING_DIR": str(tmp_path / "trading"),
            "BINANCE_REST_URL": served["rest"],
            "BINANCE_STREAM_URL": served["streams"],
            "BINANCE_WS_API_URL": served["ws_api"],
            "BINANCE_API_KEY": served["api_key"],
            "BINANCE_SECRET_KEY": served["secret_key"],
        }
        with Process(environment=around, code=WATCHED, warm=True) as server:
            server.shake_hands()
            answers = [
                server.ask(number, "tools/call", {"name": name, "arguments": arguments_of(name)})
                for number, name in enumerate(("get_account_info", "preview_order", "get_ticker"), 2)
            ]
            server.terminate()
        simulator.terminate()

    assert all("result" in each for each in answers)
    reached = {line.strip("'\n") for line in heard.read_text().splitlines()}
    assert "127.0.0.1" in reached
    assert reached <= {"127.0.0.1", "None", "localhost"}
