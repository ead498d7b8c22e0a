"""From SVG to PNG, with the typefaces given and nothing of the machine's own."""

from collections.abc import Sequence
from importlib import import_module


def rasterise(svg: str, fonts: Sequence[str]) -> bytes:
    """Return the picture as PNG; the rasteriser is loaded on first use, most starts never draw."""
    resvg = import_module("resvg_py")
    return bytes(resvg.svg_to_bytes(svg_string=svg, font_files=list(fonts), skip_system_fonts=True))
