"""Colours as people write them, and the two themes."""

import re
from dataclasses import dataclass
from types import MappingProxyType

_FUNCTION = re.compile(
    r"rgba?\(\s*(\d{1,3})\s*,\s*(\d{1,3})\s*,\s*(\d{1,3})\s*(?:,\s*(\d*\.?\d+)\s*)?\)", re.IGNORECASE
)
_HEX = re.compile(r"#([0-9a-f]{3}|[0-9a-f]{6}|[0-9a-f]{8})", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Colour:
    """A colour as SVG takes it and how opaque it is."""

    hex: str
    alpha: float = 1.0

    def faded(self, alpha: float) -> "Colour":
        """Return the same colour, this much as opaque."""
        return Colour(self.hex, round(self.alpha * alpha, 3))


def read_colour(written: object) -> Colour | None:
    """Read rgb(), rgba(), #rgb, #rrggbb or #rrggbbaa; None when it is no colour."""
    text = str(written).strip()
    if found := _FUNCTION.fullmatch(text):
        parts = [int(found[index]) for index in (1, 2, 3)]
        alpha = min(1.0, float(found[4])) if found[4] else 1.0
        return Colour("#" + "".join(f"{part:02x}" for part in parts), alpha) if max(parts) <= 255 else None
    if found := _HEX.fullmatch(text):
        digits = found[1].lower()
        if len(digits) == 3:
            digits = "".join(digit * 2 for digit in digits)
        return Colour(f"#{digits[:6]}", round(int(digits[6:], 16) / 255, 3) if len(digits) == 8 else 1.0)
    return None


def ink_on(plate: Colour) -> str:
    """Return white or near-black, whichever reads better on a plate (relative luminance, sRGB weights)."""
    red, green, blue = (int(plate.hex[index : index + 2], 16) for index in (1, 3, 5))
    return "#131722" if 0.299 * red + 0.587 * green + 0.114 * blue > 165 else "#ffffff"


@dataclass(frozen=True, slots=True)
class Theme:
    """The colours of paper, ink and bars."""

    paper: Colour
    grid: Colour
    axis: Colour
    text: Colour
    strong: Colour
    level: Colour
    up: Colour = Colour("#089981")
    down: Colour = Colour("#f23645")
    line: Colour = Colour("#2962ff")


THEMES = MappingProxyType({
    "dark": Theme(
        paper=Colour("#131722"), grid=Colour("#1f2533"), axis=Colour("#2f3545"), text=Colour("#b2b5be"),
        strong=Colour("#e0e3eb"), level=Colour("#787b86"),
    ),
    "light": Theme(
        paper=Colour("#ffffff"), grid=Colour("#eef1f7"), axis=Colour("#d1d4dc"), text=Colour("#50535e"),
        strong=Colour("#131722"), level=Colour("#787b86"),
    ),
})  # fmt: skip
