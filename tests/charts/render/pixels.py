"""Pixels of a PNG, read by another library."""

import struct
from io import BytesIO

import numpy as np
from numpy.typing import NDArray
from PIL import Image


def size_of(png: bytes) -> tuple[int, int]:
    """Return width and height as the header says."""
    width, height = struct.unpack(">II", png[16:24])
    return width, height


def pixels_of(png: bytes) -> NDArray[np.int16]:
    """Return rows of red, green and blue."""
    with Image.open(BytesIO(png)) as picture:
        return np.asarray(picture.convert("RGB"), dtype=np.int16)


def differing(one: bytes, other: bytes) -> float:
    """Return the part of the pixels that differ; pictures of unlike sizes differ altogether."""
    if size_of(one) != size_of(other):
        return 1.0
    return float((pixels_of(one) != pixels_of(other)).any(axis=2).mean())
