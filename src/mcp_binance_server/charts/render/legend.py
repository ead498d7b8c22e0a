"""The lines of text in a pane's corner."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from mcp_binance_server.charts.render.canvas import Canvas, width_of
from mcp_binance_server.charts.render.layout import Box
from mcp_binance_server.charts.render.look import Colour
from mcp_binance_server.charts.render.request import Request
from mcp_binance_server.charts.render.scale import compact, fixed, percent, signed
from mcp_binance_server.charts.render.scaling import price_writer
from mcp_binance_server.charts.render.series.volume_profile import UP, ProfileView
from mcp_binance_server.charts.render.study_look import PlotLook, StudyView

LEFT = 12
ROW = 18
TITLE_ROW = 20
GAP = 10  # between groups
CLOSE = 4  # between the words of a group

MOST_OF_PANE = 0.42
SIDE = 24


@dataclass(frozen=True, slots=True)
class Word:
    """One text of a legend."""

    text: str
    colour: Colour
    size: float = 12
    bold: bool = False

    @property
    def width(self) -> float:
        return width_of(self.text, self.size, bold=self.bold)


Group = tuple[Word, ...]  # words that stay together
Row = tuple[Group, ...]


def wrapped(groups: Sequence[Group], room: float) -> list[Row]:
    """Fill rows with groups, a new row where the next would not fit."""
    rows: list[list[Group]] = []
    used = 0.0
    for group in groups:
        width = width_of_group(group)
        if rows and used + GAP + width <= room:
            rows[-1].append(group)
            used += GAP + width
        else:
            rows.append([group])
            used = width
    return [tuple(row) for row in rows]


def cut(groups: Sequence[Group], room: float) -> Row:
    """Keep the groups that fit into one row, at least the first."""
    kept: list[Group] = []
    used = 0.0
    for group in groups:
        used += width_of_group(group) + (GAP if kept else 0)
        if kept and used > room:
            break
        kept.append(group)
    return tuple(kept)


def shortened(rows: Sequence[Row], most: int, ink: Colour) -> list[Row]:
    """Keep the first rows and say how many are left out."""
    if len(rows) <= most:
        return list(rows)
    left_out = len(rows) - most + 1
    return [*rows[: most - 1], ((Word(f"+{left_out} more", ink),),)]


def draw_legend(canvas: Canvas, rows: Sequence[Row], top: float, room: float) -> list[Box]:
    """Write rows from the top and return their boxes; a word that would leave the room is cut short."""
    boxes: list[Box] = []
    baseline = top + 2
    for row in rows:
        tallest = max(word.size for group in row for word in group)
        baseline += TITLE_ROW if tallest > 13 else ROW
        x = float(LEFT)
        for group in row:
            for word in group:
                text = _trimmed(word, LEFT + room - x)
                if text:
                    x = canvas.text(x, baseline, text, word.size, word.colour, bold=word.bold) + CLOSE
            x += GAP - CLOSE
        boxes.append(Box(LEFT, baseline - tallest, x - GAP, baseline + 4))
    return boxes


def height_of(rows: Sequence[Row]) -> float:
    """Return how far the rows reach down, with the air below them."""
    tall = sum(TITLE_ROW if max(word.size for group in row for word in group) > 13 else ROW for row in rows)
    return tall + 16 if rows else 14


def width_of_group(group: Group) -> float:
    """Return the width of words that stay together."""
    return sum(word.width for word in group) + CLOSE * (len(group) - 1)


def _trimmed(word: Word, room: float) -> str:
    text = word.text
    if width_of(text, word.size, bold=word.bold) <= room:
        return text
    while text and width_of(text + "\N{HORIZONTAL ELLIPSIS}", word.size, bold=word.bold) > room:
        text = text[:-1]
    return text + "\N{HORIZONTAL ELLIPSIS}" if text else ""


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
