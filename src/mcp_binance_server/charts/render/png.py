"""Conversion of SVG to PNG, and its own process."""

import os
import sys
from collections.abc import Sequence
from importlib import import_module


def rasterise(svg: str, fonts: Sequence[str]) -> bytes:
    """Return the picture as PNG. The rasteriser is loaded on first use, because most runs never draw."""
    resvg = import_module("resvg_py")
    return bytes(resvg.svg_to_bytes(svg_string=svg, font_files=list(fonts), skip_system_fonts=True))


def main() -> None:
    """Rasterise once with the niceness of the first argument and the typefaces of the others, then exit."""
    _, politeness, *fonts = sys.argv
    if hasattr(os, "nice"):
        os.nice(int(politeness))
    sys.stdout.buffer.write(rasterise(sys.stdin.buffer.read().decode(), fonts))


if __name__ == "__main__":
    main()
