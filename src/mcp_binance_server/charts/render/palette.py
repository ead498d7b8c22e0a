"""Conversion of the rasteriser's PNG to a PNG with a palette, which is about half the size.

The rasteriser writes four bytes for each pixel, and a filter for each row. Most of a chart has flat colour, so only the
changes in a row are decoded. Runs of pixels that the filter predicts are copied at once, and sums of colours are
cached.
"""

from __future__ import annotations

import struct
import sys
import zlib
from array import array

MOST_COLOURS = 256
LEVEL = 6  # level 9 takes seven times as long and saves a tenth

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_RGBA = b"\x08\x06\x00\x00\x00"  # 8 bits, red green blue alpha, not interlaced
_INDEXED = b"\x08\x03\x00\x00\x00"
_LOW, _HIGH, _EVEN = 0x7F7F7F7F, 0x80808080, 0xFEFEFEFE
_UP = 2  # the filter that predicts the pixel above
_BLANK = 0  # the colour assumed to the left of each row and above the picture
_CHANGED = bytes([0]) + bytes([1]) * 255

# The frequency of colours is counted in a sample of rows. It has every fourth row of the legend, so that digits stay
# sharp, and every 16th row below.
_LEGEND_ROWS = 100
_LEGEND_STEP, _STEP = 4, 16

# Colours that differ by less than NEAR in every channel are merged. If more than 256 colours remain, FAR is used.
NEAR, FAR = 9, 13
EXACT = 40  # frequent colours that are never merged
_STEPS = (0, -1, 1)
_AROUND = tuple((red << 10) + (green << 5) + blue for red in _STEPS for green in _STEPS for blue in _STEPS)

# Importing `typing`, `dataclasses` and `collections.abc` would take a tenth of the time of a small picture.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    Row = array[int]


def with_palette(png: bytes) -> bytes:
    """Return the picture with a palette. With more than 256 colours, rare colours are merged with similar ones.

    A picture that is translucent, has another format, or would not shrink is returned unchanged.
    """
    header, pixels = (b"".join([data for kind, data in _chunks(png) if kind == each]) for each in (b"IHDR", b"IDAT"))
    if header[8:] != _RGBA or sys.byteorder != "little":
        return png
    width, height = struct.unpack_from(">II", header)
    picture = _Decoder(width)
    try:
        rows = picture.rows(zlib.decompress(pixels), height)
    except OverflowError:  # more colours than fit into 16 bits
        return png
    if not picture.opaque:
        return png
    if len(picture.colours) <= MOST_COLOURS + 1:
        kept, places = list(range(1, len(picture.colours))), [0, *range(len(picture.colours) - 1)]
    else:
        kept, places = _merged(picture.channels, _by_frequency(rows, len(picture.colours)))
    lines = zlib.compress(b"".join(_indexed(rows, places)), LEVEL)
    palette = b"".join(picture.channels[each] for each in kept)
    parts = ((b"IHDR", header[:8] + _INDEXED), (b"PLTE", palette), (b"IDAT", lines), (b"IEND", b""))
    smaller = _SIGNATURE + b"".join(_chunk(kind, data) for kind, data in parts)
    return smaller if len(smaller) < len(png) else png


def _chunks(png: bytes) -> Iterator[tuple[bytes, bytes]]:
    at = len(_SIGNATURE)
    while at < len(png):
        length, kind = struct.unpack_from(">I4s", png, at)
        yield kind, png[at + 8 : at + 8 + length]
        at += length + 12


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


class _Decoder:
    """Decoder of filtered RGBA rows.

    A decoded row holds a number per pixel; colours are numbered in order of appearance.
    """

    def __init__(self, width: int) -> None:
        self.width = width
        self.colours = [_BLANK]
        self.channels = [bytes(3)]  # red, green and blue of each colour
        self.opaque = True
        self._numbers = {_BLANK: 0}
        self._sums: dict[int, int] = {}
        self._mixed: dict[tuple[int, int, int, int], int] = {}

    def rows(self, data: bytes, height: int) -> list[Row]:
        """Decode every row. A row equal to the one above is the same object."""
        changed, view = data.translate(_CHANGED), memoryview(data)
        decode = (self._plain, self._sub, self._up, self._average, self._paeth)
        above = array("H", bytes(2 * self.width))
        rows: list[Row] = []
        for start in range(1, height * (4 * self.width + 1), 4 * self.width + 1):
            end = start + 4 * self.width
            kind = data[start - 1]
            if kind != _UP or changed.find(1, start, end) >= 0:
                above = decode[kind](view[start:end].cast("I"), changed[start:end], above)
            rows.append(above)
        return rows

    def _plain(self, given: memoryview, _changed: bytes, _above: Row) -> Row:
        return array("H", map(self._number, given))

    def _sub(self, given: memoryview, changed: bytes, above: Row) -> Row:
        row, left, x = above[:], 0, 0
        while x < self.width:
            left = self._sum(given[x], left)
            following = changed.find(1, 4 * x + 4)
            end = following // 4 if following >= 0 else self.width
            row[x:end] = array("H", (left,)) * (end - x)
            x = end
        return row

    def _up(self, given: memoryview, changed: bytes, above: Row) -> Row:
        row, at, sums = above[:], changed.find(1), self._sums
        while at >= 0:
            x = at // 4
            row[x] = sums.get(given[x] << 16 | row[x]) or self._sum(given[x], row[x])
            at = changed.find(1, 4 * x + 4)
        return row

    def _average(self, given: memoryview, _changed: bytes, above: Row) -> Row:
        row, left = above[:], 0
        for x, (residual, up) in enumerate(zip(given, above, strict=True)):
            if residual or left != up:
                one, other = self.colours[left], self.colours[up]
                mean = (one & other) + (((one ^ other) & _EVEN) >> 1)
                row[x] = left = self._number(_added(mean, residual))
        return row

    def _paeth(self, given: memoryview, changed: bytes, above: Row) -> Row:
        row, width, sums, mixed = above[:], self.width, self._sums, self._mixed
        edges = b""
        at = changed.find(1)
        while at >= 0:
            # Left of this pixel the row equals the row above, so the prediction is the pixel above.
            x = at // 4
            corner = above[x]
            row[x] = left = sums.get(given[x] << 16 | corner) or self._sum(given[x], corner)
            x += 1
            while left != corner and x < width:
                up, residual = above[x], given[x]
                if up == corner:
                    if residual:
                        left = sums.get(residual << 16 | left) or self._sum(residual, left)
                    elif not x & 7:
                        # Both rows have a run of one colour: find the end of the run at once.
                        edges = edges or _edges(above)
                        ends = (edges.find(1, 2 * x) + 2) // 2, changed.find(1, 4 * x) // 4
                        end = min([each for each in ends if each > x], default=width)
                        row[x:end] = array("H", (left,)) * (end - x)
                        x = end
                        continue
                elif up == left:
                    if residual:
                        left = sums.get(residual << 16 | left) or self._sum(residual, left)
                    corner = up
                else:
                    mix = (residual, left, up, corner)
                    left = mixed.get(mix) or self._mix(mix)
                    corner = up
                row[x] = left
                x += 1
            at = changed.find(1, 4 * x)
        return row

    def _sum(self, residual: int, colour: int) -> int:
        key = residual << 16 | colour
        number = self._sums.get(key)
        if number is None:
            number = self._sums[key] = self._number(_added(self.colours[colour], residual))
        return number

    def _mix(self, key: tuple[int, int, int, int]) -> int:
        residual, left, up, corner = key
        # Assume that all three are opaque. A picture with a translucent pixel is returned unchanged anyway.
        red, green, blue = map(_nearest, self.channels[left], self.channels[up], self.channels[corner])
        predicted = red | green << 8 | blue << 16 | 255 << 24
        self._mixed[key] = number = self._number(_added(predicted, residual))
        return number

    def _number(self, colour: int) -> int:
        number = self._numbers.get(colour)
        if number is None:
            number = self._numbers[colour] = len(self.colours)
            self.colours.append(colour)
            self.channels.append((colour & 0xFFFFFF).to_bytes(3, "little"))
            self.opaque = self.opaque and colour >> 24 == 255
        return number


def _added(one: int, other: int) -> int:
    """Add four bytes to four others, each modulo 256."""
    return ((one & _LOW) + (other & _LOW)) ^ ((one ^ other) & _HIGH)


def _nearest(left: int, up: int, corner: int) -> int:
    """Return left, up or corner: the byte that is nearest to left + up - corner."""
    # https://www.w3.org/TR/png-3/#9Filter-type-4-Paeth
    far_left, far_up = up - corner, left - corner
    if far_left >= 0:
        if far_up >= 0:
            return left if far_left <= far_up else up
        far_corner = abs(far_left + far_up)
        far_up = -far_up
    else:
        if far_up < 0:
            return left if far_left >= far_up else up
        far_corner = abs(far_left + far_up)
        far_left = -far_left
    if far_left <= far_up and far_left <= far_corner:
        return left
    return up if far_up <= far_corner else corner


def _edges(row: Row) -> bytes:
    """Return two bytes for each pixel. They are zero if the next pixel to the right has the same colour."""
    stored = int.from_bytes(row.tobytes(), "little")
    return (stored ^ (stored >> 16)).to_bytes(2 * len(row), "little").translate(_CHANGED)


def _by_frequency(rows: list[Row], colours: int) -> list[int]:
    """Return the numbers of all colours, sorted by their frequency in a sample of the rows."""
    counts = [0] * colours
    for row in rows[:_LEGEND_ROWS:_LEGEND_STEP] + rows[_LEGEND_ROWS::_STEP]:
        for number in row:
            counts[number] += 1
    return sorted(range(1, colours), key=lambda each: -counts[each])


def _merged(channels: Sequence[bytes], numbers: Sequence[int], *, near: int = NEAR) -> tuple[list[int], list[int]]:
    """Return up to 256 colours to keep, and for each colour its index among them.

    The first colours are those of fills and texts, and stay exact. A later colour is merged into a kept colour that is
    near in every channel. If there is none, the later colour is kept too. If too many remain, the distance grows.
    """
    kept: list[int] = []
    places = [0] * len(channels)
    cells: dict[int, list[int]] = {}  # indices of kept colours by cell of the colour space; a cell is `near` wide
    for number in numbers:
        red, green, blue = channels[number]
        cell = (red // near << 10) + (green // near << 5) + blue // near
        close = [place for around in _AROUND for place in cells.get(cell + around, ())] if len(kept) >= EXACT else ()
        for place in close:
            r, g, b = channels[kept[place]]
            if abs(r - red) < near and abs(g - green) < near and abs(b - blue) < near:
                places[number] = place
                break
        else:
            if len(kept) < MOST_COLOURS:
                places[number] = len(kept)
                kept.append(number)
            elif near < FAR:
                return _merged(channels, numbers, near=FAR)
            else:
                places[number] = _closest(red, green, blue, [channels[each] for each in kept])
            cells.setdefault(cell, []).append(places[number])
    return kept, places


def _closest(red: int, green: int, blue: int, colours: Iterable[bytes]) -> int:
    far = [(red - r) ** 2 + (green - g) ** 2 + (blue - b) ** 2 for r, g, b in colours]
    return far.index(min(far))


def _indexed(rows: Iterable[Row], places: Sequence[int]) -> Iterator[bytes]:
    """Yield the rows of a PNG, each after its filter byte. A row that equals the row above is written as zeros."""
    tables = [bytes(places[at : at + 256]).ljust(256, b"\0") for at in range(0, len(places), 256)]
    masks = [bytes(255 * (each == block) for each in range(256)) for block in range(len(tables))]
    above: Row | None = None
    for row in rows:
        stored = row.tobytes()
        if row is above:
            yield bytes([_UP]) + bytes(len(row))
            continue
        above, low, high = row, stored[::2], stored[1::2]
        line = low.translate(tables[0])
        if high.strip(b"\0"):
            parts = [
                int.from_bytes(low.translate(table), "big") & int.from_bytes(high.translate(mask), "big")
                for block, (table, mask) in enumerate(zip(tables, masks, strict=True))
                if block in high
            ]
            line = sum(parts).to_bytes(len(row), "big")
        yield b"\0" + line
