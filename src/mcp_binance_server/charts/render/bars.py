"""Chart as text and numbers for a web page that draws it. All numbers are formatted by the server."""

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import fields
from datetime import UTC
from decimal import Decimal
from typing import Any, Final

from msgspec import structs

from mcp_binance_server.charts.render.drawings.shapes import DrawingContext, drawing_members
from mcp_binance_server.charts.render.legend import legend_rows
from mcp_binance_server.charts.render.look import THEMES, Colour, OverrideReader, PriceLook, Theme, price_look
from mcp_binance_server.charts.render.request import Request
from mcp_binance_server.charts.render.scale import MINUS, fixed, zone_of
from mcp_binance_server.charts.render.scaling import price_writer, quote_of, study_writer
from mcp_binance_server.charts.render.series.plots import (
    LEVEL_ALPHA,
    new_periods,
    rising_tints,
    tints,
    volume_ink,
)
from mcp_binance_server.charts.render.spec import Looks
from mcp_binance_server.charts.render.study_look import PlotLook, StudyView
from mcp_binance_server.charts.studies.table import repaints

CONTRACT: Final = 1
_INKS: Final = ("paper", "grid", "axis", "text", "strong", "up", "down", "line")
_RELATIVE: Final = ("percent", "indexedTo100")
_PAIRS: Final = {
    "body": ("up", "down"), "border": ("border_up", "border_down"), "wick": ("wick_up", "wick_down"),
    "fill": ("fill_top", "fill_bottom"), "base_fill": ("base_fill_up", "base_fill_down"),
}  # fmt: skip
_ONLY: Final = {"fill": "area", "base_fill": "baseline", "base": "baseline"}  # parts that only one style has
# Switches that the page supports, or that have a warning of their own.
_HEEDED: Final = ("volume", "main_pane", "style")

Members = dict[str, Any]


def live_members(request: Request, since_ms: int | None) -> Members:
    """Return the parts of the answer that change: the legend and the bars since `since_ms`.

    At least the newest bar is returned. None returns all bars.
    """
    bars, spec = request.bars, request.spec
    first = 0 if since_ms is None else min(bisect_left(bars.times, since_ms), len(bars) - 1)
    plots = list(enumerate(_plots(request)))
    told = {
        "tints": {str(place): line[first:] for place, each in plots if (line := _tints(request, *each))},
        "breaks": {str(place): _breaks(request, first) for place, (_, look) in plots if look.plot.anchored},
        "words": {
            str(place): _percents(request, view, first) for place, (view, _) in plots if _is_compared(request, view)
        },
    }
    return {
        "contract": CONTRACT,
        "symbol": spec.symbol,
        "interval": spec.interval,
        "step_ms": bars.step_ms,
        "legend": [{"name": row.name, "values": row.values} for row in legend_rows(request)],
        "rows": _rows(request, first),
        **{name: member for name, member in told.items() if member},
    }


def whole_members(request: Request) -> Members:
    """Return the parts of the answer that do not change.

    These are the looks of plots and price, the drawings, both themes, and warnings about parts that the page cannot
    draw.
    """
    spec, bars = request.spec, request.bars
    ground = DrawingContext(
        bars.times, bars.step_ms, request.future, price_writer(request), zone_of(spec.timezone) or UTC
    )
    drawings, remarks = drawing_members(spec.drawings, ground)
    price = _price_members(request)
    return {
        "plots": _plot_members(request),
        "drawings": drawings,
        "style": spec.style,
        "scale": spec.scale,
        **({"base": _plain(fixed(quote_of(request).first, request.decimals))} if spec.scale in _RELATIVE else {}),
        "decimals": request.decimals,
        "venue": spec.venue,
        "future": request.future,
        "themes": {name: _theme(theme) for name, theme in THEMES.items()},
        **({"price": price} if price else {}),
        "warnings": [*remarks, *_not_live(request)],
    }


def _plots(request: Request) -> list[tuple[StudyView, PlotLook]]:
    return [(view, look) for view in request.views for look in view.plots if look.visible]


def _is_compared(request: Request, view: StudyView) -> bool:
    return any(view is each for each in request.compared)


def _rows(request: Request, first: int) -> list[list[Any]]:
    bars, places = request.bars, request.decimals
    prices = (bars.opens, bars.highs, bars.lows, bars.closes)
    lines = [(_row_writer(request, view), view.lines[look.plot.key]) for view, look in _plots(request)]
    return [
        [
            bars.times[bar],
            *(_plain(fixed(line[bar], places)) for line in prices),
            [_text(write, line[bar] if bar < len(line) else None) for write, line in lines],
        ]
        for bar in range(first, len(bars))
    ]


def _row_writer(request: Request, view: StudyView) -> Callable[[float], str]:
    if view is request.volume or view.settled.study.unit == "volume":
        return _digits
    if _is_compared(request, view):  # drawn on the price scale, but labelled in percent
        return lambda value: _plain(fixed(value, request.decimals))
    write = study_writer(request, view)
    return lambda value: _plain(write(value))


def _text(write: Callable[[float], str], value: float | None) -> str | None:
    return None if value is None else write(value)


def _plain(text: str) -> str:
    return text.replace(",", "").replace(MINUS, "-")


def _digits(value: float) -> str:
    return f"{Decimal(f'{value:.8g}'):f}"


def _tints(request: Request, view: StudyView, look: PlotLook) -> Sequence[int | None]:
    if view is request.volume:
        return rising_tints(request.bars)
    if look.kind != "columns" or len(look.colours) < 2:
        return []
    return tints(view.lines[look.plot.key], len(look.colours))[: len(request.bars)]


def _breaks(request: Request, first: int) -> list[int]:
    return [request.bars.times[bar] for bar in sorted(new_periods(request.bars)) if bar >= first]


def _percents(request: Request, view: StudyView, first: int) -> list[str | None]:
    write, (line,) = study_writer(request, view), view.lines.values()
    return [_text(write, value) for value in line[first : len(request.bars)]]


def _plot_members(request: Request) -> list[Members]:
    found: list[Members] = []
    for place, view in enumerate(request.views):
        pane = next((number for number, each in enumerate(request.panes, 1) if each is view), 0)
        once: Members = {
            "levels": [{"value": each.value, "colour": each.ink.faded(LEVEL_ALPHA).css} for each in view.levels],
            "bands": [
                {"upper": band.upper, "lower": band.lower, "colours": [each.css for each in inks]}
                for band, inks in view.bands
            ],
            **({"shade": view.shade.css} if view.shade and len(view.levels) == 2 else {}),
        }
        for look in view.plots:
            if look.visible:
                found.append({"study": place, "pane": pane, **_plot_member(request, view, look), **once})
                once = {"levels": [], "bands": []}  # sent once, with the first plot of the study
    return found


def _plot_member(request: Request, view: StudyView, look: PlotLook) -> Members:
    is_volume, shown = view is request.volume, len(request.bars)
    write = _row_writer(request, view)
    ahead = [_text(write, value) for value in view.lines[look.plot.key][shown : shown + request.future]]
    moves = repaints(view.settled, look.plot) or _is_compared(request, view)
    return {
        "label": view.settled.label,
        "key": look.plot.key,
        "kind": "columns" if is_volume else look.kind,
        "is_volume": is_volume,
        "colours": [(volume_ink(each) if is_volume else each).css for each in look.colours],
        "width": look.width,
        "repaints": moves or bool(ahead),  # values in the future are sent only in the whole answer
        **({"offset": len(ahead), "ahead": ahead} if ahead else {}),
    }


def _price_members(request: Request) -> Members:
    style = request.spec.style
    usual = price_look(style, request.theme, OverrideReader({}))
    found: Members = {}
    for part in (each.name for each in fields(PriceLook) if _ONLY.get(each.name, style) == style):
        was, now = getattr(usual, part), getattr(request.price, part)
        if part in _PAIRS:
            pairs = zip(_PAIRS[part], was, now, strict=True)
            found |= {name: each.css for name, before, each in pairs if each != before}
        elif now != was:
            found[part] = now.css if isinstance(now, Colour) else now
    return found


def _not_live(request: Request) -> list[str]:
    spec, warnings = request.spec, list[str]()
    if request.profile:
        warnings.append(f"not_live: {request.profile.settled.label} is shown only in the picture and in the legend.")
    usual = Looks()
    kept = [
        each.encode_name
        for each in structs.fields(Looks)
        if each.name not in _HEEDED and getattr(spec.looks, each.name) != getattr(usual, each.name)
    ]
    if kept:
        warnings.append(f"not_live: override {', '.join(kept)} changes only the picture.")
    if zone_of(spec.timezone) not in (UTC, None):
        warnings.append(f"not_live: the live chart has times in UTC, and the picture in {spec.timezone}.")
    return warnings


def _theme(theme: Theme) -> dict[str, str]:
    return {name: getattr(theme, name).css for name in _INKS}
