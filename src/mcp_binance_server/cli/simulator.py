"""`mcp-binance-server simulator`: the simulated exchange on a loopback port."""

import json
import signal
import socket
import sys
from pathlib import Path
from types import FrameType

import uvicorn

from binance_simulator.account import KeyRights
from binance_simulator.control import ByPort
from binance_simulator.exchange import SimulatedExchange
from mcp_binance_server.cli.interruption import ExitWatchdog
from mcp_binance_server.clock import SystemClock
from mcp_binance_server.errors import SettingsError

HOST = "127.0.0.1"


def run_simulator(
    *,
    port: int,
    scenario: str,
    seed: int,
    crowd: int = 0,
    crowd_levels: int = 8,
    contracts: int = 0,
    replay: str | None = None,
    speed: float = 1,
) -> int:
    """Serve until interrupted. The first line on stdout is a JSON object with addresses and a funded key."""
    try:
        exchange = SimulatedExchange(
            SystemClock(),
            seed=seed,
            scenario=scenario,
            crowd=crowd,
            crowd_levels=crowd_levels,
            contracts=contracts,
            replay=None if replay is None else Path(replay),
            replay_speed=speed,
        )
    except ValueError as error:
        raise SettingsError(problems=(str(error),)) from None
    exchange.rights = KeyRights(trading=True)
    listener, futures_listener = _listen(port), _listen(0)
    host = f"{HOST}:{listener.getsockname()[1]}"
    futures_port = int(futures_listener.getsockname()[1])
    futures_host = f"{HOST}:{futures_port}"
    address = f"http://{host}"
    described = {
        "rest": address,
        "streams": f"ws://{host}",
        "ws_api": f"ws://{host}/ws-api/v3",
        "futures_rest": f"http://{futures_host}",
        "futures_streams": f"ws://{futures_host}",
        "control": f"{address}/control",
        "api_key": exchange.account.api_key,
        "secret_key": exchange.account.secret_key,
        "chart_img": address,
        "chart_docs": f"{address}/chart-docs",
        "chart_img_key": exchange.charts.api_key,
    }
    config = uvicorn.Config(
        ByPort(exchange, futures_port),
        http="h11",
        lifespan="off",  # no lifespan events
        ws_ping_interval=20,
        ws_ping_timeout=60,
        ws_per_message_deflate=False,  # on loopback, compression costs more than it saves
        log_level="warning",
        access_log=False,
        server_header=False,
        date_header=False,
    )
    _Server(config, json.dumps(described)).run(sockets=[listener, futures_listener])
    return 0


class _Server(uvicorn.Server):
    """HTTP server that prints its address when it is ready.

    Ctrl-C ends it immediately, because open streams never finish.
    """

    def __init__(self, config: uvicorn.Config, described: str) -> None:
        super().__init__(config)
        self._described = described
        self._last_moment = ExitWatchdog()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        sys.stdout.write(f"{self._described}\n")
        sys.stdout.flush()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        super().handle_exit(sig, frame)
        if sig == signal.SIGINT:
            self._last_moment.begin()
            self.force_exit = True


def _listen(port: int) -> socket.socket:
    # Without an explicit protocol asyncio does not set TCP_NODELAY, and each answer takes 40 ms.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((HOST, port))
    except OSError as error:
        raise SettingsError(problems=(f"--port {port}: {error.strerror}",)) from None
    listener.listen(128)
    return listener
