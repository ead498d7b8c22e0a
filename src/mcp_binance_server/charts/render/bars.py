"""A chart in words and numbers for a page that draws it: what the picture shows, each number written by the server."""

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import asdict
from decimal import Decimal
from typing import Any, Final

from mcp_binance_server.charts.render.legend import legend_rows
from mcp_binance_server.charts.render.look import THEMES, Colour, Theme
from mcp_binance_server.charts.render.request import Request
from mcp_binance_server.charts.render.scale import MINUS, fixed
from mcp_binance_server.charts.render.scaling import study_writer
from mcp_binance_server.charts.render.series.plots import LEVEL_ALPHA, rising_tints, tints, volume_ink
from mcp_binance_server.charts.render.study_look import PlotLook, StudyView

CONTRACT: Final = 1
_INKS: Final = ("paper", "grid", "axis", "text", "strong", "up", "down", "line")

Members = dict[str, Any]


def live_members(request: Request, since_ms: int | None) -> Members:
    """Return what moves: the legend, and the bars from a moment on, the newest at least, or all."""
    bars, spec = request.bars, request.spec
    first = 0 if since_ms is None else min(bisect_left(bars.times, since_ms), len(bars) - 1)
    tinted = {
        str(place): line[first:]
        for place, (view, look) in enumerate(_plots(request))
        if (line := _tints(request, view, look))
    }
    return {
        "contract": CONTRACT,
        "symbol": spec.symbol,
        "interval": spec.interval,
        "step_ms": bars.step_ms,
        "legend": [asdict(row) for row in legend_rows(request)],
        "rows": _rows(request, first),
        **({"tints": tinted} if tinted else {}),
    }


def whole_members(request: Request) -> Members:
    """Return what stays: how each plot and the price look, and both themes."""
    spec = request.spec
    return {
        "plots": _plot_members(request),
        "drawings": [],
        "style": spec.style,
        "scale": spec.scale,
        "decimals": request.decimals,
        "venue": spec.venue,
        "themes": {name: _theme(theme) for name, theme in THEMES.items()},
    }


def ink(colour: Colour) -> str:
    """Write a colour as #rrggbb, or as #rrggbbaa where it is translucent."""
    return colour.hex if colour.alpha >= 1 else f"{colour.hex}{round(colour.alpha * 255):02x}"


def _plots(request: Request) -> list[tuple[StudyView, PlotLook]]:
    return [(view, look) for view in request.views for look in view.plots if look.visible]


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
    if any(view is each for each in request.compared):  # placed among the prices; percent are its legend's
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
    line = view.lines[look.plot.key]
    return tints(line, len(look.colours))[: len(request.bars)]


def _plot_members(request: Request) -> list[Members]:
    found: list[Members] = []
    for place, view in enumerate(request.views):
        is_volume = view is request.volume
        pane = next((number for number, each in enumerate(request.panes, 1) if each is view), 0)
        once: Members = {
            "levels": [{"value": each.value, "colour": ink(each.ink.faded(LEVEL_ALPHA))} for each in view.levels],
            "bands": [
                {"upper": band.upper, "lower": band.lower, "colours": [*map(ink, inks)]} for band, inks in view.bands
            ],
        }
        for look in view.plots:
            if look.visible:
                found.append(
                    {
                        "study": place,
                        "label": view.settled.label,
                        "key": look.plot.key,
                        "pane": pane,
                        "kind": "columns" if is_volume else look.kind,
                        "is_volume": is_volume,
                        "colours": [ink(volume_ink(each) if is_volume else each) for each in look.colours],
                        "width": look.width,
                        **once,
                        "repaints": False,
                    }
                )
                once = {"levels": [], "bands": []}  # said with the study's first plot
    return found


def _theme(theme: Theme) -> dict[str, str]:
    return {name: ink(getattr(theme, name)) for name in _INKS}
