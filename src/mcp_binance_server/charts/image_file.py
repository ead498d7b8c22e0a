"""What an image file says of itself in its first and last bytes: its kind and its size."""

import struct
from dataclasses import dataclass
from typing import Literal

from mcp_binance_server.charts.errors import ChartUnavailable

ImageFormat = Literal["png", "jpeg"]

PNG_MAGIC = b"\x89PNG\r\n\x1a\n"
PNG_END = b"IEND\xaeB`\x82"
JPEG_MAGIC = b"\xff\xd8\xff"
JPEG_END = b"\xff\xd9"
LONGEST_SIDE = 4_096
# Frame headers of every kind of JPEG; 0xC4, 0xC8 and 0xCC are something else.
_JPEG_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}


@dataclass(frozen=True, slots=True)
class ImageFile:
    format: ImageFormat
    width: int
    height: int


def read_image(data: bytes) -> ImageFile | None:
    """Return what the file is; None if it is neither PNG nor JPEG, or ends before its end."""
    if data.startswith(PNG_MAGIC) and data.endswith(PNG_END) and data[12:16] == b"IHDR":
        width, height = struct.unpack_from(">II", data, 16)
        return ImageFile("png", width, height)
    if data.startswith(JPEG_MAGIC) and data.endswith(JPEG_END):
        return _jpeg(data)
    return None


def checked_image(content_type: str, data: bytes) -> ImageFile:
    """Return what an answer holds, if it is the image that it says it is.

    Raises:
        ChartUnavailable: it is no image, another one, cut off, or of a size that nobody draws.
    """
    announced: dict[str, ImageFormat] = {"image/png": "png", "image/jpeg": "jpeg"}
    kind = announced.get(content_type.partition(";")[0].strip().lower())
    if kind is None:
        raise ChartUnavailable(reason="the answer is no image")
    image = read_image(data)
    if image is None or image.format != kind:
        raise ChartUnavailable(reason=f"the answer is no whole {kind.upper()} file")
    if not (0 < image.width <= LONGEST_SIDE and 0 < image.height <= LONGEST_SIDE):
        raise ChartUnavailable(reason="the image has an impossible size")
    return image


def _jpeg(data: bytes) -> ImageFile | None:
    place = 2
    while place + 9 <= len(data) and data[place] == 0xFF:
        marker, length = data[place + 1], struct.unpack_from(">H", data, place + 2)[0]
        if marker in _JPEG_FRAMES:
            height, width = struct.unpack_from(">HH", data, place + 5)
            return ImageFile("jpeg", width, height)
        place += 2 + max(2, length)
    return None
