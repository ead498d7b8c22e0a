"""Styles of drawings for all renderers: pens, fills and texts."""

from collections.abc import Callable
from dataclasses import dataclass

from mcp_binance_server.charts.render.look import Colour, OverrideReader
from mcp_binance_server.charts.render.scale import percent
from mcp_binance_server.charts.render.spec import DrawingSpec

BLUE, GREEN, RED, GREY = Colour("#2962ff"), Colour("#089981"), Colour("#f23645"), Colour("#787b86")
ARROW_WIDTH = 2
MOVE_DASH = "4 4"  # dashes of the line from the start of a move to its end
LEVELS = (
    (0.0, "#787b86"), (0.236, "#f23645"), (0.382, "#ff9800"), (0.5, "#4caf50"), (0.618, "#089981"),
    (0.786, "#00bcd4"), (1.0, "#787b86"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class DrawnLine:
    """Colour, width and dashes of a line."""

    ink: Colour
    width: float
    dash: str


@dataclass(frozen=True, slots=True)
class DrawnZone:
    """Frame and fill of a rectangle."""

    ink: Colour
    width: float
    fill: Colour | None


@dataclass(frozen=True, slots=True)
class PlannedPrice:
    """One price of a trade plan with its line and its label."""

    price: float
    words: str
    line: Colour
    plate: Colour
    fill: Colour | None  # fill between the entry and this price


@dataclass(frozen=True, slots=True)
class FibLevel:
    """One Fibonacci level. Its fill reaches to the previous level."""

    price: float
    words: str
    ink: Colour
    fill: Colour | None


def line_of(options: OverrideReader) -> DrawnLine:
    return DrawnLine(
        options.colour("lineColor", BLUE), options.number("lineWidth", 2, 1, 20), options.dash("lineStyle")
    )


def arrow_ink(options: OverrideReader) -> Colour:
    return options.colour("arrowColor", options.colour("lineColor", BLUE))


def zone_of_rectangle(options: OverrideReader) -> DrawnZone:
    ink = options.colour("lineColor", options.colour("borderColor", BLUE))
    fill = options.colour("backgroundColor", ink.faded(0.14))
    is_filled = options.flag("fillBackground", default=True)
    return DrawnZone(ink, options.number("lineWidth", 1, 1, 20), fill if is_filled else None)


def text_ink(options: OverrideReader) -> Colour:
    return words_ink(options, options.colour("color", BLUE))


def words_ink(options: OverrideReader, ink: Colour) -> Colour:
    """Return the text colour of a drawing, `ink` by default."""
    return options.colour("textColor", ink)


def pointer_ink(options: OverrideReader, *, up: bool) -> Colour:
    return options.colour("arrowColor", GREEN if up else RED)


def shows_value(options: OverrideReader) -> bool:
    """Return True if the axis shows the price of the drawing."""
    return options.flag("showPrice", default=True)


def planned_prices(
    drawing: DrawingSpec, options: OverrideReader, write: Callable[[float], str]
) -> tuple[PlannedPrice, PlannedPrice, PlannedPrice]:
    """Return target, stop and entry of a position, labelled with gain, loss and their ratio."""
    entry = drawing.points[0].price or 0.0
    target, stop = drawing.target or entry, drawing.stop or entry
    profit = options.colour("profitBackground", GREEN.faded(0.2))
    loss = options.colour("stopBackground", RED.faded(0.2))
    is_filled = options.flag("fillBackground", default=True)
    risk, reward = abs(entry - stop), abs(target - entry)
    ratio = f" · R/R {reward / risk:.2f}" if risk else ""
    return (
        PlannedPrice(
            target, f"Target {write(target)} ({_change(entry, target)})", GREEN, GREEN, profit if is_filled else None
        ),
        PlannedPrice(stop, f"Stop {write(stop)} ({_change(entry, stop)})", RED, RED, loss if is_filled else None),
        PlannedPrice(entry, f"Entry {write(entry)}{ratio}", options.colour("lineColor", GREY), GREY, None),
    )


def fib_levels(drawing: DrawingSpec, options: OverrideReader, write: Callable[[float], str]) -> list[FibLevel]:
    """Return the Fibonacci levels between two points. Level 1 is the start of the move, level 0 its end."""
    first, last = drawing.points[0].price or 0.0, drawing.points[1].price or 0.0
    if options.flag("reverseLevel", default=False):
        first, last = last, first
    is_filled = options.flag("fillBackground", default=True)
    alpha = 1 - options.number("transparency", 90, 0, 100) / 100
    levels: list[FibLevel] = []
    for part, colour in LEVELS:
        price, ink = last + (first - last) * part, Colour(colour)
        fill = ink.faded(alpha) if is_filled and levels else None
        levels.append(FibLevel(price, f"{part:g} ({write(price)})", ink, fill))
    return levels


def _change(entry: float, price: float) -> str:
    return percent((price / entry - 1) * 100) if entry else ""
