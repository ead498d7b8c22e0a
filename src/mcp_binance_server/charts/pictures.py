"""Temporary storage of pictures, and JPEG encoding if Pillow is installed."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from io import BytesIO
from typing import Final, Literal

from mcp_binance_server.charts.errors import PictureGone
from mcp_binance_server.state.engine import MAX_SHELVED_BYTES, Values

SCHEME: Final = "chart://"
KEPT_MS: Final = 60 * 60 * 1000
MOST_BYTES: Final = 64 * 1024 * 1024
SHELF: Final = "pictures"
Suffix = Literal["png", "jpeg", "svg"]

# At this quality text and thin lines stay clean. The file is one and a half times the size of the PNG.
QUALITY: Final = 85
MISSING: Final = "JPEG needs Pillow for local drawing: pip install 'mcp-binance-server[jpeg]', or use png"
JpegEncoder = Callable[[bytes], bytes]


@dataclass(frozen=True, slots=True)
class Pictures:
    """Store of the newest pictures. It holds at most 64 MiB and evicts the oldest first."""

    engine: Values
    most_bytes: int = MOST_BYTES

    def takes(self, data: bytes) -> bool:
        """Return True if a picture is small enough to be stored."""
        return len(data) <= min(MAX_SHELVED_BYTES, self.most_bytes)

    async def keep(self, data: bytes, suffix: Suffix) -> str:
        """Store a picture for an hour and return its address. Equal pictures have the same address.

        Raises:
            EngineUnavailable: the picture could not be stored.
        """
        name = f"{hashlib.sha256(data).hexdigest()[:16]}.{suffix}"
        await self.engine.shelve(SHELF, name, data, ttl_ms=KEPT_MS, most_bytes=self.most_bytes)
        return f"{SCHEME}{name}"

    async def read(self, uri: str) -> bytes:
        """Return a stored picture.

        Raises:
            PictureGone: the picture has expired or never existed.
        """
        data = await self.engine.shelved(SHELF, uri.removeprefix(SCHEME))
        if data is None:
            raise PictureGone(provided_uri=uri)
        return data


def jpeg_encoder() -> JpegEncoder | None:
    """Return a converter from PNG to JPEG, or None without Pillow."""
    return encode_jpeg if find_spec("PIL") else None


def encode_jpeg(png: bytes) -> bytes:
    """Convert a PNG of the local renderer to JPEG."""
    from PIL import Image  # noqa: PLC0415 - an extra, imported at the first JPEG

    written = BytesIO()
    with Image.open(BytesIO(png), formats=["PNG"]) as picture:
        # No chroma subsampling: it would blur red and green lines one pixel wide.
        picture.convert("RGB").save(written, "JPEG", quality=QUALITY, subsampling=0, optimize=True)
    return written.getvalue()
