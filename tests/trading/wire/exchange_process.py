"""The simulated exchange in a process of its own: it outlives whoever is killed, and tells what really happened."""

import json
import os
import signal
import socket
import threading
import urllib.error
import urllib.request
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal

import uvicorn
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from binance_simulator.account import KeyRights, WeightMeter
from binance_simulator.control import build_app
from binance_simulator.exchange import SimulatedExchange
from mcp_binance_server.clock import SystemClock

Reply = Literal[
    "accepted", "rejected", "reset executed", "reset not executed", "503 executed", "503 not executed",
    "visible late", "hanging executed", "hanging not executed",
]  # fmt: skip
SEED = 7
NO_LIMIT = 10**9
# What is only checked is sent under the same id.
TRIED = "/api/v3/order/test"
PLACES = ("POST", "PUT")
PATIENCE_SECS = 60.0
TIMED_OUT = {"kind": "status", "status": 503, "code": -1007, "msg": "Timeout waiting for response."}
FAULTS: dict[Reply, dict[str, Any]] = {
    "reset executed": {"kind": "cut_before", "executed": True},
    "reset not executed": {"kind": "cut_before", "executed": False},
    "503 executed": TIMED_OUT | {"executed": True},
    "503 not executed": TIMED_OUT | {"executed": False},
    "visible late": TIMED_OUT | {"executed": True},
    "hanging executed": {"kind": "silence", "executed": True},
    "hanging not executed": {"kind": "silence", "executed": False},
}


class Renewable:
    """The simulator, and one more address that forgets what earlier runs did: their orders, weight and requests."""

    def __init__(self, exchange: SimulatedExchange) -> None:
        self._exchange, self._app = exchange, build_app(exchange)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        app: ASGIApp = self._app
        if scope["type"] == "http" and scope["path"] == "/anew":
            exchange = self._exchange
            exchange.meter = WeightMeter(NO_LIMIT)
            exchange.faults.clear()
            exchange.requests.clear()
            exchange.orders.wipe()
            exchange.orders.accepted.clear()
            exchange.orders.visible_after_ms = 0
            app = JSONResponse({})
        await app(scope, receive, send)


def _outlive_nobody(parent: int) -> None:
    while os.getppid() == parent:
        threading.Event().wait(1)
    os._exit(0)


@dataclass(frozen=True)
class ExchangeProcess:
    """Where it listens, and the process it is."""

    port: int
    pid: int

    @classmethod
    def start(cls) -> "ExchangeProcess":
        """Fork it off a process that has neither threads nor loops, and that it does not outlive."""
        listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        parent = os.getpid()
        child = os.fork()
        if child == 0:
            try:
                threading.Thread(target=_outlive_nobody, args=(parent,), daemon=True).start()
                exchange = SimulatedExchange(SystemClock(), seed=SEED)
                exchange.rights = KeyRights(trading=True)
                app = Renewable(exchange)
                config = uvicorn.Config(app, log_level="critical", access_log=False, date_header=False, lifespan="off")
                uvicorn.Server(config).run(sockets=[listener])
            finally:
                os._exit(1)
        port = int(listener.getsockname()[1])
        listener.close()
        return cls(port, child)

    def end(self) -> None:
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def anew(self) -> None:
        self._ask("/anew")

    def answer(self, method: str, path: str, reply: Reply, late_ms: int) -> None:
        """Have the next request of this kind answered in this way."""
        if reply in FAULTS:
            self._ask("/control/faults", FAULTS[reply] | {"path": path, "method": method})
        self._ask("/control/orders", {"visible_after_ms": late_ms if reply == "visible late" else 0})

    def behave(self) -> None:
        """Answer from now on as an exchange should; an order that is not visible yet stays so."""
        self._ask("/control/faults", method="DELETE")

    def cancel_by_hand(self, symbol: str, client_order_id: str) -> None:
        self._ask("/control/orders/cancel", {"symbol": symbol, "client_order_id": client_order_id})

    def middle(self, symbol: str) -> Decimal:
        best = self._ask(f"/api/v3/ticker/bookTicker?symbol={symbol}")
        return (Decimal(best["bidPrice"]) + Decimal(best["askPrice"])) / 2

    def orders(self) -> dict[str, Any]:
        """Return every order as it stands, and how often each id was accepted."""
        return self._ask("/control/orders")

    def sends(self) -> list[str]:
        """Return the id of each order, list and change of an order that was sent, as often as it was."""
        requests = [each for each in self._ask("/control/requests") if each["path"] != TRIED]
        written = [(each["path"], each["params"]) for each in requests if each["method"] in PLACES]
        return [
            f"{params.get('listClientOrderId', params.get('newClientOrderId'))} by {path}" for path, params in written
        ]

    def _ask(self, path: str, body: dict[str, Any] | None = None, method: str | None = None) -> Any:  # noqa: ANN401
        content = None if body is None else json.dumps(body).encode()
        # Its socket was bound before it was forked: whoever comes before it is ready waits in the queue.
        request = urllib.request.Request(self.address + path, content, method=method)  # noqa: S310 - http
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE_SECS) as answer:  # noqa: S310 - likewise
                return json.loads(answer.read())
        except urllib.error.HTTPError as refused:
            raise RuntimeError(f"{path}: {refused.read().decode()}") from None


@contextmanager
def running_exchange() -> Generator[ExchangeProcess]:
    exchange = ExchangeProcess.start()
    try:
        yield exchange
    finally:
        exchange.end()
