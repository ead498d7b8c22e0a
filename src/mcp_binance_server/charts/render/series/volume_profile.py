"""Volume profile of the bars shown: rows at the edge of the price pane, with value area and point of control."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from mcp_binance_server.analytics.market.profile import VolumeProfile, profile_of_candles
from mcp_binance_server.analytics.thresholds import DEFAULTS
from mcp_binance_server.charts.render.look import Colour, OverrideReader
from mcp_binance_server.charts.render.stage import Stage
from mcp_binance_server.charts.studies.table import Settled
from mcp_binance_server.domain.money import Price
from mcp_binance_server.domain.periods import Candle

PROFILE = "Volume Profile Visible Range"
UP, DOWN, BUSIEST = Colour("#1592e6"), Colour("#fbc123"), Colour("#ff9800")
OUTSIDE, INSIDE = 0.22, 0.45  # opacity outside and inside the value area
MOST_ROWS = 200
_BARS, _AREA, _POC = "graphics.hhists.histBars2", "graphics.hhists.histBarsVA", "graphics.horizlines.pocLines"


@dataclass(frozen=True, slots=True)
class ProfileRow:
    """One row of a volume profile: volume of rising and of falling bars between two prices."""

    low: float
    high: float
    up: float
    down: float
    in_area: bool


@dataclass(frozen=True, slots=True)
class ProfileView:
    """A volume profile with its look. Without volume its prices are None."""

    settled: Settled
    rows: tuple[ProfileRow, ...]
    poc: float | None
    vah: float | None
    val: float | None
    outside: tuple[Colour, Colour]
    inside: tuple[Colour, Colour]
    poc_ink: Colour
    poc_width: float
    poc_visible: bool
    part: float  # share of the width of the pane, for the row with the most volume
    from_left: bool


def profile_view(settled: Settled, candles: Sequence[Candle], decimals: int, options: OverrideReader) -> ProfileView:
    """Compute the volume profile of these bars like the analysis tools. The overrides give its look."""
    tick = Price(Decimal(1).scaleb(-decimals))
    asked = replace(
        DEFAULTS,
        profile_bins=min(settled.inputs.whole("rows"), MOST_ROWS),
        profile_area=Decimal(min(settled.inputs.whole("valueArea"), 100)) / 100,
    )
    whole = profile_of_candles(candles, tick, thresholds=asked)
    split = settled.inputs.text("volume")
    rising = [each for each in candles if each.close >= each.open] if split != "Total" else candles
    up = profile_of_candles(rising, tick, bin_size=whole.bin_size, thresholds=asked)
    inks = (UP, DOWN)
    return ProfileView(
        settled=settled,
        rows=_rows(whole, up, net=split == "Delta"),
        poc=_float(whole.poc),
        vah=_float(whole.vah),
        val=_float(whole.val),
        outside=_pair(options, _BARS, inks, OUTSIDE),
        inside=_pair(options, _AREA, inks, INSIDE),
        poc_ink=options.colour(f"{_POC}.color", BUSIEST),
        poc_width=options.number(f"{_POC}.width", 1, 1, 10),
        poc_visible=options.flag(f"{_POC}.visible", default=True),
        part=min(options.number(f"{_BARS}.percentWidth", 30, 1, 10_000), 100) / 100,
        from_left=options.word(f"{_BARS}.direction", "right_to_left") == "left_to_right",
    )


def draw_profile(stage: Stage, view: ProfileView) -> None:
    """Draw the rows from the edge inwards, rising volume first. The point of control crosses the whole pane."""
    most = max((row.up + row.down for row in view.rows), default=0.0)
    if most <= 0:
        return
    area, longest = stage.area, stage.area.width * view.part
    groups: dict[Colour, list[tuple[float, float, float, float]]] = {}
    for row in view.rows:
        top, bottom = sorted((stage.axis.row(row.low), stage.axis.row(row.high)))
        tall, at = max(1, bottom - top - 1), 0.0
        for volume, ink in zip((row.up, row.down), view.inside if row.in_area else view.outside, strict=True):
            wide = round(volume / most * longest)
            left = area.left + at if view.from_left else area.right - at - wide
            if wide:
                groups.setdefault(ink, []).append((left, top, wide, tall))
            at += wide
    for ink, rects in groups.items():
        stage.canvas.rects(rects, ink)
    if view.poc_visible and view.poc is not None:
        row_at = stage.axis.row(view.poc) + 0.5
        stage.canvas.lines([(area.left, row_at, area.right, row_at)], view.poc_ink, view.poc_width)


def _rows(whole: VolumeProfile, up: VolumeProfile, *, net: bool) -> tuple[ProfileRow, ...]:
    risen = {each.low: float(each.volume) for each in up.bins}
    rows: list[ProfileRow] = []
    for each in whole.bins:
        rising = risen.get(each.low, 0.0)
        falling = max(0.0, float(each.volume) - rising)
        if net:
            rising, falling = max(0.0, rising - falling), max(0.0, falling - rising)
        inside = whole.val is not None and whole.vah is not None and whole.val <= each.low < whole.vah
        rows.append(ProfileRow(float(each.low), float(each.high), rising, falling, inside))
    return tuple(rows)


def _pair(options: OverrideReader, key: str, inks: tuple[Colour, Colour], alpha: float) -> tuple[Colour, Colour]:
    first, second = (options.colour(f"{key}.colors.{place}", ink.faded(alpha)) for place, ink in enumerate(inks))
    return first, second


def _float(price: Price | None) -> float | None:
    return None if price is None else float(price)
