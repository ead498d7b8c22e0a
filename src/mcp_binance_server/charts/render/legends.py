"""What the legends of a chart say: the symbol with its last bar, and each study with its last values."""

from collections.abc import Callable

from mcp_binance_server.charts.render.boxes import Box
from mcp_binance_server.charts.render.colours import Colour
from mcp_binance_server.charts.render.legend import ROW, Group, Row, Word, cut, shortened, wrapped
from mcp_binance_server.charts.render.numbers import compact, fixed, percent, signed
from mcp_binance_server.charts.render.request import Request
from mcp_binance_server.charts.render.scaling import price_writer
from mcp_binance_server.charts.render.study_look import PlotLook, StudyView
from mcp_binance_server.charts.render.volume_profile import UP, ProfileView

MOST_OF_PANE = 0.42
SIDE = 24


def price_legend(request: Request, pane: Box) -> tuple[list[Row], list[str]]:
    """Return the rows over the price, symbol, last bar and each study drawn on it, and the studies without room."""
    looks, theme = request.spec.looks, request.theme
    if not looks.legend:
        return [], []
    room, most = pane.width - SIDE, max(1, int(pane.height * MOST_OF_PANE / ROW))
    head = wrapped([_title(request), *_last_bar(request)], room)
    if len(head) > 1:
        head = [(_title(request),), *wrapped(_last_bar(request), room)]
    studies = [study_row(request, view, _price_writer(request), room) for view in request.overlays]
    # In percent, as the axis has them: prices of another market would say nothing here.
    studies += [study_row(request, view, price_writer(request), room) for view in request.compared]
    if request.profile:
        studies.append(_profile_row(request, request.profile, room))
    volume = [study_row(request, request.volume, compact, room)] if request.volume else []
    # Where room is short, volume is known by its place and the last bar by its tag: the names of studies come first.
    if len(head) + len(studies) + len(volume) > most:
        volume = []
        head = head[: max(1, most - len(studies))]
    rows = [*head, *studies, *volume]
    shown = shortened(rows, most, theme.text)
    missing = len(rows) - len(shown) + 1 if len(shown) < len(rows) else 0
    names = [
        view.settled.label
        for view in (*request.overlays, *request.compared, *([request.profile] if request.profile else []))
    ]
    return shown, names[len(names) - min(missing, len(names)) :]


def study_row(request: Request, view: StudyView, write: Callable[[float], str], room: float) -> Row:
    """Return a study's name and its last values, as many as fit."""
    groups: list[Group] = [(Word(view.settled.label, request.theme.text),)]
    if request.spec.looks.legend_values:
        for look in view.plots:
            value = last_value(view, look, len(request.bars))
            if look.visible and value is not None:
                groups.append((Word(write(value), _ink(request, view, look)),))
    return cut(groups, room)


def _profile_row(request: Request, view: ProfileView, room: float) -> Row:
    groups: list[Group] = [(Word(view.settled.label, request.theme.text),)]
    if request.spec.looks.legend_values:
        write = _price_writer(request)
        for name, price, ink in (("POC", view.poc, view.poc_ink), ("VAH", view.vah, UP), ("VAL", view.val, UP)):
            if price is not None:
                groups.append((Word(name, request.theme.text), Word(write(price), ink)))
    return cut(groups, room)


def last_value(view: StudyView, look: PlotLook, bars: int) -> float | None:
    """Return a plot's value at the last bar; what reaches into the future is not the last value."""
    line = view.lines[look.plot.key]
    return line[bars - 1] if len(line) >= bars else None


def _title(request: Request) -> Group:
    spec, theme = request.spec, request.theme
    return (
        Word(spec.symbol, theme.strong, 15, bold=True),
        Word(" " + " · ".join(part for part in (spec.interval, spec.venue) if part), theme.text, 13),
    )


def _last_bar(request: Request) -> list[Group]:
    looks, bars, real, places = request.spec.looks, request.bars, request.real, request.decimals
    ink = request.price.body[not bars.rose(-1)]
    groups: list[Group] = []
    if not looks.legend_values:
        return groups
    if looks.series_ohlc:
        values = (("O", bars.opens), ("H", bars.highs), ("L", bars.lows), ("C", bars.closes))
        groups += [(Word(name, request.theme.text), Word(fixed(line[-1], places), ink)) for name, line in values]
    if looks.bar_change and len(real) > 1 and real.closes[-2]:
        change = real.closes[-1] - real.closes[-2]
        tone = request.price.body[change < 0]
        text = f"{signed(change, places)} ({percent(change / real.closes[-2] * 100)})"
        groups.append((Word(text, tone),))
    return groups


def _ink(request: Request, view: StudyView, look: PlotLook) -> Colour:
    if view is request.volume:
        return look.colours[not request.bars.rose(-1)]
    return look.ink


def _price_writer(request: Request) -> Callable[[float], str]:
    return lambda price: fixed(price, request.decimals)
