"""Conversion of SVG to PNG, and the entry point of its process."""

import os
import sys
from collections.abc import Sequence
from importlib import import_module


def rasterise(svg: str, fonts: Sequence[str]) -> bytes:
    """Convert an SVG to PNG. The rasteriser is imported on first use, because most runs never draw."""
    resvg = import_module("resvg_py")
    return bytes(resvg.svg_to_bytes(svg_string=svg, font_files=list(fonts), skip_system_fonts=True))


def main() -> None:
    """Rasterise one SVG from stdin to stdout.

    The first argument is the niceness of the process, the others are the font files.
    """
    _, politeness, *fonts = sys.argv
    if hasattr(os, "nice"):
        os.nice(int(politeness))
    sys.stdout.buffer.write(rasterise(sys.stdin.buffer.read().decode(), fonts))


if __name__ == "__main__":
    main()
