"""Conversion of SVG to PNG, and the entry point of its process."""

from __future__ import annotations

import gc
import os
import sys

from mcp_binance_server.charts.render.palette import with_palette

TYPE_CHECKING = False  # see palette.py
if TYPE_CHECKING:
    from collections.abc import Sequence


def rasterise(svg: str, fonts: Sequence[str]) -> bytes:
    """Return the picture as PNG with a palette."""
    return with_palette(rgba(svg, fonts))


def rgba(svg: str, fonts: Sequence[str]) -> bytes:
    """Return the picture as the rasteriser writes it. It is loaded on first use, because most runs never draw."""
    import resvg_py  # noqa: PLC0415

    return resvg_py.svg_to_bytes(svg_string=svg, font_files=list(fonts), skip_system_fonts=True)


def main() -> None:
    """Rasterise one SVG from stdin to stdout.

    The first argument is the niceness of the process, the others are the font files.
    """
    _, politeness, *fonts = sys.argv
    if hasattr(os, "nice"):
        os.nice(int(politeness))
    gc.disable()  # the process ends before a collection would free anything
    sys.stdout.buffer.write(rasterise(sys.stdin.buffer.read().decode(), fonts))


if __name__ == "__main__":
    main()
