"""Pictures that can be fetched for a while, and whether this machine writes JPEG."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from io import BytesIO
from typing import Final, Literal

from mcp_binance_server.charts.errors import PictureGone
from mcp_binance_server.state.engine import MAX_SHELVED_BYTES, StateEngine

SCHEME: Final = "chart://"
KEPT_MS: Final = 60 * 60 * 1000
MOST_BYTES: Final = 64 * 1024 * 1024
SHELF: Final = "pictures"
Suffix = Literal["png", "jpeg", "svg"]

# Text and thin lines stay clean, at one and a half times the bytes of the PNG.
QUALITY: Final = 85
MISSING: Final = "JPEG is drawn here only with Pillow: pip install 'mcp-binance-server[jpeg]', or ask for png"
JpegEncoder = Callable[[bytes], bytes]


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


def jpeg_encoder() -> JpegEncoder | None:
    """Return what makes a JPEG of a PNG, if Pillow is installed."""
    return encode_jpeg if find_spec("PIL") else None


def encode_jpeg(png: bytes) -> bytes:
    """Return a picture of our own as JPEG."""
    from PIL import Image  # noqa: PLC0415 - an extra, and loaded by the first who asks for a JPEG

    written = BytesIO()
    with Image.open(BytesIO(png), formats=["PNG"]) as picture:
        # Without halved colours: red and green lines one pixel wide would run.
        picture.convert("RGB").save(written, "JPEG", quality=QUALITY, subsampling=0, optimize=True)
    return written.getvalue()
