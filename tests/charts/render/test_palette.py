"""The palette of a chart: no digit of the legend blurs, and the picture is half the size."""

import struct
import zlib
from io import BytesIO
from math import inf, log10

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from charts.render.pixels import pixels_of
from charts.render.scenes import SCENES
from mcp_binance_server.charts.render.canvas import font_files
from mcp_binance_server.charts.render.chart import Scene, compose
from mcp_binance_server.charts.render.palette import MOST_COLOURS, with_palette
from mcp_binance_server.charts.render.png import rasterise, rgba

SIGNATURE = b"\x89PNG\r\n\x1a\n"
OPAQUE, INDEXED = 6, 3  # colour types
LEAST_DECIBEL = 40
MOST_OFF = 12  # levels of a channel, in a text of the legend
WIDTH = 5


def decibel(one: bytes, other: bytes) -> float:
    """Return the peak signal-to-noise ratio."""
    error = float(((pixels_of(one) - pixels_of(other)).astype(np.int64) ** 2).mean())
    return 10 * log10(255**2 / error) if error else inf


def most_off_in_the_legend(scene: Scene, one: bytes, other: bytes) -> int:
    off = np.abs(pixels_of(one) - pixels_of(other)).max(axis=2)
    said = " ".join(row.said for row in scene.meta.legend)
    boxes = [text.box for text in scene.canvas.texts if text.text.strip() in said]
    return max(int(off[int(box.top) : int(box.bottom) + 1, int(box.left) : int(box.right) + 1].max()) for box in boxes)


def fills_are_exact(one: bytes, other: bytes) -> bool:
    """Return True if colours of more than one pixel in 200 are the same: a faint fill must keep its hue."""
    pixels = pixels_of(one).reshape(-1, 3)
    _, places, counts = np.unique(pixels, axis=0, return_inverse=True, return_counts=True)
    fills = counts[places.reshape(-1)] > len(pixels) / 200
    return bool((pixels == pixels_of(other).reshape(-1, 3))[fills].all())


def colours_of(png: bytes) -> int:
    return len(np.unique(pixels_of(png).reshape(-1, 3), axis=0))


def png_of(rows: list[tuple[int, bytes]], header: bytes = b"\x08\x06\x00\x00\x00") -> bytes:
    """Return a PNG of filtered rows of RGBA."""
    parts = (
        (b"IHDR", struct.pack(">II", WIDTH, len(rows)) + header),
        (b"IDAT", zlib.compress(b"".join(bytes([kind]) + row for kind, row in rows), 0)),
        (b"IEND", b""),
    )
    chunks = (struct.pack(">I", len(d)) + k + d + struct.pack(">I", zlib.crc32(k + d)) for k, d in parts)
    return SIGNATURE + b"".join(chunks)


@pytest.mark.slow
@pytest.mark.parametrize("name", SCENES)
def test_a_chart_with_a_palette_looks_the_same(name: str) -> None:
    scene = compose(SCENES[name].candles(), SCENES[name].spec)
    before = rgba(scene.canvas.svg(), font_files())

    after = with_palette(before)

    assert (before[25], after[25]) == (OPAQUE, INDEXED)
    assert len(after) < 0.65 * len(before)
    assert decibel(before, after) >= (LEAST_DECIBEL if colours_of(before) > MOST_COLOURS else inf)
    assert most_off_in_the_legend(scene, before, after) <= MOST_OFF
    assert SCENES[name].spec.style == "area" or fills_are_exact(before, after)  # a fade has no fill of one colour


@pytest.mark.slow
def test_the_renderer_uses_a_palette() -> None:
    scene = SCENES["one-bar-light"]
    svg = compose(scene.candles(), scene.spec).canvas.svg()

    assert rasterise(svg, font_files()) == with_palette(rgba(svg, font_files()))


SMALL_STEPS = st.lists(st.sampled_from([0, 0, 0, 0, 1, 255, 90]), min_size=3, max_size=3)


@st.composite
def filtered_rows(draw: st.DrawFn) -> list[tuple[int, bytes]]:
    """Draw filtered rows of an opaque picture: only the first pixel can change the opacity."""
    rows: list[tuple[int, bytes]] = []
    for y in range(draw(st.integers(1, 6))):
        kind = draw(st.sampled_from([1, 2, 2, 3, 4, 4, 4]) if y else st.sampled_from([1, 4]))
        steps = [bytes([*draw(SMALL_STEPS), _opacity(kind, x, y)]) for x in range(WIDTH)]
        rows.append((kind, b"".join(steps)))
    return rows


def _opacity(kind: int, x: int, y: int) -> int:
    left, up = 255 if x else 0, 255 if y else 0
    corner = 255 if x and y else 0
    predicted = {1: left, 2: up, 3: (left + up) // 2, 4: max(left, up) if left + up - corner else 0}[kind]
    return (255 - predicted) % 256


@given(filtered_rows())
def test_every_filter_is_decoded_as_another_library_does(rows: list[tuple[int, bytes]]) -> None:
    png = png_of([*rows, *[(2, bytes(4 * WIDTH))] * 99])

    indexed = with_palette(png)

    assert indexed[25] == INDEXED
    assert np.array_equal(pixels_of(indexed), pixels_of(png))


def test_a_row_without_a_filter_is_decoded() -> None:
    png = png_of([(0, bytes([9, 8, 7, 255]) * WIDTH)] * 60)

    assert np.array_equal(pixels_of(with_palette(png)), pixels_of(png))


def test_a_translucent_picture_stays_as_it_is() -> None:
    png = png_of([(0, bytes([9, 8, 7, 128]) * WIDTH)] * 60)

    assert with_palette(png) == png


def test_a_picture_that_would_grow_stays_as_it_is() -> None:
    png = rgba('<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"><path d="M0 0h1v1h-1z"/></svg>', [])

    assert with_palette(png) == png


def test_a_picture_of_another_format_stays_as_it_is() -> None:
    written = BytesIO()
    Image.new("RGB", (64, 64)).save(written, "PNG")

    assert with_palette(written.getvalue()) == written.getvalue()


def test_more_colours_than_a_row_can_number_stay_as_they_are() -> None:
    written = BytesIO()
    grid = np.arange(300 * 300, dtype=np.uint32).reshape(300, 300) | np.uint32(0xFF000000)
    Image.fromarray(grid.view(np.uint8).reshape(300, 300, 4)).save(written, "PNG")

    assert with_palette(written.getvalue()) == written.getvalue()
