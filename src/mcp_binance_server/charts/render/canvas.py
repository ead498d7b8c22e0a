"""Canvas for SVG shapes and texts, and the fonts that measure them."""

import struct
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cache
from html import escape
from importlib.resources import as_file, files
from itertools import pairwise

from mcp_binance_server.charts.render.layout import Box
from mcp_binance_server.charts.render.look import Colour

FAMILY = "Liberation Sans"
FACES = ("LiberationSans-Regular.ttf", "LiberationSans-Bold.ttf")
ASCENT, DESCENT = 0.76, 0.22  # shares of the font size: height of digits and capitals, depth of descenders
UNKNOWN = "?"
_TENTHS = tuple((f".{tenth}0", f".{tenth}") for tenth in range(1, 10))

_files = ExitStack()  # keeps the paths valid until the process ends, even if the package is in a zip file

Point = tuple[float, float]
Segment = tuple[float, float, float, float]
Rect = tuple[float, float, float, float]  # left, top, width, height


@dataclass(frozen=True, slots=True)
class Face:
    """Advance widths by character, in thousandths of the font size."""

    advance: dict[str, float]


@cache
def font_files() -> tuple[str, ...]:
    """Return the paths of the font files."""
    folder = files("mcp_binance_server.charts.render") / "fonts"
    return tuple(str(_files.enter_context(as_file(folder / name))) for name in FACES)


def width_of(text: str, size: float, *, bold: bool = False) -> float:
    """Return the width of a text in pixels, without kerning."""
    advance = _face(FACES[bold]).advance
    return sum(advance[character] for character in printable(text)) * size / 1000


def printable(text: str) -> str:
    """Replace unprintable characters, and characters that the font lacks, by a question mark."""
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
    # The cmap table of format 4 for the Windows platform. In both font files each segment is a plain offset.
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


@dataclass(frozen=True, slots=True)
class Text:
    """A text that was drawn. A plated text has an opaque background that hides all lines."""

    text: str
    box: Box
    plated: bool


@dataclass(frozen=True, slots=True)
class Stroke:
    """A line that was drawn. Only the part inside `clip` is visible."""

    points: Sequence[Point]
    clip: Box | None


@dataclass(slots=True)
class Canvas:
    """Shapes in painting order. Shapes of one kind and colour are merged into one SVG path."""

    width: int
    height: int
    texts: list[Text] = field(default_factory=list[Text])
    strokes: list[Stroke] = field(default_factory=list[Stroke])
    lacking: dict[str, None] = field(default_factory=dict[str, None])
    """Characters without a glyph in the typeface, in the order of their first use."""
    _parts: list[str] = field(default_factory=list[str])
    _clip: Box | None = None
    _clipped_from: int = 0
    _escaped: bool = False
    _names: int = 0

    def rects(self, rects: Sequence[Rect], fill: Colour) -> None:
        self._watch((x + dx, y + dy) for x, y, w, h in rects for dx, dy in ((0, 0), (w, h)))
        path = _trimmed("".join([f"M{x:.2f} {y:.2f}h{w:.2f}v{h:.2f}h{-w:.2f}z" for x, y, w, h in rects]))
        if path:
            self._parts.append(f'<path{_paint("fill", fill)} d="{path}"/>')

    def bars(self, rects: Sequence[Rect], fill: Colour) -> None:
        """Draw rectangles that texts must not cover."""
        self.rects(rects, fill)
        self._remember(((x + w / 2, y), (x + w / 2, y + h)) for x, y, w, h in rects)

    def frame(self, box: Box, stroke: Colour, width: float = 1) -> None:
        corners = [(box.left, box.top), (box.right, box.top), (box.right, box.bottom), (box.left, box.bottom)]
        self.polyline([*corners, corners[0]], stroke, width)

    def lines(self, segments: Sequence[Segment], stroke: Colour, width: float = 1, dash: str = "") -> None:
        path = _trimmed("".join([f"M{x0:.2f} {y0:.2f}L{x1:.2f} {y1:.2f}" for x0, y0, x1, y1 in segments]))
        if path:
            self._parts.append(f'<path{_paint("stroke", stroke)}{_pen(width, dash)} d="{path}"/>')
            self._remember(((x0, y0), (x1, y1)) for x0, y0, x1, y1 in segments)

    def polyline(self, points: Sequence[Point], stroke: Colour, width: float = 1, dash: str = "") -> None:
        if len(points) > 1:
            self._parts.append(
                f'<polyline fill="none"{_paint("stroke", stroke)}{_pen(width, dash)} stroke-linejoin="round"'
                f' points="{_points(points)}"/>'
            )
            self._remember([points])

    def polygon(self, points: Sequence[Point], fill: Colour) -> None:
        if len(points) > 2:
            self._watch(points)
            self._parts.append(f'<polygon{_paint("fill", fill)} points="{_points(points)}"/>')

    def fade(self, points: Sequence[Point], top: Colour, bottom: Colour) -> None:
        """Fill a shape with a vertical gradient between two colours."""
        name = self._name()
        self._watch(points)
        stops = "".join(
            f'<stop offset="{at}" stop-color="{colour.hex}" stop-opacity="{_n(colour.alpha)}"/>'
            for at, colour in ((0, top), (1, bottom))
        )
        self._parts.append(f'<linearGradient id="{name}" x1="0" y1="0" x2="0" y2="1">{stops}</linearGradient>')
        self._parts.append(f'<polygon fill="url(#{name})" points="{_points(points)}"/>')

    def dots(self, centres: Sequence[Point], radius: float, fill: Colour) -> None:
        r, d = _n(radius), _n(2 * radius)
        path = "".join(f"M{_n(x - radius)} {_n(y)}a{r} {r} 0 1 0 {d} 0a{r} {r} 0 1 0 -{d} 0z" for x, y in centres)
        if path:
            self._parts.append(f'<path{_paint("fill", fill)} d="{path}"/>')
            self._remember(((x - radius, y), (x + radius, y)) for x, y in centres)

    def plate(self, box: Box, fill: Colour, border: Colour | None = None) -> None:
        edge = f'{_paint("stroke", border)} stroke-width="1"' if border else ""
        self._parts.append(
            f'<rect x="{_n(box.left)}" y="{_n(box.top)}" width="{_n(box.width)}" height="{_n(box.height)}" rx="2"'
            f"{_paint('fill', fill)}{edge}/>"
        )

    def text(
        self, x: float, y: float, text: str, size: float, fill: Colour, *,
        anchor: str = "start", bold: bool = False, plated: bool = False,
    ) -> float:  # fmt: skip
        """Draw a text on its baseline and return the x coordinate of its right end."""
        self.texts.append(Text(text, box := text_box(x, y, text, size, anchor=anchor, bold=bold), plated))
        self._write(box.left, y, text, size, fill, bold=bold)
        return box.right

    def watermark(self, x: float, y: float, text: str, size: float, fill: Colour) -> None:
        """Draw a text that lines and labels may cover."""
        self._write(x - width_of(text, size, bold=True) / 2, y, text, size, fill, bold=True)

    def free(self, box: Box, gap: float = 2.0) -> bool:
        """Return True if the box overlaps no text."""
        return not any(box.meets(text.box, gap) for text in self.texts)

    def crossed(self, box: Box) -> int:
        """Count the lines that cross a box. Only clipped lines count, which are the lines of series and drawings."""
        return sum(
            box.crossed_by(start, end)
            for stroke in self.strokes
            if stroke.clip and stroke.clip.meets(box)
            for start, end in pairwise(stroke.points)
        )

    def clip(self, box: Box) -> None:
        """Clip the next shapes to a box until `unclip`."""
        self._clip, self._clipped_from, self._escaped = box, len(self._parts), False

    def unclip(self) -> None:
        # A clip costs the rasteriser half of its time, so it is written only if a shape exceeds the box.
        if self._clip and self._escaped:
            box, name = self._clip, self._name()
            opening = (
                f'<clipPath id="{name}"><rect x="{_n(box.left)}" y="{_n(box.top)}" width="{_n(box.width)}"'
                f' height="{_n(box.height)}"/></clipPath><g clip-path="url(#{name})">'
            )
            self._parts.insert(self._clipped_from, opening)
            self._parts.append("</g>")
        self._clip = None

    def svg(self) -> str:
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{self.width}" height="{self.height}"'
            f' viewBox="0 0 {self.width} {self.height}" font-family="{FAMILY}, Arimo, Arial, sans-serif"'
            f' font-kerning="none">{"".join(self._parts)}</svg>'
        )

    def _write(self, x: float, y: float, text: str, size: float, fill: Colour, *, bold: bool) -> None:
        weight = ' font-weight="bold"' if bold else ""
        known = _face(FACES[0]).advance
        self.lacking |= {character: None for character in text if character.isprintable() and character not in known}
        self._parts.append(
            f'<text x="{_n(x)}" y="{_n(y)}" font-size="{_n(size)}"{_paint("fill", fill)}{weight}>'
            f"{escape(printable(text), quote=False)}</text>"
        )

    def _remember(self, lines: Iterable[Sequence[Point]]) -> None:
        clip = self._clip
        for points in lines:
            if clip and not self._escaped:
                self._watch(points)
            self.strokes.append(Stroke(points, clip))

    def _watch(self, points: Iterable[Point]) -> None:
        if self._clip and not self._escaped:
            box = self._clip
            left, top, right, bottom = box.left - 1, box.top - 1, box.right + 1, box.bottom + 1
            for x, y in points:
                if y < top or y > bottom or x < left or x > right:
                    self._escaped = True
                    return

    def _name(self) -> str:
        self._names += 1
        return f"n{self._names}"


def text_box(x: float, y: float, text: str, size: float, *, anchor: str = "start", bold: bool = False) -> Box:
    """Return the bounding box of a text on its baseline."""
    width = width_of(text, size, bold=bold)
    left = x - {"start": 0.0, "middle": width / 2, "end": width}[anchor]
    return Box(left, y - ASCENT * size, left + width, y + DESCENT * size)


def _n(number: float) -> str:
    return _trimmed(f"{number:.2f}")


def _points(points: Sequence[Point]) -> str:
    return _trimmed(" ".join([f"{x:.2f},{y:.2f}" for x, y in points]))


def _trimmed(path: str) -> str:
    """Remove trailing zeros from numbers with two decimals.

    One pass over the path is faster than thousands of calls.
    """
    path = path.replace("-0.00", "0").replace(".00", "")
    for zeros, trimmed in _TENTHS:
        path = path.replace(zeros, trimmed)
    return path


def _paint(kind: str, colour: Colour) -> str:
    return f' {kind}="{colour.hex}"' + ("" if colour.alpha == 1 else f' {kind}-opacity="{_n(colour.alpha)}"')


def _pen(width: float, dash: str) -> str:
    return (f' stroke-width="{_n(width)}"' if width != 1 else "") + (f' stroke-dasharray="{dash}"' if dash else "")
