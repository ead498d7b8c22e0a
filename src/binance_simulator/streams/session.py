"""Base class of a client's connection, and the faults of its messages."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Literal

import msgspec

from binance_simulator.exchange import SimulatedExchange
from binance_simulator.faults import StreamFault, StreamFaults, StreamKind
from binance_simulator.market.source import Event
from binance_simulator.visits import Hub

Ending = Literal["life", "messages", "streams", "behind", "pong", "cut"]

Frame = Callable[[str, str], str]  # formats an event of a named stream, with or without an envelope


class Session(ABC):
    """One connection. `due` and `receive` return the texts to send.

    If `ending` is set, the connection closes after them.
    """

    def __init__(self, exchange: SimulatedExchange, hub: Hub | None = None) -> None:
        self.hub = exchange.hub if hub is None else hub
        """The stream settings of the connection's host."""
        self.ending: Ending | None = None
        self.silent = False
        self.deaf = False
        self._exchange = exchange
        self._opened_ms = exchange.now_ms()
        self._shutdowns = self.hub.faults.shutdowns
        self._pings = self.hub.faults.pings

    @abstractmethod
    def due(self, now_ms: int) -> list[str]:
        """Return the texts that the server sends on its own, up to now."""

    @abstractmethod
    def receive(self, text: str, now_ms: int) -> list[str]:
        """Process a message and return its answer."""

    @property
    def streams(self) -> tuple[str, ...]:
        """The names of the subscribed streams."""
        return ()

    def ping_called(self) -> bool:
        """Return whether a ping was requested since the last check."""
        called = self._pings != self.hub.faults.pings
        self._pings = self.hub.faults.pings
        return called

    def _grow_old(self, now_ms: int) -> None:
        if now_ms - self._opened_ms >= self.hub.life_ms and self.ending is None:
            self.ending = "life"

    def _shutdown_called(self) -> bool:
        called = self._shutdowns != self.hub.faults.shutdowns
        self._shutdowns = self.hub.faults.shutdowns
        return called


def encoded(body: object) -> str:
    """Return the JSON text without escaping non-ASCII characters."""
    return msgspec.json.encode(body).decode()


class StreamSpoiler:
    """Faults of stream events, with the state of each stream.

    The state is a delayed event, and the number of IDs that a gap must still drop.
    """

    def __init__(self, faults: StreamFaults) -> None:
        self._faults = faults
        self._held: dict[str, str] = {}
        self._gaps: dict[str, int] = {}

    def forget(self, name: str) -> None:
        """Drop the state of a stream."""
        self._held.pop(name, None)
        self._gaps.pop(name, None)

    def spoil(self, name: str, event: Event, frame: Frame) -> tuple[list[str], StreamKind | None]:
        """Return the frames that replace an event, and the kind of the fault."""
        missing = self._gaps.pop(name, 0)
        fault = None if missing else self._faults.take(name)
        kind = "gap" if missing else None if fault is None else fault.kind
        text = frame(name, event.text)
        if kind == "swap" and name not in self._held:
            self._held[name] = text
            return [], kind
        if kind == "gap":
            left = (missing or (1 if fault is None else fault.ids)) - event.ids
            if left > 0:
                self._gaps[name] = left
        if kind == "cut":
            return [], kind
        texts = [text]
        if kind in {"drop", "gap"}:
            texts = []
        elif kind == "duplicate":
            texts = [text, text]
        elif kind == "malformed":
            texts = [text[: len(text) // 2]]
        elif fault is not None:
            texts = [frame(name, _changed(event.text, fault))]
        held = self._held.pop(name, None)
        return texts if held is None else [*texts, held], kind


def _changed(event: str, fault: StreamFault) -> str:
    match fault.kind:
        case "crossed":
            return _crossed(event)
        case "bad_price" | "bad_quantity":
            return _misprinted(event, fault.text, is_price=fault.kind == "bad_price")
        case "late":
            return _late(event, fault.behind_ms)
        case _:
            return event


def _misprinted(event: str, text: str, *, is_price: bool) -> str:
    body = msgspec.json.decode(event, type=dict[str, object])
    if body.get("e") == "depthUpdate":
        return encoded(body | {"b": [(text, "1.00000000") if is_price else ("1.00000000", text)]})
    names = {"aggTrade": ("p", "q"), "24hrTicker": ("c", "v")}.get(str(body.get("e")), ("b", "B"))
    return encoded(body | {names[0 if is_price else 1]: text})


def _late(event: str, behind_ms: int) -> str:
    body = msgspec.json.decode(event, type=dict[str, object])
    times = {name: at_ms - behind_ms for name in ("E", "T", "C", "O") if isinstance(at_ms := body.get(name), int)}
    return encoded(body | times)


def _crossed(event: str) -> str:
    body = msgspec.json.decode(event, type=dict[str, object])
    return encoded(body | {"b": [("99999999.00000000", "1.00000000")]}) if "b" in body else event
