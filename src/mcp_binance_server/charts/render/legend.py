"""Legend of a chart, with the same wording in the picture, in text and in structured data."""

from collections.abc import Sequence
from dataclasses import dataclass

from mcp_binance_server.charts.render.canvas import Canvas, width_of
from mcp_binance_server.charts.render.layout import Box
from mcp_binance_server.charts.render.look import Colour
from mcp_binance_server.charts.render.request import Request
from mcp_binance_server.charts.render.scale import fixed, percent, signed
from mcp_binance_server.charts.render.scaling import study_writer
from mcp_binance_server.charts.render.series.volume_profile import UP, ProfileView
from mcp_binance_server.charts.render.spec import LegendRow
from mcp_binance_server.charts.render.study_look import PlotLook, StudyView

LEFT = 12
ROW = 18
TITLE_ROW = 20
GAP = 10  # between groups of words
CLOSE = 4  # between the words of a group

MOST_OF_PANE = 0.42
SIDE = 24
MOST_ROWS = 12  # rows of the legend as text


@dataclass(frozen=True, slots=True)
class LegendValue:
    """One value of a legend, with an optional prefix such as O."""

    text: str
    ink: Colour
    name: str = ""

    @property
    def said(self) -> str:
        return f"{self.name} {self.text}" if self.name else self.text


@dataclass(frozen=True, slots=True)
class LegendEntry:
    """Complete legend of one series. The picture may show only a part of it."""

    name: str
    values: tuple[LegendValue, ...]


@dataclass(frozen=True, slots=True)
class Word:
    """One text in a legend with its style."""

    text: str
    colour: Colour
    size: float = 12
    bold: bool = False

    @property
    def width(self) -> float:
        return width_of(self.text, self.size, bold=self.bold)


Group = tuple[Word, ...]  # words that are kept on one row
Row = tuple[Group, ...]


def wrapped(groups: Sequence[Group], room: float) -> list[Row]:
    """Distribute groups over rows. A group that does not fit starts a new row."""
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
    """Keep the groups that fit into one row, but at least the first one."""
    kept: list[Group] = []
    used = 0.0
    for group in groups:
        used += width_of_group(group) + (GAP if kept else 0)
        if kept and used > room:
            break
        kept.append(group)
    return tuple(kept)


def shortened(rows: Sequence[Row], most: int, ink: Colour) -> list[Row]:
    """Keep the first rows and add a row with the number of hidden rows."""
    if len(rows) <= most:
        return list(rows)
    left_out = len(rows) - most + 1
    return [*rows[: most - 1], ((Word(f"+{left_out} more", ink),),)]


def draw_legend(canvas: Canvas, rows: Sequence[Row], top: float, room: float) -> list[Box]:
    """Draw rows from the top and return their bounding boxes. A word wider than `room` is shortened."""
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
    """Return the height of the rows and of the space below them."""
    tall = sum(TITLE_ROW if max(word.size for group in row for word in group) > 13 else ROW for row in rows)
    return tall + 16 if rows else 14


def width_of_group(group: Group) -> float:
    """Return the width of a group of words."""
    return sum(word.width for word in group) + CLOSE * (len(group) - 1)


def _trimmed(word: Word, room: float) -> str:
    text = word.text
    if width_of(text, word.size, bold=word.bold) <= room:
        return text
    while text and width_of(text + "\N{HORIZONTAL ELLIPSIS}", word.size, bold=word.bold) > room:
        text = text[:-1]
    return text + "\N{HORIZONTAL ELLIPSIS}" if text else ""


def legend_rows(request: Request) -> tuple[LegendRow, ...]:
    """Return the complete legend as text, the price first. The picture can show less."""
    entries = [price_entry(request), *(study_entry(request, view) for view in request.views)]
    if request.profile:
        entries.append(profile_entry(request, request.profile))
    return tuple(LegendRow(entry.name, " ".join(each.said for each in entry.values)) for entry in entries[:MOST_ROWS])


def price_entry(request: Request) -> LegendEntry:
    """Return the legend entry of the price: symbol, last bar as drawn, and the real change from the previous close."""
    spec, bars, real, places = request.spec, request.bars, request.real, request.decimals
    name = f"{spec.symbol} {' · '.join(part for part in (spec.interval, spec.venue) if part)}"
    ink = request.price.body[not bars.rose(-1)]
    columns = (("O", bars.opens), ("H", bars.highs), ("L", bars.lows), ("C", bars.closes))
    values = [LegendValue(fixed(line[-1], places), ink, letter) for letter, line in columns]
    if len(real) > 1 and real.closes[-2]:
        change = real.closes[-1] - real.closes[-2]
        text = f"{signed(change, places)} ({percent(change / real.closes[-2] * 100)})"
        values.append(LegendValue(text, request.price.body[change < 0]))
    return LegendEntry(name, tuple(values))


def study_entry(request: Request, view: StudyView) -> LegendEntry:
    """Return the legend entry of a study: its name and the last value of each visible plot."""
    write = study_writer(request, view)
    last = [(look, last_value(view, look, len(request.bars))) for look in view.plots if look.visible]
    values = [LegendValue(write(value), _ink(request, view, look)) for look, value in last if value is not None]
    return LegendEntry(view.settled.label, tuple(values))


def profile_entry(request: Request, view: ProfileView) -> LegendEntry:
    """Return the legend entry of a volume profile: point of control and both ends of the value area."""
    prices = (("POC", view.poc, view.poc_ink), ("VAH", view.vah, UP), ("VAL", view.val, UP))
    values = [
        LegendValue(fixed(price, request.decimals), ink, name) for name, price, ink in prices if price is not None
    ]
    return LegendEntry(view.settled.label, tuple(values))


def last_value(view: StudyView, look: PlotLook, bars: int) -> float | None:
    """Return the value of a plot at the last bar. Values in the future do not count."""
    line = view.lines[look.plot.key]
    return line[bars - 1] if len(line) >= bars else None


def price_legend(request: Request, pane: Box) -> tuple[list[Row], list[str]]:
    """Return the legend rows of the price pane, and the names of studies that found no room.

    The rows are the symbol, the last bar, and each study in this pane.
    """
    looks, theme = request.spec.looks, request.theme
    if not looks.legend:
        return [], []
    room, most = pane.width - SIDE, max(1, int(pane.height * MOST_OF_PANE / ROW))
    title, last_bar = _title(request), _last_bar(request)
    head = wrapped([title, *last_bar], room)
    if len(head) > 1:
        head = [(title,), *wrapped(last_bar, room)]
    studies = [study_row(request, view, room) for view in (*request.overlays, *request.compared)]
    if request.profile:
        studies.append(_row(request, profile_entry(request, request.profile), room))
    volume = [study_row(request, request.volume, room)] if request.volume else []
    # Without room for all, study names take precedence: the position of the volume and the tag of the price speak for
    # themselves.
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


def study_row(request: Request, view: StudyView, room: float) -> Row:
    """Return the name of a study, and as many of its last values as fit."""
    return _row(request, study_entry(request, view), room)


def _row(request: Request, entry: LegendEntry, room: float) -> Row:
    groups: list[Group] = [(Word(entry.name, request.theme.text),)]
    if request.spec.looks.legend_values:
        groups += [_group(request, value) for value in entry.values]
    return cut(groups, room)


def _group(request: Request, value: LegendValue) -> Group:
    named = (Word(value.name, request.theme.text),) if value.name else ()
    return (*named, Word(value.text, value.ink))


def _title(request: Request) -> Group:
    symbol, space, rest = price_entry(request).name.partition(" ")
    theme = request.theme
    return Word(symbol, theme.strong, 15, bold=True), Word(space + rest, theme.text, 13)


def _last_bar(request: Request) -> list[Group]:
    looks = request.spec.looks
    if not looks.legend_values:
        return []
    shown = [each for each in price_entry(request).values if (looks.series_ohlc if each.name else looks.bar_change)]
    return [_group(request, value) for value in shown]


def _ink(request: Request, view: StudyView, look: PlotLook) -> Colour:
    if view is request.volume:
        return look.colours[not request.bars.rose(-1)]
    return look.ink
