"""The bundled typeface: how wide a text is, and which characters it has. The rasteriser tells neither."""

import struct
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache
from importlib.resources import as_file, files

FAMILY = "Liberation Sans"
FACES = ("LiberationSans-Regular.ttf", "LiberationSans-Bold.ttf")
ASCENT, DESCENT = 0.76, 0.22  # of the size: the tallest figure or capital, the deepest tail
UNKNOWN = "?"

_files = ExitStack()  # paths stay valid for the life of the process, also out of a zipped package


@dataclass(frozen=True, slots=True)
class Face:
    """Advance widths in thousandths of the size, by character."""

    advance: dict[str, float]


@cache
def font_files() -> tuple[str, ...]:
    """Return real paths of the typefaces."""
    folder = files("mcp_binance_server.charts.render") / "fonts"
    return tuple(str(_files.enter_context(as_file(folder / name))) for name in FACES)


def width_of(text: str, size: float, *, bold: bool = False) -> float:
    """Return the width of a text in pixels, without kerning."""
    advance = _face(FACES[bold]).advance
    return sum(advance[character] for character in printable(text)) * size / 1000


def printable(text: str) -> str:
    """Replace what the typeface lacks, and characters that print nothing, by a question mark."""
    known = _face(FACES[0]).advance
    return "".join(character if character in known and character.isprintable() else UNKNOWN for character in text)


@cache
def _face(name: str) -> Face:
    data = (files("mcp_binance_server.charts.render") / "fonts" / name).read_bytes()
    tables = {data[at : at + 4]: struct.unpack_from(">II", data, at + 8) for at in _records(data)}
    units = struct.unpack_from(">H", data, tables[b"head"][0] + 18)[0]
    long_metrics = struct.unpack_from(">H", data, tables[b"hhea"][0] + 34)[0]
    widths = struct.unpack_from(">" + "Hh" * long_metrics, data, tables[b"hmtx"][0])[::2]
    glyphs = _glyphs(data, tables[b"cmap"][0])
    return Face(
        {chr(code): 1000 * widths[min(glyph, long_metrics - 1)] / units for code, glyph in glyphs.items() if glyph}
    )


def _records(data: bytes) -> range:
    return range(12, 12 + 16 * struct.unpack_from(">H", data, 4)[0], 16)


def _glyphs(data: bytes, cmap: int) -> dict[int, int]:
    # Format 4 of the Windows platform, segments of the basic plane; in both files a segment is a plain shift.
    count = struct.unpack_from(">H", data, cmap + 2)[0]
    encodings = [struct.unpack_from(">HHI", data, cmap + 4 + 8 * index) for index in range(count)]
    table = cmap + next(offset for platform, kind, offset in encodings if (platform, kind) == (3, 1))
    segments = struct.unpack_from(">H", data, table + 6)[0] // 2
    ends = struct.unpack_from(f">{segments}H", data, table + 14)
    starts = struct.unpack_from(f">{segments}H", data, table + 16 + 2 * segments)
    deltas = struct.unpack_from(f">{segments}h", data, table + 16 + 4 * segments)
    return {
        code: (code + delta) & 0xFFFF
        for start, end, delta in zip(starts, ends, deltas, strict=True)
        for code in range(start, min(end, 0xFFFE) + 1)
    }
