"""Colours and options of a chart and its price series."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from mcp_binance_server.charts.render.spec import Scalar, Style

_FUNCTION = re.compile(
    r"rgba?\(\s*(\d{1,3})\s*,\s*(\d{1,3})\s*,\s*(\d{1,3})\s*(?:,\s*(\d*\.?\d+)\s*)?\)", re.IGNORECASE
)
_HEX = re.compile(r"#([0-9a-f]{3}|[0-9a-f]{6}|[0-9a-f]{8})", re.IGNORECASE)

# 0 is solid, 1 dotted, 2 dashed. Other styles are drawn as dashes too.
_DASHES = {0: "", 1: "2 3"}

PREFIX = {
    "candle": "candleStyle", "hollowCandle": "hollowCandleStyle", "heikinAshi": "haStyle", "bar": "barStyle",
    "line": "lineStyle", "area": "areaStyle", "baseline": "baselineStyle",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Colour:
    """An SVG colour with its opacity."""

    hex: str
    alpha: float = 1.0

    @property
    def css(self) -> str:
        """The colour as #rrggbb, or as #rrggbbaa if it is translucent."""
        return self.hex if self.alpha >= 1 else f"{self.hex}{round(self.alpha * 255):02x}"

    def faded(self, alpha: float) -> "Colour":
        """Return the colour with its opacity multiplied by `alpha`."""
        return Colour(self.hex, round(self.alpha * alpha, 3))


def read_colour(written: object) -> Colour | None:
    """Parse rgb(), rgba(), #rgb, #rrggbb or #rrggbbaa. Return None for other texts."""
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
    """Return white or near-black, whichever has more contrast on a background (relative luminance, sRGB weights)."""
    red, green, blue = (int(plate.hex[index : index + 2], 16) for index in (1, 3, 5))
    return "#131722" if 0.299 * red + 0.587 * green + 0.114 * blue > 165 else "#ffffff"


@dataclass(frozen=True, slots=True)
class Theme:
    """Colours of background, text and bars."""

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


class OverrideReader:
    """Typed reader of overrides. It records which keys were read."""

    def __init__(self, given: Mapping[str, Scalar]) -> None:
        self._given = given
        self._asked: set[str] = set()
        self._wrong: list[str] = []

    def colour(self, key: str, default: Colour) -> Colour:
        value = self._take(key)
        if value is None:
            return default
        colour = read_colour(value)
        if colour is None:
            self._wrong.append(key)
        return colour or default

    def number(self, key: str, default: float, low: float, high: float) -> float:
        value = self._take(key)
        if value is None:
            return default
        if isinstance(value, str | bool) or not low <= value <= high:
            self._wrong.append(key)
            return default
        return float(value)

    def flag(self, key: str, *, default: bool) -> bool:
        value = self._take(key)
        if value is not None and not isinstance(value, bool):
            self._wrong.append(key)
        return value if isinstance(value, bool) else default

    def word(self, key: str, default: str) -> str:
        value = self._take(key)
        return default if value is None else str(value)

    def dash(self, key: str, default: str = "") -> str:
        value = self._take(key)
        return default if value is None or isinstance(value, str) else _DASHES.get(int(value), "6 4")

    def left_over(self) -> list[str]:
        """Return the keys without effect: unknown keys, and keys with an invalid value."""
        return sorted({*(set(self._given) - self._asked), *self._wrong})

    def _take(self, key: str) -> Scalar | None:
        self._asked.add(key)
        return self._given.get(key)


@dataclass(frozen=True, slots=True)
class PriceLook:
    """Look of the price series.

    Pairs are (rising, falling) bars. For a baseline they are (above, below) the base.
    """

    body: tuple[Colour, Colour]
    border: tuple[Colour, Colour]
    wick: tuple[Colour, Colour]
    draw_body: bool
    draw_border: bool
    draw_wick: bool
    line: Colour
    line_width: float
    fill: tuple[Colour, Colour]
    base_fill: tuple[Colour, Colour]
    base: float
    source: str


def price_look(style: Style, theme: Theme, options: OverrideReader) -> PriceLook:
    """Return the look of a style with its overrides."""
    name = PREFIX.get(style, "candleStyle")
    up, down = options.colour(f"{name}.upColor", theme.up), options.colour(f"{name}.downColor", theme.down)
    line = theme.line
    if style in ("line", "area"):
        line = options.colour(f"{name}.{'color' if style == 'line' else 'linecolor'}", theme.line)
    if style == "baseline":
        up = options.colour(f"{name}.topLineColor", theme.up)
        down = options.colour(f"{name}.bottomLineColor", theme.down)
    return PriceLook(
        body=(up, down),
        border=(options.colour(f"{name}.borderUpColor", up), options.colour(f"{name}.borderDownColor", down)),
        wick=(options.colour(f"{name}.wickUpColor", up), options.colour(f"{name}.wickDownColor", down)),
        draw_body=options.flag(f"{name}.drawBody", default=True),
        draw_border=options.flag(f"{name}.drawBorder", default=True),
        draw_wick=options.flag(f"{name}.drawWick", default=True),
        line=line,
        line_width=options.number(f"{name}.{'topLineWidth' if style == 'baseline' else 'linewidth'}", 2, 1, 10),
        fill=(
            options.colour(f"{name}.color1", line.faded(0.32)),
            options.colour(f"{name}.color2", line.faded(0.02)),
        ),
        base_fill=(
            options.colour(f"{name}.topFillColor1", up.faded(0.2)),
            options.colour(f"{name}.bottomFillColor2", down.faded(0.2)),
        ),
        base=options.number(f"{name}.baseLevelPercentage", 50, 0, 100) / 100,
        source=options.word(f"{name}.priceSource", "close"),
    )
