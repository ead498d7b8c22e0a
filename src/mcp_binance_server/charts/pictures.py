"""Pictures that a client may fetch for an hour, by an address made of what they show."""

import hashlib
from dataclasses import dataclass, field
from typing import Final, Literal

from mcp_binance_server.charts.errors import PictureGone
from mcp_binance_server.clock import Clock

SCHEME: Final = "chart://"
KEPT_MS: Final = 60 * 60 * 1000
MOST_BYTES: Final = 64 * 1024 * 1024
Suffix = Literal["png", "svg"]


@dataclass(frozen=True, slots=True)
class _Held:
    data: bytes = field(repr=False)
    until_ms: float


@dataclass
class Pictures:
    """The newest pictures, 64 MiB of them at most; the oldest makes room."""

    clock: Clock
    most_bytes: int = MOST_BYTES
    _held: dict[str, _Held] = field(default_factory=dict[str, _Held], init=False, repr=False)
    _bytes: int = field(default=0, init=False)

    def keep(self, data: bytes, suffix: Suffix) -> str:
        """Keep a picture for an hour from now and return its address; the same picture has the same one."""
        uri = f"{SCHEME}{hashlib.sha256(data).hexdigest()[:16]}.{suffix}"
        self._drop(uri)
        self._held[uri] = _Held(data, self.clock.monotonic_ms() + KEPT_MS)
        self._bytes += len(data)
        self._make_room()
        return uri

    def read(self, uri: str) -> bytes:
        """Return a picture that is still kept.

        Raises:
            PictureGone: it is not, or never was.
        """
        self._make_room()
        held = self._held.get(uri)
        if held is None:
            raise PictureGone(provided_uri=uri)
        return held.data

    def _make_room(self) -> None:
        # All are kept equally long, so the oldest is always the first to go.
        now_ms = self.clock.monotonic_ms()
        while self._held:
            oldest = next(iter(self._held))
            if self._bytes <= self.most_bytes and self._held[oldest].until_ms > now_ms:
                return
            self._drop(oldest)

    def _drop(self, uri: str) -> None:
        if held := self._held.pop(uri, None):
            self._bytes -= len(held.data)
