"""The colours of the price series: the theme's, or what the overrides of its style say."""

from dataclasses import dataclass

from mcp_binance_server.charts.render.colours import Colour, Theme
from mcp_binance_server.charts.render.options import OverrideReader
from mcp_binance_server.charts.render.spec import Style

PREFIX = {
    "candle": "candleStyle", "hollowCandle": "hollowCandleStyle", "heikinAshi": "haStyle", "bar": "barStyle",
    "line": "lineStyle", "area": "areaStyle", "baseline": "baselineStyle",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class PriceLook:
    """Pairs are for rising and falling bars, or above and below the base of a baseline."""

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
    """Read what the overrides say of a style."""
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
