"""SVG to PNG, and the process that does nothing else."""

import os
import sys
from collections.abc import Sequence
from importlib import import_module


def rasterise(svg: str, fonts: Sequence[str]) -> bytes:
    """Return the picture as PNG; the rasteriser is loaded on first use, most starts never draw."""
    resvg = import_module("resvg_py")
    return bytes(resvg.svg_to_bytes(svg_string=svg, font_files=list(fonts), skip_system_fonts=True))


def main() -> None:
    """Rasterise once, as politely as the first argument says, with the typefaces named after it, and leave."""
    _, politeness, *fonts = sys.argv
    if hasattr(os, "nice"):
        os.nice(int(politeness))
    sys.stdout.buffer.write(rasterise(sys.stdin.buffer.read().decode(), fonts))


if __name__ == "__main__":
    main()
