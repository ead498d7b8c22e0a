"""What is to be seen on a screenshot: how many pixels have a colour, and where."""

import io
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PIL import Image

NEAR = 14  # edges are blended, and so are lines over a shade

Colour = tuple[int, int, int]
Box = tuple[int, int, int, int]  # left, top, right, bottom


def rgb(written: str) -> Colour:
    """Read #rrggbb, and of #rrggbbaa the colour alone."""
    return int(written[1:3], 16), int(written[3:5], 16), int(written[5:7], 16)


@dataclass(frozen=True)
class Pixels:
    """A screenshot; boxes are in its pixels."""

    grid: NDArray[np.int16]

    @classmethod
    def of(cls, png: bytes) -> "Pixels":
        with Image.open(io.BytesIO(png)) as image:
            return cls(np.asarray(image.convert("RGB"), dtype=np.int16))

    @property
    def size(self) -> tuple[int, int]:
        height, width = self.grid.shape[:2]
        return width, height

    def within(self, box: Box) -> "Pixels":
        left, top, right, bottom = box
        return Pixels(self.grid[top:bottom, left:right])

    def count(self, colour: Colour, near: int = NEAR) -> int:
        """Count the pixels of about a colour."""
        return int(self._like(colour, near).sum())

    def share(self, colour: Colour) -> float:
        return self.count(colour) / (self.grid.shape[0] * self.grid.shape[1])

    def differing(self, other: "Pixels") -> int:
        """Count the pixels in which two pictures differ."""
        return int((self.grid != other.grid).any(axis=2).sum())

    def _like(self, colour: Colour, near: int) -> NDArray[np.bool_]:
        return np.all(np.abs(self.grid - np.array(colour, dtype=np.int16)) < near, axis=2)

    def columns(self, colour: Colour) -> list[int]:
        """Return the columns in which a colour is found."""
        return [int(each) for each in np.flatnonzero(self._like(colour, NEAR).any(axis=0))]

    def rows(self, colour: Colour) -> list[int]:
        """Return the rows in which a colour is found."""
        return [int(each) for each in np.flatnonzero(self._like(colour, NEAR).any(axis=1))]
