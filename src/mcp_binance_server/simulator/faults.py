"""Injected faults of answers and streams."""

from fnmatch import fnmatchcase
from typing import Annotated, Literal

import msgspec

Kind = Literal[
    "status",  # an error answer: status, code, msg, headers; or a text body instead of code and msg
    "delay",  # the true answer, late
    "cut_before",  # the connection ends before the answer
    "silence",  # there is no answer, and the connection stays open
    "cut_within",  # the connection ends in the middle of the body
    "html",  # status 200 and an HTML page
    "truncated",  # status 200 and the first half of the JSON, with a matching Content-Length
    "empty",  # status 200 and no body
    "content_type",  # the true body, announced as text
    "gzip",  # the true body, compressed
    "false_gzip",  # the true body, announced as compressed
    "huge",  # a valid JSON body of `size` bytes
    "drip",  # the true body, `piece` bytes at a time, `delay_ms` apart
]

StreamKind = Literal[
    "drop",  # the event is lost
    "duplicate",  # the event arrives twice
    "swap",  # the event arrives after the next one of its stream
    "gap",  # depth events are lost until `ids` update ids are missing
    "crossed",  # the depth event bids above every ask
    "malformed",  # the first half of the event arrives
    "bad_price",  # a price of the event is `text`
    "bad_quantity",  # a quantity of the event is `text`
    "late",  # the event's time is `behind_ms` ago
    "cut",  # the socket ends instead of the event
    "silent",  # from here on the connection sends only pongs, and stays open
    "deaf",  # from here on the connection ignores its input: pings and messages stay unanswered, events go on
    "half_open",  # silent and deaf at once
    "no_pong",  # the client's pongs are lost from here on: the connection closes after the hub's `pong_ms`
    "ping",  # every open connection gets a ping; takes effect at once
    "shutdown",  # every open connection gets the event that the server shuts down; takes effect at once
    "terminated",  # every account subscription gets the event that it has ended; takes effect at once
    "revoked",  # every account subscription gets the event that its key was revoked; takes effect at once
    "stale_snapshot",  # GET depth answers with the book of `behind_ms` ago; applies to requests, not events
]


class Fault(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One fault; `times` None means until cleared, and `path` and `method` can contain the wildcards * and ?.

    `executed` is for writes. It decides whether the order or cancel is executed in spite of the fault, once key,
    signature and time are valid. The delay then lies between execution and answer. If it is None, the kind decides, as
    for reads.
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
    """Pending faults of requests; of those that match, the first added applies first."""

    def __init__(self) -> None:
        self._waiting: list[tuple[Fault, int | None]] = []

    def add(self, fault: Fault) -> None:
        """Apply the fault to the next requests that match it."""
        self._waiting.append((fault, fault.times))

    def clear(self) -> None:
        """Remove all faults."""
        self._waiting.clear()

    def pending(self) -> list[Fault]:
        """Return the pending faults."""
        return [fault for fault, _ in self._waiting]

    def take(self, path: str, method: str = "GET") -> Fault | None:
        """Return the fault that applies to this request, and count it; None if no fault matches."""
        for place, (fault, left) in enumerate(self._waiting):
            if fnmatchcase(path, fault.path) and fnmatchcase(method, fault.method):
                if left is not None and left <= 1:
                    del self._waiting[place]
                elif left is not None:
                    self._waiting[place] = (fault, left - 1)
                return fault
        return None


class StreamFault(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One fault; `times` None means until cleared, and `stream` can contain the wildcards * and ?."""

    kind: StreamKind
    stream: str = "*"
    times: int | None = 1
    ids: int = 1
    behind_ms: int = 60_000
    text: str = "NaN"


class StreamFaults:
    """Pending faults of streams; of those that match, the first added applies first."""

    def __init__(self) -> None:
        self.shutdowns = 0
        self.pings = 0
        self.endings = {"terminated": 0, "revoked": 0}
        self._waiting: list[tuple[StreamFault, int | None]] = []

    def add(self, fault: StreamFault) -> None:
        """Apply the fault to the next events that match it."""
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
        """Return the fault that applies to this event, and count it; None if no fault matches."""
        return self._take(stream, snapshot=False)

    def take_stale(self, symbol: str) -> StreamFault | None:
        """Return the fault that applies to this snapshot, and count it; None if no fault matches."""
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
