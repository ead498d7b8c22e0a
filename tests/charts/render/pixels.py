"""Just enough PNG to count the pixels in which two pictures differ."""

import struct
import zlib

SIGNATURE = b"\x89PNG\r\n\x1a\n"


def size_of(png: bytes) -> tuple[int, int]:
    """Return width and height as the header says."""
    width, height = struct.unpack(">II", png[16:24])
    return width, height


def differing(one: bytes, other: bytes) -> float:
    """Return the part of the pixels that differ; pictures of unlike sizes differ altogether."""
    if size_of(one) != size_of(other):
        return 1.0
    width, height = size_of(one)
    unlike = 0
    for mine, theirs in zip(_rows(one), _rows(other), strict=True):
        if mine != theirs:
            unlike += sum(mine[x : x + 4] != theirs[x : x + 4] for x in range(0, 4 * width, 4))
    return unlike / width / height


def _rows(png: bytes) -> list[bytearray]:
    width, height = size_of(png)
    if png[:8] != SIGNATURE or png[24:29] != b"\x08\x06\x00\x00\x00":
        raise ValueError("not an 8-bit RGBA picture without interlacing")
    data = zlib.decompress(b"".join(_chunks(png)))
    rows: list[bytearray] = []
    before = bytearray(4 * width)
    for index in range(height):
        start = index * (4 * width + 1)
        row = bytearray(data[start + 1 : start + 1 + 4 * width])
        _unfilter(data[start], row, before)
        rows.append(row)
        before = row
    return rows


def _chunks(png: bytes) -> list[bytes]:
    found: list[bytes] = []
    at = 8
    while at < len(png):
        length, kind = struct.unpack(">I4s", png[at : at + 8])
        if kind == b"IDAT":
            found.append(png[at + 8 : at + 8 + length])
        at += length + 12
    return found


def _unfilter(kind: int, row: bytearray, above: bytearray) -> None:
    for x in range(len(row)):
        left, corner = (row[x - 4], above[x - 4]) if x >= 4 else (0, 0)
        row[x] = (row[x] + _predicted(kind, left, above[x], corner)) & 255


def _predicted(kind: int, left: int, up: int, corner: int) -> int:
    if kind == 4:
        nearness = ((abs(up - corner), 0, left), (abs(left - corner), 1, up), (abs(left + up - 2 * corner), 2, corner))
        return min(nearness)[2]
    return (0, left, up, (left + up) // 2)[kind]
