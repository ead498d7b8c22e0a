"""Legend of a chart, with the same wording in the picture, in text and in structured data."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC
from types import MappingProxyType

from mcp_binance_server.charts.render.canvas import Canvas, width_of
from mcp_binance_server.charts.render.crosses import crosses
from mcp_binance_server.charts.render.drawings.plans import levels_in_words
from mcp_binance_server.charts.render.layout import Box, text_scale
from mcp_binance_server.charts.render.look import Colour
from mcp_binance_server.charts.render.request import Request
from mcp_binance_server.charts.render.scale import fixed, moment_words, percent, signed, zone_of
from mcp_binance_server.charts.render.scaling import price_writer, study_writer
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
    is_of_plot: bool = False
    place: int = 0
    """Position among the plots, which are drawn in another order than their values are read."""

    @property
    def said(self) -> str:
        return f"{self.name} {self.text}" if self.name else self.text


CHANGE, OVERALL = "change", "in view"
# Names and order of values as in get_indicators. Other plots are named by their keys.
VALUE_NAMES: Mapping[str, Mapping[str, str]] = MappingProxyType({
    "MACD": {"MACD": "macd", "Signal": "signal", "Histogram": "histogram"},
    "Bollinger Bands": {"Lower": "lower", "Median": "middle", "Upper": "upper"},
    "Stochastic": {"%K": "k", "%D": "d"},
    "Stochastic RSI": {"%K": "k", "%D": "d"},
    "Directional Movement": {"ADX": "adx", "+DI": "plus_di", "-DI": "minus_di"},
    "Super Trend": {"SuperTrend.0": "rising", "SuperTrend.1": "falling"},
    "MA Cross": {"PlotShort": "fast", "PlotLong": "slow"},
})  # fmt: skip
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+")


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


def shortened(rows: Sequence[Row], most: int, ink: Colour, size: float = 12) -> list[Row]:
    """Keep the first rows and add a row with the number of hidden rows."""
    if len(rows) <= most:
        return list(rows)
    left_out = len(rows) - most + 1
    return [*rows[: most - 1], ((Word(f"+{left_out} more", ink, size),),)]


def draw_legend(canvas: Canvas, rows: Sequence[Row], top: float, room: float) -> list[Box]:
    """Draw rows from the top and return their bounding boxes. A word wider than `room` is shortened."""
    boxes: list[Box] = []
    baseline = top + 2
    for row in rows:
        tallest = max(word.size for group in row for word in group)
        baseline += row_height(row)
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
    return sum(map(row_height, rows)) + 16 if rows else 14


def row_height(row: Row) -> float:
    """Return the height of a row: that of its largest text, and the space between rows."""
    tallest = max(word.size for group in row for word in group)
    return tallest * (TITLE_ROW / 15 if any(word.bold for group in row for word in group) else ROW / 12)


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
    return tuple(map(_legend_row, entries[:MOST_ROWS]))


def _legend_row(entry: LegendEntry) -> LegendRow:
    in_order = sorted(entry.values, key=lambda each: each.place)
    plain = " ".join(each.text if each.is_of_plot or each.name == CHANGE else each.said for each in in_order)
    return LegendRow(entry.name, plain, " ".join(each.said for each in entry.values))


def drawing_rows(request: Request) -> tuple[LegendRow, ...]:
    """Return the levels of the Fibonacci retracements and positions, and the prices and times of the other drawings."""
    write, zone = price_writer(request), zone_of(request.spec.timezone) or UTC
    rows = [LegendRow(each.name, levels_in_words(each, write, zone)) for each in request.spec.drawings]
    times = request.bars.times
    rows += [LegendRow(each.kind.capitalize(), moment_words(times[each.bar], zone)) for each in crosses(request)]
    return tuple(rows)


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
        values.append(LegendValue(text, request.price.body[change < 0], CHANGE))
    if request.compared and real.closes[0]:
        overall = (real.closes[-1] / real.closes[0] - 1) * 100
        values.append(LegendValue(percent(overall), request.price.body[overall < 0], OVERALL))
    return LegendEntry(name, tuple(values))


def study_entry(request: Request, view: StudyView) -> LegendEntry:
    """Return the legend entry of a study: its name and the last value of each visible plot."""
    write = study_writer(request, view)
    last = [(look, last_value(view, look, len(request.bars))) for look in view.plots if look.visible]
    known = [(look, value) for look, value in last if value is not None]
    names = _value_names(request, view)
    values = [
        LegendValue(write(value), _ink(request, view, look), names.get(look.plot.key, ""), is_of_plot=True, place=place)
        for place, (look, value) in enumerate(known)
    ]
    order = list(names)
    ordered = sorted(zip(known, values, strict=True), key=lambda each: order.index(each[0][0].plot.key))
    return LegendEntry(view.settled.label, tuple(value for _, value in ordered))


def _value_names(request: Request, view: StudyView) -> Mapping[str, str]:
    """Return the name of each plot's value in the order of the legend. A single value is named by its study."""
    study = view.settled.study
    keys = [look.plot.key for look in view.plots]
    if any(view is each for each in request.compared):
        return dict.fromkeys(keys, OVERALL)
    if len(keys) < 2:
        return dict.fromkeys(keys, "")
    if named := VALUE_NAMES.get(study.name):
        return named
    if keys[0] == "Upper":  # bands are read from below, as in get_indicators
        keys.reverse()
    return {key: " ".join(_WORD.findall(key)).lower() for key in keys}


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
    scale = text_scale(request.spec.width)
    room, most = pane.width - SIDE, max(1, int(pane.height * MOST_OF_PANE / (ROW * scale)))
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
    shown = shortened(rows, most, theme.text, 12 * scale)
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
    groups: list[Group] = [(_word(request, entry.name, request.theme.text),)]
    if request.spec.looks.legend_values:
        groups += [_group(request, value) for value in entry.values]
    return cut(groups, room)


def _group(request: Request, value: LegendValue) -> Group:
    named = (_word(request, value.name, request.theme.text),) if value.name not in ("", CHANGE) else ()
    return (*named, _word(request, value.text, value.ink))


def _word(request: Request, text: str, ink: Colour, size: float = 12, *, bold: bool = False) -> Word:
    return Word(text, ink, size * text_scale(request.spec.width), bold=bold)


def _title(request: Request) -> Group:
    symbol, space, rest = price_entry(request).name.partition(" ")
    theme = request.theme
    return _word(request, symbol, theme.strong, 15, bold=True), _word(request, space + rest, theme.text, 13)


def _last_bar(request: Request) -> list[Group]:
    looks = request.spec.looks
    if not looks.legend_values:
        return []
    entry = price_entry(request)
    shown = [each for each in entry.values if (looks.bar_change if each.name == CHANGE else looks.series_ohlc)]
    return [_group(request, value) for value in shown]


def _ink(request: Request, view: StudyView, look: PlotLook) -> Colour:
    if view is request.volume:
        return look.colours[not request.bars.rose(-1)]
    return look.ink
