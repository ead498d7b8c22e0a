"""A market stream connection without its socket: subscriptions, control messages and due events."""

import re
from abc import abstractmethod
from collections import deque
from typing import Generic, Protocol, TypeVar, cast

import msgspec

from binance_simulator.exchange import SimulatedExchange
from binance_simulator.faults import StreamKind
from binance_simulator.market.book import BUCKET_MS
from binance_simulator.market.source import Event, Span, Stream, parse_stream
from binance_simulator.streams.events import events_of
from binance_simulator.streams.session import Session, StreamSpoiler, encoded
from binance_simulator.visits import Hub

METHODS = ("SUBSCRIBE", "UNSUBSCRIBE", "LIST_SUBSCRIPTIONS", "SET_PROPERTY", "GET_PROPERTY")
LEGAL_ID = re.compile(r"[A-Za-z0-9]{1,36}")
LONGEST_BACKLOG_MS = 600_000  # a larger jump of the clock leaves a gap


class ControlError(Exception):
    """A refused control message. The answer has a code instead of a result."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class Timed(Protocol):
    """The attributes of a stream that its connection uses."""

    @property
    def name(self) -> str: ...

    @property
    def kind(self) -> str: ...

    @property
    def every_ms(self) -> int: ...


S = TypeVar("S", bound=Timed)


class Subscriptions(Session, Generic[S]):
    """Subscriptions of one connection to any host."""

    def __init__(self, exchange: SimulatedExchange, hub: Hub, *, combined: bool) -> None:
        super().__init__(exchange, hub)
        self._combined = combined
        self._streams: dict[str, S | None] = {}
        self._told_until: dict[str, int] = {}
        self._spoiler = StreamSpoiler(hub.faults)
        self._at_ms = self._opened_ms // BUCKET_MS * BUCKET_MS
        self._received: deque[int] = deque()
        self._last_pong_ms: int | None = None

    @abstractmethod
    def _parsed(self, name: str) -> S | None:
        """Return the stream with this name, or None."""

    @abstractmethod
    def _events(self, stream: S, span: Span) -> tuple[Event, ...]:
        """Return the events at the end of a span."""

    @property
    def streams(self) -> tuple[str, ...]:
        return tuple(self._streams)

    def subscribe(self, names: list[str]) -> None:
        """Add streams. As at Binance, an unknown name is accepted and sends nothing."""
        for name in names:
            if name not in self._streams:
                stream = self._parsed(name)
                self._streams[name] = stream
                if stream is not None:
                    self._told_until[name] = self._at_ms // stream.every_ms * stream.every_ms
        if len(self._streams) > self.hub.most_streams:
            self.ending = "streams"

    def due(self, now_ms: int) -> list[str]:
        """Return the frames of each bucket that has ended since the last call."""
        texts: list[str] = []
        if self._shutdown_called():
            texts.append(self._frame("!serverShutdown", encoded({"e": "serverShutdown", "E": now_ms})))
        if now_ms - self._at_ms > LONGEST_BACKLOG_MS:
            self._skip_to(now_ms)
        while self._at_ms + BUCKET_MS <= now_ms and self.ending is None:
            if len(texts) > self.hub.most_waiting:
                self.ending = "behind"
                return []
            self._at_ms += BUCKET_MS
            for stream in list(self._streams.values()):
                if stream is not None and self._at_ms % stream.every_ms == 0:
                    texts += self._told(stream)
            self._miss_pong()
        self._grow_old(now_ms)
        return [] if self.silent else texts

    def receive(self, text: str, now_ms: int) -> list[str]:
        """Process a control message and return its answer."""
        if self.deaf:
            return []
        self._received.append(now_ms)
        while self._received[0] <= now_ms - 1000:
            self._received.popleft()
        if len(self._received) > self.hub.messages_a_second:
            self.ending = "messages"
            return []
        identity: object = None
        try:
            request = _decoded(text)
            identity = _identity(request)
            answer: dict[str, object] = {"result": self._obey(request), "id": identity}
        except ControlError as error:
            answer = {"code": error.code, "msg": error.message}
            if identity is not None:
                answer["id"] = identity
        return [] if self.silent or self.ending is not None else [encoded(answer)]

    def _obey(self, request: dict[str, object]) -> object:
        method, params = request.get("method"), request.get("params", [])
        if method is None:
            raise ControlError(2, "Invalid request: missing field `method`")
        if method not in METHODS:
            expected = ", ".join(f"`{name}`" for name in METHODS)
            raise ControlError(2, f"Invalid request: unknown variant `{method}`, expected one of {expected}")
        if method == "LIST_SUBSCRIPTIONS":
            return list(self._streams)
        if not isinstance(params, list):
            raise ControlError(2, "Invalid request: params must be an array")
        values = cast("list[object]", params)
        if method == "SET_PROPERTY":
            return self._set_property(values)
        if method == "GET_PROPERTY":
            _combined_property(values[:1])
            return self._combined
        if not all(isinstance(value, str) for value in values):
            raise ControlError(2, "Invalid request: stream name must be a string")
        names = [str(value) for value in values]
        if method == "SUBSCRIBE":
            self.subscribe(names)
        else:
            self._unsubscribe(names)
        return None

    def _set_property(self, values: list[object]) -> None:
        if len(values) > 2:
            raise ControlError(2, "Invalid request: too many parameters")
        _combined_property(values[:1])
        if len(values) < 2 or not isinstance(values[1], bool):
            raise ControlError(1, "Invalid value type: expected Boolean")
        self._combined = values[1]

    def _unsubscribe(self, names: list[str]) -> None:
        for name in names:
            self._streams.pop(name, None)
            self._told_until.pop(name, None)
            self._spoiler.forget(name)

    def _skip_to(self, now_ms: int) -> None:
        self._at_ms = now_ms // BUCKET_MS * BUCKET_MS - BUCKET_MS
        for name, stream in self._streams.items():
            if stream is not None:
                self._told_until[name] = self._at_ms // stream.every_ms * stream.every_ms

    def _told(self, stream: S) -> list[str]:
        span = Span(self._told_until[stream.name], self._at_ms)
        events = self._events(stream, span)
        if events or stream.kind != "depth":
            # A depth stream without changes sends nothing. Its next event also covers that time.
            self._told_until[stream.name] = self._at_ms
        texts: list[str] = []
        for event in events:
            if self.ending is None:
                arrived, kind = self._spoiler.spoil(stream.name, event, self._frame)
                texts += arrived
                if kind is not None:
                    self._suffer(kind)
        return texts

    def _suffer(self, kind: StreamKind) -> None:
        if kind == "cut":
            self.ending = "cut"
        elif kind == "no_pong":
            self._last_pong_ms = self._at_ms
        self.silent = self.silent or kind in {"silent", "half_open"}
        self.deaf = self.deaf or kind in {"deaf", "half_open"}

    def _miss_pong(self) -> None:
        last_ms = self._last_pong_ms
        if self.ending is None and last_ms is not None and self._at_ms - last_ms >= self.hub.pong_ms:
            self.ending = "pong"

    def _frame(self, name: str, event: str) -> str:
        # No escaping is needed, because these are names of listed streams.
        return f'{{"stream":"{name}","data":{event}}}' if self._combined else event


class StreamSession(Subscriptions[Stream]):
    """A connection to the spot streams."""

    def __init__(self, exchange: SimulatedExchange, *, combined: bool) -> None:
        super().__init__(exchange, exchange.hub, combined=combined)

    def _parsed(self, name: str) -> Stream | None:
        return parse_stream(name, self._exchange.listing.symbols)

    def _events(self, stream: Stream, span: Span) -> tuple[Event, ...]:
        return events_of(self._exchange, stream, span)


def _decoded(text: str) -> dict[str, object]:
    try:
        request = msgspec.json.decode(text)
    except msgspec.DecodeError:
        raise ControlError(3, "Invalid JSON: expected value at line 1 column 1") from None
    if not isinstance(request, dict):
        raise ControlError(2, "Invalid request: expected a JSON object")
    return cast("dict[str, object]", request)


def _identity(request: dict[str, object]) -> int | str | None:
    identity = request.get("id")
    if isinstance(identity, str) and LEGAL_ID.fullmatch(identity):
        return identity
    if identity is None or (isinstance(identity, int) and not isinstance(identity, bool)):
        return identity
    raise ControlError(2, "Invalid request: request ID must be an integer, an alphanumeric string or null")


def _combined_property(values: list[object]) -> None:
    if not values or not isinstance(values[0], str):
        raise ControlError(2, "Invalid request: property name must be a string")
    if values[0] != "combined":
        raise ControlError(0, "Unknown property")
