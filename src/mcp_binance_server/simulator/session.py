"""What every WebSocket connection is without its socket: texts to send, a life, and an end."""

from abc import ABC, abstractmethod
from typing import Literal

import msgspec

from mcp_binance_server.simulator.exchange import SimulatedExchange

Ending = Literal["life", "messages", "streams", "behind", "pong", "cut"]


class Session(ABC):
    """`due` and `receive` return the texts to send; once `ending` is set, the connection closes after them."""

    def __init__(self, exchange: SimulatedExchange) -> None:
        self.ending: Ending | None = None
        self.silent = False
        self.deaf = False
        self._exchange = exchange
        self._opened_ms = exchange.now_ms()
        self._shutdowns = exchange.hub.faults.shutdowns
        self._pings = exchange.hub.faults.pings

    @abstractmethod
    def due(self, now_ms: int) -> list[str]:
        """Return what the server says unasked, up to now."""

    @abstractmethod
    def receive(self, text: str, now_ms: int) -> list[str]:
        """Take a message and return its answer."""

    @property
    def streams(self) -> tuple[str, ...]:
        """The names of what this connection is told."""
        return ()

    def ping_called(self) -> bool:
        """Tell whether a ping was called for since the last time somebody asked."""
        called = self._pings != self._exchange.hub.faults.pings
        self._pings = self._exchange.hub.faults.pings
        return called

    def _grow_old(self, now_ms: int) -> None:
        if now_ms - self._opened_ms >= self._exchange.hub.life_ms and self.ending is None:
            self.ending = "life"

    def _shutdown_called(self) -> bool:
        called = self._shutdowns != self._exchange.hub.faults.shutdowns
        self._shutdowns = self._exchange.hub.faults.shutdowns
        return called


def encoded(body: object) -> str:
    """Return the JSON text; characters beyond ASCII go out as they are."""
    return msgspec.json.encode(body).decode()
