"""Injected faults of REST answers and streams."""

from fnmatch import fnmatchcase
from typing import Annotated, Literal

import msgspec

Kind = Literal[
    "status",  # an error answer with status and headers, and either code and msg or a text body
    "delay",  # the correct answer, late
    "cut_before",  # the connection closes before the answer
    "silence",  # no answer, while the connection stays open
    "cut_within",  # the connection closes in the middle of the body
    "html",  # an HTML page with status 200
    "truncated",  # half of the JSON with status 200 and a matching Content-Length
    "empty",  # an empty body with status 200
    "content_type",  # the correct body with a text content type
    "gzip",  # the correct body, compressed
    "false_gzip",  # the correct body, wrongly labelled as compressed
    "huge",  # a valid JSON body of `size` bytes
    "drip",  # the correct body in chunks of `piece` bytes, one every `delay_ms`
]

StreamKind = Literal[
    "drop",  # the event is lost
    "duplicate",  # the event arrives twice
    "swap",  # the event arrives after the next event of its stream
    "gap",  # depth events are dropped until `ids` update IDs are missing
    "crossed",  # the depth event has a bid above every ask
    "malformed",  # only the first half of the event arrives
    "bad_price",  # a price in the event is replaced by `text`
    "bad_quantity",  # a quantity in the event is replaced by `text`
    "late",  # the event's time is `behind_ms` in the past
    "cut",  # the socket closes instead
    "silent",  # the connection stays open but sends only pongs from now on
    "deaf",  # the connection ignores pings and messages from now on, and still sends events
    "half_open",  # `silent` and `deaf` together
    "no_pong",  # the client's pongs are lost from now on, so the connection closes after the hub's `pong_ms`
    "ping",  # every open connection gets a ping immediately
    "shutdown",  # every open connection immediately gets the event that the server shuts down
    "terminated",  # every account subscription immediately gets the event that it has ended
    "revoked",  # every account subscription immediately gets the event that its key was revoked
    "stale_snapshot",  # GET depth returns the book of `behind_ms` ago; this affects requests, not events
]


class Fault(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One fault of a REST answer. `path` and `method` can contain the wildcards * and ?.

    The fault applies `times` times; None means until it is removed. `executed` is for orders and cancels. It states
    whether a valid request is executed in spite of the fault. If it is executed, the delay comes after the execution.
    If `executed` is None, the kind of fault decides.
    """

    kind: Kind
    path: str = "*"
    method: str = "*"
    executed: bool | None = None
    times: int | None = 1
    delay_ms: float = 0
    status: int = 500
    code: int = -1000
    msg: str = "An unknown error occurred while processing the request."
    body: str | None = None
    headers: dict[str, str] = {}
    size: int = 16_000_000
    piece: Annotated[int, msgspec.Meta(ge=1)] = 1


class Faults:
    """Pending faults of requests. If several match a request, the oldest one applies."""

    def __init__(self) -> None:
        self._waiting: list[tuple[Fault, int | None]] = []

    def add(self, fault: Fault) -> None:
        """Add a fault for the next matching requests."""
        self._waiting.append((fault, fault.times))

    def clear(self) -> None:
        """Remove all faults."""
        self._waiting.clear()

    def pending(self) -> list[Fault]:
        """Return the pending faults."""
        return [fault for fault, _ in self._waiting]

    def take(self, path: str, method: str = "GET") -> Fault | None:
        """Return the fault for this request and count its use. Return None if no fault matches."""
        for place, (fault, left) in enumerate(self._waiting):
            if fnmatchcase(path, fault.path) and fnmatchcase(method, fault.method):
                if left is not None and left <= 1:
                    del self._waiting[place]
                elif left is not None:
                    self._waiting[place] = (fault, left - 1)
                return fault
        return None


class StreamFault(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One fault of a stream. `stream` can contain the wildcards * and ?.

    The fault applies `times` times; None means until it is removed.
    """

    kind: StreamKind
    stream: str = "*"
    times: int | None = 1
    ids: int = 1
    behind_ms: int = 60_000
    text: str = "NaN"


class StreamFaults:
    """Pending faults of streams. If several match an event, the oldest one applies."""

    def __init__(self) -> None:
        self.shutdowns = 0
        self.pings = 0
        self.endings = {"terminated": 0, "revoked": 0}
        self._waiting: list[tuple[StreamFault, int | None]] = []

    def add(self, fault: StreamFault) -> None:
        """Add a fault for the next matching events."""
        if fault.kind == "shutdown":
            self.shutdowns += 1
        elif fault.kind == "ping":
            self.pings += 1
        elif fault.kind in self.endings:
            self.endings[fault.kind] += 1
        else:
            self._waiting.append((fault, fault.times))

    def clear(self) -> None:
        """Remove all faults."""
        self._waiting.clear()

    def pending(self) -> list[StreamFault]:
        """Return the pending faults."""
        return [fault for fault, _ in self._waiting]

    def take(self, stream: str) -> StreamFault | None:
        """Return the fault for this event and count its use. Return None if no fault matches."""
        return self._take(stream, snapshot=False)

    def take_stale(self, symbol: str) -> StreamFault | None:
        """Return the fault for this snapshot and count its use. Return None if no fault matches."""
        return self._take(f"{symbol.lower()}@depth", snapshot=True)

    def _take(self, name: str, *, snapshot: bool) -> StreamFault | None:
        for place, (fault, left) in enumerate(self._waiting):
            if (fault.kind == "stale_snapshot") == snapshot and fnmatchcase(name, fault.stream):
                if left is not None and left <= 1:
                    del self._waiting[place]
                elif left is not None:
                    self._waiting[place] = (fault, left - 1)
                return fault
        return None
