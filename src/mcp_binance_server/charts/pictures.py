"""Pictures that a client may fetch for an hour, by an address made of what they show; all processes share them."""

import hashlib
from dataclasses import dataclass
from typing import Final, Literal

from mcp_binance_server.charts.errors import PictureGone
from mcp_binance_server.state.engine import MAX_SHELVED_BYTES, StateEngine

SCHEME: Final = "chart://"
KEPT_MS: Final = 60 * 60 * 1000
MOST_BYTES: Final = 64 * 1024 * 1024
SHELF: Final = "pictures"
Suffix = Literal["png", "jpeg", "svg"]


@dataclass(frozen=True, slots=True)
class Pictures:
    """The newest pictures, 64 MiB of them at most; the oldest makes room."""

    engine: StateEngine
    most_bytes: int = MOST_BYTES

    def takes(self, data: bytes) -> bool:
        """Tell whether a picture is small enough to be kept."""
        return len(data) <= min(MAX_SHELVED_BYTES, self.most_bytes)

    async def keep(self, data: bytes, suffix: Suffix) -> str:
        """Keep a picture for an hour from now and return its address; the same picture has the same one.

        Raises:
            EngineUnavailable: it could not be kept.
        """
        name = f"{hashlib.sha256(data).hexdigest()[:16]}.{suffix}"
        await self.engine.shelve(SHELF, name, data, ttl_ms=KEPT_MS, most_bytes=self.most_bytes)
        return f"{SCHEME}{name}"

    async def read(self, uri: str) -> bytes:
        """Return a picture that is still kept.

        Raises:
            PictureGone: it is not, or never was.
        """
        data = await self.engine.shelved(SHELF, uri.removeprefix(SCHEME))
        if data is None:
            raise PictureGone(provided_uri=uri)
        return data
