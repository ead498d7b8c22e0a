"""A process with the simulated exchange and its guests: customers with keys and balances of their own."""

import json
import socket
import sys

import uvicorn

from binance_simulator.account import DemoAccount
from binance_simulator.control import ByPort
from binance_simulator.exchange import Guest, SimulatedExchange
from binance_simulator.market.portfolio import Balance, Portfolio
from mcp_binance_server.clock import SystemClock

GUESTS = 4
PROGRAM = "from support.chaos.exchange import main; main()"


def watermark(number: int) -> str:
    """Return a mark that only this guest's account contains."""
    return f"77{number}31{number}.{number}4159265"


def guest(number: int) -> Guest:
    return Guest(DemoAccount(1_000 + number), Portfolio((Balance("USDT", watermark(number), "0.00000000"),)))


def main() -> None:
    exchange = SimulatedExchange(SystemClock())
    exchange.guests += map(guest, range(GUESTS))
    serve(exchange)


def serve(exchange: SimulatedExchange, **more: str) -> None:
    """Serve until ended; the first line of output says where, and whatever else is to be told."""
    listeners = [_listen(), _listen()]
    spot, futures = (listener.getsockname()[1] for listener in listeners)
    config = uvicorn.Config(
        ByPort(exchange, futures),
        http="h11",
        lifespan="off",
        log_level="error",
        access_log=False,
        server_header=False,
        date_header=False,
        ws_per_message_deflate=False,
        timeout_graceful_shutdown=1,
    )
    sys.stdout.write(json.dumps({"host": f"127.0.0.1:{spot}", "futures": f"127.0.0.1:{futures}", **more}) + "\n")
    sys.stdout.flush()
    uvicorn.Server(config).run(sockets=listeners)


def _listen() -> socket.socket:
    # The protocol is named because asyncio sends without delay only where it sees it.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.bind(("127.0.0.1", 0))
    listener.listen(128)
    return listener
