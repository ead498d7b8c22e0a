"""What can go wrong on the way, on demand: each fault strikes a number of requests to a path and is gone."""

from fnmatch import fnmatchcase
from typing import Literal

import msgspec

Kind = Literal[
    "status",  # an error answer: status, code, msg, headers; or a text body instead of code and msg
    "delay",  # the true answer, late
    "cut_before",  # the connection ends before the answer
    "cut_within",  # the connection ends in the middle of the body
    "html",  # status 200 and a page
    "truncated",  # status 200 and the first half of the JSON, length and all
    "empty",  # status 200 and no body
    "content_type",  # the true body, announced as text
    "gzip",  # the true body, compressed
    "false_gzip",  # the true body, announced as compressed
    "huge",  # a valid JSON body of `size` bytes
    "drip",  # the true body, byte by byte, `delay_ms` apart
]


class Fault(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One thing that goes wrong; `times` None means until cleared, `path` may hold * and ?."""

    kind: Kind
    path: str = "*"
    times: int | None = 1
    delay_ms: float = 0
    status: int = 500
    code: int = -1000
    msg: str = "An unknown error occurred while processing the request."
    body: str | None = None
    headers: dict[str, str] = {}
    size: int = 16_000_000


class Faults:
    """The faults that wait for their requests, first added first used."""

    def __init__(self) -> None:
        self._waiting: list[tuple[Fault, int | None]] = []

    def add(self, fault: Fault) -> None:
        """Let the fault strike the next requests it matches."""
        self._waiting.append((fault, fault.times))

    def clear(self) -> None:
        """Forget every fault."""
        self._waiting.clear()

    def pending(self) -> list[Fault]:
        """Return the faults that still wait."""
        return [fault for fault, _ in self._waiting]

    def take(self, path: str) -> Fault | None:
        """Return the fault that strikes this request, and count it."""
        for place, (fault, left) in enumerate(self._waiting):
            if fnmatchcase(path, fault.path):
                if left is not None and left <= 1:
                    del self._waiting[place]
                elif left is not None:
                    self._waiting[place] = (fault, left - 1)
                return fault
        return None
