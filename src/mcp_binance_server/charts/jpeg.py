"""JPEG for pictures drawn here: the rasteriser writes PNG, and Pillow, an extra, writes the rest."""

from collections.abc import Callable
from importlib.util import find_spec
from io import BytesIO
from typing import Final

# Text and thin lines stay clean, at one and a half times the bytes of the PNG.
QUALITY: Final = 85
MISSING: Final = "JPEG is drawn here only with Pillow: pip install 'mcp-binance-server[jpeg]', or ask for png"
JpegEncoder = Callable[[bytes], bytes]


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
